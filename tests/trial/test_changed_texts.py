"""What the second reading proves is tried: of statements that are changed at random, it proves none that a trial refutes."""

from random import Random

import pytest

from dpsql.errors import DpsqlError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Cancellation
from dpsql.trial.database_comparison import TimeLimit
from dpsql.trial.second_reading import is_proved
from tests.support.fix_engines import Engines
from tests.support.fix_world import World
from tests.support.golden import load
from tests.support.tried import court
from tests.trial.changed_texts import changed

slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("engine", "seed", "number"),
    [
        ("duckdb", 1, 200),
        *(pytest.param("duckdb", seed, 2_000, marks=slow) for seed in (2, 3)),
        pytest.param("postgres", 4, 500, marks=slow),
    ],
)
def test_no_changed_text_is_proved_that_a_trial_refutes(
    engine: str, seed: int, number: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """Golden statements; an engine takes no notice of most that are proved, and some it does not take at all."""
    trial_court, random = court(policy, world, tiny[engine]), Random(seed)  # noqa: S311  (which texts are tried)
    tested, kind, wrong, proved = trial_court.trial, "passenger", list[str](), 0
    statements = [g.sql for g in load() if g.verdict == "answered" and g.cost and g.user == "ana" and g.file != "views"]
    tables, language, places = tested._subject.unit_tables(kind), tested._subject.language, tested.places(kind)
    for _ in range(number):
        parts = [
            part
            for part in trial_court.priced(random.choice(statements), "owner").measurements
            if isinstance(part.measurement, Sums)
        ]
        if not parts:
            continue
        measurement, sql = random.choice(list(tested._variants(random.choice(parts))))
        text = changed(sql, random)
        if text == sql or not is_proved(measurement, text, language, tables):
            continue
        proved += 1
        try:
            outcome = tested._try(measurement, text, places, Cancellation(), TimeLimit(20, in_process=True))
        except (DpsqlError, IndexError):
            continue  # it has other columns than are read
        if outcome.wrong is not None and "moves" in outcome.wrong:
            wrong.append(f"{outcome.wrong}: {text}")
    assert wrong == []
    assert proved > number / 30
