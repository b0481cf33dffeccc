"""What is right passes: every golden statement, and statements over the shop that nobody thought of, on both engines."""

import random
from collections.abc import Mapping, Sequence

import pytest

from dpsql.errors import DpsqlError, TrialFailed
from dpsql.policy.model import Policy
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_shop import USERS as SHOPPERS
from tests.support.fix_world import USERS, World
from tests.support.golden import Golden, load
from tests.support.samples import some
from tests.support.shop_generator import written
from tests.support.tried import Court, court

FEW, MANY = 30, 10_000
GOLDEN = [golden for golden in load() if golden.verdict == "answered"]


@pytest.fixture(scope="module")
def courts(policy: Policy, world: World, tiny: Engines) -> Mapping[str, Court]:
    """Give a place to try golden statements in, for each engine."""
    return {name: court(policy, world, engine) for name, engine in tiny.items()}


@pytest.mark.parametrize(
    ("golden", "engine"),
    some({f"{golden.name}-{engine}": (golden, engine) for golden in GOLDEN for engine in ENGINES}, 24),
)
def test_golden_statements_pass(golden: Golden, engine: str, courts: Mapping[str, Court]) -> None:
    """None of them is refused by its trial."""
    try:
        priced = courts[engine].priced(golden.sql, USERS[golden.user])
    except DpsqlError:
        return  # by a role's other ε, or from a table of dpsql's own
    tried = courts[engine].see(priced, USERS[golden.user])
    assert tried.new == tried.forms <= len(priced.measurements)


def _tried(numbers: Sequence[int], trial_court: Court) -> int:
    """Try the statements of some numbers; return how many are measured."""
    passed = 0
    for number in numbers:
        statement = written(number)
        try:
            passed += trial_court.tried(statement.sql, SHOPPERS[statement.user]).new > 0
        except TrialFailed as failed:
            raise AssertionError(f"statement {number}: {statement.sql}") from failed
        except DpsqlError:
            continue
    return passed


@pytest.mark.parametrize("engine", ENGINES)
def test_statements_over_the_shop_pass(engine: str, shop_courts: Mapping[str, Court]) -> None:
    """Most of the statements are answered, and none of these is refused by its trial."""
    assert _tried(range(FEW), shop_courts[engine]) > FEW // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_over_the_shop_pass(part: int, shop_courts: Mapping[str, Court]) -> None:
    """The same for ten thousand, others each time, half of them on each engine."""
    start = random.randrange(FEW, 2**40) * 20 + part  # noqa: S311  (which is told where one fails)
    assert _tried(range(start, start + MANY // 20), shop_courts[ENGINES[part % 2]]) > 0
