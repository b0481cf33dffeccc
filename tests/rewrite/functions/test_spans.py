"""What is read of comparisons and keys of a time, and what is not."""

import pytest

from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.functions.temporal import compared_times, truncated_time
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, Unit

AT = Ref(0, "t", "at", Column("at", SqlType.TIMESTAMP, "timestamp"))
DAY = Ref(0, "t", "day", Column("day", SqlType.DATE, "date"))
FIVE = Const(5, SqlType.TIMESTAMP)


def _is(how: str, left: Expr, right: Expr) -> Expr:
    return Apply(how, (left, right), SqlType.BOOLEAN)


def _cut(unit: str, expr: Expr) -> Expr:
    return Apply("date_trunc", (expr,), SqlType.TIMESTAMP, Unit(unit))


@pytest.mark.parametrize(
    ("how", "as_it_is", "turned"),
    [
        ("ge", (5, None), (None, 6)),
        ("gt", (6, None), (None, 5)),
        ("le", (None, 6), (5, None)),
        ("lt", (None, 5), (6, None)),
        ("eq", (5, 6), (5, 6)),
    ],
)
def test_a_comparison_says_from_and_up_to(how: str, as_it_is: object, turned: object) -> None:
    """On whichever side the constant stands."""
    assert compared_times(_is(how, AT, FIVE), AT) == as_it_is
    assert compared_times(_is(how, FIVE, AT), AT) == turned


@pytest.mark.parametrize(
    "condition",
    [
        _is("ne", AT, FIVE),
        _is("ge", _cut("day", AT), FIVE),
        _is("ge", AT, AT),
        _is("ge", AT, Const(5, SqlType.DATE)),
        _is("ge", AT, Const(None, SqlType.TIMESTAMP)),
        _is("ge", DAY, FIVE),
        Apply("or", (_is("ge", AT, FIVE), _is("lt", AT, FIVE)), SqlType.BOOLEAN),
        AT,
    ],
)
def test_nothing_else_is_one(condition: Expr) -> None:
    """Least of all what reads the time in another way."""
    assert compared_times(condition, AT) is None


def test_keys_cut_a_time() -> None:
    """Each as PostgreSQL does; what is cut to a month first is not of its day any more."""
    as_date = Apply("timestamp_to_date", (AT,), SqlType.DATE)
    assert truncated_time(as_date, AT) == truncated_time(_cut("day", AT), AT) == truncated_time(DAY, DAY) == "day"
    assert truncated_time(_cut("month", as_date), AT) == truncated_time(_cut("month", _cut("day", AT)), AT) == "month"
    assert truncated_time(Apply("timestamp_to_date", (_cut("week", AT),), SqlType.DATE), AT) == "week"
    assert truncated_time(_cut("month", Apply("date_to_timestamp", (DAY,), SqlType.TIMESTAMP)), DAY) == "month"
    for other in (AT, _cut("day", _cut("month", AT)), Apply("extract", (AT,), SqlType.NUMERIC), DAY, FIVE):
        assert truncated_time(other, AT) is None
