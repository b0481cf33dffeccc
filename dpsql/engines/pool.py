"""A few connections to a PostgreSQL server, kept between statements."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from dpsql.errors import QueryCanceled

Connection = psycopg.Connection[tuple[Any, ...]]

_DEFAULTS: Mapping[str, str] = {
    "application_name": "dpsql",
    "connect_timeout": "10",
    # A server that vanishes is noticed within a minute and a half.
    "keepalives_idle": "30",
    "keepalives_interval": "15",
    "keepalives_count": "4",
}


class Pool:
    """Connections that are lent to one statement at a time; those that saw an error are not kept."""

    def __init__(self, dsn: str, *, most: int) -> None:
        """Prepare to connect to `dsn`, at most `most` times at once."""
        self._dsn = make_conninfo("", **{**_DEFAULTS, **conninfo_to_dict(dsn), "client_encoding": "UTF8"})
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(most)
        self._closed = False

    @contextmanager
    def lent(self, *, wait: float, fresh: bool = False) -> Iterator[Connection]:
        """Lend a connection; a `fresh` one is newly made.

        Raises:
            QueryCanceled: none has become free within `wait` seconds.
            psycopg.OperationalError: the server can't be reached.
        """
        if not self._slots.acquire(timeout=wait):
            raise QueryCanceled
        try:
            connection = (None if fresh else self._kept()) or psycopg.connect(self._dsn, autocommit=True)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
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

    def _kept(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: Connection) -> None:
        with self._lock:
            good = connection.info.transaction_status is TransactionStatus.IDLE
            if good and not self._closed:
                self._idle.append(connection)
                return
        connection.close()
