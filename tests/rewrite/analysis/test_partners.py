"""How many public rows a private row can meet, by what is written of them."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Column, SqlType, Value
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Expr, IntervalValue, Ref
from dpsql.rewrite.translate.rows.relations import join_fan_out


def _ref(source: int, name: str, type_: SqlType) -> Ref:
    return Ref(source, "t", name, Column(name, type_, type_.value), public=source > 0)


X, T = _ref(0, "x", SqlType.DOUBLE), _ref(0, "t", SqlType.TIMESTAMP)
LO, HI, AT = _ref(1, "lo", SqlType.INTEGER), _ref(1, "hi", SqlType.INTEGER), _ref(1, "at", SqlType.TIMESTAMP)
LATER = _ref(2, "later", SqlType.INTEGER)


def _is(op: str, expr: Expr, other: Expr) -> Apply:
    return Apply(op, (expr, other), SqlType.BOOLEAN)


def _rows(*rows: tuple[Value | None, Value | None]) -> list[dict[Ref, Value | None]]:
    return [{LO: low, HI: high} for low, high in rows]


WITHIN = (_is("ge", X, LO), _is("lt", X, HI))
TOUCHING = _rows((0, 10), (10, 20), (20, 30))


@pytest.mark.parametrize(
    ("conditions", "rows", "most"),
    [
        ((), TOUCHING, 3),
        ((), [], 1),
        ((_is("gt", X, LO),), TOUCHING, 3),
        (WITHIN, TOUCHING, 1),
        ((_is("le", LO, X), _is("gt", HI, X)), TOUCHING, 1),
        ((_is("ge", X, LO), _is("le", X, HI)), TOUCHING, 2),
        ((_is("gt", X, LO), _is("le", X, HI)), TOUCHING, 1),
        (WITHIN, _rows((0, 10), (5, 15), (14, 30), (40, 30)), 2),
        (WITHIN, _rows((None, 10), (5, None), (4, 6)), 1),
        ((_is("eq", X, LO),), _rows((1, 0), (1, 1), (2, 2), (None, 3), (None, 4), (None, 5)), 2),
        ((_is("eq", X, LO), _is("lt", X, HI)), _rows((1, 1), (1, 2), (1, 3)), 3),
        ((_is("eq", LO, Const(1, SqlType.INTEGER)),), TOUCHING, 1),
        ((_is("lt", LO, Const(15, SqlType.INTEGER)),), TOUCHING, 2),
        ((_is("lt", LO, LATER),), TOUCHING, 3),
        ((_is("ne", X, LO),), TOUCHING, 3),
        ((_is("gt", X, LO),), _rows((0, 0), (10**50, 0)), 2),
        ((_is("lt", X, LO),), _rows((0, 0), (-(10**50), 0)), 2),
    ],
)
def test_rows_that_one_row_can_meet(
    conditions: tuple[Expr, ...], rows: list[dict[Ref, Value | None]], most: int
) -> None:
    """Those that have a number in common, at least one."""
    assert join_fan_out(conditions, 1, rows) == most


def test_stretches_of_time_that_are_computed() -> None:
    """A day each, and two days each, of five days in a row."""
    rows: list[dict[Ref, Value | None]] = [{AT: Fraction(day * DAY)} for day in range(5)]
    for days in (1, 2):
        end = Apply("shift", (AT,), SqlType.TIMESTAMP, IntervalValue(0, days, 0))
        assert join_fan_out((_is("ge", T, AT), _is("lt", T, end)), 1, rows) == days
