"""The tables of the ledger's file."""

import sqlite3

VERSION = 7
"""The version of the tables that this dpsql reads."""
_TABLES = """
CREATE TABLE statements (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, statement INTEGER NOT NULL REFERENCES statements, key TEXT NOT NULL, note TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, measured INTEGER NOT NULL CHECK (measured IN (0, 1))
) STRICT;
CREATE TABLE releases (
    kind TEXT NOT NULL, key TEXT NOT NULL, release BLOB NOT NULL, PRIMARY KEY (kind, key)
) STRICT;
CREATE TABLE entitlements (
    kind TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (kind, key, role)
) STRICT;
CREATE TABLE epochs (number INTEGER PRIMARY KEY, began TEXT NOT NULL, reason TEXT NOT NULL) STRICT;
"""
_SECOND = """
ALTER TABLE releases ADD COLUMN failed TEXT;
CREATE TABLE events (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL, what TEXT NOT NULL,
    cause TEXT NOT NULL, statement TEXT NOT NULL
) STRICT;
CREATE TABLE owners (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, ledger TEXT NOT NULL, dataset TEXT NOT NULL, source TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
DELETE FROM releases;
DELETE FROM entitlements;
"""
"""Version 2 adds these; it does not say whose the releases of version 1 are."""
_THIRD = "ALTER TABLE entitlements ADD COLUMN question TEXT"
"""Version 3 adds the question by which a role was told a release; of earlier releases there is none."""
_FOURTH = """
CREATE TABLE readings (
    kind TEXT NOT NULL, role TEXT NOT NULL, key TEXT NOT NULL, sources TEXT NOT NULL, PRIMARY KEY (kind, role, key)
) STRICT
"""
"""Version 4 adds by which releases a role's answers were read that have none of their own."""
_FIFTH = """
ALTER TABLE events ADD COLUMN form TEXT NOT NULL DEFAULT '';
ALTER TABLE charges ADD COLUMN first_read TEXT;
ALTER TABLE charges ADD COLUMN last_read TEXT
"""
"""Version 5 adds which form of measurement an event is about, and between which days records were read for a charge.

Earlier charges have no days: they count as of the records that there were when they were made.
"""
_SIXTH = """
CREATE TABLE lineages (id INTEGER PRIMARY KEY, time TEXT NOT NULL, name TEXT NOT NULL) STRICT;
CREATE TABLE standing (
    kind TEXT NOT NULL, key TEXT NOT NULL, role TEXT NOT NULL, relation TEXT NOT NULL, term TEXT NOT NULL,
    ends TEXT NOT NULL, declared TEXT NOT NULL, statement TEXT NOT NULL, epsilon TEXT NOT NULL, began TEXT NOT NULL,
    PRIMARY KEY (kind, key, role)
) STRICT;
CREATE TABLE standing_claims (
    kind TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, lineage TEXT NOT NULL,
    role TEXT NOT NULL, time TEXT NOT NULL, state TEXT NOT NULL, periods TEXT NOT NULL, locked INTEGER NOT NULL,
    release BLOB, PRIMARY KEY (kind, key, number)
) STRICT;
CREATE TABLE standing_attempts (id INTEGER PRIMARY KEY, time TEXT NOT NULL, role TEXT NOT NULL) STRICT
"""
"""Version 6 adds standing questions: what roles have paid for, which periods were measured, and who may measure."""
_SEVENTH = "ALTER TABLE charges ADD COLUMN rho TEXT"
"""Version 7 adds the ρ of what has no ε; earlier charges have none."""
_APPEND_ONLY = """
CREATE TRIGGER {table}_no_{action} BEFORE {action} ON {table}
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
"""


_FIRST_TABLES, _SECOND_TABLES = ("statements", "charges", "epochs"), ("events", "owners")
_ACTIONS = ("UPDATE", "DELETE")
APPEND_ONLY = frozenset(f"{table}_no_{action}" for table in (*_FIRST_TABLES, *_SECOND_TABLES) for action in _ACTIONS)
"""The triggers that keep lines as they are."""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables of version 1."""
    _run(connection, _TABLES)
    _append_only(connection, *_FIRST_TABLES)


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Make the tables of this version of those of an earlier one."""
    if version < 2:  # a version
        _run(connection, _SECOND)
        _append_only(connection, *_SECOND_TABLES)
    if version < 3:  # a version
        _run(connection, _THIRD)
    if version < 4:  # a version
        _run(connection, _FOURTH)
    if version < 5:  # a version
        _run(connection, _FIFTH)
    if version < 6:  # a version
        _run(connection, _SIXTH)
    _run(connection, _SEVENTH)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)


def _append_only(connection: sqlite3.Connection, *tables: str) -> None:
    for table in tables:
        for action in _ACTIONS:
            connection.execute(_APPEND_ONLY.format(table=table, action=action))
