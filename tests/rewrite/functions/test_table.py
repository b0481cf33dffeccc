"""A function carries all its facts, and nobody but its room asks which one it is."""

import ast
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.functions.table import NUMBERS, TABLE, describe, digits_to_settle, integral
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Expr, IntervalValue, Ref, Results, TimeField, Unit

ROOM = Path(__file__).parents[3] / "dpsql"
EXEMPT = {
    ("rewrite/ir/expr.py", f"{of}.op == '{op}'") for of, op in (("expr", "and"), ("expr", "or"), ("condition", "not"))
}
"""These are taken apart below the functions, because relations are made of them."""
BIGINT, DOUBLE, NUMERIC = SqlType.BIGINT, SqlType.DOUBLE, SqlType.NUMERIC
SEATS = Ref(0, "t", "seats", Column("seats", BIGINT, "bigint"))
FARE = Ref(0, "t", "fare", Column("fare", DOUBLE, "double precision"))
WEIGHT = Apply("to_decimal", (Ref(0, "t", "weight", Column("weight", SqlType.REAL, "real")),), NUMERIC, Digits(6))
PRICE = Ref(0, "t", "price", Column("price", DOUBLE, "double precision", step=Fraction(1, 100)))
PICKED = Ref(0, "t", "picked", Column("picked", SqlType.TIMESTAMP, "timestamp"))


def _asked(text: str) -> Iterator[str]:
    """Give what in a file asks which function is applied; most do not even have the word."""
    for node in ast.walk(ast.parse(text)) if re.search(r"\bop\b", text) else ():
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(_is_op, (left, *others))):
                yield ast.unparse(node)
            case ast.Match(subject=subject) if _is_op(subject):
                yield ast.unparse(subject)
            case ast.MatchClass(kwd_attrs=names) if "op" in names:
                yield ast.unparse(node)


def _is_op(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "op"


def test_nobody_asks_which_function_it_is() -> None:
    """Outside its room a function's record is read: a new one could not be forgotten in a list somewhere else."""
    asking = {
        (str(file.relative_to(ROOM)), asked)
        for file in ROOM.rglob("*.py")
        if ROOM / "rewrite" / "functions" not in file.parents
        for asked in _asked(file.read_text(encoding="utf-8"))
    }
    assert asking == EXEMPT


@pytest.mark.parametrize(
    "text",
    [
        "expr.op == 'mod'",
        "'case' != node.op",
        "expr.op in {'add', 'sub'}",
        "match e.op:\n    case _: pass",
        "match e:\n    case Apply(op='map'): pass",
    ],
)
def test_such_a_question_would_be_found(text: str) -> None:
    """None of the ways to ask hides from the test above."""
    assert list(_asked(text))


def test_each_function_has_one_record() -> None:
    """Two of one name would hide each other."""
    assert all(name == function.op for name, function in TABLE.items())
    names = [name for f in NUMBERS if f.call is not None for name in f.call.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Apply("mul", (Apply("add", (FARE, SEATS), DOUBLE), Const(2, BIGINT)), DOUBLE), "(fare + seats) * 2"),
        (Apply("extract", (PICKED,), NUMERIC, TimeField("year")), "extract(year FROM picked)"),
        (Apply("date_trunc", (PICKED,), SqlType.TIMESTAMP, Unit("day")), "date_trunc('day', picked)"),
        (Apply("shift", (PICKED,), SqlType.TIMESTAMP, IntervalValue(0, 1, 0)), "picked + interval …"),
        (Apply("neg", (Const(Fraction(1, 2), NUMERIC),), NUMERIC), "-0.5"),
        (Apply("map", (SEATS, Const(1, BIGINT)), BIGINT, Results((2,))), "a function of seats"),
        (Apply("coalesce", (SEATS, Const(None, BIGINT)), BIGINT), "coalesce(seats, NULL)"),
        (Apply("to_double", (SEATS,), DOUBLE), "seats"),
    ],
)
def test_messages_say_it_as_people_write_it(expr: Expr, text: str) -> None:
    """A refusal names the expression in SQL."""
    assert describe(expr) == text


@pytest.mark.parametrize(
    ("expr", "whole"),
    [
        (SEATS, True),
        (FARE, False),
        (Apply("floor", (FARE,), DOUBLE), True),
        (Apply("round", (FARE,), NUMERIC, Digits(1)), False),
        (Apply("round", (FARE,), NUMERIC, Digits(-1)), True),
        (Apply("mul", (Apply("floor", (FARE,), DOUBLE), SEATS), DOUBLE), True),
        (Apply("mul", (FARE, SEATS), DOUBLE), False),
        (Apply("extract", (PICKED,), NUMERIC, TimeField("epoch")), False),
        (Apply("extract", (PICKED,), NUMERIC, TimeField("hour")), True),
        (Const(3, NUMERIC), True),
    ],
)
def test_whole_numbers_are_known_whatever_their_type(expr: Expr, *, whole: bool) -> None:
    """FLOOR of a number in double precision is one, half of an hour is none."""
    assert integral(expr) is whole


def _numeric(expr: Expr) -> Expr:
    return Apply("to_double", (expr,), NUMERIC)


def _times(expr: Expr, number: str) -> Expr:
    return Apply("mul", (expr, Const(Fraction(number), NUMERIC)), NUMERIC)


@pytest.mark.parametrize(
    ("expr", "digits"),
    [
        (WEIGHT, None),
        (_times(WEIGHT, "100"), 14),
        (_times(_times(WEIGHT, "-1.1"), "100"), 14),
        (Apply("mul", (WEIGHT, WEIGHT), NUMERIC), 14),
        (_times(_times(WEIGHT, "1.1"), "0.1"), None),  # rounded too often
        (_times(WEIGHT, "12345678"), None),  # of too many digits
        (_times(WEIGHT, "1/3"), None),
        (Apply("add", (WEIGHT, WEIGHT), NUMERIC), None),
        (_numeric(FARE), 15),
        (Apply("neg", (_times(_numeric(FARE), "100"),), NUMERIC), 15),
        (_times(_numeric(FARE), "0.5"), None),
        (_times(_numeric(FARE), "20"), None),
        (_numeric(PRICE), None),
        (_numeric(Apply("add", (PRICE, PRICE), DOUBLE)), 15),
        (_numeric(SEATS), None),
        (Apply("to_double", (FARE,), DOUBLE), None),
    ],
)
def test_decimals_are_settled_by_as_many_digits_as_they_have(expr: Expr, digits: int | None) -> None:
    """Where engines are a little beside them, and nothing else can lie there."""
    assert digits_to_settle(expr) == digits
