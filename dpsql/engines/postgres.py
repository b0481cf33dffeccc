"""PostgreSQL as the engine: a role that can only read, read-only transactions, and nothing left in a session."""

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import psycopg

from dpsql.engines.base import NoEngine
from dpsql.engines.pg_catalogue import Catalogue, catalogue_sql, catalogues, check_role
from dpsql.engines.pool import Connection, Pool
from dpsql.engines.values import exact_value, public_column
from dpsql.engines.watch import stopping
from dpsql.errors import EngineFailed, QueryCanceled
from dpsql.policy.model import Value
from dpsql.privacy.budget import Charge
from dpsql.privacy.exact import Row
from dpsql.question import Cancellation
from dpsql.rewrite.function import Dialect
from dpsql.rewrite.stored import quoted

_LOG = logging.getLogger("dpsql.engine")
_CONNECTIONS = 16
_WAIT = 60.0
"""Seconds that a question about the catalogue waits for a connection."""
_CANCEL = 5.0
"""Seconds that a cancel request may take."""
_BEGIN = """BEGIN READ ONLY;
SET LOCAL statement_timeout = {milliseconds};
SET LOCAL timezone = 'UTC';
SET LOCAL datestyle = 'ISO';
SET LOCAL extra_float_digits = 1;
SET LOCAL standard_conforming_strings = on;
"""


class PostgresEngine:
    """An `Engine` over the tables of one PostgreSQL database that the DSN's search path finds."""

    dialect = Dialect.POSTGRES

    def __init__(self, dsn: str, tables: Sequence[str]) -> None:
        """Connect, and see that the role can only read `tables`.

        Raises:
            NoEngine: the server can't be reached.
            ConfigError: the role can do more.
        """
        self._seen: dict[str, Catalogue] = {}
        self._lock = threading.Lock()
        try:
            self._pool = Pool(dsn, most=_CONNECTIONS)
            with self._pool.lent(wait=_WAIT) as connection:
                check_role(connection, tables)
        except psycopg.Error as error:
            raise NoEngine("the PostgreSQL server can't be asked", hint=str(error).splitlines()[0]) from None

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with PostgreSQL's types, those of domains and enumerations by what they are."""
        return self._catalogue(table).types

    def unique_columns(self, table: str) -> frozenset[str]:
        """Return the columns that a valid, immediate, unconditional unique index holds alone."""
        return self._catalogue(table).unique

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a public table."""
        types = self.columns(table)
        names = ", ".join(public_column(name, types[name], self.dialect) for name in columns)
        select = f"SELECT {names} FROM {quoted(table)} LIMIT {limit + 1}"  # noqa: S608
        with self._pool.lent(wait=_WAIT) as connection:
            (rows,) = _asked(connection, _WAIT, select)
        return [[exact_value(cell) for cell in row] for row in rows]

    def run(self, sql: str, charge: Charge, *, timeout: float, cancellation: Cancellation) -> Sequence[Row]:
        """Return the rows of a measurement."""
        _ = charge
        return self._rows(sql, timeout, cancellation)

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[Row]:
        """Return exact rows that nobody but the owner of the data may see."""
        return self._rows(sql, timeout, Cancellation())

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _catalogue(self, table: str) -> Catalogue:
        """Return what the catalogue says of a table; from then on it must stay so."""
        with self._lock:
            if table not in self._seen:
                with self._pool.lent(wait=_WAIT) as connection:
                    (rows,) = _asked(connection, _WAIT, catalogue_sql([table]))
                self._seen[table] = catalogues([table], rows)[table]
            return self._seen[table]

    def _rows(self, sql: str, timeout: float, cancellation: Cancellation) -> Sequence[Row]:
        try:
            try:
                return self._attempt(sql, timeout, cancellation, fresh=False)
            except psycopg.OperationalError as error:
                if error.sqlstate is not None and not error.sqlstate.startswith("57P"):
                    raise
                # The server was restarted while the connection was idle.
                return self._attempt(sql, timeout, cancellation, fresh=True)
        except psycopg.errors.QueryCanceled:
            raise QueryCanceled from None
        except psycopg.Error as error:
            _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
            raise EngineFailed from None

    def _attempt(self, sql: str, timeout: float, cancellation: Cancellation, *, fresh: bool) -> Sequence[Row]:
        """Run a measurement, and see that types and constraints are those on which it was planned.

        Its transaction locks the tables, so they have not changed between the measurement and the look at them.
        """
        with self._lock:
            seen = dict(self._seen)
        with self._pool.lent(wait=timeout, fresh=fresh) as connection:
            with stopping(partial(_cancel, connection), timeout, cancellation) as stopped:
                rows, found = _asked(connection, timeout, sql, catalogue_sql(list(seen)))
            if stopped.is_set():
                # The cancel may still be on its way, and would hit the connection's next statement.
                connection.close()
        if catalogues(list(seen), found) != seen:
            _LOG.error("the engine's tables have been altered; restart dpsql to serve them as they are now")
            raise EngineFailed
        return rows


def _asked(connection: Connection, timeout: float, *selects: str) -> list[list[Any]]:
    """Return the rows of each SELECT, all in one transaction and one round trip."""
    begin = _BEGIN.format(milliseconds=max(int(timeout * 1000), 1))
    cursor = connection.execute(f"{begin}{';'.join(selects)};COMMIT".encode())
    results = []
    while True:
        if cursor.description is not None:
            results.append(cursor.fetchall())
        if not cursor.nextset():
            return results


def _cancel(connection: Connection) -> None:
    try:
        connection.cancel_safe(timeout=_CANCEL)
    except psycopg.Error as error:
        _LOG.warning("a cancel did not reach the engine: %s", error)
