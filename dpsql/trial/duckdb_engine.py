"""Synthetic databases in a DuckDB of their own, in memory, with the settings of the one that reads records.

Each place is an attached database with the tables, and with what the engine keeps beside them: made by the very code that
makes it of records.
"""

import threading
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from functools import partial
from typing import ClassVar

import duckdb

from dpsql.engines.duckdb.heavy_rows import heavy_rows_of, keep_heavy_rows
from dpsql.engines.duckdb.opening import ALLOWED_OPTIMIZERS, KEPT, in_memory, shut_doors
from dpsql.engines.snapshot.kept_columns import fill
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import QueryCanceled
from dpsql.policy.config import Resources
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import KeptColumns
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.engine import (
    DatabaseVariant,
    OptimizerLevel,
    TableNames,
    TrialEngineFailed,
    TrialEngineLate,
    database_variants,
    names_of,
    public_texts,
    rows_at,
    staged_columns,
)
from dpsql.trial.subject import TrialSubject

_STAGED, _PUBLIC = "staged", "shared"
# Without any optimizer DuckDB joins five tables as a product, row by row. With these two alone it keeps to what the
# text says, and ends.
_JOINS_ALONE = ("join_order", "filter_pushdown")
_RESOURCES = Resources(memory="512MB", threads=2)


class DuckDbTrialEngine:
    """A `TrialEngine` in memory."""

    at_once: ClassVar[int] = 2
    in_process: ClassVar[bool] = True

    def __init__(
        self,
        subject: TrialSubject,
        optimizers: Collection[str] = tuple(ALLOWED_OPTIMIZERS),
        resources: Resources = _RESOURCES,
    ) -> None:
        """Make the places, in a DuckDB with these optimizers.

        Raises:
            TrialEngineFailed: DuckDB does not.
        """
        self._subject, self.names = subject, _names(subject)
        self._connection = in_memory(resources, optimizers)
        self._plain, self._plain_lock = self._connection.cursor(), threading.Lock()
        self._resources = resources
        self._joining: DuckDbTrialEngine | None = None
        try:
            self._make()
            self._plain.execute("PRAGMA disable_optimizer")
            # The text may have a client's constants in it. It can read no file and reach no address from here.
            shut_doors(self._connection, [])
        except duckdb.Error as error:
            raise TrialEngineFailed(f"the synthetic databases can't be made: {error}") from None

    @property
    def alive(self) -> bool:
        """Return whether it has not closed itself after a mistake of its own."""
        try:
            self._connection.execute("SELECT 1")
        except duckdb.Error:
            return False
        return True

    def run(
        self, sql: str, cancellation: Cancellation, seconds: float, optimized: OptimizerLevel = OptimizerLevel.AS_SERVED
    ) -> Sequence[EngineRow]:
        """Return what a statement answers over the tables of a place."""
        if optimized is OptimizerLevel.JOINS_ALONE:
            return self._for_joins().run(sql, cancellation, seconds)
        stopped, plainly = threading.Event(), optimized is OptimizerLevel.NOT
        try:
            with (
                self._plain_lock if plainly else nullcontext(),
                nullcontext(self._plain) if plainly else self._connection.cursor() as cursor,
                stopping_when_cancelled(cursor.interrupt, seconds, cancellation) as stopped,
            ):
                return cursor.execute(sql).fetchall()
        except (duckdb.Error, RuntimeError) as error:
            if cancellation.requested:
                raise QueryCanceled from None
            # Where a join of many tables has no room it would have no time either: what may be said of it is the same.
            late = stopped.is_set() or isinstance(error, duckdb.OutOfMemoryException)
            raise TrialEngineLate if late else TrialEngineFailed(str(error)) from None

    def _for_joins(self) -> "DuckDbTrialEngine":
        """Return the same databases in another DuckDB, made when first needed: all of one have the same optimizers."""
        with self._plain_lock:
            if self._joining is None:
                self._joining = DuckDbTrialEngine(self._subject, _JOINS_ALONE, self._resources)
            return self._joining

    def _make(self) -> None:
        subject, run = self._subject, self._connection.execute
        for name in (_STAGED, _PUBLIC):
            run(f"ATTACH ':memory:' AS {name}")
        for table, columns, cells in public_texts(subject.policy, subject.public):
            self._stage(f"{_STAGED}.main.{quote_name(table)}", columns, cells)
            casts = ", ".join(f"{_cast(quote_name(c), t)} AS {quote_name(c)}" for c, t in subject.types[table].items())
            name = quote_name(table)
            run(f"CREATE TABLE {_PUBLIC}.main.{name} AS SELECT {casts} FROM {_STAGED}.main.{name}")  # noqa: S608
        for world, records in enumerate(subject.records):
            for table in records.tables:
                self._stage(_of_world(world, table), *staged_columns(records, table))
        for place in database_variants(subject.records):
            self._fill(place)
        run(f"DETACH {_STAGED}")

    def _stage(self, table: str, columns: Sequence[str], cells: Sequence[Sequence[MadeUpCell]]) -> None:
        lists = ", ".join(f"unnest(CAST(? AS VARCHAR[])) AS {quote_name(name)}" for name in columns)
        self._connection.execute(f"CREATE TABLE {table} AS SELECT {lists}", [list(column) for column in cells])

    def _attach(self, name: str) -> None:
        self._connection.execute(f"ATTACH ':memory:' AS {name}")

    def _fill(self, place: DatabaseVariant) -> None:
        """Make one place, with what is kept beside its tables."""
        subject, run = self._subject, self._connection.execute
        self._attach(place.name)
        for name, made in subject.records[place.world].tables.items():
            table, kept = f"{place.name}.main.{quote_name(name)}", subject.kept(name)
            owned = place.kind in made.owners
            rows = rows_at(place, subject.types[name], _of_world(place.world, name), _cast, owned=owned)
            if not kept.names:
                run(f"CREATE TABLE {table} AS {rows}")
                continue
            run(f"CREATE OR REPLACE TEMP TABLE plain AS {rows}")
            fill(self._connection, subject.policy.tables[name], kept, "temp.plain", table)
        if any(subject.kept(name).heavy_rows for name in subject.policy.tables):
            kept_rows = heavy_rows_of(subject.policy, place.name)
            # As views, which come to the same rows: nothing is gained by reading a few hundred of them ahead.
            keep_heavy_rows(self._connection, subject.policy, partial(_at, place.name), kept_rows, read=False)


def _at(place: str, table: str) -> str:
    return f"{place}.main.{quote_name(table)}"


def _of_world(world: int, table: str) -> str:
    return f"{_STAGED}.main.{quote_name(f'{world} {table}')}"


def _cast(text: str, type_: str) -> str:
    # Dirt that a type can't hold becomes NULL here, as no such row could be in the engine's table.
    return f"TRY_CAST({text} AS {type_})"


def _names(subject: TrialSubject) -> TableNames:
    """Return what stands for the engine's names in a place: a table, and what is kept beside it."""
    kept = (text for name in subject.policy.tables for text in _kept_names(subject.kept(name)))
    return names_of(subject, f"{_PUBLIC}.main", {name: name.removeprefix(KEPT) for name in kept})


def _kept_names(kept: KeptColumns) -> Sequence[str]:
    rows = kept.heavy_rows.values()
    return [text for row in rows for text in (row.table, row.in_full, row.overlap, row.others, row.numbers)]
