"""Makes the shadow's database from the policy, once for each policy: a stamp tells whether that was done."""

import hashlib
import json
from collections.abc import Mapping

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from dpsql.policy.model import Policy
from dpsql.shadow import creation, guard, hidden, role, schema
from dpsql.shadow.postgres import Postgres

Rows = schema.Rows

_EDITION = 5
"""Counts the changes of what this room creates."""


def ensure(server: Postgres, policy: Policy, users: Mapping[str, str], rows: Rows, *, epoch: str = "") -> bool:
    """Make the database named as the data set, unless it was made from just this; say whether it was.

    `users` maps each user to their role; `rows` is asked for the rows of each public table, at most once an epoch.

    Raises:
        ConfigError: for a user's name that can't be a role.
    """
    stamp = _stamp(policy, users, epoch)
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        if _stamped(server, connection, policy.dataset) == stamp:
            return False
        _drop_databases(connection)
        role.create_roles(connection, users)
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(policy.dataset)))
        role.close_databases(connection, policy.dataset)
    with psycopg.connect(server.dsn(policy.dataset)) as connection:
        guard.create_guard(connection, policy)
        schema.create_tables(connection, policy, rows)
        schema.describe_columns(connection, policy)
        hidden.create_hidden(connection)
        creation.create_triggers(connection, policy)
        role.lock_down(connection, policy, users)
        connection.execute("CREATE TABLE dpsql.stamp (stamp text)")
        connection.execute("INSERT INTO dpsql.stamp VALUES (%s)", (stamp,))
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        # Nothing waits for the disk, so a crash would lose what is not written by now.
        connection.execute("CHECKPOINT")
    return True


def is_current(server: Postgres, policy: Policy, users: Mapping[str, str], *, epoch: str = "") -> bool:
    """Say whether `ensure` would have nothing to do."""
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        return _stamped(server, connection, policy.dataset) == _stamp(policy, users, epoch)


def _stamp(policy: Policy, users: Mapping[str, str], epoch: str) -> str:
    granted = {name: role.tables and sorted(role.tables) for name, role in policy.roles.items()}
    made_of = json.dumps([_EDITION, policy.fingerprint, granted, sorted(users.items()), epoch], sort_keys=True)
    return hashlib.sha256(made_of.encode()).hexdigest()


def _stamped(server: Postgres, connection: Connection, database: str) -> str | None:
    """Return the stamp of the database that is there; None if there is none, or it was left half made."""
    if connection.execute("SELECT FROM pg_database WHERE datname = %s", (database,)).fetchone() is None:
        return None
    with psycopg.connect(server.dsn(database)) as inside:
        if inside.execute("SELECT to_regclass('dpsql.stamp')").fetchone() == (None,):
            return None
        row = inside.execute("SELECT stamp FROM dpsql.stamp").fetchone()
    return None if row is None else str(row[0])


def _drop_databases(connection: Connection) -> None:
    """Drop every database that a policy made before."""
    found = connection.execute("SELECT datname FROM pg_database WHERE datname <> 'postgres' AND NOT datistemplate")
    for (name,) in found.fetchall():
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
