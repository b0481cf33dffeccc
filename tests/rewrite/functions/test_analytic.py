"""Roots, logarithms and powers."""

import math
from collections.abc import Callable

import pytest

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from tests.rewrite.refs import DOUBLE, ENV, FARE, SEATS, apply, number


@pytest.mark.parametrize(("op", "f"), [("sqrt", math.sqrt), ("ln", math.log), ("log10", math.log10), ("exp", math.exp)])
@pytest.mark.parametrize("least", [1, 5])
def test_the_interval_encloses_what_is_computed(op: str, f: Callable[[float], float], least: int) -> None:
    """A little wider than the exact ends, because they are rounded."""
    x = apply("add", SEATS, number(least), type_=DOUBLE)
    interval = facts(apply(op, x, type_=DOUBLE), ENV).interval
    assert interval is not None
    assert interval.low <= f(least) <= f(least + 6) <= interval.high
    assert float(interval.width) == pytest.approx(f(least + 6) - f(least))


@pytest.mark.parametrize("op", ["sqrt", "ln", "log10"])
def test_outside_the_domain_nothing_is_known(op: str) -> None:
    """Then the result is NULL for some values, and has no interval."""
    expr_facts = facts(apply(op, FARE, type_=DOUBLE), ENV)
    assert expr_facts.interval is None
    assert expr_facts.nullable


@pytest.mark.parametrize(("n", "low", "high"), [(0, 1, 1), (1, -5, 150), (2, 0, 22_500), (3, -125, 3_375_000)])
def test_even_powers_are_not_negative(n: int, low: int, high: int) -> None:
    """The least square of an interval around 0 is 0."""
    assert facts(apply("power", FARE, number(n), type_=DOUBLE), ENV).interval == Interval.of(low, high)


def test_powers_that_overflow_are_refused() -> None:
    """Nobody may learn from an error that some value is large."""
    large = apply("mul", FARE, number(10**12), type_=DOUBLE)
    with pytest.raises(MissingBounds, match="could grow too large"):
        facts(apply("power", large, number(16), type_=DOUBLE), ENV)
