"""However a statement is hidden, what clients must not do is refused, or comes to nothing."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpsql.gateway.request import Question, Reply, Request
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.listener import Listener
from tests.attack.hidden import ALONE, GOALS, HIDERS
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401
from tests.wire.doubles import AsksOfTrips
from tests.wire.listening import dsn, listening
from tests.wire.raw import SYNC, Raw, query

_STATE = """
SELECT 'relation', relname::text, relkind::text FROM pg_class WHERE oid >= 16384 AND relkind NOT IN ('r', 'i', 't')
UNION ALL SELECT 'function', proname, prosecdef::text FROM pg_proc WHERE oid >= 16384 OR prosecdef
UNION ALL SELECT 'type', typname, typtype::text FROM pg_type WHERE oid >= 16384 AND typtype NOT IN ('b', 'c')
UNION ALL SELECT 'rule', rulename, ev_class::text FROM pg_rewrite WHERE oid >= 16384
UNION ALL SELECT 'trigger', tgname, tgrelid::text FROM pg_trigger
UNION ALL SELECT 'policy', polname, polrelid::text FROM pg_policy
UNION ALL SELECT 'schema', nspname, nspowner::text FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_'
UNION ALL SELECT 'extension', extname, '' FROM pg_extension
UNION ALL SELECT 'setting', setdatabase::text, setrole::text || setconfig::text FROM pg_db_role_setting
UNION ALL SELECT 'role', rolname, rolsuper::text || rolpassword FROM pg_authid
UNION ALL SELECT 'member', roleid::text, member::text FROM pg_auth_members
UNION ALL SELECT 'database', datname, datacl::text FROM pg_database
UNION ALL SELECT 'comment', objoid::text, description FROM pg_description WHERE objoid >= 16384
UNION ALL SELECT 'statistics', stxname, '' FROM pg_statistic_ext
UNION ALL SELECT 'statistics', starelid::text, staattnum::text FROM pg_statistic WHERE starelid >= 16384
UNION ALL SELECT 'rights', relname, relacl::text FROM pg_class WHERE relacl IS NOT NULL
UNION ALL SELECT 'large object', oid::text, '' FROM pg_largeobject_metadata
UNION ALL SELECT 'table', relname, relrowsecurity::text || relforcerowsecurity FROM pg_class
           WHERE relkind = 'r' AND relnamespace::regnamespace::text !~ '^pg_temp'
UNION ALL SELECT 'others', 'how many', ((SELECT count(*) FROM pg_operator) + (SELECT count(*) FROM pg_cast)
  + (SELECT count(*) FROM pg_collation) + (SELECT count(*) FROM pg_conversion) + (SELECT count(*) FROM pg_ts_dict)
  + (SELECT count(*) FROM pg_ts_config) + (SELECT count(*) FROM pg_opclass) + (SELECT count(*) FROM pg_opfamily)
  + (SELECT count(*) FROM pg_language) + (SELECT count(*) FROM pg_foreign_data_wrapper) + (SELECT count(*) FROM pg_am)
  + (SELECT count(*) FROM pg_event_trigger) + (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_cast))::text
UNION ALL SELECT 'notified', pg_notification_queue_usage()::text, ''
"""
"""Everything that a client could have made but temporary tables, as the owner sees it, sessions' own included."""


class Nobody(AsksOfTrips):
    """A gateway whose tables nobody names: whatever is not refused by the wire reaches the shadow."""

    def recall(self, text: str) -> tuple[Question | None] | None:
        """Take nothing, and remember nothing of that."""
        _ = text
        return None

    def answer(self, request: Request) -> Reply:
        """Never be asked."""
        raise NotImplementedError(request)


@pytest.fixture(scope="module")
def server(shadow: Postgres) -> Iterator[Listener]:  # noqa: F811
    """Give a listener through which everything reaches the shadow that the wire lets pass."""
    with listening(Nobody(), shadow, Limits(connections_per_user=400)) as (served, _):
        yield served


@pytest.fixture(scope="module")
def owner(shadow: Postgres) -> Iterator[psycopg.Connection]:  # noqa: F811
    """Give the shadow's superuser."""
    with psycopg.connect(shadow.dsn("taxi"), autocommit=True) as connection:
        yield connection


def _state(owner: psycopg.Connection) -> set[tuple[object, ...]]:
    return set(owner.execute(_STATE).fetchall())


@pytest.fixture(scope="module")
def before(owner: psycopg.Connection) -> set[tuple[object, ...]]:
    """Give what there was at first."""
    return _state(owner)


def _asked(session: Raw, statement: str) -> bytes:
    """Return all that a session says to one statement; nothing when it was hung up on."""
    with contextlib.suppress(AssertionError, OSError):
        session.send(query(statement))
        return b"".join(kind + body for kind, body in session.receive())
    return b""


def _try(server: Listener, owner: psycopg.Connection, messages: tuple[bytes, ...]) -> set[tuple[object, ...]]:
    """Send messages as ana; return what there is afterwards, while the session lasts."""
    with psycopg.connect(f"{dsn(server)} password=pw", autocommit=True) as connection, Raw(connection) as session:
        with contextlib.suppress(AssertionError, OSError):
            session.send(*messages, SYNC, query("rollback"))
            while (b"C", b"ROLLBACK\0") not in session.receive():
                pass
        channels = _asked(session, "select count(*) as listening from pg_listening_channels()")
        left = _state(owner)
        if b"listening" in channels and b"\0\0\0\x010" not in channels:
            left.add(("listens",))
        connection.pgconn.finish()
    return left


@pytest.mark.parametrize("how", HIDERS)
def test_hidden_statement_comes_to_nothing(
    how: str, server: Listener, owner: psycopg.Connection, before: set[tuple[object, ...]]
) -> None:
    """Whatever stands around it, in whatever encoding, by whichever protocol."""
    assert {goal: left for goal in GOALS if (left := _try(server, owner, HIDERS[how](goal)) - before)} == {}


@pytest.mark.parametrize("statement", ALONE)
def test_forbidden_statement_comes_to_nothing(
    statement: str, server: Listener, owner: psycopg.Connection, before: set[tuple[object, ...]]
) -> None:
    """As it stands, by the simple protocol; nothing of the server's files is read or written."""
    assert _try(server, owner, (query(statement),)) - before == set()
    assert not Path("/tmp/dpsql-hidden").exists()  # noqa: S108 # nobody makes it


def test_the_look_at_the_state_sees_what_was_done(owner: psycopg.Connection) -> None:
    """A test that finds nothing has looked: what the owner does is found."""
    done = ("CREATE TEMP VIEW seen AS SELECT 1", "COMMENT ON TABLE zones IS 'x'", "ALTER ROLE gus SET work_mem = '1MB'")
    for statement in done:
        before = _state(owner)
        with owner.transaction(force_rollback=True):
            owner.execute(statement.encode())
            assert _state(owner) - before
