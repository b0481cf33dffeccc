"""A copy of PostgreSQL's tables as any database's is what a copy of them as PostgreSQL's is, value by value."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from dpsql.engines.connect import connect_database
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, EngineConfig, PostgresServer
from dpsql.policy.model import SqlType, Table
from dpsql.question import Cancellation
from dpsql.shadow.server.postgres import Postgres
from tests.engines.copies import column, copying, table, written
from tests.engines.reader import reading
from tests.engines.test_snapshot_values import MORE

UNREAD = {
    # DuckDB's calendar ends sooner: there these are infinite, which here would be to make up a value.
    "moment": {"294276-12-31 23:59:59"},
    "zoned": {"294247-01-10 04:00:54.775807+00"},
}
"""Values that are NULL here; on both ways they are beyond every bound."""
PLAIN = {
    "flag": (SqlType.BOOLEAN, "boolean", ["t", "f"]),
    "small": (SqlType.SMALLINT, "smallint", ["-32768", "32767"]),
    "id16": (SqlType.UUID, "uuid", ["00112233-4455-6677-8899-aabbccddeeff"]),
    "double": (SqlType.DOUBLE, "double precision", ["0.1", "NaN", "Infinity", "5e-324", "1.7976931348623157e308"]),
    "money": (SqlType.NUMERIC, "numeric(10,2)", ["12345678.91", "NaN"]),
    "span": (
        SqlType.INTERVAL,
        "interval",
        ["1 day 02:03:04.5", "-1 day +02:03:04", "-00:00:01", "900 days", "100 hours"],
    ),
    "day": (SqlType.DATE, "date", ["2024-02-29", "0044-03-15 BC"]),
    "json": (SqlType.JSON, "jsonb", ['{"a": "é"}', "null", "[1, 2]"]),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a directory for a configuration."""
    made = Path(tempfile.mkdtemp(prefix="dpsql-copied-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def url_of(dsn: str) -> str:
    """Return a DSN as SQLAlchemy's URL."""
    given = conninfo_to_dict(dsn)
    return "postgresql://?" + "&".join(
        f"{name}={_quoted(str(value))}" for name, value in given.items() if name != "sslmode"
    )


def _quoted(text: str) -> str:
    return text.replace("%", "%25").replace("&", "%26").replace(" ", "%20").replace("+", "%2B")


@pytest.mark.parametrize("name", [*MORE, *PLAIN])
def test_postgres_is_copied_by_the_same_path(
    owner: psycopg.Connection, reader_dsn: str, place: Path, name: str
) -> None:
    """Each type, with the ends that it has: infinite days, NaN, the years before 1."""
    type_, kind, values = {**MORE, **PLAIN}[name]
    owner.execute(f"CREATE TABLE t (id integer, x {kind})".encode())
    for row, value in enumerate([*values, None]):
        owner.execute("INSERT INTO t VALUES (%s, %s)", (row, value))
    declared = table("t", column("id", SqlType.INTEGER), column("x", type_, kind if "(" in kind else ""), unit="id")
    said: list[str] = []
    copies = []
    engines: tuple[EngineConfig, ...] = (PostgresServer(reader_dsn), CopiedDatabase(url_of(reader_dsn)))
    for number, engine in enumerate(engines):
        config = copying(place / str(number), engine, declared)
        assert config.snapshot is not None
        made = write_snapshot(config, said.append, Cancellation())
        with duckdb.connect(config.snapshot.directory / f"{made.name}.duckdb", read_only=True) as copy:
            copies.append(dict(copy.execute("SELECT id, CAST(x AS VARCHAR) FROM t").fetchall()))
    unread = {row for row, value in enumerate(values) if value in UNREAD.get(name, set())}
    wanted = {row: None if row in unread else value for row, value in copies[0].items()}
    assert copies[1] == wanted
    told = f'snapshot: table t, column "x": {len(unread)} values are not as declared, and NULL'
    assert [line for line in said if "not as declared" in line] == ([told] if unread else [])


def test_what_is_unique_and_pointed_to_is_known(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """Constraints and whole indexes; none of a part of the rows, or of an expression."""
    owner.execute("CREATE TABLE t (a int PRIMARY KEY, b int, c int, d int, e text, UNIQUE (b, c))")
    owner.execute(
        "CREATE UNIQUE INDEX ON t (d) WHERE a > 0; CREATE UNIQUE INDEX ON t (lower(e)); CREATE UNIQUE INDEX ON t (e)"
    )
    names = (column(name, SqlType.INTEGER) for name in "abcd")
    config = copying(place, CopiedDatabase(url_of(reader_dsn)), table("t", *names, column("e", SqlType.TEXT), unit="a"))
    with closing(connect_database(config)) as database:
        assert database.unique_keys("t") == {frozenset("a"), frozenset("bc"), frozenset("e")}


def test_a_role_that_may_write_is_refused(owner: psycopg.Connection, server: Postgres, place: Path) -> None:
    """As it is of PostgreSQL's own engine."""
    owner.execute("CREATE TABLE t (a int)")
    owned = reading(server, "dpsql_owner")
    declared = table("t", column("a", SqlType.INTEGER), unit="a")
    with pytest.raises(ConfigError, match='the role "dpsql_owner" is a superuser'):
        connect_database(copying(place, CopiedDatabase(url_of(owned)), declared))


def test_a_table_that_may_not_be_read_is_told(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """By its name, and the database's code."""
    owner.execute("CREATE TABLE t (a int); REVOKE SELECT ON t FROM dpsql_reader")
    config = copying(place, CopiedDatabase(url_of(reader_dsn)), table("t", column("a", SqlType.INTEGER), unit="a"))
    with pytest.raises(ConfigError, match=r'table "t" can\'t be read: InsufficientPrivilege 42501'):
        written(config)


def test_all_tables_of_postgres_are_of_one_state(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """What is written while the first is copied is not in the second."""
    owner.execute("CREATE TABLE t (a int); CREATE TABLE u (a int); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
    tables: list[Table] = [table(name, column("a", SqlType.INTEGER), unit="a") for name in "tu"]
    config = copying(place, CopiedDatabase(url_of(reader_dsn)), *tables)

    def tell(line: str) -> None:
        if "table u" in line:
            owner.execute("INSERT INTO t VALUES (2); INSERT INTO u VALUES (2)")

    assert config.snapshot is not None
    made = write_snapshot(config, tell, Cancellation())
    with duckdb.connect(config.snapshot.directory / f"{made.name}.duckdb", read_only=True) as copy:
        assert copy.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)").fetchone() == (1, 1)
