"""Spark as the engine: a session at a Spark Connect server; only groups and sums come back, rows never do."""

import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import NoEngine, SnapshotVersion
from dpsql.engines.spark.client import SparkConnection, SparkUnsettledError, client, is_gone, is_late, is_missing
from dpsql.engines.spark.settings import answered_within, own_cause, safe_cause, seconds_left
from dpsql.engines.tables import exact_value, public_column
from dpsql.engines.watch import Use, stopping_when_cancelled
from dpsql.errors import ConfigError, EngineAway, EngineFailed, EngineLost, EngineNotReady, QueryCanceled
from dpsql.policy.model import Table, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.spark import SPARK
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import KeptColumns, nothing_kept

# Measurements that a Spark server has accepted, and how they are stopped.

_LOG = logging.getLogger("dpsql.engine")
_GRACE = 10.0
"""Seconds that a server may take to stop what it runs, before it is not waited for any more."""


@dataclass(frozen=True, slots=True)
class SparkPrepared:
    """See `PreparedMeasurements`."""

    connection: SparkConnection
    frames: Mapping[str, Any]
    """The statements that the server has bound, by their text."""
    changed: Callable[[], str | None]
    """Returns a table of theirs that is not what it was when it was opened."""
    timeout: float
    cancellation: Cancellation
    tag: str = field(default_factory=lambda: f"dpsql-{uuid.uuid4()}")

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer."""
        with stopping_when_cancelled(self.stop, self.timeout, self.cancellation) as stopped:
            try:
                with answered_within(self.timeout + _GRACE):
                    rows = self._fetched(sql)
                    changed = self.changed()
            except Exception as error:  # noqa: BLE001  (whatever it is, its text is not for the client)
                if stopped.is_set():
                    raise QueryCanceled from None
                _LOG.error("the engine failed: %s; statement: %s", safe_cause(error), sql)
                raise (EngineLost if is_gone(error) else EngineFailed) from None
        if changed is not None:
            # One scan may have seen what was there before, and another what is there now.
            _LOG.error("%s changed while it was read; send SIGHUP to serve it as it is now", changed)
            raise EngineFailed
        return rows

    def stop(self) -> None:
        """Ask the server to stop what we run."""
        try:
            with answered_within(_GRACE):
                self.connection.session.interruptTag(self.tag)
        except client().error as error:
            _LOG.warning("a cancel did not reach the engine: %s", safe_cause(error))

    def _fetched(self, sql: str) -> Sequence[EngineRow]:
        """Return all rows; every column is a whole number or a text."""
        session = self.connection.session
        session.addTag(self.tag)
        try:
            frame = self.frames[sql] if sql in self.frames else self.connection.bind(sql)
            columns = [column.to_pylist() for column in frame.toArrow().columns]
        finally:
            session.removeTag(self.tag)
        return list(zip(*columns, strict=True))


# Where a cluster's tables are, in its catalogue or below a path, and what must stay as it was when it was opened.

_PINNED = re.compile(r"(.+)@(\d+)")
_NAMES: Mapping[str, str] = {"int": "integer"}
"""Types that SQL calls otherwise than Spark does."""


def table_in_cluster(place: str) -> str:
    """Return a table of the cluster as statements write it.

    lake.taxi.trips          →  "lake"."taxi"."trips"
    delta:s3a://lake/trips@7 →  "delta"."s3a://lake/trips" VERSION AS OF 7
    """
    pinned = _PINNED.fullmatch(place)
    if pinned:
        return f"{table_in_cluster(pinned[1])} VERSION AS OF {pinned[2]}"
    written, colon, path = place.partition(":")
    return f"{quote_name(written)}.{quote_name(path)}" if colon else ".".join(map(quote_name, place.split(".")))


@dataclass(frozen=True, slots=True)
class SeenTable:
    """A table as the engine shows it: its columns, and the files that it consists of unless its version is pinned."""

    types: Mapping[str, str]
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, connection: SparkConnection, place: str) -> "SeenTable":
        """Ask the server; where there is no such table there are no columns.

        Raises:
            Exception: Spark's own; there is no server, or no permission.
        """
        try:
            frame = connection.bind(f"SELECT * FROM {table_in_cluster(place)}")  # noqa: S608
        except client().error as error:
            if is_gone(error) or not is_missing(error):
                raise
            return cls({})
        types = {field.name: _type_of(field.dataType) for field in frame.schema.fields}
        return cls(types, () if _PINNED.fullmatch(place) else tuple(sorted(frame.inputFiles())))


def is_watched(place: str, seen: SeenTable) -> bool:
    """Return whether a change of a table's rows is seen by its files, or not to be feared; without columns it is no table."""
    return bool(seen.files) or not seen.types or _PINNED.fullmatch(place) is not None


def _type_of(type_: Any) -> str:
    name = str(type_.simpleString())
    return _NAMES.get(name, name)


