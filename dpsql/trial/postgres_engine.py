"""Synthetic databases as schemas, in the PostgreSQL that dpsql runs itself: never in the one with records."""

import re
import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import ClassVar

import psycopg
from psycopg.sql import SQL, Identifier

from dpsql.engines.postgres.engine import is_lost, stopping_connection
from dpsql.engines.postgres.pool import PLAIN_SWITCHES, BusyError, Pool, UnsettledError
from dpsql.engines.tables import LOOSE
from dpsql.errors import QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.engine import (
    PATIENCE,
    OptimizerLevel,
    TrialEngineFailed,
    TrialEngineLate,
    database_variants,
    names_of,
    public_texts,
    rows_at,
    staged_columns,
)
from dpsql.trial.subject import TrialSubject

_CONNECTIONS = 4
_STAGED, _PUBLIC = "staged", "shared"
_DATABASE = "postgres"
"""Clients can't go there, and it stays through all changes of the declared tables."""
_OURS = "trial"
_NUMBERS = count()
_MODEST = f"-c temp_file_limit=262144 -c statement_timeout={int(PATIENCE * 1000)}"
"""The most disk, in kilobytes, and time that a statement may take."""
_PLAIN = re.compile(r"[a-z][a-z ]*(\(\d+(,\d+)?\))?")
"""The types that are made again as they are; of an enumeration, or of somebody's own type, statements read the text."""


class PostgresTrialEngine:
    """A `TrialEngine` in a cluster without records."""

    at_once: ClassVar[int] = 2
    in_process: ClassVar[bool] = False

    def __init__(self, subject: TrialSubject, dsn: Callable[[str], str]) -> None:
        """Make the places; `dsn` says how the cluster's owner connects to one of its databases.

        Raises:
            TrialEngineFailed: PostgreSQL does not.
        """
        self._subject, number = subject, next(_NUMBERS)
        self.names = names_of(subject, f"{_OURS}{number}_{_PUBLIC}", prefix=f"{_OURS}{number}_")
        try:
            with psycopg.connect(dsn(_DATABASE)) as connection:
                # The last but one serves nobody any more; those of the process before never will.
                old = f"{_OURS}{number - 2}_%" if number else f"{_OURS}%"
                schemas = connection.execute(
                    "SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", (old,)
                ).fetchall()
                for (schema,) in schemas:
                    connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema)))
                self._make(connection, self.names.prefix)
        except psycopg.Error as error:
            raise TrialEngineFailed(f"the synthetic databases can't be made: {error}") from None
        asked = f"{dsn(_DATABASE)} options='{_MODEST}'"
        self._pool = Pool(asked, most=_CONNECTIONS)
        self._plain = Pool(asked, most=_CONNECTIONS, allowed=PLAIN_SWITCHES)
        for pool in (self._pool, self._plain):
            weakref.finalize(self, pool.close)

    @property
    def alive(self) -> bool:
        """Return whether the synthetic databases are still there."""
        try:
            with self._pool.lent(wait=PATIENCE, fresh=True) as connection:
                place = f"{self.names.prefix}w0"
                return connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (place,)).rowcount > 0
        except (psycopg.Error, BusyError, UnsettledError):
            return False

    def run(
        self, sql: str, cancellation: Cancellation, seconds: float, optimized: OptimizerLevel = OptimizerLevel.AS_SERVED
    ) -> Sequence[EngineRow]:
        """Return what a statement answers over the tables of a place; not optimized: by loops, and by what is sorted."""
        # How PostgreSQL plans is a setting of a session: each way has connections of its own.
        pool = self._plain if optimized is OptimizerLevel.NOT else self._pool
        try:
            try:
                return _fetched(pool, sql, cancellation, seconds, fresh=False)
            except psycopg.OperationalError as error:
                if not is_lost(error):
                    raise
                return _fetched(pool, sql, cancellation, seconds, fresh=True)  # the cluster was started again
        except (psycopg.Error, BusyError, UnsettledError) as error:
            if cancellation.requested:
                raise QueryCanceled from None
            late = isinstance(error, psycopg.errors.QueryCanceled) or _has_no_room(error)
            raise TrialEngineLate if late else TrialEngineFailed(str(error) or type(error).__name__) from None

    def _make(self, connection: psycopg.Connection, own: str) -> None:
        """Make the schemas, whose names begin with `own`."""
        subject, run = self._subject, _running(connection)
        staging, shared = f"{own}{_STAGED}", f"{own}{_PUBLIC}"
        for name in (staging, shared):
            run(f"CREATE SCHEMA {name}")
        for table, columns, cells in public_texts(subject.policy, subject.public):
            self._stage(connection, f"{staging}.{quote_name(table)}", columns, cells)
            casts = ", ".join(f"{_cast(quote_name(c), t)} AS {quote_name(c)}" for c, t in subject.types[table].items())
            run(f"CREATE TABLE {shared}.{quote_name(table)} AS SELECT {casts} FROM {staging}.{quote_name(table)}")  # noqa: S608
        for world, records in enumerate(subject.records):
            for table in records.tables:
                self._stage(connection, _of_world(staging, world, table), *staged_columns(records, table))
        for place in database_variants(subject.records):
            run(f"CREATE SCHEMA {own}{place.name}")
            for name, made in subject.records[place.world].tables.items():
                owned = place.kind in made.owners
                rows = rows_at(place, subject.types[name], _of_world(staging, place.world, name), _cast, owned=owned)
                run(f"CREATE TABLE {own}{place.name}.{quote_name(name)} AS {rows}")
        run(f"DROP SCHEMA {staging} CASCADE")

    def _stage(
        self, connection: psycopg.Connection, table: str, columns: Sequence[str], cells: Sequence[Sequence[MadeUpCell]]
    ) -> None:
        names, lists = ", ".join(map(quote_name, columns)), ", ".join(["%s::text[]"] * len(columns))
        # A table in one statement: each column is an array of texts, which is cast later, where it is clear what can
        # be.
        select = f"SELECT * FROM unnest({lists}) AS t ({names})"  # noqa: S608  # names of ours
        connection.execute(f"CREATE TABLE {table} AS {select}".encode(), [list(column) for column in cells])


def _fetched(pool: Pool, sql: str, cancellation: Cancellation, seconds: float, *, fresh: bool) -> Sequence[EngineRow]:
    with (
        pool.lent(wait=PATIENCE, fresh=fresh) as connection,
        stopping_connection(connection, seconds, cancellation),
    ):
        return connection.execute(sql.encode()).fetchall()


def _running(connection: psycopg.Connection) -> Callable[[str], object]:
    return lambda sql: connection.execute(sql.encode())


def _of_world(staging: str, world: int, table: str) -> str:
    return f"{staging}.{quote_name(f'{world} {table}')}"


def _cast(text: str, type_: str) -> str:
    kind = type_.lower().removesuffix(LOOSE)
    if not _PLAIN.fullmatch(kind) or kind == "citext":
        return text
    # Dirt that a type can't hold is NULL, as no such row could be in the engine's table. CASE keeps the cast from being
    # tried.
    return f"CASE WHEN pg_catalog.pg_input_is_valid({text}, '{kind}') THEN {text}::{kind} END"


def _has_no_room(error: Exception) -> bool:
    """Return whether memory or files were used up, by the class of PostgreSQL's error."""
    return isinstance(error, psycopg.Error) and (error.sqlstate or "").startswith("53")
