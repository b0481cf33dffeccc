"""Rows on their way into a table of DuckDB's, some thousand at a time: as columns of texts, which DuckDB reads."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import numpy as np

from dpsql.engines.databases.kinds import Family
from dpsql.engines.databases.reading import Reading
from dpsql.engines.databases.texts import as_texts
from dpsql.rewrite.emit.columns import quoted

_PIECE = "dpsql_piece"
_ROWS, _BYTES = 50_000, 32 * 2**20
"""How many rows are handed over at a time, and how many characters of texts without a limit, if these are fewer rows."""
STEP = 256
"""How many rows are taken from a driver at a time: so many more there may be."""
_LONG = frozenset({Family.TEXT, Family.JSON, Family.BYTES})


def make_table(
    connection: duckdb.DuckDBPyConnection, into: str, readings: Sequence[Reading], names: Sequence[str]
) -> None:
    """Make an empty table for what is read."""
    types = ", ".join(f"{quoted(name)} {each.type}" for name, each in zip(names, readings, strict=True))
    connection.execute(f"CREATE TABLE {into} ({types})")


def load(
    connection: duckdb.DuckDBPyConnection,
    into: str,
    readings: Sequence[Reading],
    rows: Any,
    came: Callable[[int], None],
) -> list[int]:
    """Append all rows of a driver's result; return how many values there were in each column, read or not.

    `came` is told of each piece how many letters it has. It should end the transaction, which holds what was registered.
    """
    given = [0] * len(readings)
    reads = ", ".join(each.read.replace("$c", f"CAST(c{place} AS VARCHAR)") for place, each in enumerate(readings))
    for piece in _pieces(rows, readings):
        texts, letters = {}, 0
        for place, (values, each) in enumerate(zip(zip(*piece, strict=True), readings, strict=True)):
            given[place] += len(values) - values.count(None)
            column = as_texts(values, each.brought)
            letters += sum(map(len, filter(None, column)))
            texts[f"c{place}"] = np.array(column, dtype=object)
        connection.register(_PIECE, texts)
        connection.execute(f"INSERT INTO {into} SELECT {reads} FROM {_PIECE}")  # noqa: S608
        connection.unregister(_PIECE)
        came(letters)
    return given


def unread(
    connection: duckdb.DuckDBPyConnection, into: str, names: Sequence[str], given: Sequence[int]
) -> dict[str, int]:
    """Return how many values of each column could not be read, where there are some: for the operator alone."""
    counts = ", ".join(f"count({quoted(name)})" for name in names)
    read = connection.execute(f"SELECT {counts} FROM {into}").fetchone() or ()  # noqa: S608
    return {name: had - has for name, had, has in zip(names, given, read, strict=True) if had != has}


def _pieces(rows: Any, readings: Sequence[Reading]) -> Iterator[list[Sequence[object]]]:
    """Yield rows in pieces that are bounded in their number and, but for one step, in what they hold."""
    long = [place for place, each in enumerate(readings) if each.source.family in _LONG]
    piece: list[Sequence[object]] = []
    held = 0
    while step := rows.fetchmany(STEP):
        piece += step
        held += sum(len(row[place] or b"") for place in long for row in step if hasattr(row[place], "__len__"))
        if len(piece) >= _ROWS or held >= _BYTES:
            yield piece
            piece, held = [], 0
    if piece:
        yield piece
