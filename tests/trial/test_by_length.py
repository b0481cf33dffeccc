"""The second reading of texts with Gaussian noise: what it proves is right, and no mistake is proved."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import MechanismName, Policy
from dpsql.privacy.measurement import pricing
from dpsql.privacy.measurement.sums import Sums
from tests.properties.test_euclidean import STATEMENTS
from tests.support import euclidean_mutants
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import counting_rho, with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import World
from tests.support.mutants import Break
from tests.support.tried import Court, court

BY_SEATS, BY_TWO, BY_NAME = STATEMENTS[1], STATEMENTS[4], STATEMENTS[6]
NOT_READ = STATEMENTS[2]
"""Squares of values around their middle."""
PROVED = (
    *(sql for sql in STATEMENTS if sql != NOT_READ),
    "SELECT stars, avg(tip), count(*) FROM rides WHERE late GROUP BY 1",
    "SELECT late, sum(seats), count(fare) FROM rides GROUP BY late",
)


@pytest.fixture(autouse=True)
def _of_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose a C for lengths over any number of groups."""
    monkeypatch.setattr(pricing, "FEWEST_CHOSEN", 2)


@pytest.fixture(params=ENGINES)
def read(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Court:
    """Where texts of a role that counts ρ are read again."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 3), Fraction(1)), "owner")
    return court(counting, world, tiny[request.param])


@pytest.fixture(params=ENGINES)
def choosing(request: pytest.FixtureRequest, policy: Policy, world: World, tiny: Engines) -> Court:
    """The same where C is chosen."""
    chosen = with_chosen_rows(with_epsilon(policy, Fraction(1)), "rides", "passenger")
    return court(counting_rho(chosen, "owner"), world, tiny[request.param])


def _proved(where: Court, sql: str) -> list[bool]:
    proved = []
    for part in where.priced(sql, "owner").measurements:
        if isinstance(part.measurement, Sums):
            assert part.measurement.mechanism is MechanismName.GAUSSIAN
            proved.append(where.trial.is_proved(part, "passenger"))
    return proved


@pytest.mark.parametrize("sql", PROVED)
def test_ordinary_texts_are_proved(sql: str, read: Court) -> None:
    """Counts, sums and means by one key and two, by numbers and by names, and with a public table."""
    assert _proved(read, sql) == [True]


@pytest.mark.parametrize("sql", PROVED[:3])
def test_texts_with_each_c_are_proved(sql: str, choosing: Court) -> None:
    """Where it is chosen: of all that are tried."""
    assert _proved(choosing, sql) == [True]


def test_what_is_not_read_is_not_proved(read: Court) -> None:
    """That is said, and it rests on the trial alone."""
    assert _proved(read, NOT_READ) == [False]


@pytest.mark.parametrize(
    "mistake",
    [
        euclidean_mutants.rows_instead_of_squares,
        euclidean_mutants.a_root_one_too_low,
        euclidean_mutants.no_limit,
        euclidean_mutants.every_row_a_group,
        euclidean_mutants.one_dimension,
        euclidean_mutants.half_the_sigma,
    ],
)
def test_no_mistake_is_proved(mistake: Break, read: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever moves a unit further than the noise is made for, by the claim or by what the engine is asked."""
    mistake(monkeypatch)
    assert not any(_proved(read, BY_SEATS))


WRONG = (
    ("least(n, 2147483647) * least(n, 2147483647)", "least(n, 2147483647)"),
    ("least(n, 2147483647) * least", "least(n, 9) * least"),
    ("), 4611686014132420609) AS BIGINT", "), 9) AS BIGINT"),
    ("q < 4611686014132420609", "q < 4611686014132420610"),
    ("ELSE 0 END AS w", "ELSE 1 END AS w"),
    ("THEN CAST(196608", "THEN CAST(196609"),
    ("greatest(l, 3)", "greatest(r, 3)"),
    ("greatest(l, 3)", "least(l, 3)"),
    ("ELSE r + 1 END", "ELSE r END"),
    (">= q THEN r - 1", ">= q THEN r - 2"),
    ("ceil(sqrt", "floor(sqrt"),
    ("GROUP BY u) AS a", "GROUP BY u, n) AS a"),
    ("GROUP BY u, k0) AS g", "GROUP BY u, k0 HAVING count(*) > 1) AS g"),
    ("GROUP BY u, k0) AS g", "GROUP BY k0, u) AS g"),
    ("count(*) AS n FROM", "count(DISTINCT k0) AS n FROM"),
    ("AS k0 FROM r)", "AS k0, u AS k1 FROM r)"),
    ("FROM r) AS p", "FROM r WHERE k0 > 1) AS p"),
    ("FROM r) AS p", "FROM r WHERE u > 1) AS p"),
    ("SELECT u, CAST(k0 AS BIGINT) AS k0", "SELECT u, CAST(k0 + f0 AS BIGINT) AS k0"),
    ("SELECT CAST(k0 AS BIGINT), ", "SELECT CAST(k0 / 2 AS BIGINT), "),
    ("SELECT CAST(k0 AS BIGINT), ", "SELECT CAST(k0 AS DOUBLE PRECISION), "),
    ("JOIN h ON u = hu", "JOIN h ON TRUE"),
    ("JOIN h ON u = hu", "LEFT JOIN h ON u = hu"),
    ("JOIN h ON u = hu", "JOIN h ON u = hu JOIN h AS i ON TRUE"),
    ("sum(w * ", "sum(w * w * "),
    ("sum(w * ", "sum(2 * w * "),
    ("sum(w * ", "sum("),
    (") AS c)", ") AS c UNION ALL SELECT 1, 65536)"),
    (") AS b)", " LIMIT 9) AS b)"),
)
"""What stands in the text for either engine, and what would be wrong there."""
_OF_ENGINES = {
    "duckdb": (
        ("THEN CAST(4194304 AS INTEGER) WHEN", "THEN CAST(4194305 AS INTEGER) WHEN"),
        ("196608 // greatest", "196608 * greatest"),
    ),
    "postgres": (
        ("THEN (4194304)::integer WHEN", "THEN (4194305)::integer WHEN"),
        ("196608 / greatest", "196608 * greatest"),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_wrong_text_is_proved(engine: str, policy: Policy, world: World, tiny: Engines) -> None:
    """A mistake in one place, or in each, of a text that is proved."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 3), Fraction(1)), "owner")
    where = court(counting, world, tiny[engine])
    (part,) = where.priced(BY_SEATS, "owner").measurements
    assert where.trial.is_proved(part, "passenger")
    for right, wrong in (*WRONG, *_OF_ENGINES[engine]):
        assert right in part.sql, right
        for text in (part.sql.replace(right, wrong), _last(part.sql, right, wrong)):
            assert not where.trial.is_proved(replace(part, sql=text), "passenger"), wrong


def _last(text: str, right: str, wrong: str) -> str:
    before, _, after = text.rpartition(right)
    return before + wrong + after


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("sql", "change"),
    [
        (BY_TWO, lambda text: text.replace("GROUP BY u, k0, k1) AS g", "GROUP BY u, k0) AS g")),
        (BY_TWO, lambda text: text.replace("SELECT CAST(k0 AS BIGINT), CAST(", "SELECT CAST(", 1)),
        (
            BY_TWO,
            lambda text: text.replace("FROM r JOIN", "FROM (SELECT * FROM r UNION ALL SELECT * FROM r) AS r JOIN"),
        ),
        (BY_TWO, lambda text: text.replace('"rider" IS NOT NULL)', '"rider" IS NOT NULL OR TRUE)')),
        (BY_NAME, lambda text: text.replace('COLLATE "C"', 'COLLATE "en"')),
        (BY_NAME, lambda text: text.replace("u, k0 AS k0 FROM", "u, upper(k0) AS k0 FROM")),
    ],
)
def test_no_text_with_other_groups_is_proved(
    sql: str, change: Callable[[str], str], engine: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Than those that come back, or with other rows."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 3), Fraction(1)), "owner")
    where = court(counting, world, tiny[engine])
    (part,) = where.priced(sql, "owner").measurements
    assert where.trial.is_proved(part, "passenger")
    changed = change(part.sql)
    assert changed != part.sql
    assert not where.trial.is_proved(replace(part, sql=changed), "passenger")


def test_less_noise_is_not_proved(read: Court) -> None:
    """Than the square of what a unit moves, over twice ρ: by one unit of σ."""
    (part,) = read.priced(BY_SEATS, "owner").measurements
    assert isinstance(part.measurement, Sums)
    assert read.trial.is_proved(part, "passenger")
    scale = part.measurement.scale
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sums, "scale", property(lambda _: scale - 1))
        assert not read.trial.is_proved(part, "passenger")
