"""A few connections to a PostgreSQL server, kept between statements."""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from dpsql.engines.postgres.planner import ALLOWED_SWITCHES, SWITCHES, without_switches
from dpsql.engines.postgres.settings import SHOWN, differing, options

PgConnection = psycopg.Connection[tuple[Any, ...]]

_DEFAULTS: Mapping[str, str] = {
    "application_name": "dpsql",
    "connect_timeout": "10",
    # A server that vanishes is noticed within a minute and a half.
    "keepalives_idle": "30",
    "keepalives_interval": "15",
    "keepalives_count": "4",
    "tcp_user_timeout": "90000",
}


class BusyError(Exception):
    """All connections are in use, and stay so."""


class UnsettledError(Exception):
    """A session does not have the settings that its connection asked for."""


class Pool:
    """Connections that are lent to one statement at a time; one in which a transaction is still open is not kept."""

    def __init__(self, dsn: str, *, most: int, allowed: Collection[str] = ALLOWED_SWITCHES) -> None:
        """Prepare to connect to `dsn`, at most `most` times at once; planning takes no way but those that are `allowed`."""
        given = {**_DEFAULTS, **conninfo_to_dict(dsn), "client_encoding": "UTF8"}
        self._plain = make_conninfo("", **given)
        self._dsn = make_conninfo("", **{**given, "options": options(str(given.get("options") or ""))})
        self._allowed, self._planned = allowed, ""
        self._idle: list[PgConnection] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(most)
        self._closed = False

    def schemas(self) -> tuple[str, ...]:
        """Return the schemas in which the DSN, its role and its database look for tables, in order.

        Nothing but a function that is named in full is called where the path is still theirs.
        """
        with psycopg.connect(self._plain, autocommit=True) as connection:
            row = connection.execute("SELECT pg_catalog.current_schemas(false)::pg_catalog.text[]").fetchone()
        assert row is not None
        return tuple(name for name in row[0] if name != "pg_catalog")

    @contextmanager
    def lent(self, *, wait: float, fresh: bool = False) -> Iterator[PgConnection]:
        """Lend a connection; a `fresh` one is newly made.

        Raises:
            BusyError: none has become free within `wait` seconds.
            UnsettledError: something between us and the server drops our settings.
            psycopg.OperationalError: the server can't be reached.
        """
        if not self._slots.acquire(timeout=wait):
            raise BusyError
        try:
            connection = (None if fresh else self._kept()) or self._connected()
            try:
                yield connection
            finally:
                self._keep(connection)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close what is idle now, and the others when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _connected(self) -> PgConnection:
        if not self._planned:
            self._planned = self._with_switches()
        connection = psycopg.connect(self._planned, autocommit=True, prepare_threshold=None)
        try:
            settled(connection.execute(SHOWN).fetchone())
        except BaseException:
            connection.close()
            raise
        return connection

    def _with_switches(self) -> str:
        """Return the DSN that leaves the server no way to plan but those that are allowed; which it has only it can say."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            settled(connection.execute(SHOWN).fetchone())
            row = connection.execute(SWITCHES).fetchone()
        assert row is not None
        given = conninfo_to_dict(self._dsn)
        return make_conninfo("", **{**given, "options": f"{given['options']}{without_switches(row[0], self._allowed)}"})

    def _kept(self) -> PgConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: PgConnection) -> None:
        with self._lock:
            good = connection.info.transaction_status is TransactionStatus.IDLE
            if good and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


def settled(shown: tuple[str, ...] | None) -> None:
    """See that a session has our settings.

    Raises:
        UnsettledError: it has others.
    """
    other = "they can't be read" if shown is None else differing(shown)
    if other is not None:
        raise UnsettledError(other)
