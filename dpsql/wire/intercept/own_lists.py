"""The rows of a session's own temporary tables, where these are lists: short, and of plain values.

A list stands beside private rows as constants do (`rewrite.syntax.whole.own_lists`). What is in it is its client's to know,
who has written it, or to whom it was released.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from dpsql.question import TemporaryTable
from dpsql.rewrite.ir.evaluator import TYPES
from dpsql.rewrite.ir.spelled import quoted_name

_MOST_LISTS = 10
"""Of one statement: what they hold is sent, and is a part of what the statement is remembered by."""
_MOST_COLUMNS = 50
_MOST_ROWS = 1_000
_MOST_CHARACTERS = 100_000
"""Of the rows of one table."""


def asking(tables: Iterable[TemporaryTable]) -> str:
    """Return the SELECT of the rows of those tables that may be lists, one column each; nothing if there are none."""
    columns = [f"({_rows_of(table)})" for table in _lists(tables)]
    return f"SELECT {', '.join(columns)}" if columns else ""


def with_rows(tables: Iterable[TemporaryTable], told: Sequence[str | None]) -> tuple[TemporaryTable, ...]:
    """Return the tables with the rows that `asking` was answered; those that are no lists go without."""
    tables = tuple(tables)
    rows = dict(zip((table.name for table in _lists(tables)), told, strict=True))
    return tuple(replace(table, rows=_read(rows.get(table.name))) for table in tables)


def _lists(tables: Iterable[TemporaryTable]) -> Iterator[TemporaryTable]:
    """Yield those that may be lists: of few tables, that one statement names."""
    return islice(filter(_may_be_list, tables), _MOST_LISTS)


def _may_be_list(table: TemporaryTable) -> bool:
    short = 0 < len(table.columns) <= _MOST_COLUMNS
    return table.stores and short and all(_bare(type_) in TYPES for _, type_ in table.columns)


def _bare(type_: str) -> str:
    """Return the name of a type without what limits its length: character varying(20)  →  character varying."""
    before, bracket, behind = type_.partition("(")
    return f"{before}{behind.partition(')')[2]}" if bracket else type_


def _rows_of(table: TemporaryTable) -> str:
    """Return the SELECT of a table's rows, as lists of texts in JSON; NULL where that is long, which is not even made.

    Times in it are in ISO 8601, whatever the session says.
    """
    names = [quoted_name(name) for name, _ in table.columns]
    rows = f"(SELECT {', '.join(names)} FROM pg_temp.{quoted_name(table.name)} LIMIT {_MOST_ROWS + 1}) AS l"  # noqa: S608  # quoted
    lengths = " + ".join(f"coalesce(pg_catalog.length({name}::pg_catalog.text), 0)" for name in names)
    cells = ", ".join(f"pg_catalog.to_jsonb({name}) OPERATOR(pg_catalog.#>>) '{{}}'" for name in names)
    made = (
        f"SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array({cells}))::pg_catalog.text, '[]') FROM {rows}"  # noqa: S608  # ours
    )
    return f"SELECT CASE WHEN (SELECT pg_catalog.sum({lengths}) FROM {rows}) > {_MOST_CHARACTERS} THEN NULL ELSE ({made}) END"  # noqa: S608  # ours


def _read(told: str | None) -> tuple[tuple[str | None, ...], ...] | None:
    rows = None if told is None else json.loads(told)
    return None if rows is None or len(rows) > _MOST_ROWS else tuple(map(tuple, rows))
