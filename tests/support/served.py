"""PostgreSQL as the engine over tables that a test fills: the engine's own code, in the shadow's cluster or elsewhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from dpsql.engines.base import Engine
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.errors import EngineFailed
from dpsql.policy.model import PUBLIC, SqlType, Table, TableName
from dpsql.privacy.release.exact import EngineRow
from dpsql.shadow.contents.schema import create_enumeration
from tests.support.fix_world import World
from tests.support.records import ZONES, Row
from tests.support.schema import bare, filled, public_rows


class Filled(Engine, Protocol):
    """An engine whose small tables a test can fill."""

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a table hold just these rows, in this order."""

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        """Run whatever a test wants."""

    def measured(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a measurement.

        Raises:
            DpsqlError: the engine does not take it, or fails.
        """


_TIMES, _FEW = 16, 100
"""How many times a table is filled in one file, and from how many rows on only once."""


class Served(PostgresEngine):
    """A `PostgresEngine` over a database of its own: in the shadow's cluster, unless another is given."""

    def __init__(
        self,
        world: World,
        name: str,
        public: Mapping[str, Sequence[Row]] = {"zones": ZONES},
        dsn: Callable[[str], str] | None = None,
        /,
        **settings: str,
    ) -> None:
        """Make the database `name` with the policy's tables, empty but for the public ones, and a role to read them.

        `dsn` says how the owner of another cluster connects to one of its databases; `settings` are PostgreSQL's own, for
        every session.
        """
        at, secret = dsn or world.server.dsn, world.server.address.secret
        with psycopg.connect(at("postgres"), autocommit=True) as owner:
            owner.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
            owner.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            if owner.execute("SELECT FROM pg_roles WHERE rolname = 'reader'").fetchone() is None:
                owner.execute(SQL("CREATE ROLE reader LOGIN PASSWORD {}").format(secret))
            for setting, value in settings.items():
                owner.execute(SQL("ALTER DATABASE {} SET {} = {}").format(*map(Identifier, (name, setting)), value))
        self._policy, self._owner = world.policy, psycopg.connect(at(name), autocommit=True)
        self._filled: dict[str, tuple[int, int]] = {}
        schemas = [PUBLIC, *world.policy.schemas]
        for schema in world.policy.schemas:
            self._owner.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        rows = public_rows(world.policy, public)
        for table in world.policy.tables.values():
            write_table(self._owner, TableName.of(table.name).schema, table, rows.get(table.name, []))
        for place in map(Identifier, schemas):
            self._owner.execute(SQL("GRANT USAGE ON SCHEMA {} TO reader").format(place))
            self._owner.execute(SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO reader").format(place))
        reader = make_conninfo(at(name), user="reader", password=secret)
        super().__init__(reader, {name: table.columns for name, table in world.policy.tables.items()})

    def measured(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a measurement, in a session like those that the gateway has, and planned once.

        The server is busy for a third as long as by `ready` and `run`, and we for a tenth.
        """
        try:
            with self._pool.lent(wait=60.0) as connection:
                return connection.execute(sql.encode()).fetchall()
        except psycopg.Error as error:
            raise EngineFailed from error

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        """Run whatever a test wants, as the owner."""
        cursor = self._owner.execute(sql.encode())
        return cursor.fetchall() if cursor.description is not None else []

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._owner.close()

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a table hold just these rows, in this order."""
        for declared, held in filled(self._policy, table, list(rows)):
            self._fill(declared, held)

    def _fill(self, table: Table, rows: Sequence[Row]) -> None:
        schema = TableName.of(table.name).schema
        # Emptied by DELETE, small tables are filled ten times as fast; now and then a new file keeps them short and in order.
        times, held = self._filled.get(table.name, (0, _FEW))
        times = 0 if held >= _FEW else (times + 1) % _TIMES
        self._owner.execute(SQL("DELETE FROM {}" if times else "TRUNCATE {}").format(Identifier(schema, bare(table))))
        self._filled[table.name] = times, len(rows)
        _copy(self._owner, schema, table, rows)


def write_table(connection: psycopg.Connection, schema: str, table: Table, rows: Sequence[Row]) -> None:
    """Make a table as it is declared, with rows, in a schema; in `clamped` its numbers are as wide as they are declared."""
    name = Identifier(schema, bare(table))
    for column in table.columns.values():
        if column.type is SqlType.ENUM:
            connection.execute(create_enumeration(column))
    columns = [
        SQL("{} {} {}").format(
            Identifier(c.name),
            SQL("smallint" if c.in_numbers and schema != "clamped" else c.declared),
            SQL("PRIMARY KEY" if c.name == table.key else ""),
        )
        for c in table.columns.values()
    ]
    if table.joint_key:
        columns.append(SQL("PRIMARY KEY ({})").format(SQL(", ").join(map(Identifier, table.joint_key))))
    connection.execute(SQL("CREATE TABLE {} ({})").format(name, SQL(", ").join(columns)))
    _copy(connection, schema, table, rows)


def _copy(connection: psycopg.Connection, schema: str, table: Table, rows: Iterable[Row]) -> None:
    name = Identifier(schema, bare(table))
    with connection.cursor().copy(SQL("COPY {} FROM STDIN").format(name)) as copy:
        for row in rows:
            copy.write_row([row[column] for column in table.columns])
