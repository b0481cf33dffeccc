"""Sessions with a PostgreSQL engine whose owner, users or poolers set things otherwise than we need them."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.postgres.pool import ALLOWED_SWITCHES, POSTGRES_SETTINGS, session_options
from dpsql.errors import ConfigError, EngineAway
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.shadow.server.postgres import Postgres
from tests.engines.asking import asked
from tests.engines.reader import READER, reading
from tests.support.dialects import POSTGRES

Make = Callable[[str], PostgresEngine]
OTHERS = {
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "timezone": "Asia/Tokyo",
    "datestyle": "SQL, DMY",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "search_path": "records, public",
    "row_security": "on",
    "default_transaction_read_only": "off",
    "client_encoding": "LATIN1",
    "idle_in_transaction_session_timeout": "1ms",
}
"""What an owner may have set, for the database and for the role."""


@pytest.fixture(params=["DATABASE postgres", f"ROLE {READER}"])
def otherwise(owner: psycopg.Connection, request: pytest.FixtureRequest) -> Iterator[None]:
    """Set everything otherwise for a while."""
    for name, value in OTHERS.items():
        quoted = ", ".join(f"'{part.strip()}'" for part in value.split(","))
        owner.execute(f"ALTER {request.param} SET {name} = {quoted}".encode())
    yield
    owner.execute(f"ALTER {request.param} RESET ALL".encode())


@pytest.mark.usefixtures("otherwise")
def test_no_default_of_the_server_changes_how_statements_are_read(postgres: Make, charge: Charge) -> None:
    """A text with a backslash is that text: nothing of a statement is inside it or out of it by mistake."""
    engine = postgres("CREATE TABLE t AS SELECT 1 AS a")
    assert asked(engine, r"SELECT '\' || a || 'x' FROM {t}", charge) == [("\\1x",)]
    assert asked(engine, "SELECT CAST(NULL = NULL AS VARCHAR) FROM {t}", charge) == [(None,)]
    assert asked(engine, "SELECT CAST(DATE '2020-02-01' AS VARCHAR) FROM {t}", charge) == [("2020-02-01",)]
    settings = [
        [f"current_setting('{name}')", value] for name, value in POSTGRES_SETTINGS.items() if name != "search_path"
    ]
    shown = asked(engine, f"SELECT {', '.join(name for name, _ in settings)} FROM {{t}}", charge)
    assert list(shown[0]) == [value for _, value in settings]


@pytest.mark.parametrize("setting", ["on", "off"])
@pytest.mark.parametrize("text", ["\\", "\\'", "' OR true --", "\\\\x41", "a\\nb", "plain"])
def test_a_literal_means_the_same_under_both_settings(owner: psycopg.Connection, setting: str, text: str) -> None:
    """What is emitted does not rest on the session's settings alone."""
    emitted = Emitter(POSTGRES, DeclaredFacts({})).literal(text, SqlType.TEXT)
    with owner.transaction():
        owner.execute(f"SET LOCAL standard_conforming_strings = {setting}".encode())
        owner.execute("SET LOCAL escape_string_warning = off")
        assert owner.execute(f"SELECT {emitted}".encode()).fetchone() == (text,)


def test_what_others_may_create_is_never_called(
    server: Postgres, owner: psycopg.Connection, charge: Charge, postgres: Make
) -> None:
    """An operator or a function in a schema of the path, fitting better than PostgreSQL's own, sees no value."""
    owner.execute("SET search_path = public")
    owner.execute("""
        CREATE FUNCTION public.spy(varchar, varchar) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
        CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.spy);
        CREATE FUNCTION public.abs(varchar) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 42';
        CREATE FUNCTION public.length(varchar) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 42'""")
    try:
        engine = postgres("CREATE TABLE public.t AS SELECT 'xyz'::varchar AS b")
        owner.execute(f"GRANT SELECT ON public.t TO {READER}".encode())
        broken = reading(server).replace("search_path=records", "search_path=public")
        with psycopg.connect(broken) as connection:
            row = connection.execute("SELECT b = 'abc'::varchar, length(b) FROM t").fetchone()
            assert row == (True, 42)
        engine = PostgresEngine(broken, {"t": None})
        assert engine.named("t") == '"public"."t"'
        assert asked(engine, "SELECT CAST(b = 'abc'::varchar AS VARCHAR), length(b) FROM {t}", charge) == [("false", 3)]
        engine.close()
    finally:
        owner.execute("DROP TABLE public.t; DROP OPERATOR public.= (varchar, varchar)")
        owner.execute("DROP FUNCTION public.spy, public.abs(varchar), public.length(varchar)")


def test_a_table_is_the_one_that_the_path_finds(server: Postgres, owner: psycopg.Connection, charge: Charge) -> None:
    """Where two schemas have a table of a name, the first in the path of the DSN, or of the role, counts."""
    owner.execute("CREATE TABLE public.two AS SELECT 2 AS a; CREATE TABLE records.two AS SELECT 1 AS a")
    owner.execute(f"GRANT SELECT ON public.two TO {READER}".encode())
    try:
        for path, expected in (("records,public", 1), ("public,records", 2)):
            engine = PostgresEngine(
                reading(server).replace("search_path=records", f"search_path={path}"), {"two": None}
            )
            assert asked(engine, "SELECT a FROM {two}", charge) == [(expected,)]
            engine.close()
    finally:
        owner.execute("DROP TABLE public.two")


