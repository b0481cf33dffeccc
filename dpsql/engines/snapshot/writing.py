"""Writes a copy of the records: whole, or not at all.

Everybody sees whether there is a new copy, and from when on. So it depends on nothing but the clock, the policy, the
catalogue, and on machines that answer or not. No value of a row makes a copy fail (`CopiedColumn`). If one fails
nevertheless, only the kind of error is told, since DuckDB's own messages quote values.
"""

import itertools
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

import duckdb

from dpsql.clock import Clock, system_clock
from dpsql.engines.connect import connect_database, connect_engine, table_files
from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile, duckdb_literal
from dpsql.engines.duckdb.opening import spill, to_copy
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.snapshot.copying import Progress, Tell, copy_from_database, copy_from_duckdb, copy_from_postgres
from dpsql.engines.snapshot.directory import Manifest, Origin, SnapshotDirectory
from dpsql.engines.snapshot.kept_columns import fill, of_rows, to_keep
from dpsql.engines.snapshot.parts import Part, Parts, PartsPlan, Piece, plan_parts, select_of, whole_because
from dpsql.engines.spark.engine import SparkEngine
from dpsql.engines.tables import require_tables
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, InternalError, QueryCanceled
from dpsql.policy.config import Config, CopiedDatabase, DuckDbFile, DuckDbTables, PostgresServer, SparkServer
from dpsql.policy.model import Table, UniqueKey
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import KeptColumns

_LOG = logging.getLogger("dpsql.engine")
# The copy goes through these files, in this order:
#
# 20260102T030405000000Z.staged   the rows as they came, one pass over the source
# 20260102T030405000000Z.duckdb   the same, with kept columns; synced
# 20260102T030405000000Z-1.duckdb a part: closed periods of a table that grows; synced, never written again
# manifest.json                   names the files; replaced by one rename, which is what makes the copy valid
#
# Whatever a dead writer leaves is named by no manifest, and is swept by the next one.
_FRESH, _STAGED = "fresh", "staged"
"""The copy, and beside it the rows as they came, of which it is made."""
_REST = "rest"
"""The schema of the rows of tables in parts that are in none."""
_Source = DuckDb | PostgresEngine | SparkEngine | DatabaseSource
# Copying may take hours: it ends when somebody cancels, and not by a limit.
_FOREVER = 10 * 365 * 86_400.0
_KEPT = "What there was before is served still."
_TOLD = ("No space left on device", "Disk quota exceeded", "Permission denied", "Read-only file system")


def write_snapshot(
    config: Config, tell: Tell, cancellation: Cancellation, clock: Clock = system_clock, *, whole: bool = False
) -> Manifest:
    """Copy the records' declared columns, and let the copy take the place of the one before.

    The closed periods of a table that grows stay, which that one has; where it is to be `whole`, all is copied.

    Raises:
        SnapshotBusy: another process is at it.
        ConfigError: the records can't be read, or the copy not be written; what there was before stays.
        QueryCanceled: somebody cancelled; likewise.
    """
    place = _place(config)
    with place.writing():
        return _written(config, place, tell, cancellation, clock, whole=whole)


def write_missing_snapshot(
    config: Config, tell: Tell, cancellation: Cancellation, clock: Clock = system_clock
) -> Manifest:
    """Return the copy that may be used, or write it; somebody may have just finished one since it was looked for.

    Raises:
        SnapshotBusy: another process is at it.
        ConfigError: it can't be made.
        QueryCanceled: somebody cancelled.
    """
    place = _place(config)
    with place.writing():
        manifest = place.current(Origin.of(config))
        return _written(config, place, tell, cancellation, clock) if manifest is None else manifest


