"""Functions of ours look up no name that a client could take."""

import psycopg
import pytest

from dpsql.shadow.contents.restrictions import GUARDED
from dpsql.shadow.server.postgres import Postgres

_OURS = """
  SELECT p.oid::regprocedure::text, p.prosecdef, p.prosqlbody IS NOT NULL, coalesce(p.proconfig, '{}')
    FROM pg_proc AS p WHERE p.prokind <> 'a' AND (p.oid >= 16384 OR p.prosqlbody IS NOT NULL)
"""
_LAST = "search_path=pg_catalog, pg_temp"
_SESSIONS = "pg_dpsql.tried(text[])"
"""What runs a session's own statement, by the session's path: all names that it has itself have their schemas."""
_PRINTING = "pg_get_"
"""What prints names as the session's path has them; bound, and what PostgreSQL's own function looks up has its schema."""


def _careless(connection: psycopg.Connection) -> list[str]:
    """Return the functions whose names a session's own objects could take."""
    functions = connection.execute(_OURS).fetchall()
    return [
        name
        for name, definer, bound, settings in functions
        if not (bound or _LAST in settings or name == _SESSIONS)
        or (definer and _LAST not in settings and not (bound and name.startswith(_PRINTING)))
    ]


@pytest.fixture
def owner(shadow: Postgres) -> psycopg.Connection:
    """Give the owner's session, in a transaction that is rolled back."""
    return psycopg.connect(shadow.dsn("taxi"))


def test_no_function_looks_names_up_among_temporary_objects(owner: psycopg.Connection) -> None:
    """Each body is bound when it is made, or searches `pg_temp` last; PostgreSQL's own in SQL are bound, too."""
    with owner:
        assert len(owner.execute(_OURS).fetchall()) > 15
        assert _careless(owner) == []


@pytest.mark.parametrize(
    "definition",
    [
        "LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
        "LANGUAGE sql AS 'SELECT 1'",
        "LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS 'SELECT 1'",
        "LANGUAGE sql SECURITY DEFINER RETURN 1",
    ],
)
def test_a_careless_function_would_be_found(owner: psycopg.Connection, definition: str) -> None:
    """Without a path, with one that leaves `pg_temp` first, and as its owner without any."""
    with owner:
        owner.execute(f"CREATE FUNCTION dpsql.careless() RETURNS integer {definition}".encode())
        assert _careless(owner) == ["dpsql.careless()"]
        owner.rollback()


def test_only_what_lists_sessions_runs_as_its_owner(owner: psycopg.Connection) -> None:
    """Or prints a view, of whose tree everybody has lost the right; nobody else may call what can't be stopped."""
    with owner:
        definers = "SELECT oid::regprocedure::text FROM pg_proc WHERE prosecdef"
        guarded = {signature.replace(", ", ",") for signature in GUARDED}
        assert {
            name.removeprefix("pg_catalog.").replace('"position"', "position")
            for (name,) in owner.execute(definers)
            if not name.startswith(_PRINTING)
        } == {
            "pg_dpsql.own_activity()",
            "pg_dpsql.forget_comments()",
            *guarded,
        }
