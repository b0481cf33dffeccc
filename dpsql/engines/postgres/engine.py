"""PostgreSQL as the engine: a role that can only read, read-only transactions, and nothing left in a session."""

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any, Self

import psycopg

from dpsql.engines.base import Edition, NoEngine
from dpsql.engines.constraints import enforced_columns
from dpsql.engines.postgres.catalogue import (
    PostgresCatalogue,
    catalogue_sql,
    catalogues,
    check_role,
    own_places,
    places_of,
)
from dpsql.engines.postgres.pool import BusyError, PgConnection, Pool, UnsettledError
from dpsql.engines.postgres.prepared import PgPrepared, accepted, is_lost, reading, stopping_connection, unchanging
from dpsql.engines.values import exact_value, public_column
from dpsql.errors import ConfigError, EngineAway, EngineNotReady, QueryCanceled
from dpsql.policy.model import Table, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.postgres import POSTGRES
from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.kept import KeptColumns, nothing_kept

_LOG = logging.getLogger("dpsql.engine")
_CONNECTIONS = 16
_LOOK = 30.0
"""Seconds between two looks at the catalogue, to see whether tables were altered."""
_WAIT = 60.0
"""Seconds that a question about the catalogue waits for a connection."""


class PostgresEngine:
    """An `Engine` over the tables of one PostgreSQL database: those that the search path finds, and others by places."""

    dialect = POSTGRES
    edition: Edition | None = None
    misfits: Mapping[str, str] = MappingProxyType({})
    """By table, why statements that read it are refused."""

    def __init__(self, dsn: str, tables: Mapping[str, Collection[str] | None], places: Mapping[str, str] = {}) -> None:
        """Connect, and see that the role can only read `tables`, of which `places` says where some are by other names.

        Of each the declared columns are looked at alone (None: all): what happens to others changes nothing.

        Raises:
            NoEngine: the server can't be reached.
            ConfigError: the role can do more, or something in between drops our settings.
        """
        self._seen: dict[str, PostgresCatalogue] = {}
        self._declared = tables
        self._unfit: dict[str, PostgresCatalogue] = {}
        """How the tables were that did not fit the policy when that was looked at."""
        self._next_look = time.monotonic() + _LOOK
        self._places = {**own_places(tables), **places_of(places)}
        self._lock = threading.Lock()
        with _told():
            self._pool = Pool(dsn, most=_CONNECTIONS)
            try:
                self._schemas = self._pool.schemas()
                with self._pool.lent(wait=_WAIT) as connection:
                    check_role(connection, list(tables), self._schemas, self._places)
                    self.product = "PostgreSQL", str(connection.info.server_version // 10_000)
            except BaseException:
                self._pool.close()
                raise

    def named(self, table: str) -> str:
        """Return a table's name with its schema."""
        return self._named(table, self._catalogue(table))

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with PostgreSQL's types, those of domains and enumerations by what they are."""
        return self._catalogue(table).types

    def kept(self, table: str) -> KeptColumns:
        """Return nothing: there are only a table's own columns."""
        return nothing_kept(table)

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the columns of each valid, immediate, unconditional unique index of columns alone."""
        return self._catalogue(table).unique

    def enforced(self, table: Table) -> frozenset[str]:
        """Return the columns whose valid NOT NULL, CHECK, enumeration or foreign key keeps rows as declared."""
        catalogue = self._catalogue(table.name)
        return enforced_columns(table, catalogue.constraints, catalogue.types, self.named, self.dialect)

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table."""
        types = self.columns(table)
        names = ", ".join(public_column(name, types[name], self.dialect) for name in columns)
        select = f"SELECT {names} FROM {self.named(table)} LIMIT {limit + 1}"  # noqa: S608
        with _told(), self._pool.lent(wait=_WAIT) as connection, reading(connection, _WAIT, select) as (rows,):
            return [[exact_value(cell) for cell in row] for row in rows]

    @contextmanager
    def ready(self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation) -> Iterator[PgPrepared]:
        """Make measurements ready, in a transaction that keeps their tables as they are."""
        with self._lock:
            seen = {
                table: was for table, was in self._seen.items() if any(self._named(table, was) in s for s in statements)
            }
        names = {sql: f"dpsql_{index}" for index, sql in enumerate(dict.fromkeys(statements))}
        # Once the statements are bound their tables are locked, and the catalogue says what they were bound to.
        asked = (*accepted(names), catalogue_sql(list(seen), self._schemas, self._places))
        with ExitStack() as stack:
            try:
                with _uncharged(cancellation):
                    connection, rows = self._begun(stack, timeout, cancellation, asked)
                self._see_that_they_stay(seen, catalogues(list(seen), self._declared, rows[-1]))
            except EngineNotReady:
                self._next_look = 0.0
                raise
            prepared = PgPrepared(connection, names, timeout, cancellation)
            yield prepared
            if prepared.stopped:
                connection.close()

    def _begun(
        self, stack: ExitStack, timeout: float, cancellation: Cancellation, asked: Sequence[str]
    ) -> tuple[PgConnection, list[list[Any]]]:
        """Open a transaction and ask in it, on a fresh connection if the kept one is dead."""
        try:
            return self._begin(stack, timeout, cancellation, asked, fresh=False)
        except psycopg.OperationalError as error:
            if not is_lost(error):
                raise
            return self._begin(stack, timeout, cancellation, asked, fresh=True)

    def _begin(
        self, stack: ExitStack, timeout: float, cancellation: Cancellation, asked: Sequence[str], *, fresh: bool
    ) -> tuple[PgConnection, list[list[Any]]]:
        with ExitStack() as own:
            connection = own.enter_context(self._pool.lent(wait=timeout, fresh=fresh))
            with stopping_connection(connection, timeout, cancellation):
                rows = own.enter_context(reading(connection, timeout, *asked))
            stack.push(own.pop_all())
        return connection, rows

    @contextmanager
    def one_state(self) -> Iterator[PgConnection]:
        """Give a connection all of whose statements see one state of the tables, and may take as long as they like."""
        with ExitStack() as held:
            with _told():
                connection = held.enter_context(self._pool.lent(wait=_WAIT))
                held.enter_context(unchanging(connection))
            yield connection

    def is_current(self) -> bool:
        """Return whether the catalogue says of the tables what it said at first, and all fit."""
        with self._lock:
            seen = dict(self._seen)
        return not self.misfits and self._asked(list(seen)) == seen

    def is_altered(self) -> bool:
        """Return whether the catalogue says something new of a table; it is asked now and then, and after a refusal.

        Raises:
            NoEngine: the server can't be asked.
        """
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK
        with self._lock:
            known = {**self._seen, **self._unfit}
        return self._asked(list(known)) != known

    def refuse(self, misfits: Mapping[str, str], before: Self) -> None:
        """Answer no statement that reads a table which does not fit, and of which `before` knew how it did."""
        self.misfits = misfits
        with self._lock:
            for table in misfits:
                self._unfit[table], self._seen[table] = self._seen[table], before._catalogue(table)

    def _see_that_they_stay(self, seen: Mapping[str, PostgresCatalogue], now: Mapping[str, PostgresCatalogue]) -> None:
        """See that the tables of a statement are as they were opened, and fit.

        Raises:
            EngineNotReady: they are not, which the log says.
        """
        for table, was in seen.items():
            if table in self.misfits:
                _LOG.error("nothing is answered that reads table %s: %s", table, self.misfits[table])
                raise EngineNotReady
            if now[table] != was:
                _LOG.warning("table %s has been altered; its catalogue is read again", table)
                raise EngineNotReady

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[EngineRow]:
        """Return exact rows that nobody but the owner of the data may see."""
        with self.ready([sql], timeout=timeout, cancellation=Cancellation()) as prepared:
            return prepared.rows(sql)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _named(self, table: str, catalogue: PostgresCatalogue) -> str:
        name = self._places.get(table, ("", table))[1]
        return f"{quoted(catalogue.schema)}.{quoted(name)}" if catalogue.schema else quoted(name)

    def _catalogue(self, table: str) -> PostgresCatalogue:
        """Return what the catalogue says of a table; from then on it must stay so."""
        with self._lock:
            if table not in self._seen:
                self._seen[table] = self._asked([table])[table]
            return self._seen[table]

    def _asked(self, tables: Sequence[str]) -> Mapping[str, PostgresCatalogue]:
        sql = catalogue_sql(tables, self._schemas, self._places)
        with _told(), self._pool.lent(wait=_WAIT) as connection, reading(connection, _WAIT, sql) as (rows,):
            return catalogues(tables, self._declared, rows)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the operator who starts or reloads dpsql why the server can't be asked."""
    try:
        yield
    except UnsettledError as error:
        raise ConfigError(
            f"the PostgreSQL server does not keep the settings of a connection: {error}",
            hint="A pooler in between drops them. Connect to the server itself.",
        ) from None
    except BusyError:
        raise NoEngine("the PostgreSQL server can't be asked", hint="All connections to it are in use.") from None
    except psycopg.ProgrammingError as error:
        # libpq quotes what it can't read, which may be a password.
        hint = "engine.dsn can't be read as a DSN." if error.sqlstate is None else str(error).splitlines()[0]
        raise NoEngine("the PostgreSQL server can't be asked", hint=hint) from None
    except psycopg.Error as error:
        raise NoEngine("the PostgreSQL server can't be asked", hint=str(error).splitlines()[0]) from None


@contextmanager
def _uncharged(cancellation: Cancellation) -> Iterator[None]:
    """Tell the client by a fixed text, and the operator's log why."""
    try:
        yield
    except BusyError:
        _LOG.error("all connections to the engine are in use")
    except UnsettledError as error:
        _LOG.error("the engine's session does not keep the settings of its connection: %s", error)
    except psycopg.Error as error:
        if cancellation.requested and isinstance(error, psycopg.errors.QueryCanceled):
            raise QueryCanceled from None
        if is_lost(error):
            _LOG.error("the engine can't be reached: %s", error)
            raise EngineAway from None
        _LOG.error("the engine does not take a measurement: %s", error)
    else:
        return
    raise EngineNotReady
