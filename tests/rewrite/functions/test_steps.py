"""Values of an expression are whole multiples of its step."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import NULL, TRUE, Apply, Const, Digits, Expr, Ref, Results

DOUBLE, BIGINT, NUMERIC = SqlType.DOUBLE, SqlType.BIGINT, SqlType.NUMERIC
CENTS = Ref(0, "t", "cents", Column("cents", DOUBLE, "double precision", step=Fraction("0.01")))
FIVES = Ref(0, "t", "fives", Column("fives", DOUBLE, "double precision", step=Fraction("0.05")))
FREE = Ref(0, "t", "free", Column("free", DOUBLE, "double precision"))
WHOLE = Ref(0, "t", "whole", Column("whole", BIGINT, "bigint", step=Fraction(1)))


def of(op: str, *args: Expr, type_: SqlType = DOUBLE) -> Apply:
    """Return a function of arguments."""
    return Apply(op, args, type_)


def number(text: str) -> Const:
    """Return a constant."""
    return Const(Fraction(text), NUMERIC)


KNOWN: Mapping[str, Expr] = {
    "0.01": CENTS,
    "0.02": of("mul", CENTS, number("-2")),
    "0.0005": of("mul", CENTS, FIVES),
    "0.005": of("div", CENTS, number("-2")),
    "1/200": of("sub", FIVES, number("0.005")),
    "1/20": of("case", TRUE, FIVES, Const(0, BIGINT)),
    "0.050": of("coalesce", FIVES, number("0.25")),
    "0.25": of("map", CENTS, type_=NUMERIC),
    "0.1": Apply("round", (FREE,), NUMERIC, Digits(1)),
    "100": Apply("round", (FREE,), NUMERIC, Digits(-2)),
    "1": of("floor", FREE),
    "10": of("mul", WHOLE, Const(-10, BIGINT), type_=BIGINT),
    "1.0": of("div", WHOLE, Const(10, BIGINT), type_=BIGINT),
    "0": NULL,
}


@pytest.mark.parametrize("step", KNOWN)
def test_a_step_is_what_all_values_are_multiples_of(step: str) -> None:
    """Sums have the common one, products the product; whole numbers have 1."""
    expr = KNOWN[step]
    if isinstance(expr, Apply) and expr.op == "map":
        expr = Apply(
            "map", (*expr.args, number("1"), number("2")), NUMERIC, Results((Fraction("0.5"), Fraction("0.75"), None))
        )
    assert step_of(expr) == Fraction(step)


@pytest.mark.parametrize("expr", [FREE, of("add", CENTS, FREE), of("div", CENTS, CENTS), of("sqrt", CENTS)])
def test_what_is_not_known_has_no_step(expr: Expr) -> None:
    """Anything may come out of a column without a step, or of a quotient of two."""
    assert step_of(expr) is None
