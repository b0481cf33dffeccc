"""Columns that tests of expressions are about."""

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Facts, Option, Ref

BOOL, BIGINT, DOUBLE, NUMERIC = SqlType.BOOLEAN, SqlType.BIGINT, SqlType.DOUBLE, SqlType.NUMERIC
TEXT, DATE, TIMESTAMP = SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP
HOUR, DAY = 3_600_000_000, 86_400_000_000


def column(name: str, type_: SqlType) -> Ref:
    """Return a column of the protected table."""
    return Ref(0, "t", name, Column(name, type_, type_.value))


SEATS, FARE, PAID = column("seats", BIGINT), column("fare", DOUBLE), column("paid", TEXT)
DAY_OF, PICKED, DROPPED = column("day", DATE), column("picked", TIMESTAMP), column("dropped", TIMESTAMP)
ENV: Env = {
    SEATS: Facts(nullable=False, interval=Interval.of(0, 6)),
    FARE: Facts(nullable=True, interval=Interval.of(-5, 150)),
    PAID: Facts.of_values(("card", "cash"), nullable=True),
    DAY_OF: Facts(nullable=False, interval=Interval.of(0, 58)),
    PICKED: Facts(nullable=False, interval=Interval.of(0, 3 * DAY - 1)),
    DROPPED: Facts(nullable=False, interval=Interval.of(0, 3 * DAY - 1)),
}
"""January and February 1970, and its first three days."""


def number(value: int) -> Const:
    """Return a whole number."""
    return Const(value, BIGINT)


def apply(op: str, *args: Expr, type_: SqlType = BIGINT, option: Option | None = None) -> Apply:
    """Return a function applied."""
    return Apply(op, args, type_, option)
