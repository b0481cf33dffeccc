"""Intervals, NULL and inverses of arithmetic."""

import pytest

from dpsql.policy.interval import Interval
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.functions.table import TABLE
from dpsql.rewrite.ir.expr import AllWhole, Apply
from tests.rewrite.refs import BIGINT, DOUBLE, ENV, FARE, SEATS, apply, number


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (apply("add", SEATS, FARE, type_=DOUBLE), -5, 156),
        (apply("sub", SEATS, FARE, type_=DOUBLE), -150, 11),
        (apply("mul", SEATS, FARE, type_=DOUBLE), -30, 900),
        (apply("div", FARE, number(-2), type_=DOUBLE), -75, "2.5"),
        (apply("div", SEATS, number(4)), 0, 1),
        (apply("mod", SEATS, number(4)), 0, 3),
        (apply("mod", FARE, number(4), type_=DOUBLE), -4, 4),
        (apply("mod", FARE, number(4), type_=DOUBLE, option=AllWhole()), -3, 3),
        (apply("neg", FARE, type_=DOUBLE), -150, 5),
        (apply("abs", FARE, type_=DOUBLE), 0, 150),
        (apply("sign", FARE, type_=DOUBLE), -1, 1),
        (apply("greatest", SEATS, number(9)), 9, 9),
        (apply("greatest", SEATS, number(3)), 3, 6),
        (apply("least", SEATS, number(3)), 0, 3),
        (apply("least", FARE, SEATS, type_=DOUBLE), -5, 6),
        (apply("least", FARE, FARE, type_=DOUBLE), -5, 150),
    ],
)
def test_the_interval_holds_all_values(expr: Apply, low: int, high: int | str) -> None:
    """Of whole numbers the quotient is cut off, and a rest is smaller than the divisor."""
    assert facts(expr, ENV).interval == Interval.of(low, high)


@pytest.mark.parametrize(
    ("expr", "nullable"),
    [
        (apply("div", SEATS, number(2)), False),
        (apply("div", number(2), SEATS), True),
        (apply("mod", SEATS, number(2)), False),
        (apply("mod", number(2), SEATS), True),
        (apply("add", SEATS, FARE, type_=DOUBLE), True),
        (apply("least", SEATS, FARE, type_=DOUBLE), False),
    ],
)
def test_a_quotient_is_null_where_the_divisor_may_be_0(expr: Apply, *, nullable: bool) -> None:
    """LEAST and GREATEST skip NULL, everything else passes it on."""
    rule = TABLE[expr.op]
    given = [facts(arg, ENV) for arg in expr.args]
    defined = not rule.makes_null or rule.defined([g.interval for g in given], expr)
    assert (not defined or rule.null([g.nullable for g in given])) == nullable


@pytest.mark.parametrize(
    ("expr", "value", "result"),
    [
        (apply("add", SEATS, number(2)), 3, 5),
        (apply("add", number(2), SEATS), 3, 5),
        (apply("sub", SEATS, number(2)), 3, 1),
        (apply("mul", number(2), SEATS), 3, 6),
        (apply("neg", SEATS), 3, -3),
        (apply("to_double", SEATS, type_=DOUBLE), 3, 3),
    ],
)
def test_a_step_with_a_constant_is_undone(expr: Apply, value: int, result: int) -> None:
    """Rows are grouped by the column, and shown with the result."""
    inverse = TABLE[expr.op].inverse
    assert inverse is not None
    assert inverse.inner(expr) == SEATS
    assert inverse.outer(expr, value) == result


@pytest.mark.parametrize(
    "expr", [apply("sub", number(2), SEATS), apply("mul", SEATS, number(0)), apply("add", SEATS, SEATS)]
)
def test_what_does_not_decide_the_result_is_not_undone(expr: Apply) -> None:
    """Times 0 all values become one."""
    inverse = TABLE[expr.op].inverse
    assert inverse is not None
    assert inverse.inner(expr) is None


def test_whole_numbers_are_computed_in_64_bits() -> None:
    """An engine would multiply two 32-bit columns in 32 bits, and overflow."""
    assert {f.op for f in TABLE.values() if f.in_64_bits} >= {"add", "sub", "mul", "div", "mod", "neg", "abs"}
    assert facts(apply("mul", SEATS, number(2**40)), ENV).interval == Interval.of(0, 6 * 2**40)
    assert apply("mul", SEATS, SEATS).type is BIGINT