def test_rows_that_a_policy_hides_are_refused(owner: psycopg.Connection, reader_dsn: str) -> None:
    """A policy's condition may let one person's rows depend on those of another."""
    owner.execute(
        f"CREATE TABLE t (a INT); GRANT SELECT ON t TO {READER}; ALTER TABLE t ENABLE ROW LEVEL SECURITY".encode()
    )
    with pytest.raises(ConfigError, match="row-level security hides rows of t"):
        PostgresEngine(reader_dsn, {"t": None})


def test_a_pooler_that_drops_settings_is_refused(owner: psycopg.Connection, reader_dsn: str) -> None:
    """Nothing is asked in a session that reads statements otherwise."""
    owner.execute("CREATE TABLE t (a INT)")
    with _pooler(reader_dsn) as dsn, pytest.raises(ConfigError, match="does not keep the settings") as caught:
        PostgresEngine(dsn, {"t": None})
    assert caught.value.hint is not None
    assert "pooler" in caught.value.hint


@contextmanager
def _pooler(dsn: str) -> Iterator[str]:
    """Pass two connections on to a server, without the options that they begin with."""
    given = conninfo_to_dict(dsn)
    target = f"{given['host']}/.s.PGSQL.{given.get('port', 5432)}"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_pool, args=(listening, target), daemon=True).start()
        port = listening.getsockname()[1]
        yield make_conninfo(
            "", **{**given, "host": "127.0.0.1", "port": port, "sslmode": "disable", "gssencmode": "disable"}
        )


def _pool(listening: socket.socket, target: str) -> None:
    for _ in range(2):
        client, _address = listening.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(target)
        server.sendall(_without_options(client))
        threading.Thread(target=_pass, args=(server, client), daemon=True).start()
        threading.Thread(target=_pass, args=(client, server), daemon=True).start()


def _without_options(client: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", client.recv(4, socket.MSG_WAITALL))
    body = client.recv(length - 4, socket.MSG_WAITALL)
    words = body[4:].rstrip(b"\0").split(b"\0")
    pairs = [pair for pair in zip(words[::2], words[1::2], strict=True) if pair[0] != b"options"]
    kept = body[:4] + b"".join(name + b"\0" + value + b"\0" for name, value in pairs) + b"\0"
    return struct.pack("!I", len(kept) + 4) + kept


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError), source, target:
        while data := source.recv(65536):
            target.sendall(data)


def test_what_is_set_for_speed_may_be_set_otherwise_by_the_dsn(owner: psycopg.Connection) -> None:
    """And what statements mean may not."""
    names = ("jit", "work_mem", "parallel_setup_cost", "TimeZone")
    shown = f"SELECT {', '.join(f'current_setting($${name}$$)' for name in names)}"
    given = "-c work_mem=1MB -c TimeZone=Asia/Tokyo"
    with psycopg.connect(owner.info.dsn, password=owner.info.password, options=session_options(given)) as connection:
        assert connection.execute(shown.encode()).fetchone() == ("off", "1MB", "100", "UTC")


def test_planning_takes_only_what_is_allowed(owner: psycopg.Connection, reader_dsn: str) -> None:
    """Whatever a DSN has for it, and whatever this version of PostgreSQL brings along."""
    owner.execute("CREATE TABLE t (a INT)")
    engine = PostgresEngine(f"{reader_dsn} options='-c enable_memoize=on'", {"t": None})
    on = "SELECT name FROM pg_settings WHERE name LIKE 'enable\\_%' AND setting = 'on' ORDER BY 1"
    assert [name for (name,) in engine.for_owner(on, timeout=30)] == sorted(ALLOWED_SWITCHES)
    engine.close()


def test_a_file_of_passwords_is_read_with_each_connection(
    server: Postgres, owner: psycopg.Connection, charge: Charge, tmp_path: Path
) -> None:
    """So a password is changed without a restart, as docs/operations/security.md says."""
    owner.execute("CREATE ROLE by_file LOGIN PASSWORD 'first'")
    owner.execute("CREATE TABLE records.of_file AS SELECT 1 AS a; GRANT SELECT ON records.of_file TO by_file")
    owner.execute("GRANT USAGE ON SCHEMA records TO by_file")
    passwords = tmp_path / "pgpass"
    passwords.write_text("*:*:*:by_file:first\n")
    passwords.chmod(0o600)
    given = conninfo_to_dict(reading(server, "by_file")) | {"passfile": str(passwords)}
    del given["password"]
    engine = PostgresEngine(make_conninfo("", **given), {"of_file": None})
    try:
        assert asked(engine, "SELECT a FROM {of_file}", charge) == [(1,)]
        owner.execute("ALTER ROLE by_file PASSWORD 'second'")
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'by_file'")
        with pytest.raises(EngineAway):
            asked(engine, "SELECT a FROM {of_file}", charge)
        passwords.write_text("*:*:*:by_file:second\n")
        assert asked(engine, "SELECT a FROM {of_file}", charge) == [(1,)]
    finally:
        engine.close()
        owner.execute("DROP TABLE records.of_file; DROP OWNED BY by_file; DROP ROLE by_file")
