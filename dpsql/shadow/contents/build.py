"""Makes the shadow's database from the policy, or changes it in place: stamps tell what it was made of."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from enum import Enum, auto

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from dpsql.policy.model import Policy, Table
from dpsql.shadow.contents import guard, restrictions, role, schema
from dpsql.shadow.contents.schema import qualified_name
from dpsql.shadow.server.postgres import Postgres

Rows = schema.ReadPublicRows

_EDITION = 30
"""Counts the changes of what this room creates."""
_PATIENCE = "10s"  # for sessions that are in the way of a change


class Change(Enum):
    """The work that makes a database as a policy says."""

    NONE = auto()
    IN_PLACE = auto()
    """Sessions go on."""
    ANEW = auto()
    """It is dropped, and all sessions end."""


@dataclass(frozen=True, slots=True)
class _Stamps:
    """Hashes of what a database was made of."""

    structure: str
    """Tables, columns and types: what sessions hold on to."""
    users: str
    """The tables that each user may read."""
    words: str
    """Descriptions, bounds and values."""
    rows: str
    """The rows of the public tables."""


def needed_change(server: Postgres, policy: Policy, users: Mapping[str, str], *, epoch: str = "") -> Change:
    """Return what `ensure_shadow` would have to do.

    Raises:
        ConfigError: the server orders texts otherwise than engines do.
    """
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        schema.require_byte_order(connection, str(server.home))
        stamps = _stamped(server, connection, policy.dataset)
    wanted = _stamps(policy, users, epoch)
    if stamps is None or stamps.structure != wanted.structure:
        return Change.ANEW
    return Change.NONE if stamps == wanted else Change.IN_PLACE


def ensure_shadow(server: Postgres, policy: Policy, users: Mapping[str, str], rows: Rows, *, epoch: str = "") -> Change:
    """See that the database named as the data set is as the policy says; return what had to be done.

    `users` maps each user to their role; `rows` is asked for the rows of each public table, if `epoch` is a new one.

    Raises:
        ConfigError: for a user's name that can't be a role, and likewise.
    """
    needed = needed_change(server, policy, users, epoch=epoch)
    match needed:
        case Change.ANEW:
            _make(server, policy, users, rows, _stamps(policy, users, epoch))
        case Change.IN_PLACE:
            _adapt(server, policy, users, rows, _stamps(policy, users, epoch))
        case Change.NONE:
            pass
    return needed


def with_views(server: Postgres, policy: Policy) -> Policy:
    """Return the policy with what the shadow, which is as the policy says, knows of its views; it takes all conditions.

    Raises:
        ConfigError: or it does not take some.
    """
    with psycopg.connect(server.dsn(policy.dataset), autocommit=True) as connection:
        role.require_indexable_conditions(connection, policy)
        return schema.known_views(connection, policy)


def drop_departed_users(server: Postgres, policy: Policy, users: Mapping[str, str]) -> None:
    """End the sessions and the roles of all but these users."""
    with psycopg.connect(server.dsn(policy.dataset), autocommit=True) as connection:
        role.drop_others(connection, users)


def _make(server: Postgres, policy: Policy, users: Mapping[str, str], rows: Rows, stamps: _Stamps) -> None:
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        _drop_databases(connection)
        role.create_roles(connection, users)
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(policy.dataset)))
        role.close_databases(connection, policy.dataset)
    with psycopg.connect(server.dsn(policy.dataset)) as connection:
        guard.create_guard(connection, policy)
        guard.create_total(connection)
        guard.create_trial(connection)
        schema.create_tables(connection, policy, rows)
        schema.create_views(connection, policy)
        policy = schema.known_views(connection, policy)
        schema.describe_tables(connection, policy)
        schema.describe_views(connection, policy)
        restrictions.create_hidden(connection)
        restrictions.create_costly(connection)
        restrictions.rebind_views(connection)
        guard.create_signals(connection)
        guard.create_check(connection)
        role.create_triggers(connection, policy)
        role.lock_down(connection, policy, users)
        connection.execute("CREATE TABLE pg_dpsql.stamp (structure text, users text, words text, rows text)")
        connection.execute("INSERT INTO pg_dpsql.stamp VALUES (%s, %s, %s, %s)", astuple(stamps))
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as connection:
        # Nothing waits for the disk, so a crash would lose what is not written by now.
        connection.execute("CHECKPOINT")


def _adapt(server: Postgres, policy: Policy, users: Mapping[str, str], rows: Rows, stamps: _Stamps) -> None:
    """Change what is not the structure, all at once."""
    with psycopg.connect(server.dsn(policy.dataset)) as connection:
        connection.execute(SQL("SET LOCAL lock_timeout = {}").format(_PATIENCE))
        row = connection.execute("SELECT structure, users, words, rows FROM pg_dpsql.stamp").fetchone()
        old, policy = _Stamps(*map(str, row or ())), schema.known_views(connection, policy)
        if old.users != stamps.users:
            role.change_roles(connection, policy, users)
        if old.words != stamps.words:
            schema.describe_tables(connection, policy)
            schema.describe_views(connection, policy)
        if old.rows != stamps.rows:
            schema.refill_public_tables(connection, policy, rows)
        connection.execute(
            "UPDATE pg_dpsql.stamp SET (structure, users, words, rows) = (%s, %s, %s, %s)", astuple(stamps)
        )
    with psycopg.connect(server.dsn(policy.dataset), autocommit=True) as connection:
        for table in policy.tables.values():
            if table.public and old.rows != stamps.rows:
                connection.execute(SQL("VACUUM ANALYZE {}").format(qualified_name(table.name)))
        connection.execute("CHECKPOINT")


def _stamps(policy: Policy, users: Mapping[str, str], epoch: str) -> _Stamps:
    granted = {
        name: [None if r.tables is None else sorted(r.tables), {t: sorted(names) for t, names in r.columns.items()}]
        for name, r in policy.roles.items()
    }
    tables = [_structure(policy.tables[name]) for name in sorted(policy.tables)]
    return _Stamps(
        structure=_hash([_EDITION, policy.dataset, tables, schema.structure_of_views(policy)]),
        users=_hash([sorted(users.items()), granted, policy.search_path]),
        words=_hash([schema.descriptions_of_tables(policy), schema.descriptions_of_views(policy)]),
        rows=_hash(epoch),
    )


def _structure(table: Table) -> list[object]:
    targets = [(c.references.table, c.references.column) if c.references else None for c in table.columns.values()]
    columns = [(c.name, c.declared, c.nullable) for c in table.columns.values()]
    return [table.name, table.public, table.key, columns, targets, table.joint_key, sorted(table.references.items())]


def _hash(made_of: object) -> str:
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _stamped(server: Postgres, connection: Connection, database: str) -> _Stamps | None:
    """Return the stamps of the database that is there; None if there is none, or it was left half made, or is older."""
    if connection.execute("SELECT FROM pg_database WHERE datname = %s", (database,)).fetchone() is None:
        return None
    with psycopg.connect(server.dsn(database)) as inside:
        if inside.execute("SELECT to_regclass('pg_dpsql.stamp')").fetchone() == (None,):
            return None
        row = inside.execute("SELECT * FROM pg_dpsql.stamp").fetchone()
    return None if row is None or len(row) < len(_Stamps.__slots__) else _Stamps(*map(str, row))


def _drop_databases(connection: Connection) -> None:
    """Drop every database that a policy made before."""
    databases = connection.execute("SELECT datname FROM pg_database WHERE datname <> 'postgres' AND NOT datistemplate")
    for (name,) in databases.fetchall():
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