def _place(config: Config) -> SnapshotDirectory:
    if config.snapshot is None:
        raise InternalError
    return SnapshotDirectory(config.snapshot.directory)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy that is being written."""

    config: Config
    place: SnapshotDirectory
    name: str
    begun: datetime
    kept: Mapping[str, KeptColumns]
    """What its tables keep beside their columns."""
    before: Mapping[str, Parts]
    """By table, the parts of the copy before."""

    @property
    def file(self) -> Path:
        """Return where it is."""
        return self.place.file(self.name)

    def plans(self, engine: _Source) -> Mapping[str, PartsPlan]:
        """Return by table what is to be copied of those that are kept in parts."""
        if isinstance(engine, DatabaseSource):
            return {}
        plans = {
            name: plan_parts(table, engine.columns(name), self.kept[name], self.before.get(name), self.begun)
            for name, table in self.config.policy.tables.items()
            if _is_parted(table, self.config)
        }
        return {name: plan for name, plan in plans.items() if plan is not None}

    def names(self, plans: Mapping[str, PartsPlan]) -> Mapping[str, Sequence[tuple[Piece, str]]]:
        """Return by table the pieces that are to be, and what the file of each is called."""
        numbers = itertools.count(1)
        return {
            table: [
                (piece, f"{self.name}-{next(numbers)}" if piece.is_written else piece.of[0].name)
                for piece in plan.pieces
            ]
            for table, plan in plans.items()
        }

    def parts_on_disk(self, plans: Mapping[str, PartsPlan]) -> Mapping[str, Parts]:
        """Have the files of parts on the disk; return by table what they are then."""
        named = self.names(plans)
        return {
            table: Parts(plan.basis, tuple(self._on_disk(*each) for each in named[table]))
            for table, plan in plans.items()
        }

    def _on_disk(self, piece: Piece, name: str) -> Part:
        if not piece.is_written:
            return piece.of[0]
        status = _on_disk(self.place.file(name))
        taken = min((part.taken for part in piece.of), default=self.begun)
        return Part(name, piece.first, piece.end, taken, status.st_size, status.st_mtime_ns)


def _is_parted(table: Table, config: Config) -> bool:
    """Return whether a table's closed periods are kept: where the records can be asked for the others alone."""
    asked = isinstance(config.engine, DuckDbFile | DuckDbTables | PostgresServer)
    return asked and table.grows is not None and whole_because(table, config.policy) is None


def _to_keep(table: Table, config: Config) -> KeptColumns:
    """Return what a copy of a table keeps; of one in parts nothing that spans the table."""
    kept = to_keep(table, config.policy)
    return replace(kept, heavy={}, units={}) if _is_parted(table, config) else kept


def _written(
    config: Config,
    place: SnapshotDirectory,
    tell: Tell,
    cancellation: Cancellation,
    clock: Clock,
    *,
    whole: bool = False,
) -> Manifest:
    """Write a copy, while nobody else does."""
    before = None if whole or place.is_whole_demanded else place.current(Origin.of(config))
    now = clock().astimezone(UTC)
    name = place.new_name(now)
    with _failing_by_kind(cancellation):
        kept = {table.name: _to_keep(table, config) for table in config.policy.tables.values()}
        copy = _Copy(config, place, name, now, kept, {} if before is None else before.parts)
        unique, enforced, plans = _copied(copy, Progress(copy.file, tell), cancellation)
        parts = copy.parts_on_disk(plans)
        written = _on_disk(copy.file)
    same = {table: tuple(sorted(tuple(sorted(key)) for key in keys)) for table, keys in unique.items()}
    origin, status = Origin.of(config), (written.st_size, written.st_mtime_ns)
    finished = clock().astimezone(UTC).isoformat()
    manifest = Manifest(name, now.isoformat(), finished, origin, same, enforced, kept, *status, parts)
    # Until this line nobody sees the new copy. Its file and its parts are on the disk by now, and the manifest that names
    # them takes the old one's place by one rename.
    place.switch(manifest, whole=before is None)
    return manifest


