"""The contents of each engine's dialect: the types that it stores, and its forms of single operations."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import IntervalValue

TINY = Fraction(1, 10**130)
"""Added and taken away again, it turns what is below 1e-146 into 0, and changes nothing above 1e-114. Then products and
quotients of numbers that are not too large neither overflow nor underflow, which PostgreSQL reports as errors."""
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
"""The days that Python's calendar has."""

NotFinite = Literal["NaN", "Infinity", "-Infinity"]
Marks = tuple[str, str]
"""The rows that mark the heavy units, and the condition that a row's unit is marked."""


@dataclass(frozen=True, slots=True)
class StoredTypes:
    """An engine's own names of the types that a column may be stored in."""

    integers: Mapping[SqlType, frozenset[str]]
    """By the narrowest declared type that holds all their values, from the narrowest to the widest."""
    others: Mapping[SqlType, frozenset[str]]
    """By the declared type, for everything but numbers."""
    floats: frozenset[str]
    wide: frozenset[str]
    """Integers beyond 64 bits, which only a declared type in double precision can read."""
    json: str
    """From what JSON is read, as messages say it."""


@dataclass(frozen=True, slots=True)
class Forms:
    """How an engine writes what is one operation: `{0}`, `{1}` and `{2}` are the arguments of the method of that name."""

    as_text: str
    widest: str
    total: str
    stored_text: str
    unpadded: str
    by_bytes: str
    not_finite: str
    is_nan: str
    one_of_numbers: str
    integer_quotient: str
    exclusive_or: str
    round_to_even: str
    floor: str
    ceil: str
    trunc: str
    log10: str
    day_number: str
    days_between: str
    epoch_micros: str
    elapsed_micros: str
    add_days: str
    add_micros: str
    common_table: str
    named_rows: str
    as_a_whole: str


WHOLE_IN_JSON = "^([+-]?[0-9]{1,18})(?:[.]0{0,9})?$"
"""Whole numbers in JSON, as numbers or as texts, and what of them is read: of so many digits 64 bits hold all."""
NUMBER_IN_JSON = "^([+-]?(?:[0-9]{1,100}(?:[.][0-9]{0,100})?|[.][0-9]{1,100})(?:[eE][+-]?[0-9]{1,2})?)$"
"""Other numbers: below 1e200 and, but for 0, above 1e-200, so that no cast to double precision can fail."""
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_DAY = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
DATE_IN_JSON = f"^({_DAY})$"
MOMENT_IN_JSON = f"^({_DAY}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{{1,6}})?)?)Z?$"
"""Of a clock without a zone, or of UTC's: what engines make of another zone is not the same."""


def spelled_span(span: IntervalValue) -> str:
    """Return a span of time as PostgreSQL and DuckDB read it."""
    seconds, micros = divmod(span.micros, 10**6)
    return f"{span.months} months {span.days} days {seconds} seconds {micros} microseconds"
