"""PostgreSQL as the engine: its role, its constraints, its connections."""

import re
from collections.abc import Callable

import psycopg
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import NoEngine
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.tables import engine_labels, fits
from dpsql.errors import ConfigError, EngineNotReady
from dpsql.policy.model import SqlType
from dpsql.shadow.server.postgres import Postgres
from tests.engines.asking import asked
from tests.engines.reader import READER, reading
from tests.support.dialects import POSTGRES

Make = Callable[[str], PostgresEngine]


def _one(engine: PostgresEngine, sql: str, charge: Charge) -> object:
    return asked(engine, sql, charge)[0][0]


def test_only_constraints_that_hold_for_every_row_count(postgres: Make) -> None:
    """Not those that are partial, deferred or of expressions, nor a parent's, which its children need not keep."""
    engine = postgres("""
        CREATE TABLE t (a INT UNIQUE DEFERRABLE, b INT, c INT, d INT, e INT UNIQUE NULLS NOT DISTINCT, f INT);
        CREATE UNIQUE INDEX ON t (b) WHERE b > 0;
        CREATE UNIQUE INDEX ON t ((c + 1));
        CREATE UNIQUE INDEX ON t (b, (c + 1));
        CREATE UNIQUE INDEX ON t (b, c) WHERE b > 0;
        CREATE UNIQUE INDEX ON t (c, b) INCLUDE (f);
        ALTER TABLE t ADD UNIQUE (a, f) DEFERRABLE;
        CREATE UNIQUE INDEX ON t (d) INCLUDE (f);
        CREATE TABLE parent (a INT UNIQUE);
        CREATE TABLE child () INHERITS (parent);
        CREATE TABLE parts (a INT UNIQUE) PARTITION BY RANGE (a);
        CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)""")
    assert engine.unique_keys("t") == {frozenset({"d"}), frozenset({"e"}), frozenset({"b", "c"})}
    assert engine.unique_keys("parent") == frozenset()
    assert engine.unique_keys("parts") == {frozenset({"a"})}


def test_types_are_those_that_stand_behind_domains(postgres: Make) -> None:
    """A domain is read as its base type, an enumeration as what it is."""
    engine = postgres("""
        CREATE DOMAIN amount AS numeric(10, 2);
        CREATE DOMAIN money_amount AS amount CHECK (VALUE > 0);
        CREATE TYPE colour AS ENUM ('red', 'it''s \n(2)', 'a\\b');
        CREATE TYPE nothing AS ENUM ();
        CREATE DOMAIN paint AS colour;
        CREATE TABLE t (a money_amount, b colour, c varchar(3), d nothing, e paint)""")
    types = engine.columns("t")
    assert (types["a"], types["c"]) == ("numeric(10,2)", "character varying(3)")
    assert engine_labels(types["b"]) == frozenset({"red", "it's \n(2)", "a\\b"})
    assert types["e"] == types["b"]
    assert engine_labels(types["d"]) == frozenset()
    assert all(fits(SqlType.ENUM, "enum", types[name], POSTGRES) for name in "bd")


def test_a_superuser_is_refused(server: Postgres) -> None:
    """The hint is what to do instead."""
    with pytest.raises(ConfigError, match='the role "dpsql_owner" is a superuser') as caught:
        PostgresEngine(reading(server, "dpsql_owner"), {"trips": None})
    assert caught.value.hint == (
        "CREATE ROLE dpsql_reader LOGIN PASSWORD '…'; GRANT SELECT ON \"trips\" TO dpsql_reader;"
    )


@pytest.mark.parametrize("privilege", ["INSERT", "UPDATE", "DELETE", "TRUNCATE"])
def test_a_role_that_may_write_is_refused(owner: psycopg.Connection, reader_dsn: str, privilege: str) -> None:
    """One privilege on one table is too much."""
    owner.execute(f"CREATE TABLE t (a INT); CREATE TABLE u (a INT); GRANT {privilege} ON u TO {READER}".encode())
    with pytest.raises(ConfigError, match="may write to u"):
        PostgresEngine(reader_dsn, {"t": None, "u": None})
    PostgresEngine(reader_dsn, {"t": None}).close()


