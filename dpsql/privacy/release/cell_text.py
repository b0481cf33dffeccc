"""Released values as PostgreSQL reads them."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpsql.policy.model import TYPE_NAMES, SqlType
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.literal import format_value

CellText = str | None
_DIGITS, _LAST = Context(prec=330), Decimal("1e-10")
"""Room for all of double precision, to ten digits after the point."""
_WHOLE = {"bigint": 2**63 - 1, "integer": 2**31 - 1, "smallint": 2**15 - 1}
"""The largest value of each whole type."""
_LONGEST = 2**63 - 1
"""Of an interval without months, in microseconds."""
_LARGEST_REAL, _LEAST_REAL = (2 - 2.0**-23) * 2.0**127, 2.0**-149
"""Of `real`, the type of a sum of such: PostgreSQL reads nothing beyond, and nothing nearer to 0 but 0."""


def is_whole(type_: str) -> bool:
    """Return whether a type of PostgreSQL's has whole numbers alone."""
    return type_ in _WHOLE


def format_number(value: float | None, type_: str) -> CellText:
    """Return a statistic as text that PostgreSQL reads as `type_`."""
    if value is None:
        return None
    if type_ in _WHOLE:
        # Noise knows no limit, the type does.
        most = _WHOLE[type_]
        return str(min(max(round(value), -most - 1), most))
    if type_ == "real":
        return repr(min(max(value, -_LARGEST_REAL), _LARGEST_REAL)) if abs(value) >= _LEAST_REAL else "0"
    if type_.startswith("time "):
        return format_value(min(max(round(value), 0), DAY), SqlType.TIME)
    if type_.startswith("interval"):
        return _span(value)
    if type_.startswith("numeric"):
        return format(
            _DIGITS.plus(Decimal(repr(value)).quantize(_LAST, ROUND_HALF_EVEN, _DIGITS).normalize(_DIGITS)), "f"
        )
    return repr(value)


def _span(micros: float) -> str:
    """Return an interval as the difference of two times has it: days of 24 hours, and microseconds."""
    days, rest = divmod(min(round(abs(micros)), _LONGEST), DAY)
    sign = "-" if micros < 0 else ""
    return f"{sign}{days} days {sign}{rest} microseconds"


@lru_cache(maxsize=4096, typed=True)  # the groups of two keys have each value of either many times
def key_text(cell: Cell, type_: str) -> CellText:
    """Return the value of a key as text that PostgreSQL reads as `type_`."""
    if cell is None:
        return None
    if isinstance(cell, Fraction):
        exact = type_.startswith("numeric")
        return format_value(cell, SqlType.NUMERIC) if exact else format_number(float(cell), type_)
    return format_value(cell, SqlType.TEXT if isinstance(cell, str) else _counted_as(type_))


@lru_cache(maxsize=256)
def _counted_as(type_: str) -> SqlType:
    """Return the type whose values are whole numbers here and are not written as such, by PostgreSQL's name of it."""
    name = re.sub(r"\(\d+\)", "", type_)
    sql_type = TYPE_NAMES.get(name, SqlType.TEXT)
    return sql_type if sql_type.is_temporal or sql_type.is_span or sql_type is SqlType.BOOLEAN else SqlType.TEXT
