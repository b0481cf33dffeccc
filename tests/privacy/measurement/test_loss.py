"""What weights are expected to take off a group follows from public numbers, and says how sums beside counts are measured."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.model import Column, Policy, SqlType
from dpsql.privacy.features.feature import Shape
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.planner import expected_loss
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.groups import NO_KEYS
from dpsql.rewrite.ir.expr import Ref
from tests.support.exactness import measurements
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import World
from tests.support.memory import Memory

UNIT = Ref(0, "rides", "rider", Column("rider", SqlType.INTEGER, "integer"))
ONE, VALUE, SIGNED = (shape.name for shape in (Shape.ONE, Shape.VALUE, Shape.SIGNED))


def test_the_loss_is_measured_in_noise() -> None:
    """A row in two hundred of a million, where noise has the scale of 20 rows / ε."""
    bound = ContributionBound(UNIT, 20, Form.REWEIGHT)
    assert expected_loss(10**6, NO_KEYS, bound, Fraction(1)) == 250
    assert expected_loss(10**6, NO_KEYS, bound, Fraction(1, 10)) == 25


@pytest.mark.parametrize("form", [Form.UNIQUE, Form.TRUNCATE])
def test_nothing_is_lost_where_nothing_is_weighed(form: Form) -> None:
    """Of units with one row each, and where rows are selected, which loses whatever is summed."""
    assert expected_loss(10**6, NO_KEYS, ContributionBound(UNIT, 20, form), Fraction(1)) == 0


def test_nothing_is_expected_of_a_table_of_unknown_size() -> None:
    """Nobody says how many rows there are."""
    assert expected_loss(None, NO_KEYS, ContributionBound(UNIT, 20, Form.REWEIGHT), Fraction(1)) == 0


@pytest.mark.parametrize(
    ("select", "rows", "expected"),
    [
        ("count(*), sum(fare)", 5_000, [ONE, VALUE]),
        ("count(*), sum(fare)", 10**6, [ONE, SIGNED]),
        ("sum(fare), sum(tip)", 1_000, [ONE, VALUE, VALUE]),
        ("sum(fare), sum(price)", 10**6, [SIGNED, SIGNED]),
        ("avg(fare), sum(fare)", 5_000, [ONE, VALUE]),
        ("avg(fare), sum(fare)", 10**6, [ONE, VALUE, SIGNED]),
        ("count(*), avg(fare)", 10**6, [ONE, VALUE]),
        ("paid, count(*), sum(fare)", 10_000, [ONE, VALUE]),
        ("paid, count(*), sum(fare)", 10**6, [ONE, SIGNED]),
        ("day, from_zone, stars, count(*), sum(fare)", 10**6, [ONE, VALUE]),
    ],
)
def test_large_groups_have_sums_of_their_own(
    select: str, rows: int, expected: Sequence[str], policy: Policy, world: World
) -> None:
    """Where noise is more than loss, sums are measured from the middle, with the count's weights; else by themselves."""
    keys = ", ".join(word for word in select.split(", ") if "(" not in word)
    policy = with_epsilon(policy, Fraction(1))
    rides = replace(policy.tables["rides"], expected_rows=rows)
    policy = replace(policy, tables={**policy.tables, "rides": rides})
    sql = f"SELECT {select} FROM rides{f' GROUP BY {keys}' if keys else ''}"
    (sums,) = measurements(sql, policy, world, Memory(policy))
    assert isinstance(sums, Sums)
    assert sorted(feature.shape.name for feature in sums.features) == sorted(expected)
