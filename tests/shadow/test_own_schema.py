"""What stands in the schema `dpsql` is for people: few things, each with a comment. All else is where no tool lists it."""

import psycopg
import pytest

from dpsql.gateway.catalogue import virtual_tables
from dpsql.gateway.catalogue.virtual_tables import REGISTRY, STANDING
from dpsql.question import OWN_SETTINGS
from dpsql.shadow.server.postgres import Postgres

_TABLES = {
    "budget": virtual_tables._BUDGET,
    "charges": virtual_tables._CHARGES,
    "registry": REGISTRY,
    "audit": virtual_tables._AUDIT,
    "profile": virtual_tables._PROFILE,
    "releases": virtual_tables._RELEASES,
    "standing": STANDING,
}
"""The columns of the rows that the gateway gives."""
_RELATIONS = """
SELECT relname::text, obj_description(oid, 'pg_class') FROM pg_class
 WHERE relnamespace = 'dpsql'::regnamespace AND relkind IN ('r', 'v', 'm', 'p', 'f', 'S')
"""
_FUNCTIONS = (
    "SELECT proname::text, obj_description(oid, 'pg_proc') FROM pg_proc WHERE pronamespace = 'dpsql'::regnamespace"
)
_COLUMNS = """
SELECT attname::text, col_description(attrelid, attnum) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
 WHERE relnamespace = 'dpsql'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0
"""
_SCHEMAS = """
SELECT nspname::text, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname !~ '^(pg_|information_)'
"""


@pytest.fixture
def client(shadow: Postgres) -> psycopg.Connection:
    """Give a client's session, as tools have it."""
    return psycopg.connect(shadow.dsn("taxi", user="ana"), autocommit=True)


def test_few_things_are_listed(client: psycopg.Connection) -> None:
    """As psql lists them, which leaves out what begins as PostgreSQL's own."""
    with client:
        assert {name for name, _ in client.execute(_RELATIONS)} == {*_TABLES, "columns", "tables"}
        assert {name for name, _ in client.execute(_FUNCTIONS)} == {"cut", "margin", "shrunk", "take_profile"}
        assert {name for name, _ in client.execute(_SCHEMAS)} == {"dpsql", "public"}


@pytest.mark.parametrize("asked", [_RELATIONS, _FUNCTIONS, _COLUMNS, _SCHEMAS])
def test_everything_has_a_comment(client: psycopg.Connection, asked: str) -> None:
    """A person finds out what it is without our pages."""
    with client:
        assert [name for name, comment in client.execute(asked.encode()) if not comment] == []


@pytest.mark.parametrize("setting", OWN_SETTINGS)
def test_settings_are_shown_before_they_are_set(client: psycopg.Connection, setting: str) -> None:
    """Empty is as the role has it."""
    with client:
        assert client.execute(f"SHOW {setting}".encode()).fetchone() == ("",)
        with pytest.raises(psycopg.errors.UndefinedObject):
            client.execute("SHOW dpsql.nonsense")


def test_tables_have_the_columns_of_the_rows(client: psycopg.Connection) -> None:
    """What psql describes is what is there."""
    asked = """
        SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
         WHERE attrelid = format('dpsql.%%I', %s::text)::regclass AND attnum > 0 ORDER BY attnum
    """
    with client:
        for table, columns in _TABLES.items():
            assert client.execute(asked, (table,)).fetchall() == list(columns.items()), table
