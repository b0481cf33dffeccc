"""The rows of a session's own temporary tables, where these are lists: short, and of plain values.

A list stands beside private rows as constants do (`rewrite.syntax.whole.own_lists`). What is in it is its client's to know,
who has written it, or to whom it was released.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dpsql.question import TemporaryTable
from dpsql.rewrite.ir.evaluator import TYPES

_MOST_COLUMNS = 50
_MOST_ROWS = 1_000
_MOST_CHARACTERS = 100_000
"""Of the rows of one table."""


def asking(tables: Iterable[TemporaryTable]) -> str:
    """Return the SELECT of the rows of those tables that may be lists, one column each; nothing if there are none."""
    columns = [f"({_rows_of(table)})" for table in tables if _may_be_list(table)]
    return f"SELECT {', '.join(columns)}" if columns else ""


def with_rows(tables: Iterable[TemporaryTable], told: Sequence[str | None]) -> tuple[TemporaryTable, ...]:
    """Return the tables with the rows that `asking` was answered; those with too many of them go without."""
    rows = iter(told)
    return tuple(replace(table, rows=_read(next(rows))) if _may_be_list(table) else table for table in tables)


def _may_be_list(table: TemporaryTable) -> bool:
    short = 0 < len(table.columns) <= _MOST_COLUMNS
    return table.stores and short and all(_bare(type_) in TYPES for _, type_ in table.columns)


def _bare(type_: str) -> str:
    """Return the name of a type without what limits its length: character varying(20)  →  character varying."""
    before, bracket, behind = type_.partition("(")
    return f"{before}{behind.partition(')')[2]}" if bracket else type_


def _rows_of(table: TemporaryTable) -> str:
    """Return the SELECT of a table's rows, as lists of texts; a time's is in ISO 8601, whatever the session says."""
    cells = (f"pg_catalog.to_jsonb({_quoted(name)}) OPERATOR(pg_catalog.#>>) '{{}}'" for name, _ in table.columns)
    rows = f"SELECT pg_catalog.json_build_array({', '.join(cells)}) AS r FROM pg_temp.{_quoted(table.name)}"  # noqa: S608  # quoted
    return f"SELECT pg_catalog.json_agg(r) FROM ({rows} LIMIT {_MOST_ROWS + 1}) AS l"  # noqa: S608  # ours


def _read(told: str | None) -> tuple[tuple[str | None, ...], ...] | None:
    if told is not None and len(told) > _MOST_CHARACTERS:
        return None
    rows = json.loads(told) if told is not None else []
    return tuple(map(tuple, rows)) if len(rows) <= _MOST_ROWS else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
