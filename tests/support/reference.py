"""The reference evaluator: PostgreSQL itself on the clamped tables.

The clamped tables are made from the declared meaning alone. A statement sees the rows that have a unit and a value in
every column that it names and that is not declared nullable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from sqlglot import exp

from dpsql.lexer.reader import token_name, tokens
from dpsql.policy.model import Policy, Table
from dpsql.rewrite.syntax.read.dialect import parse_query
from tests.support.fix_world import Answer, World, fetched
from tests.support.records import ZONES, Row, clamped
from tests.support.schema import are_meant, bare, of
from tests.support.served import write_table

_MEDIAN = """
CREATE FUNCTION middle(float8[]) RETURNS float8 LANGUAGE sql AS
  'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest($1) AS u (x)';
CREATE AGGREGATE median(float8) (sfunc = array_append, stype = float8[], finalfunc = middle, initcond = '{}');
"""


@dataclass(frozen=True, slots=True)
class Reference:
    """A database with the clamped tables in the schema `clamped`, and the public ones where they belong."""

    policy: Policy
    connection: psycopg.Connection
    _shown: dict[str, Composed] = field(default_factory=dict)
    """As what the tables are seen now."""

    @classmethod
    def of(cls, world: World, tables: Mapping[str, Sequence[Row]], name: str = "clamped") -> "Reference":
        """Make a database with that name."""
        world.owner.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
        world.owner.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        connection = world.connect("dpsql_owner", name)
        connection.execute(_MEDIAN)
        connection.execute("CREATE SCHEMA clamped")
        write_table(connection, "public", world.policy.tables[of("zones")], ZONES)
        for table_name, rows in tables.items():
            table = world.policy.tables[of(table_name)]
            write_table(connection, "clamped", table, [clamped(row, table) for row in rows])
            # Subqueries of one unit's rows look for them in every row; fifty times as fast by an index.
            for unit in table.units.values():
                index = SQL("CREATE INDEX ON {} ({})")
                connection.execute(index.format(Identifier("clamped", table_name), Identifier(unit.column)))
            connection.execute(SQL("ANALYZE {}").format(Identifier("clamped", table_name)))
        return cls(world.policy, connection)

    def answer(self, sql: str, kind: str) -> Answer:
        """Return what PostgreSQL answers to somebody who protects units of a kind.

        Raises:
            psycopg.Error: PostgreSQL can't compute it for some row.
        """
        tree = parse_query(sql)
        every = {token_name(token) or "" for token in tokens(sql)}
        names = every if tree is None else {column.name.lower() for column in tree.find_all(exp.Column)}
        for table in are_meant(self.policy.tables.values()):
            if not table.public:
                self._show(table, names, kind)
        with self.connection.transaction(force_rollback=True):
            return fetched(self.connection, sql.replace('"taxi".', ""))

    def _show(self, table: Table, names: set[str], kind: str) -> None:
        needed = [c.name for c in table.columns.values() if c.name in names and not c.nullable]
        present = (SQL("{} IS NOT NULL").format(Identifier(name)) for name in (table.units[kind].column, *needed))
        view = SQL("CREATE OR REPLACE VIEW public.{0} AS SELECT * FROM clamped.{0} WHERE {1}").format(
            Identifier(bare(table)), SQL(" AND ").join(present)
        )
        if self._shown.get(table.name) != view:
            self.connection.execute(view)
            self._shown[table.name] = view
