"""Values of public tables as PostgreSQL will have them: of a type that is narrower than the engine's.

numeric(10,2): 1.005 → 1.01        real: 0.1 → the nearest number in single precision        smallint: 40000 → refused

Planning reads what the engine has, as measurements do. Values that are not of the declared type at all are reported
before the shadow is filled, and so are values of a key that the shadow could not tell apart.
"""

import re
import struct
from fractions import Fraction

from dpsql.policy.model import Column, SqlType, Value

_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_CHARACTERS = re.compile(r"character varying\((\d+)\)")
_BITS = {SqlType.SMALLINT: 15, SqlType.INTEGER: 31, SqlType.BIGINT: 63}


def as_shown(value: Value, column: Column) -> Value:
    """Return the value that a column of the declared type has where this one is written into it.

    Raises:
        ValueError: it has no room there; says which type has none.
    """
    if column.type in _BITS and not -(2 ** _BITS[column.type]) <= Fraction(value) < 2 ** _BITS[column.type]:
        raise ValueError(column.declared)
    if isinstance(value, str):
        return _text(value, column)
    if column.type is SqlType.NUMERIC and (match := _NUMERIC.fullmatch(column.declared)):
        return _rounded(Fraction(value), int(match[1]), int(match[2]), column)
    return _single(value, column) if column.type is SqlType.REAL else value


def _text(value: str, column: Column) -> str:
    match = _CHARACTERS.fullmatch(column.declared)
    if "\0" in value:
        raise ValueError(column.declared)
    if match is None or len(value) <= int(match[1]):
        return value
    if value[int(match[1]) :].strip(" "):
        raise ValueError(column.declared)
    return value[: int(match[1])]


def _rounded(value: Fraction, digits: int, places: int, column: Column) -> Fraction:
    whole, rest = divmod(abs(value) * 10**places, 1)
    number = (whole + (2 * rest >= 1)) * (1 if value >= 0 else -1)
    if abs(number) >= 10**digits:
        raise ValueError(column.declared)
    return Fraction(number, 10**places)


def _single(value: Value, column: Column) -> Fraction:
    try:
        (number,) = struct.unpack("<f", struct.pack("<f", float(Fraction(value))))
    except OverflowError:
        raise ValueError(column.declared) from None
    return Fraction(number)
