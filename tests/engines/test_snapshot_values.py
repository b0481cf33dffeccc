"""A copy of PostgreSQL's tables means what the tables mean, value by value."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.engines.snapshot.open import open_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.engines.tables import require_tables
from dpsql.errors import ConfigError
from dpsql.policy.config import PostgresServer
from dpsql.policy.model import Policy, SqlType
from dpsql.question import Cancellation
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Ref
from dpsql.shadow.server.postgres import Postgres
from tests.engines.copies import column, copying, table, written
from tests.engines.nasty import COLUMNS, DECLARED, Engines, compared
from tests.engines.reader import reading
from tests.support.dialects import DUCKDB, POSTGRES
from tests.support.fix_json import ODD

MORE = {
    "text": (SqlType.TEXT, "text", ["", " ", '"', '""', ",", "a\nb", "\r\n", "\r", "\\.", "\\N", "NULL", "\ufeffx", "日本"]),
    "name": (SqlType.TEXT, "character(4)", ["a", "a  b", "", "日本"]),
    "short": (SqlType.CHARACTER, "varchar(9)", ["a  ", "abcd", " "]),
    "label": (SqlType.ENUM, "text", ["x", "y"]),
    "date": (SqlType.DATE, "date", ["0001-12-31 BC", "4714-11-24 BC", "5874897-12-31", "infinity", "-infinity"]),
    "moment": (
        SqlType.TIMESTAMP,
        "timestamp",
        ["4714-11-24 00:00:00 BC", "0001-12-31 23:59:59.999999 BC", "10000-01-01", "294276-12-31 23:59:59", "-infinity"],
    ),
    "zoned": (SqlType.TIMESTAMPTZ, "timestamptz", ["2019-03-31 02:30:00+02", "294247-01-10 04:00:54.775807+00", "infinity"]),
    "free": (SqlType.NUMERIC, "numeric", ["NaN", "1e400", "-1e400", "1e-400", "0.1", "123456789012345678901234567890.5"]),
    "digits": (SqlType.NUMERIC, "numeric(30,8)", ["NaN", "0.00000001", "9007199254740993.00000001"]),
    "whole": (SqlType.NUMERIC, "bigint", ["9223372036854775807", "-9223372036854775808"]),
    "real": (SqlType.REAL, "real", ["NaN", "-0", "1e-45", "3.4e38", "0.1"]),
    "time": (SqlType.TIME, "time", ["24:00:00", "23:59:59.999999"]),
}  # fmt: skip
"""Columns by name: declared type, PostgreSQL's, and values beside NULL."""


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a directory for a configuration."""
    made = Path(tempfile.mkdtemp(prefix="dpsql-snapshot-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def test_what_breaks_careless_sql_is_copied(engines: Engines, server: Postgres, place: Path) -> None:
    """Infinite days, NaN, blanks, spans of months: each value that the expressions are tried with."""
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as owner:
        owner.execute("GRANT SELECT ON nasty TO dpsql_reader")
    declared = [
        replace(s.column, type=SqlType.BIGINT, declared="bigint") if s.postgres == "bigint" else s.column
        for s in COLUMNS
    ]
    config = copying(
        place,
        PostgresServer(reading(server).replace("records", "public")),
        table("nasty", column("id", SqlType.INTEGER), *declared, unit="id"),
    )
    with duckdb.connect(written(config), read_only=True) as copy:
        compared(Engines(copy, engines.postgres), [Ref(0, "nasty", each.name, each) for each in declared])


def test_the_ends_of_types_are_copied(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """Also those that DuckDB writes otherwise, or does not have."""
    kinds = ", ".join(f'"{name}" {kind}' for name, (_, kind, _) in MORE.items())
    owner.execute(f"CREATE TABLE nasty (id integer, {kinds})".encode())
    for row in range(max(len(values) for _, _, values in MORE.values()) + 1):
        cells = [values[row] if row < len(values) else None for _, _, values in MORE.values()]
        owner.execute(f"INSERT INTO nasty VALUES (%s{', %s' * len(cells)})".encode(), (row, *cells))
    columns = [column(name, type_) for name, (type_, _, _) in MORE.items()]
    declared = table("nasty", column("id", SqlType.INTEGER), *columns, unit="id")
    refs = [Ref(0, "nasty", each.name, each) for each in columns]
    with duckdb.connect(written(copying(place, PostgresServer(reader_dsn), declared)), read_only=True) as copy:
        compared(Engines(copy, owner), refs)


def test_json_is_copied_as_it_is(owner: psycopg.Connection, reader_dsn: str, place: Path, json_policy: Policy) -> None:
    """Whatever it holds no copy fails, and each path means what it means in the records."""
    props = json_policy.tables["events"].columns["props"]
    owner.execute("CREATE TABLE nasty (id integer, props jsonb)")
    for row, text in enumerate([*ODD, None]):
        owner.execute("INSERT INTO nasty VALUES (%s, %s)", (row, text))
    declared = table("nasty", column("id", SqlType.INTEGER), props, unit="id")
    config = copying(place, PostgresServer(reader_dsn), declared)
    with duckdb.connect(written(config), read_only=True) as copy:
        (number,) = copy.execute("SELECT count(*) FROM nasty WHERE props IS NULL").fetchone() or ()
        assert number == 1
        asked = {}
        for dialect in (DUCKDB, POSTGRES):
            emitter = Emitter(dialect, DECLARED)
            texts = ", ".join(emitter.sql(Ref(0, "nasty", path.name, path)) for path in props.paths)
            asked[dialect] = f"SELECT {texts} FROM nasty AS s0 ORDER BY id"
        assert copy.execute(asked[DUCKDB]).fetchall() == owner.execute(asked[POSTGRES].encode()).fetchall()
    with closing(open_snapshot(config)) as engine:
        require_tables(config.policy, engine)


@pytest.mark.parametrize("kind", ["smallint", "bigint"])
def test_numbers_behind_a_boolean_are_copied_as_they_are(
    owner: psycopg.Connection, reader_dsn: str, place: Path, kind: str
) -> None:
    """One that is neither 0 nor 1 makes no copy fail, and the copy has the type that is declared."""
    owner.execute(f"CREATE TABLE nasty (id integer, late {kind})".encode())
    owner.execute("INSERT INTO nasty VALUES (1, 0), (2, 1), (3, 2), (4, -32768), (5, NULL)")
    late = replace(column("late", SqlType.BOOLEAN), in_numbers=True)
    config = copying(place, PostgresServer(reader_dsn), table("nasty", column("id", SqlType.INTEGER), late, unit="id"))
    with duckdb.connect(written(config), read_only=True) as copy:
        compared(Engines(copy, owner), [Ref(0, "nasty", "late", late)])
    with closing(open_snapshot(config)) as engine:
        require_tables(config.policy, engine)


def test_a_unit_is_copied_to_its_last_digit(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """What double precision takes for one is two; without a length there is no type for it, which is told beforehand."""
    owner.execute("CREATE TABLE t (a numeric(20,0), b numeric)")
    owner.execute("INSERT INTO t VALUES (9007199254740992, 1), (9007199254740993, 1), ('NaN', 1), (NULL, 1)")
    a, b = (column(name, SqlType.NUMERIC, "numeric") for name in "ab")
    kept = copying(place, PostgresServer(reader_dsn), table("t", a, unit="a"))
    with duckdb.connect(written(kept), read_only=True) as copy:
        assert copy.execute("SELECT count(DISTINCT a), count(a), count(*) FROM t").fetchone() == (2, 2, 4)
    refused = copying(place, PostgresServer(reader_dsn), table("t", a, b, unit="b"))
    with pytest.raises(ConfigError, match=r't\.yaml: column "b": a snapshot has no type for numeric'):
        written(refused)


def test_long_texts_and_single_columns_are_copied(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """A limit on a row's length would be a limit on a value; and a row without any value is a row."""
    owner.execute("CREATE TABLE t (a text)")
    owner.execute("INSERT INTO t VALUES (repeat('long \"text\", ', 500000)), (NULL), (''), (NULL)")
    config = copying(place, PostgresServer(reader_dsn), table("t", column("a", SqlType.TEXT), unit="a"))
    with duckdb.connect(written(config), read_only=True) as copy:
        assert copy.execute("SELECT length(a) FROM t ORDER BY 1 NULLS LAST").fetchall() == [
            (0,),
            (6_500_000,),
            (None,),
            (None,),
        ]


def test_all_tables_are_of_one_state(owner: psycopg.Connection, reader_dsn: str, place: Path) -> None:
    """What is written while the first table is copied is not in the second."""
    owner.execute(
        "CREATE TABLE t (a int UNIQUE); CREATE TABLE u (a int); INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)"
    )
    tables = [table(name, column("a", SqlType.INTEGER), unit="a") for name in "tu"]
    config = copying(place, PostgresServer(reader_dsn), *tables)

    def tell(line: str) -> None:
        if "table u" in line:
            owner.execute("INSERT INTO t VALUES (2); INSERT INTO u VALUES (2)")

    assert config.snapshot is not None
    made = write_snapshot(config, tell, Cancellation())
    with duckdb.connect(config.snapshot.directory / f"{made.name}.duckdb", read_only=True) as copy:
        assert copy.execute("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)").fetchone() == (1, 1)
    assert made.unique == {"t": (("a",),), "u": ()}
