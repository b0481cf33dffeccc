"""The tables of a ledger on PostgreSQL, which are those of the ledger's file, and how they came to be."""

from dpsql.accounting.postgres.session import SCHEMA
from dpsql.accounting.sql.store import SqlConnection
from dpsql.errors import ConfigError

SERVER_VERSION = 7
"""The version of the tables that this dpsql reads: versions count as the file's do, whose first two there never were here."""
KEPT_TABLES = ("statements", "charges", "epochs", "events", "owners")
"""The tables whose lines stay as they are."""
_NUMBERS = {"statements": "id", "charges": "id", "epochs": "number", "events": "id", "owners": "id"}
"""The columns that number lines, in their order and without a gap: a writer has the tables for itself."""
_TABLES = """
CREATE TABLE statements (
    id BIGINT PRIMARY KEY, time TEXT NOT NULL, "user" TEXT NOT NULL, role TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE charges (
    id BIGINT PRIMARY KEY, statement BIGINT NOT NULL REFERENCES statements, key TEXT NOT NULL, note TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, measured INTEGER NOT NULL CHECK (measured IN (0, 1)),
    first_read TEXT, last_read TEXT, rho TEXT
);
CREATE TABLE releases (
    kind TEXT NOT NULL, key TEXT NOT NULL, release BYTEA NOT NULL, failed TEXT, PRIMARY KEY (kind, key)
);
CREATE TABLE entitlements (
    kind TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, question TEXT,
    rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, PRIMARY KEY (kind, key, role)
);
CREATE TABLE epochs (number BIGINT PRIMARY KEY, began TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE events (
    id BIGINT PRIMARY KEY, time TEXT NOT NULL, "user" TEXT NOT NULL, role TEXT NOT NULL, what TEXT NOT NULL,
    cause TEXT NOT NULL, statement TEXT NOT NULL, form TEXT NOT NULL DEFAULT ''
);
CREATE TABLE owners (
    id BIGINT PRIMARY KEY, time TEXT NOT NULL, ledger TEXT NOT NULL, dataset TEXT NOT NULL, source TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE version (number INTEGER NOT NULL)
"""
_FOURTH = """
CREATE TABLE readings (
    kind TEXT NOT NULL, role TEXT NOT NULL, key TEXT NOT NULL, sources TEXT NOT NULL, PRIMARY KEY (kind, role, key)
)
"""
"""Version 4 adds by which releases a role's answers were read that have none of their own."""
_FIFTH = """
ALTER TABLE events ADD COLUMN form TEXT NOT NULL DEFAULT '';
ALTER TABLE charges ADD COLUMN first_read TEXT;
ALTER TABLE charges ADD COLUMN last_read TEXT
"""
"""Version 5 adds these, as it does to the ledger's file."""
_SIXTH = """
CREATE TABLE lineages (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE standing (
    kind TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, relation TEXT NOT NULL, term TEXT NOT NULL,
    ends TEXT NOT NULL, declared TEXT NOT NULL, statement TEXT NOT NULL, epsilon TEXT NOT NULL, began TEXT NOT NULL,
    PRIMARY KEY (kind, key, role)
);
CREATE TABLE standing_claims (
    kind TEXT NOT NULL, key TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL, lineage TEXT NOT NULL,
    role TEXT NOT NULL, time TEXT NOT NULL, state TEXT NOT NULL, periods TEXT NOT NULL, locked INTEGER NOT NULL,
    release BYTEA, PRIMARY KEY (kind, key, number)
);
CREATE TABLE standing_attempts (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, time TEXT NOT NULL, role TEXT NOT NULL)
"""
"""Version 6 adds these, likewise."""
_SEVENTH = "ALTER TABLE charges ADD COLUMN rho TEXT"
"""Version 7 adds it, likewise."""
_ADDED = {4: _FOURTH, 5: _FIFTH, 6: _SIXTH, 7: _SEVENTH}
"""By version what it adds to the one before."""
_REFUSAL = """
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION 'the ledger is append-only'; END$$
"""
_TRIGGER = """
CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
EXECUTE FUNCTION append_only()
"""
_NEXT = """
CREATE FUNCTION next_{table}() RETURNS bigint LANGUAGE sql AS
'SELECT coalesce(max({column}), 0) + 1 FROM {schema}.{table}'
"""
_DEFAULT = "ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT next_{table}()"
_THERE = "SELECT to_regclass(?1) IS NOT NULL"
_TRIGGERS = """
SELECT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ?1 AND t.tgname = c.relname || '_append_only' AND t.tgenabled <> 'D'
"""
KEEP_OTHERS_OUT = "LOCK TABLE charges IN EXCLUSIVE MODE"
"""The beginning of a transaction that writes; readers don't wait for it."""


def is_there(connection: SqlConnection) -> bool:
    """Return whether there is a ledger."""
    return bool(connection.execute(_THERE, (f"{SCHEMA}.version",)).fetchone()[0])


def make_tables(connection: SqlConnection) -> None:
    """Make the schema and its tables."""
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    for statement in (
        *_TABLES.split(";"),
        _FOURTH,
        *_SIXTH.split(";"),
        _REFUSAL,
        *(_TRIGGER.format(table=table) for table in KEPT_TABLES),
    ):
        connection.execute(statement)
    for table, column in _NUMBERS.items():
        for statement in (_NEXT, _DEFAULT):
            connection.execute(statement.format(schema=SCHEMA, table=table, column=column))
    connection.execute("INSERT INTO version VALUES (?1)", (SERVER_VERSION,))


def upgrade(connection: SqlConnection) -> None:
    """Make the tables of this version of those of an earlier one; nothing where they are of another."""
    row = connection.execute("SELECT number FROM version").fetchone()
    if row is None or row[0] + 1 not in _ADDED:
        return
    for version in range(row[0] + 1, SERVER_VERSION + 1):
        for statement in _ADDED[version].split(";"):
            connection.execute(statement)
    connection.execute("UPDATE version SET number = ?1", (SERVER_VERSION,))


def require_version(connection: SqlConnection, place: object) -> None:
    """Return if the tables are of the version that we read.

    Raises:
        ConfigError: they are not.
    """
    row = connection.execute("SELECT number FROM version").fetchone()
    version = None if row is None else row[0]
    if version != SERVER_VERSION:
        raise ConfigError(f"ledger {place} has schema version {version}, this dpsql reads version {SERVER_VERSION}")


def changeable(connection: SqlConnection) -> tuple[str, ...]:
    """Return the tables whose lines nothing keeps as they are."""
    kept = {row[0] for row in connection.execute(_TRIGGERS, (SCHEMA,))}
    return tuple(table for table in KEPT_TABLES if table not in kept)
