"""Which of two ways finds keys: by the count of rows that is shown, or by the number of units."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import MechanismName, Policy, Privacy
from dpsql.privacy.measurement.plan import KeySearch, MeasurementPlan, choose_plans
from tests.support.exactness import plans
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory

COUNTS = "SELECT note, count(*) FROM rides GROUP BY note"
KEYS = "SELECT DISTINCT note FROM rides"
LEAST = Fraction(1, 10**6)


def _plan(policy: Policy, world: World, sql: str, most: int, role: str = "explorer") -> MeasurementPlan:
    asker = replace(policy.roles["explorer"], per_query=Privacy(Fraction(1), Fraction("1e-6")))
    roles = {"explorer": asker, "auditor": replace(asker, mechanism=MechanismName.LAPLACE)}
    bounded = replace(with_rows(policy, "rides", "passenger", most), roles=roles)
    (plan,) = plans(sql, bounded, world, Memory(bounded), role)
    return plan


def _searches(plan: MeasurementPlan, epsilon: Fraction = Fraction(1), least: Fraction = LEAST) -> bool:
    (taken,) = choose_plans([plan], epsilon, least)
    return isinstance(taken.finder, KeySearch)


@pytest.mark.parametrize("sql", [COUNTS, KEYS])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), Fraction(1)])
def test_keys_are_found_the_way_that_shows_more(policy: Policy, world: World, sql: str, epsilon: Fraction) -> None:
    """A unit with one key is better counted, one with many better found by the root of them."""
    assert [_searches(_plan(policy, world, sql, most), epsilon) for most in (1, 20, 400)] == [False, True, True]


def test_laplace_alone_stays_as_it_is(policy: Policy, world: World) -> None:
    """A role that wants nothing but Laplace noise has no other."""
    assert _plan(policy, world, COUNTS, 400, "auditor").by_units is None


def test_parts_too_cheap_are_not_chosen(policy: Policy, world: World) -> None:
    """A statement that can pay one measurement only is not refused for being divided."""
    plan = _plan(policy, world, COUNTS, 20)
    assert [_searches(plan, Fraction(1), least) for least in (Fraction(1, 2), Fraction(51, 100))] == [True, False]


def test_a_search_is_the_first_part(policy: Policy, world: World) -> None:
    """Whatever is read off the keys comes after it, with groups that are bounded by weights and cost no δ."""
    by_units = _plan(policy, world, "SELECT note, sum(fare), median(age) FROM rides GROUP BY note", 20).by_units
    assert by_units is not None
    search, *others = by_units.parts
    assert search is by_units.finder
    assert [part.bound.form.name for part in others] == ["REWEIGHT", "REWEIGHT"]
    assert not any(getattr(part, "delta", 0) for part in others)


def test_groups_are_bounded_apart_from_rows(policy: Policy, world: World) -> None:
    """`max_groups_per_unit` bounds keys and distinct units, and no row."""
    rides = policy.tables["rides"]
    unit = replace(rides.units["passenger"], max_groups=5)
    bounded = replace(policy, tables={**policy.tables, "rides": replace(rides, units={"passenger": unit})})
    sql = "SELECT note, count(*), count(DISTINCT rider) FROM rides GROUP BY note"
    (plan,) = plans(sql, bounded, world, Memory(bounded), "explorer")
    assert plan.by_units is not None
    assert [part.bound.rows for part in plan.by_units.parts] == [5, unit.max_rows, 5]
