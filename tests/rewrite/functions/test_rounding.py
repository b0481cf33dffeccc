"""Rounding and buckets."""

from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.ir.expr import Apply, Buckets, Const, Digits
from tests.rewrite.refs import BIGINT, DOUBLE, ENV, FARE, NUMERIC, apply, number

HALF = apply("div", FARE, number(2), type_=NUMERIC)
"""From −2.5 to 75."""


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (apply("floor", HALF, type_=NUMERIC), -3, 75),
        (apply("ceil", HALF, type_=NUMERIC), -2, 75),
        (apply("trunc", HALF, type_=NUMERIC), -2, 75),
        (apply("round", HALF, type_=NUMERIC), -3, 75),
        (apply("round", apply("div", FARE, number(2), type_=DOUBLE), type_=DOUBLE), -2, 75),
        (apply("round", HALF, type_=NUMERIC, option=Digits(-1)), 0, 80),
        (apply("to_integer", HALF), -3, 75),
        (apply("width_bucket", FARE, number(0), number(10), option=Buckets(5)), 0, 6),
    ],
)
def test_the_interval_is_rounded_as_the_values_are(expr: Apply, low: int, high: int) -> None:
    """Half away from zero as `numeric`, to even in double precision."""
    assert facts(expr, ENV).interval == Interval.of(low, high)


@pytest.mark.parametrize(
    ("digits", "op", "scale", "whole", "shown"),
    [(2, "mul", 100, 123, Fraction(123, 100)), (-1, "div", 10, 12, 120), (1, "mul", 10, 20, 2)],
)
def test_rounding_to_digits_is_undone_as_a_whole_number(
    digits: int, op: str, scale: int, whole: int, shown: Fraction
) -> None:
    """Rows are grouped by ROUND(x · 10ⁿ), exactly, and shown with the n digits."""
    expr = apply("round", HALF, type_=NUMERIC, option=Digits(digits))
    inverse = TABLE["round"].inverse
    assert inverse is not None
    scaled = Apply(op, (HALF, Const(scale, NUMERIC)), NUMERIC)
    assert inverse.inner(expr) == Apply("to_integer", (scaled,), BIGINT)
    assert inverse.outer(expr, whole) == shown


def test_a_number_beside_a_jump_may_be_rounded_otherwise() -> None:
    """What an engine computes as 2.4999…, exactly 2.5, comes out as 2 or 3, or as the next number in single precision."""
    assert {f.op for f in TABLE.values() if f.float_range.jumps} == {"round", "to_decimal", "to_integer", "to_single"}