def _copied(
    copy: _Copy, progress: Progress, cancellation: Cancellation
) -> tuple[Mapping[str, frozenset[UniqueKey]], Mapping[str, tuple[str, ...]], Mapping[str, PartsPlan]]:
    """Write the files; return which keys are unique in the copy, in which columns no row lacks a declared value, by table.

    Last comes what is copied in parts: of those nothing is said that the records' engine enforces.
    """
    config, file = copy.config, copy.file
    staged = file.with_suffix(".staged")
    with closing(_source(config)) as engine:
        # Rows go into a first file as they come, and from there, sorted and with what is kept beside them, into the copy: one
        # pass over the source, whatever the copy needs.
        if isinstance(engine, DatabaseSource):
            engine.check_tables()
            enforced: dict[str, tuple[str, ...]] = {}
        else:
            require_tables(config.policy, engine)
            enforced = {
                name: tuple(sorted(engine.enforced_columns(table))) for name, table in config.policy.tables.items()
            }
        plans = copy.plans(engine)
        missing = {table: plan.missing for table, plan in plans.items() if plan.missing is not None}
        with _writer(config) as connection, stopping_when_cancelled(connection.interrupt, _FOREVER, cancellation):
            for path, name in ((file, _FRESH), (staged, _STAGED)):
                connection.execute(f"ATTACH {duckdb_literal(str(path))} AS {name}")
                path.chmod(0o600)
            with progress.reporting():
                connection.execute("BEGIN")
                target, piece = (connection, _STAGED), file.with_suffix(".rows")
                unique = dict(_filled(engine, config, target, piece, progress, cancellation, missing=missing))
                connection.execute("COMMIT")
                _write_parts(connection, copy, plans)
                connection.execute("BEGIN")
                connection.execute(f"CREATE SCHEMA {_FRESH}.{_REST}")
                for table, keeps in copy.kept.items():
                    declared = config.policy.tables[table]
                    if table in plans:
                        _make_view(connection, copy, plans, declared)
                        unique.pop(table, None)
                        enforced.pop(table, None)
                        continue
                    fill(
                        connection, declared, keeps, *(f"{name}.main.{quote_name(table)}" for name in (_STAGED, _FRESH))
                    )
                connection.execute("COMMIT")
                for table, keys in unique.items():
                    _require_unique(connection, config.policy.tables[table], keys)
                connection.execute(f"CHECKPOINT {_FRESH}")
                connection.execute(f"DETACH {_FRESH}")
                connection.execute(f"DETACH {_STAGED}")
                staged.unlink()
        if isinstance(engine, DuckDb) and not engine.is_current():
            raise ConfigError("a file of the records changed while a snapshot was written", hint=_KEPT)
    return unique, enforced, plans


def _write_parts(connection: duckdb.DuckDBPyConnection, copy: _Copy, plans: Mapping[str, PartsPlan]) -> None:
    """Have the parts of the copy attached, each by its name: those that were there, and those that are written now."""
    named = copy.names(plans)
    for part in {part.name for plan in plans.values() for part in plan.kept}:
        connection.execute(f"ATTACH {duckdb_literal(str(copy.place.file(part)))} AS {quote_name(part)} (READ_ONLY)")
    for table, plan in plans.items():
        for piece, name in named[table]:
            if piece.is_written:
                _write_part(connection, copy, plan, piece, name)


def _write_part(connection: duckdb.DuckDBPyConnection, copy: _Copy, plan: PartsPlan, piece: Piece, name: str) -> None:
    """Write a part, of parts that were there and of what has come: in a transaction of its own, as DuckDB wants it."""
    kept, path = copy.kept[plan.table.name], copy.place.file(name)
    rows = [select_of(plan.table, kept, part.name) for part in piece.of]
    if piece.fresh:
        staged = f"{_STAGED}.main.{quote_name(plan.table.name)}"
        rows.append(of_rows(plan.table, kept, f"(FROM {staged} WHERE {plan.closed})"))
    connection.execute(f"ATTACH {duckdb_literal(str(path))} AS {quote_name(name)}")
    path.chmod(0o600)
    connection.execute("BEGIN")
    into = f"{quote_name(name)}.main.{quote_name(plan.table.name)}"
    connection.execute(f"CREATE TABLE {into} AS {' UNION ALL '.join(rows)}")
    connection.execute("COMMIT")
    connection.execute(f"CHECKPOINT {quote_name(name)}")


