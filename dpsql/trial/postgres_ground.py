"""Made-up databases as schemas of a database of their own, in the PostgreSQL that dpsql runs: never the one with records."""

import re
import weakref
from collections.abc import Callable, Sequence
from itertools import count

import psycopg
from psycopg.sql import SQL, Identifier

from dpsql.engines.kinds import LOOSE
from dpsql.engines.postgres.pool import BusyError, Pool, UnsettledError
from dpsql.engines.postgres.prepared import stopping_connection
from dpsql.errors import QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.emit.columns import quoted
from dpsql.trial.cells import MadeUpCell
from dpsql.trial.ground import PATIENCE, GroundFailed, names_of, public_texts, rows_at, staged, trial_places
from dpsql.trial.subject import TrialSubject

_CONNECTIONS = 4
_STAGED, _PUBLIC = "staged", "shared"
_DATABASE = "dpsql_trial_{}"
_NUMBERS = count()
_PLANNER = (
    "enable_hashjoin",
    "enable_mergejoin",
    "enable_hashagg",
    "enable_memoize",
    "enable_material",
    "enable_incremental_sort",
    "enable_presorted_aggregate",
)
"""What is switched off where a statement is to be planned otherwise than usual."""
_PLAIN = re.compile(r"[a-z][a-z ]*(\(\d+(,\d+)?\))?")
"""The types that are made again as they are; of an enumeration, or of somebody's own type, statements read the text."""


class PostgresGround:
    """A `Ground` in a cluster without records."""

    def __init__(self, subject: TrialSubject, dsn: Callable[[str], str]) -> None:
        """Make the places; `dsn` says how the cluster's owner connects to one of its databases.

        Raises:
            GroundFailed: PostgreSQL does not.
        """
        self._subject, number = subject, next(_NUMBERS)
        self.names = names_of(subject, _PUBLIC)
        name = _DATABASE.format(number)
        try:
            with psycopg.connect(dsn("postgres"), autocommit=True) as owner:
                for made in (name, _DATABASE.format(number - 2)):  # the last but one serves nobody any more
                    owner.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(made)))
                owner.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
                owner.execute(SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(Identifier(name)))
            with psycopg.connect(dsn(name)) as connection:
                self._make(connection)
        except psycopg.Error as error:
            raise GroundFailed(f"the made-up databases can't be made: {error}") from None
        plain = " ".join(f"-c {setting}=off" for setting in _PLANNER)
        self._pool, self._plain = (
            Pool(one, most=_CONNECTIONS) for one in (dsn(name), f"{dsn(name)} options='{plain}'")
        )
        for pool in (self._pool, self._plain):
            weakref.finalize(self, pool.close)

    @property
    def alive(self) -> bool:
        """Return whether the cluster answers."""
        try:
            with self._pool.lent(wait=PATIENCE, fresh=True) as connection:
                connection.execute("SELECT 1")
        except (psycopg.Error, BusyError, UnsettledError):
            return False
        return True

    def asked(self, sql: str, cancellation: Cancellation, *, plainly: bool = False) -> Sequence[EngineRow]:
        """Return what a statement answers over the tables of a place; `plainly`: by loops, and by what is sorted."""
        try:
            with (
                (self._plain if plainly else self._pool).lent(wait=PATIENCE) as connection,
                stopping_connection(connection, PATIENCE, cancellation),
            ):
                return connection.execute(sql.encode()).fetchall()
        except (psycopg.Error, BusyError, UnsettledError) as error:
            if cancellation.requested:
                raise QueryCanceled from None
            raise GroundFailed(str(error) or type(error).__name__) from None

    def _make(self, connection: psycopg.Connection) -> None:
        subject, run = self._subject, _running(connection)
        for name in (_STAGED, _PUBLIC):
            run(f"CREATE SCHEMA {name}")
        for table, columns, cells in public_texts(subject.policy, subject.public):
            self._stage(connection, f"{_STAGED}.{quoted(table)}", columns, cells)
            casts = ", ".join(f"{_cast(quoted(c), t)} AS {quoted(c)}" for c, t in subject.types[table].items())
            run(f"CREATE TABLE {_PUBLIC}.{quoted(table)} AS SELECT {casts} FROM {_STAGED}.{quoted(table)}")  # noqa: S608
        for world, records in enumerate(subject.records):
            for table in records.tables:
                self._stage(connection, _of_world(world, table), *staged(records, table))
        for place in trial_places(subject.records):
            run(f"CREATE SCHEMA {place.name}")
            for name, made in subject.records[place.world].tables.items():
                owned = place.kind in made.owners
                rows = rows_at(place, subject.types[name], _of_world(place.world, name), _cast, owned=owned)
                run(f"CREATE TABLE {place.name}.{quoted(name)} AS {rows}")
        run(f"DROP SCHEMA {_STAGED} CASCADE")

    def _stage(
        self, connection: psycopg.Connection, table: str, columns: Sequence[str], cells: Sequence[Sequence[MadeUpCell]]
    ) -> None:
        names, lists = ", ".join(map(quoted, columns)), ", ".join(["%s::text[]"] * len(columns))
        select = f"SELECT * FROM unnest({lists}) AS t ({names})"  # noqa: S608  # names of ours
        connection.execute(f"CREATE TABLE {table} AS {select}".encode(), [list(column) for column in cells])


def _running(connection: psycopg.Connection) -> Callable[[str], object]:
    return lambda sql: connection.execute(sql.encode())


def _of_world(world: int, table: str) -> str:
    return f"{_STAGED}.{quoted(f'{world} {table}')}"


def _cast(text: str, type_: str) -> str:
    kind = type_.lower().removesuffix(LOOSE)
    if not _PLAIN.fullmatch(kind) or kind == "citext":
        return text
    return f"CASE WHEN pg_catalog.pg_input_is_valid({text}, '{kind}') THEN {text}::{kind} END"
