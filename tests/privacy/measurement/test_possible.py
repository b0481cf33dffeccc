"""The values of which a least, a largest and a point are one."""

from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy
from dpsql.privacy.features.feature import ScaledExpr
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Possible
from dpsql.rewrite.analysis.keys import listed_values
from dpsql.rewrite.ir.expr import Env, Facts, Ref

_MOST = 2**12
NARROWED = [(0, 1), (Fraction(1, 3), 1), (0, Fraction(5, 7)), (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**6))]
"""Which part of the bounds a condition leaves: the last has no value in it."""


@pytest.mark.parametrize(("low", "high"), NARROWED)
@pytest.mark.parametrize("name", ["seats", "age", "refund", "weight"])
def test_multiples_of_a_step_are_those_that_would_be_listed(
    name: str, low: Fraction, high: Fraction, policy: Policy
) -> None:
    """The values of a column are not listed, and those beside any number are the same as if they were."""
    column = policy.tables["rides"].columns[name]
    assert column.bounds is not None
    ref, ends = Ref(0, "rides", name, column), (column.bounds.low, column.bounds.high)
    width = ends[1] - ends[0]
    interval = Interval(ends[0] + low * width, ends[0] + high * width)
    env: Env = {ref: Facts(nullable=False, interval=interval)}
    possible = Possible.of(ref, env)
    assert possible == Possible(step=column.step or Fraction(0))
    listed = Possible(tuple(sorted(Fraction(value) for value in listed_values(ref, env, _MOST) if value is not None)))
    histogram = cast("Histogram", SimpleNamespace(x=ScaledExpr(ref, interval)))
    for place in range(-10, 211):
        number = ends[0] + Fraction(place, 200) * width
        if listed.listed:
            assert possible._at_most(number, histogram) == listed._at_most(number, histogram)
            assert possible._at_least(number, histogram) == listed._at_least(number, histogram)
        else:
            assert possible._at_most(number, histogram) is possible._at_least(number, histogram) is None


def test_declared_values_are_listed(policy: Policy) -> None:
    """Of multiples of a step, those that are declared are fewer."""
    column = policy.tables["rides"].columns["stars"]
    ref = Ref(0, "rides", "stars", column)
    assert Possible.of(ref, {ref: Facts.of_values((1, 2, 5), nullable=False)}) == Possible(
        tuple(map(Fraction, (1, 2, 5)))
    )
