# ruff: noqa: E501  (a pair a line)
"""Conditions that mean the same have one form, and those that do not have another; the form holds of the same rows."""

import itertools

import pytest

from dpsql.policy.model import Column, SqlType, Value
from dpsql.rewrite.analysis.bounds import evaluate
from dpsql.rewrite.functions.logical import normal_form
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Expr, Ref

X = Ref(0, "t", "x", Column("x", SqlType.INTEGER, "integer"))
Y = Ref(0, "t", "y", Column("y", SqlType.INTEGER, "integer"))
Z = Ref(0, "t", "z", Column("z", SqlType.DOUBLE, "double precision"))
ROWS = [
    dict(zip((X, Y, Z), row, strict=True)) for row in itertools.product((None, 0, 1, 2, 3), (None, 0, 2), (None, 2, 3))
]


def _c(value: Value | None) -> Const:
    return Const(value, SqlType.INTEGER)


def _b(op: str, *args: Expr) -> Apply:
    return Apply(op, args, SqlType.BOOLEAN)


ALIKE = [
    (_b("lt", _c(1), X), _b("ge", X, _c(2))),
    (_b("gt", X, _c(1)), _b("le", _c(2), X)),
    (_b("eq", _c(1), X), _b("eq", X, _c(1))),
    (_b("eq", Y, X), _b("eq", X, Y)),
    (_b("lt", X, Y), _b("gt", Y, X)),
    (_b("ne", X, Y), _b("ne", Y, X)),
    (_b("in", X, _c(2), _c(1)), _b("in", X, _c(1), _c(2), _c(1))),
    (_b("or", _b("eq", X, _c(1)), _b("eq", _c(2), X)), _b("in", X, _c(1), _c(2))),
    (_b("in", X, _c(1)), _b("eq", X, _c(1))),
    (_b("or", _b("lt", Y, _c(1)), _b("or", _b("eq", X, _c(1)), _b("in", X, _c(3)))), _b("or", _b("in", X, _c(3), _c(1)), _b("le", Y, _c(0)))),
    (_b("and", _b("is_null", Y), _b("and", TRUE, _b("lt", X, _c(2)))), _b("and", _b("le", X, _c(1)), _b("is_null", Y))),
    (_b("or", _b("and", _b("eq", X, _c(1)), _b("eq", Y, _c(2))), _b("and", _b("eq", X, _c(1)), _b("eq", Y, _c(0)))), _b("and", _b("eq", X, _c(1)), _b("in", Y, _c(0), _c(2)))),
]  # fmt: skip
OTHER = [
    (_b("lt", X, _c(1)), _b("le", X, _c(1))),
    (_b("lt", X, Y), _b("lt", Y, X)),
    (_b("gt", Z, _c(2)), _b("ge", Z, _c(3))),
    (_b("in", X, _c(1), _c(2)), _b("in", X, _c(1), _c(3))),
    (_b("or", _b("eq", X, _c(1)), _b("eq", Y, _c(2))), _b("in", X, _c(1), _c(2))),
    (_b("ne", X, _c(1)), _b("eq", X, _c(1))),
]


@pytest.mark.parametrize(("expr", "other"), ALIKE)
def test_one_form(expr: Expr, other: Expr) -> None:
    """Whatever the order of sides, parts and lists, and whether an end is left out."""
    assert normal_form(expr) == normal_form(other)


@pytest.mark.parametrize(("expr", "other"), OTHER)
def test_other_forms(expr: Expr, other: Expr) -> None:
    """What holds of other rows is another."""
    assert normal_form(expr) != normal_form(other)


@pytest.mark.parametrize("condition", [expr for pair in (*ALIKE, *OTHER) for expr in pair])
def test_it_holds_of_the_same_rows(condition: Expr) -> None:
    """All parts hold where the condition does, and nowhere else."""
    parts = normal_form(condition)
    for row in ROWS:
        assert all(evaluate(part, row) is True for part in parts) == (evaluate(condition, row) is True)