class SparkEngine:
    """An `Engine` over the tables that a Spark Connect server finds."""

    dialect = SPARK
    edition: SnapshotVersion | None = None

    def __init__(self, remote: str, places: Mapping[str, str]) -> None:
        """Connect; `places` says for each table where the cluster has it.

        Raises:
            ConfigError: the client is not installed, or a session does not keep our settings.
            NoEngine: the server can't be reached.
        """
        self._remote, self._places = remote, places
        self._seen: dict[str, SeenTable] = {}
        self._lock, self._opening = threading.Lock(), threading.Lock()
        with _told():
            self._connection = SparkConnection.of(remote)
            self.product = self._connection.product()
        self._use = Use(self._closed)

    def named(self, table: str) -> str:
        """Return a table's name with its catalogue, and its version if that is pinned."""
        return table_in_cluster(self._places[table])

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with Spark's types."""
        return self._table(table).types

    def kept(self, table: str) -> KeptColumns:
        """Return nothing: there are only a table's own columns."""
        return nothing_kept(table)

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return none: Spark enforces no constraint."""
        del table
        return frozenset()

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return none: Spark enforces no constraint."""
        del table
        return frozenset()

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table."""
        types = self.columns(table)
        names = ", ".join(public_column(name, types[name], self.dialect) for name in columns)
        with _told(f'public table "{table}" can\'t be read'):
            arrow = self._connection.bind(f"SELECT {names} FROM {self.named(table)} LIMIT {limit + 1}").toArrow()  # noqa: S608
            rows = zip(*(column.to_pylist() for column in arrow.columns), strict=True)
            return [[exact_value(cell) for cell in row] for row in rows]

    @contextmanager
    def ready(
        self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation
    ) -> Iterator[SparkPrepared]:
        """Make measurements ready: parsed and bound by a session with our settings, over the tables that were opened."""
        with self._use:
            with _uncharged(cancellation), answered_within(timeout):
                prepared = self._prepared(statements, timeout, cancellation)
                changed = prepared.changed()
            if changed is not None:
                _LOG.error("%s has changed since it was opened; send SIGHUP to serve it as it is now", changed)
                raise EngineNotReady
            yield prepared

    def _prepared(self, statements: Sequence[str], timeout: float, cancellation: Cancellation) -> SparkPrepared:
        connection = self._live()
        frames = {sql: connection.bind(sql) for sql in dict.fromkeys(statements)}
        read = [table for table in self._places if any(self.named(table) in sql for sql in statements)]
        return SparkPrepared(connection, frames, partial(self._changed, connection, read), timeout, cancellation)

    def _live(self) -> SparkConnection:
        """Return the session, or a fresh one if it is gone, or is one that a new server has made in its place."""
        kept = self._connection
        try:
            kept.check()
        except (client().error, ValueError, SparkUnsettledError) as error:
            if is_late(error):
                # Statements of others on it may still be answered; if nobody answers, a ping tells.
                raise
            self._reconnect(kept)
        return self._connection

    def _reconnect(self, lost: SparkConnection) -> None:
        """Open a session, unless somebody else does so."""
        if not self._opening.acquire(timeout=seconds_left()):
            raise EngineAway
        try:
            if self._connection is lost:
                self._connection = SparkConnection.of(self._remote)
                lost.drop()
        finally:
            self._opening.release()

    def another_session(self) -> SparkConnection:
        """Open a session of its own with the server, for rows that it brings itself.

        Raises:
            Exception: Spark's own, where it can't be reached.
        """
        return SparkConnection.of(self._remote)

    def is_current(self) -> bool:
        """Return whether the tables have the columns and the files that they had at first."""
        with _told():
            return self._changed(self._connection, list(self._places)) is None

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[EngineRow]:
        """Return exact rows that nobody but the owner of the data may see."""
        with self.ready([sql], timeout=timeout, cancellation=Cancellation()) as prepared:
            return prepared.rows(sql)

    def close(self) -> None:
        """Let go of the session; what runs may end."""
        self._use.end()

    def _closed(self) -> None:
        self._connection.close()

    def _table(self, table: str) -> SeenTable:
        """Return what was found of a table; from then on it must stay so."""
        with self._lock:
            if table not in self._seen:
                place = self._places.get(table, table)
                with _told(f'table "{table}" can\'t be read'):
                    seen = SeenTable.of(self._connection, place)
                if not is_watched(place, seen):
                    # A unit that is weighed by one scan could have more rows in the next.
                    raise ConfigError(
                        f'table "{table}": Spark lists no files of it, by which dpsql would see that its rows change',
                        hint=f"Name a version, {place}@41, if it has any, or a table that is made of files.",
                    )
                self._seen[table] = seen
            return self._seen[table]

    def _changed(self, connection: SparkConnection, tables: Sequence[str]) -> str | None:
        """Return a table that is not what it was at first."""
        with self._lock:
            seen = {table: self._seen[table] for table in tables if table in self._seen}
        return next(
            (table for table, was in seen.items() if SeenTable.of(connection, self._places[table]) != was), None
        )


@contextmanager
def _told(what: str | None = None) -> Iterator[None]:
    """Tell the operator who starts or reloads dpsql why the server can't be asked."""
    try:
        yield
    except SparkUnsettledError as error:
        raise ConfigError(f"the Spark server does not keep the settings of a session: {error}") from None
    except client().error as error:
        hint = f"Spark says: {own_cause(error)}"
        if what is None:
            raise NoEngine("the Spark server can't be asked", hint=hint) from None
        raise NoEngine(what, hint=hint) from None


@contextmanager
def _uncharged(cancellation: Cancellation) -> Iterator[None]:
    """Tell the client by a fixed text, and the operator's log why."""
    try:
        yield
    except SparkUnsettledError as error:
        _LOG.error("the engine's session does not keep the settings that we make: %s", error)
    except (client().error, ValueError) as error:  # of a channel that is closed
        if cancellation.requested:
            raise QueryCanceled from None
        if is_gone(error):
            _LOG.error("the engine can't be reached: %s", own_cause(error))
            raise EngineAway from None
        _LOG.error("the engine does not take a measurement: %s", own_cause(error))
    else:
        return
    raise EngineNotReady