def test_a_database_whose_texts_can_not_all_be_read_is_refused(server: Postgres, owner: psycopg.Connection) -> None:
    """Its error at a text that is no UTF-8 would tell that there is such a text."""
    owner.execute("CREATE DATABASE loose ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(ConfigError, match="encoding is SQL_ASCII"):
        PostgresEngine(server.dsn("loose").replace("user=dpsql_owner", f"user={READER}"), {})


def test_no_setting_changes_how_texts_are_read(owner: psycopg.Connection, reader_dsn: str, charge: Charge) -> None:
    """In another encoding a text that it lacks would be an error."""
    owner.execute("CREATE TABLE t AS SELECT '日本' AS a")
    engine = PostgresEngine(f"{reader_dsn} client_encoding=LATIN1", {})
    assert _one(engine, "SELECT a FROM {t}", charge) == "日本"
    engine.close()


def test_an_unreachable_server_is_told(reader_dsn: str) -> None:
    """The message does not repeat the DSN, which may hold a password."""
    with pytest.raises(NoEngine, match=re.escape("the PostgreSQL server can't be asked")) as caught:
        PostgresEngine(reader_dsn.replace("port=", "password=hidden port=1"), {})
    assert "hidden" not in f"{caught.value.message}{caught.value.hint}"


@pytest.mark.parametrize(
    "change", ["ALTER TABLE t DROP CONSTRAINT t_a_key", "ALTER TABLE t ALTER COLUMN b TYPE numeric", "DROP TABLE t"]
)
def test_an_altered_table_ends_its_own_measurements(
    postgres: Make, owner: psycopg.Connection, charge: Charge, change: str
) -> None:
    """What was planned on a constraint or a type is not answered once it has gone; what does not read it is."""
    engine = postgres("CREATE TABLE other AS SELECT 1 AS i; CREATE TABLE t (a INT UNIQUE, b INT)")
    assert engine.unique_keys("t") == {frozenset({"a"})}
    assert _one(engine, "SELECT count(*) FROM {t}", charge) == 0
    owner.execute(change.encode())
    assert _one(engine, "SELECT count(*) FROM {other}", charge) == 1
    with pytest.raises(EngineNotReady):
        _one(engine, "SELECT count(*) FROM {t}", charge)
    assert engine.is_altered()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t ADD c INT",
        "ALTER TABLE t DROP b",
        "ALTER TABLE t ALTER b TYPE numeric",
        "CREATE UNIQUE INDEX ON t (a, b)",
        "ALTER TABLE t ADD CHECK (b > 0)",
        "ALTER TABLE t RENAME b TO c; ALTER TABLE t ADD b INT",
    ],
)
def test_what_happens_to_columns_that_nobody_declares_stops_nothing(
    owner: psycopg.Connection, reader_dsn: str, charge: Charge, change: str
) -> None:
    """The table is served with a column less than it has."""
    owner.execute("CREATE TABLE t (a INT UNIQUE, b INT)")
    engine = PostgresEngine(reader_dsn, {"t": ["a"]})
    try:
        assert engine.columns("t") == {"a": "integer"}
        owner.execute(change.encode())
        assert _one(engine, "SELECT count(*) FROM {t}", charge) == 0
        assert engine.is_current()
    finally:
        engine.close()


def test_a_lost_connection_is_made_anew(postgres: Make, owner: psycopg.Connection, charge: Charge) -> None:
    """The server may restart between two statements."""
    engine = postgres("CREATE TABLE t AS SELECT 7 AS a")
    assert _one(engine, "SELECT a FROM {t}", charge) == 7
    owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [READER])
    assert _one(engine, "SELECT a FROM {t}", charge) == 7


def test_a_statement_leaves_nothing_in_its_session(postgres: Make, charge: Charge) -> None:
    """Neither a transaction, nor a lock, nor a prepared statement, nor a limit of time."""
    engine = postgres("CREATE TABLE t AS SELECT 7 AS a")
    assert _one(engine, "SELECT current_setting('transaction_read_only') FROM {t}", charge) == "on"
    with engine._pool.lent(wait=1) as connection:
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert connection.execute("SELECT name FROM pg_prepared_statements").fetchall() == []
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_tables_are_found_by_their_places(server: Postgres, reader_dsn: str, charge: Charge) -> None:
    """Whatever the search path has of the same name; they are read there, and watched there."""
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as owner:
        owner.execute(
            'CREATE SCHEMA clinical; CREATE TABLE clinical."La bs" (a INT PRIMARY KEY);'
            'INSERT INTO clinical."La bs" VALUES (7); GRANT USAGE ON SCHEMA clinical TO PUBLIC;'
            f'GRANT SELECT ON clinical."La bs" TO {READER}'
        )
        engine = PostgresEngine(reader_dsn, {"labs": ["a"]}, {"labs": "clinical.La bs"})
        try:
            assert engine.columns("labs") == {"a": "integer"}
            assert engine.unique_keys("labs") == {frozenset({"a"})}
            sql = f'SELECT sum("a")::text FROM {engine.named("labs")}'
            assert _one(engine, sql, charge) == "7"
            owner.execute('ALTER TABLE clinical."La bs" DROP CONSTRAINT "La bs_pkey"')
            with pytest.raises(EngineNotReady):
                _one(engine, sql, charge)
            owner.execute(f'GRANT INSERT ON clinical."La bs" TO {READER}')
            with pytest.raises(ConfigError, match="may write to labs"):
                PostgresEngine(reader_dsn, {"labs": ["a"]}, {"labs": "clinical.La bs"})
        finally:
            engine.close()
