"""Three questions to begin with, made from the policy: a comparison, a course over time, a distribution."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from dpsql.web.asking.listed import ListedColumn, ListedTable
from dpsql.web.curves import Json

_MOST = 3
_BUCKETS = 30
"""About so many buckets has a distribution."""
_FEW = 30
"""Values that a comparison has at most."""


@dataclass(frozen=True, slots=True)
class FirstQuestion:
    """A question in words, and its statement."""

    title: str
    statement: str

    def as_json(self) -> Json:
        """Return it for the page."""
        return {"title": self.title, "statement": self.statement}


def first_questions(tables: Sequence[ListedTable]) -> list[FirstQuestion]:
    """Return three questions, of the protected table that has most to be asked first."""
    protected = [table for table in tables if table.kind == "protected"]
    ranked = sorted(protected, key=lambda table: -len(list(_questions(table))))
    return list(islice((question for table in ranked for question in _questions(table)), _MOST))


def _questions(table: ListedTable) -> Iterator[FirstQuestion]:
    numbers = [column for column in table.columns if column.is_number and column.span() > 0]
    wide = sorted((column for column in numbers if column.span() >= _BUCKETS), key=_is_described)
    measure = next(iter(wide or numbers), None)
    few = next((column for column in table.columns if 1 < len(column.values) <= _FEW), None)
    few = few or next((column for column in numbers if _is_whole(column) and column.span() < _FEW), None)
    time = next((column for column in table.columns if column.is_time), None)
    if few is not None:
        yield FirstQuestion(f"{table.name} by {few.name}", _grouped(table, few.sql, few, measure))
    if time is not None:
        yield FirstQuestion(f"{table.name} by day", _grouped(table, f"date_trunc('day', {time.sql})", time, None))
    if measure is not None and measure is not few:
        yield FirstQuestion(f"How {measure.name} is distributed", _distribution(table, measure))
    yield FirstQuestion(f"How many {table.name}", f"SELECT count(*)\nFROM {table.sql}")


def _is_described(column: ListedColumn) -> bool:
    return not column.about


def _is_whole(column: ListedColumn) -> bool:
    return column.type in {"smallint", "integer", "bigint"}


def _grouped(table: ListedTable, key: str, of: ListedColumn, measure: ListedColumn | None) -> str:
    mean = "" if measure is None or measure is of else f", avg({measure.sql})"
    alias = "" if key == of.sql else " AS day"
    # Names are quoted by the shadow: nothing here is a visitor's text.
    return f"SELECT {key}{alias}, count(*){mean}\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"


def _distribution(table: ListedTable, column: ListedColumn) -> str:
    step = _round_step(column.span() / _BUCKETS)
    bucket = f"floor({column.sql})" if step == "1" else f"floor({column.sql} / {step}) * {step}"
    return f"SELECT {bucket} AS {column.sql}, count(*)\nFROM {table.sql}\nGROUP BY 1\nORDER BY 1"


def _round_step(least: Fraction) -> str:
    """Return the first of 1, 2, 5, 10, 20 … and 0.5, 0.2 … that is at least so large."""
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 < least:
        power *= 10
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return f"{float(step):g}"
