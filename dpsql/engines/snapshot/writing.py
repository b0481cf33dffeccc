"""Writes a copy of the records: whole, or not at all.

Everybody sees whether there is a new copy, and from when on. So it depends on nothing but the clock, the policy, the
catalogue, and on machines that answer or not. No value of a row makes a copy fail (`columns`). If one fails nevertheless,
only the kind of error is told, since DuckDB's own messages quote values.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC
from pathlib import Path
from typing import assert_never

import duckdb

from dpsql.clock import Clock, system_clock
from dpsql.engines.connect import connect_database, connect_engine, table_files
from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile, duckdb_literal
from dpsql.engines.duckdb.opening import to_copy
from dpsql.engines.duckdb.spill import spill
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.snapshot.from_database import copy_from_database
from dpsql.engines.snapshot.from_duckdb import copy_from_duckdb
from dpsql.engines.snapshot.from_postgres import copy_from_postgres
from dpsql.engines.snapshot.keeping import fill, to_keep
from dpsql.engines.snapshot.manifest import Manifest, Origin
from dpsql.engines.snapshot.place import SnapshotPlace
from dpsql.engines.snapshot.progress import Progress, Tell
from dpsql.engines.spark.engine import SparkEngine
from dpsql.engines.tables import check_tables
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import ConfigError, InternalError, QueryCanceled
from dpsql.policy.config import Config, CopiedDatabase, DuckDbFile, DuckDbTables, PostgresServer, SparkServer
from dpsql.policy.model import Table, UniqueKey
from dpsql.question import Cancellation
from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.kept import KeptColumns

_LOG = logging.getLogger("dpsql.engine")
_FRESH, _STAGED = "fresh", "staged"
"""The copy, and beside it the rows as they came, of which it is made."""
_FOREVER = 10 * 365 * 86_400.0
_KEPT = "What there was before is served still."
_TOLD = ("No space left on device", "Disk quota exceeded", "Permission denied", "Read-only file system")


def write_snapshot(config: Config, tell: Tell, cancellation: Cancellation, clock: Clock = system_clock) -> Manifest:
    """Copy the records' declared columns, and let the copy take the place of the one before.

    Raises:
        SnapshotBusy: another process is at it.
        ConfigError: the records can't be read, or the copy not be written; what there was before stays.
        QueryCanceled: somebody cancelled; likewise.
    """
    place = _place(config)
    with place.writing():
        return _written(config, place, tell, cancellation, clock)


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


def _place(config: Config) -> SnapshotPlace:
    if config.snapshot is None:
        raise InternalError
    return SnapshotPlace(config.snapshot.directory)


def _written(config: Config, place: SnapshotPlace, tell: Tell, cancellation: Cancellation, clock: Clock) -> Manifest:
    """Write a copy, while nobody else does."""
    now = clock().astimezone(UTC)
    name = f"{now:%Y%m%dT%H%M%S%f}Z"
    file = place.file(name)
    with _failing_by_kind(cancellation):
        kept = {table.name: to_keep(table, config.policy) for table in config.policy.tables.values()}
        unique, enforced = _copied(config, file, kept, Progress(file, tell), cancellation)
        written = _on_disk(file)
    same = {table: tuple(sorted(tuple(sorted(key)) for key in keys)) for table, keys in unique.items()}
    origin, status = Origin.of(config), (written.st_size, written.st_mtime_ns)
    finished = clock().astimezone(UTC).isoformat()
    manifest = Manifest(name, now.isoformat(), finished, origin, same, enforced, kept, *status)
    place.switch(manifest)
    return manifest


def _copied(
    config: Config, file: Path, kept: Mapping[str, KeptColumns], progress: Progress, cancellation: Cancellation
) -> tuple[Mapping[str, frozenset[UniqueKey]], Mapping[str, tuple[str, ...]]]:
    """Write the file; return which keys are unique in it, and in which columns no row lacks a declared value, by table."""
    staged = file.with_suffix(".staged")
    with closing(_source(config)) as engine:
        if isinstance(engine, DatabaseSource):
            engine.check_tables()
            enforced: Mapping[str, tuple[str, ...]] = {}
        else:
            check_tables(config.policy, engine)
            enforced = {name: tuple(sorted(engine.enforced(table))) for name, table in config.policy.tables.items()}
        with _writer(config) as connection, stopping_when_cancelled(connection.interrupt, _FOREVER, cancellation):
            for path, name in ((file, _FRESH), (staged, _STAGED)):
                connection.execute(f"ATTACH {duckdb_literal(str(path))} AS {name}")
                path.chmod(0o600)
            with progress.told():
                connection.execute("BEGIN")
                unique = _filled(
                    engine, config, (connection, _STAGED), file.with_suffix(".rows"), progress, cancellation
                )
                connection.execute("COMMIT")
                connection.execute("BEGIN")
                for table, keeps in kept.items():
                    places = (f"{name}.main.{quoted(table)}" for name in (_STAGED, _FRESH))
                    fill(connection, config.policy.tables[table], keeps, *places)
                connection.execute("COMMIT")
                for table, keys in unique.items():
                    _see_that_they_are(connection, config.policy.tables[table], keys)
                connection.execute(f"CHECKPOINT {_FRESH}")
                connection.execute(f"DETACH {_FRESH}")
                connection.execute(f"DETACH {_STAGED}")
                staged.unlink()
        if isinstance(engine, DuckDb) and not engine.is_current():
            raise ConfigError("a file of the records changed while a snapshot was written", hint=_KEPT)
    return unique, enforced


def _source(config: Config) -> DuckDb | PostgresEngine | SparkEngine | DatabaseSource:
    return connect_database(config) if isinstance(config.engine, CopiedDatabase) else connect_engine(config)


def _filled(
    engine: DuckDb | PostgresEngine | SparkEngine | DatabaseSource,
    config: Config,
    target: tuple[duckdb.DuckDBPyConnection, str],
    piece: Path,
    progress: Progress,
    cancellation: Cancellation,
) -> Mapping[str, frozenset[UniqueKey]]:
    match engine:
        case DuckDb():
            return copy_from_duckdb(engine, config.policy, target, progress)
        case PostgresEngine():
            return copy_from_postgres(engine, config.policy, target, piece, progress, cancellation)
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


def _see_that_they_are(connection: duckdb.DuckDBPyConnection, table: Table, keys: frozenset[UniqueKey]) -> None:
    """See that keys are unique in the copy too: the records' engine has said so of one state of them.

    Texts are counted to the letter, as constraints compare them; a column of the records may have a collation that does not.
    A row with NULL in one of the columns is equal to none.
    """
    for key in sorted(map(sorted, keys)):
        texts = [quoted(column) for column in key]
        read = [
            f'CAST({text} AS VARCHAR) COLLATE "C"' if table.columns[column].type.is_text else text
            for column, text in zip(key, texts, strict=True)
        ]
        given = " AND ".join(f"{text} IS NOT NULL" for text in texts)
        rows = f"SELECT {', '.join(read)} FROM {_FRESH}.main.{quoted(table.name)} WHERE {given}"  # noqa: S608
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
