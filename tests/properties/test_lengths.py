"""Exhaustive: no unit moves the ladder of lengths further than claimed, and it is that of the declared meaning."""

import math
from collections import Counter

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement import pricing, rows_per_unit
from dpsql.privacy.measurement.pricing import in_euclidean_norm
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from tests.properties.test_euclidean import EPSILON, STATEMENTS, databases
from tests.support import euclidean_mutants
from tests.support.exactness import Measured, moves_of_each, plans
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_chosen_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.mutants import Break
from tests.support.records import Maker, Row
from tests.support.schema import of


@pytest.fixture(autouse=True)
def _of_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose a C for lengths over any number of groups."""
    monkeypatch.setattr(pricing, "FEWEST_CHOSEN", 2)


def ladder(sql: str, policy: Policy, world: World) -> RowsPerUnit:
    """Return the measurement by which the C of a statement is chosen."""
    engine = Memory(policy)
    (plan,) = plans(sql, with_chosen_rows(policy, "rides", "passenger"), world, engine)
    engine.close()
    (part,) = in_euclidean_norm(plan, EPSILON).parts
    assert isinstance(part, Sums)
    search = RowsPerUnit(part, epsilon=EPSILON)
    assert search.is_by_length
    return search


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("sql", STATEMENTS)
def test_no_unit_moves_it_further_than_claimed(
    sql: str, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Whoever has rows adds one in all, and so attains it."""
    measured, most = Measured.of(ladder(sql, policy, world), tiny[dialect], world), 0
    for rows in databases(policy.tables[of("rides")], 3, sql):
        for (move,) in moves_of_each([measured], "rides", rows, "rider"):
            assert move <= measured.claim
            most = max(most, move)
    assert most == measured.claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_it_is_that_of_lengths_and_rows(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """By the declared meaning alone."""
    search = ladder("SELECT seats, count(*) FROM rides GROUP BY seats", policy, world)
    base, rows = Maker(1, dirt=0.0).row(policy.tables["rides"]), list[Row]()
    for rider in range(1, 40):
        rows += [base | {"rider": rider, "seats": n % (rider % 6 + 1)} for n in range(rider)]
    tiny[dialect].fill("rides", rows)
    pairs = Counter((row["rider"], row["seats"]) for row in rows)
    units: dict[object, list[int]] = {}
    for (name, _), number in pairs.items():
        units.setdefault(name, []).append(number)
    answer = [(math.isqrt(sum(n * n for n in of_unit) - 1) + 1, sum(of_unit), 1) for of_unit in units.values()]
    expected = rows_per_unit.cells_of(search.rungs, len(search.of.groups.grouped), answer)
    assert Measured.of(search, tiny[dialect], world).exact() == {(): expected}


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "mistake", [euclidean_mutants.rows_stand_for_units, euclidean_mutants.shares_that_do_not_add_up]
)
def test_what_is_wrong_is_caught(
    mistake: Break, dialect: str, policy: Policy, world: World, tiny: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves further than claimed."""
    search = ladder("SELECT seats, count(*) FROM rides GROUP BY seats", policy, world)
    mistake(monkeypatch)
    measured = Measured.of(search, tiny[dialect], world)
    base = Maker(1, dirt=0.0).row(policy.tables["rides"])
    rows = [base | {"rider": rider, "seats": n % 5} for rider in (1, 2) for n in range(13)]
    assert any(move > measured.claim for (move,) in moves_of_each([measured], "rides", rows, "rider"))