def _make_view(
    connection: duckdb.DuckDBPyConnection, copy: _Copy, plans: Mapping[str, PartsPlan], table: Table
) -> None:
    """Make a table of its parts, and of the rows that are in none."""
    plan, kept = plans[table.name], copy.kept[table.name]
    staged, rest = (f"{place}.{quote_name(table.name)}" for place in (f"{_STAGED}.main", f"{_FRESH}.{_REST}"))
    connection.execute(f"CREATE TABLE {rest} AS {of_rows(table, kept, f'(FROM {staged} WHERE NOT {plan.closed})')}")
    parts = [name for _, name in copy.names(plans)[table.name]]
    columns = ", ".join(map(quote_name, (*table.columns, *kept.texts.values())))
    every = (*(select_of(table, kept, name) for name in parts), f"SELECT {columns} FROM {rest}")  # noqa: S608
    connection.execute(f"CREATE VIEW {_FRESH}.main.{quote_name(table.name)} AS {' UNION ALL '.join(every)}")


def _source(config: Config) -> _Source:
    return connect_database(config) if isinstance(config.engine, CopiedDatabase) else connect_engine(config)


def _filled(
    engine: _Source,
    config: Config,
    target: tuple[duckdb.DuckDBPyConnection, str],
    piece: Path,
    progress: Progress,
    cancellation: Cancellation,
    *,
    missing: Mapping[str, str],
) -> Mapping[str, frozenset[UniqueKey]]:
    match engine:
        case DuckDb():
            return copy_from_duckdb(engine, config.policy, target, progress, missing)
        case PostgresEngine():
            return copy_from_postgres(engine, config.policy, target, piece, progress, cancellation, missing=missing)
        case DatabaseSource():
            return copy_from_database(engine, config.policy, target, progress, cancellation)
        case SparkEngine():
            raise InternalError  # a cluster's rows stay there, which the configuration's reader sees to
        case _:
            assert_never(engine)


@contextmanager
def _writer(config: Config) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that may write, and sees the records where DuckDB reads them."""
    assert config.snapshot is not None
    resources = config.snapshot.resources
    match config.engine:
        case DuckDbFile(path):
            source: Path | Mapping[str, TableFile] = path
        case DuckDbTables() as tables:
            source = table_files(tables, config.policy)
        case PostgresServer() | CopiedDatabase():
            source = {}
        case SparkServer():
            raise InternalError
        case _:
            assert_never(config.engine)
    scratch = spill(resources.spill)
    try:
        with closing(to_copy(source, scratch.path, resources)) as connection:
            yield connection
    finally:
        scratch.remove()


def _require_unique(connection: duckdb.DuckDBPyConnection, table: Table, keys: frozenset[UniqueKey]) -> None:
    """See that keys are unique in the copy too: the records' engine has said so of one state of them.

    Texts are counted to the letter, as constraints compare them; a column of the records may have a collation that does not.
    A row with NULL in one of the columns is equal to none.
    """
    for key in sorted(map(sorted, keys)):
        texts = [quote_name(column) for column in key]
        read = [
            f'CAST({text} AS VARCHAR) COLLATE "C"' if table.columns[column].type.is_text else text
            for column, text in zip(key, texts, strict=True)
        ]
        given = " AND ".join(f"{text} IS NOT NULL" for text in texts)
        rows = f"SELECT {', '.join(read)} FROM {_FRESH}.main.{quote_name(table.name)} WHERE {given}"  # noqa: S608
        row = connection.execute(
            f"SELECT (SELECT count(*) FROM ({rows})) = (SELECT count(*) FROM (SELECT DISTINCT * FROM ({rows})))"  # noqa: S608
        ).fetchone()
        if row != (True,):
            named = f'the column "{key[0]}"' if len(key) == 1 else f"the key ({', '.join(key)})"
            said = "its file says that it is the key" if frozenset(key) in table.keys else "its engine keeps it so"
            raise ConfigError(
                f'{named} of table "{table.name}" is not unique in the snapshot, though {said}', hint=_KEPT
            )


def _on_disk(file: Path) -> os.stat_result:
    """Have the file on the disk; return its state, which nobody changes from now on."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _failing_by_kind(cancellation: Cancellation) -> Iterator[None]:
    """Tell what went wrong by its kind: DuckDB's messages may quote a value of a row."""
    try:
        yield
    except (duckdb.Error, RuntimeError, OSError) as error:
        if cancellation.requested:
            raise QueryCanceled from None
        kind = next((text for text in _TOLD if text in str(error)), type(error).__name__)
        raise ConfigError(f"the snapshot could not be written: {kind}", hint=_KEPT) from None
