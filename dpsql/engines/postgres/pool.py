"""A few connections to a PostgreSQL server, kept between statements."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

# The settings of every session with a PostgreSQL engine, which decide how statements and values are read.
#
# They are options of the connection, so that they hold before the first statement is read, against those of the
# server, the database and the role.

POSTGRES_SETTINGS: Mapping[str, str] = {
    # Operators and functions are PostgreSQL's own; tables are named with their schemas. With another schema in the path a
    # stranger's "=" could be preferred, because an exact match of types counts for more than the path's order.
    "search_path": "pg_catalog, pg_temp",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "TimeZone": "UTC",
    "timezone_abbreviations": "Default",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_numeric": "C",
    "lc_time": "C",
    "lc_monetary": "C",
    # A policy may let one person's rows depend on another's: better an error than rows that are missing.
    "row_security": "off",
    # Else an index could leave rows out at random.
    "gin_fuzzy_search_limit": "0",
    # Else every error would be the end of the connection, and look like an outage.
    "exit_on_error": "off",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "0",
    # Else an ALTER TABLE that waits would hold up everybody.
    "lock_timeout": "10s",
}
PACE: Mapping[str, str] = {
    # Compiling takes longer than what it saves on statements that run for a second, and a second core comes sooner.
    "jit": "off",
    "parallel_setup_cost": "100",
    # Units are sorted to be counted.
    "work_mem": "64MB",
}
"""Settings for speed alone: a DSN may have others."""
_ALSO: Mapping[str, str] = {"client_encoding": "UTF8"}
_EXPECTED_SETTINGS = {**POSTGRES_SETTINGS, **_ALSO}

SHOWN = "SELECT " + ", ".join(f"pg_catalog.current_setting('{name}')" for name in _EXPECTED_SETTINGS)
"""The statement that tells what holds in a session."""


# What stands in `options` of the start packet is set before the session reads its first byte of SQL, and counts for
# more than ALTER ROLE … SET and ALTER DATABASE … SET.
def session_options(given: str) -> str:
    """Return libpq's `options`: for speed, then those that were given, then ours; the last one of a name counts."""
    pace, ours = (
        [f"-c {name}={_escaped(value)}" for name, value in settings.items()] for settings in (PACE, POSTGRES_SETTINGS)
    )
    return " ".join((*pace, *([given] if given else []), *ours))


def _escaped(value: str) -> str:
    return value.replace(" ", "\\ ")


def differing_settings(shown: Sequence[str]) -> str | None:
    """Return the first setting that is not ours in a row of `SHOWN`."""
    pairs = zip(_EXPECTED_SETTINGS.items(), shown, strict=True)
    return next((f"{name} is {value}" for (name, wanted), value in pairs if value != wanted), None)


# The ways in which PostgreSQL may plan a statement: its oldest; all others are off.
#
# Also what a later version brings is off. These settings are ours, also where a DSN has others.

ALLOWED_SWITCHES: Collection[str] = (
    "enable_seqscan",
    "enable_indexscan",
    "enable_indexonlyscan",
    "enable_bitmapscan",
    "enable_tidscan",
    "enable_nestloop",
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_sort",
    "enable_hashagg",
    "enable_material",
    "enable_gathermerge",
    "enable_parallel_hash",
    "enable_parallel_append",
    "enable_partition_pruning",
)
PLAIN_SWITCHES: Collection[str] = ("enable_seqscan", "enable_nestloop", "enable_sort")
"""With which any statement can be run, by loops and by sorting."""
SWITCHES = """
SELECT pg_catalog.array_agg(name ORDER BY name) FROM pg_catalog.pg_settings
 WHERE name OPERATOR(pg_catalog.~~) 'enable\\_%' AND context OPERATOR(pg_catalog.=) 'user'
"""
"""The ways to plan that a server has and can switch off."""


def without_switches(switches: Collection[str], allowed: Collection[str]) -> str:
    """Return libpq's options that leave only what is allowed."""
    return "".join(f" -c {name}=off" for name in switches if name not in allowed)


# The pool.

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
        # The DSN's own keywords win over the defaults, and ours over both.
        given = {**_DEFAULTS, **conninfo_to_dict(dsn), "client_encoding": "UTF8"}
        self._plain = make_conninfo("", **given)
        self._dsn = make_conninfo("", **{**given, "options": session_options(str(given.get("options") or ""))})
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
            require_settings(connection.execute(SHOWN).fetchone())
        except BaseException:
            connection.close()
            raise
        return connection

    def _with_switches(self) -> str:
        """Return the DSN that leaves the server no way to plan but those that are allowed; which it has only it can say."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            require_settings(connection.execute(SHOWN).fetchone())
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


def require_settings(shown: tuple[str, ...] | None) -> None:
    """See that a session has our settings.

    Raises:
        UnsettledError: it has others.
    """
    other = "they can't be read" if shown is None else differing_settings(shown)
    if other is not None:
        raise UnsettledError(other)
