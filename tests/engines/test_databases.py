"""A database that SQLAlchemy reads, as a source: what is read of it, what is refused, and what is told, on SQLite."""

import logging
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpsql.engines.base import NoEngine
from dpsql.engines.connect import connect_database
from dpsql.engines.databases import client, columns
from dpsql.engines.databases.catalogue import Family, SourceColumn
from dpsql.engines.databases.columns import ColumnReading
from dpsql.engines.open import open_engine
from dpsql.engines.snapshot.open import current_snapshot
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import ConfigError, QueryCanceled
from dpsql.policy.config import Config, CopiedDatabase
from dpsql.policy.model import Column, SqlType, Table
from dpsql.question import Cancellation
from tests.engines.copies import column, copying, table

CELLS: Mapping[str, tuple[SqlType, str, Sequence[tuple[object, object]]]] = {
    "whole": (
        SqlType.INTEGER,
        "integer",
        [(7, 7), ("8", 8), (9.0, 9), ("10.0", 10), (2**31, None), (2**63, None), (1.5, None), ("1e3", None),
         ("0x1F", None), ("1_000", None), ("secret", None), (b"12", 12), (b"\xff", None)],
    ),
    "long": (SqlType.BIGINT, "bigint", [(2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), ("9223372036854775808", None)]),
    "money": (
        SqlType.NUMERIC,
        "numeric(20,4)",
        [("12345678901234.5678", 12345678901234.5678), (0.1, 0.1), (3, 3.0), ("1e2", 100.0), ("1,5", None), ("secret", None)],
    ),
    "real": (
        SqlType.DOUBLE,
        "double precision",
        [(0.1, 0.1), ("1e-400", 0.0), (float("inf"), float("inf")), ("secret", None), ("0x1p3", None), ("1_0", None)],
    ),
    "yes": (
        SqlType.BOOLEAN,
        "boolean",
        [(1, True), (0, False), ("t", True), ("F", False), ("TRUE", True), ("False", False), ("Y", True), ("n", False),
         ("Yes", True), (" NO ", False), ("on", True), ("off", False), (2, None), ("secret", None), ("", None)],
    ),
    "text": (
        SqlType.TEXT,
        "text",
        [("é", "é"), ("", ""), (" a ", " a "), (5, "5"), ("a\0b", None), (b"bytes", "bytes"), (b"\xff\xfe", None),
         ('a,"b"\n', 'a,"b"\n'), ("\U0001f600", "\U0001f600")],
    ),
    "day": (
        SqlType.DATE,
        "date",
        [("2024-02-29", "2024-02-29"), ("2024-02-29 00:00:00", "2024-02-29"), ("2024-02-30", None), ("24-1-5", None),
         ("0000-00-00", None), ("2024-02-29 10:00:00", None), (1700000000, None), (2460000.5, None)],
    ),
    "moment": (
        SqlType.TIMESTAMP,
        "timestamp",
        [("2024-02-29 10:00:00.5", "2024-02-29 10:00:00.5"), ("2024-02-29T10:00", "2024-02-29 10:00:00"),
         ("2024-02-29 10:00:00+02:30", "2024-02-29 07:30:00"), ("2024-02-29 25:00:00", None), ("now", None), ("epoch", None),
         ("2024-02-29 10:00:00 Europe/Berlin", None), (1700000000, None)],
    ),
    "zoned": (
        SqlType.TIMESTAMPTZ,
        "timestamptz",
        [("2024-07-01T10:00:00Z", "2024-07-01 10:00:00"), ("2024-07-01 10:00:00-0530", "2024-07-01 15:30:00"),
         ("2024-07-01 10:00:00", "2024-07-01 10:00:00")],
    ),
    "clock": (
        SqlType.TIME,
        "time",
        [("23:59:59.5", "23:59:59.5"), ("10:00", "10:00:00"), ("838:59:59", None), ("-1:00:00", None), ("10:00:00+02", None)],
    ),
    "span": (SqlType.INTERVAL, "interval", [("838:59:59", "838:59:59"), ("-00:00:01", "-00:00:01"), ("a month", None)]),
    "id": (
        SqlType.UUID,
        "uuid",
        [("00112233-4455-6677-8899-AABBCCDDEEFF", "00112233-4455-6677-8899-aabbccddeeff"), ("secret", None)],
    ),
    "json": (SqlType.JSON, "jsonb", [('{"a": 1}', '{"a": 1}'), ("no json", "no json")]),
}  # fmt: skip
"""By column: what it is declared as, and cells with what is read of each."""


def _cell(value: object) -> bytes | str | float | None:
    """Return what SQLite can hold: beyond 64 bits it makes numbers of double precision."""
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value  # type: ignore[return-value]


def _sqlite(directory: Path, *statements: str | tuple[str, Sequence[object]]) -> CopiedDatabase:
    """Run statements in a file of SQLite's; return it as a source."""
    with closing(sqlite3.connect(directory / "records.db")) as connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.execute(*statement)
        connection.commit()
    return CopiedDatabase(f"sqlite:///{directory}/records.db")


T = table("t", column("a", SqlType.BIGINT), column("b", SqlType.TEXT), unit="a")
MANY = (
    "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {}) "
    "INSERT INTO t SELECT i, 'secret' || i FROM r"
)
_SHOWN = frozenset({SqlType.DATE, SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ, SqlType.TIME, SqlType.INTERVAL, SqlType.UUID})
"""Types whose values are compared as DuckDB writes them."""


def _records(
    directory: Path, rows: int = 1000, made: str = "CREATE TABLE t (a INTEGER, b TEXT)", declared: Table = T
) -> Config:
    """Return the configuration of a table of so many rows."""
    return copying(directory, _sqlite(directory, made, MANY.format(rows)), declared)


def _write(config: Config, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Write a copy; return its file."""
    assert config.snapshot is not None
    return config.snapshot.directory / f"{write_snapshot(config, tell, Cancellation()).name}.duckdb"


def _asked(file: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(file, read_only=True) as copy:
        return copy.execute(sql).fetchall()


def _one(
    directory: Path, kind: str, declared: Column, cells: Sequence[object], **given: Any
) -> tuple[list[object], list[str]]:
    """Return what is read of a column's cells, and what the operator is told."""
    rows = (("INSERT INTO t VALUES (?, ?)", (n, _cell(cell))) for n, cell in enumerate(cells))
    source = _sqlite(directory, f"CREATE TABLE t (n INTEGER, x {kind})", *rows)
    said: list[str] = []
    copied = copying(directory, source, table("t", column("n", SqlType.INTEGER), declared, unit="n", **given))
    file = _write(copied, said.append)
    shown = "CAST(x AS VARCHAR)" if declared.type in _SHOWN else "x"
    return [row[0] for row in _asked(file, f"SELECT {shown} FROM t ORDER BY n")], said


@pytest.mark.parametrize("kind", ["", "BLOB", "VARCHAR(9)"])
@pytest.mark.parametrize("name", CELLS)
def test_whatever_stands_in_a_cell_is_read_or_is_null(tmp_path: Path, name: str, kind: str) -> None:
    """SQLite's types bind nobody. What is not as declared is counted for the operator, and its value is told to nobody."""
    type_, declared, cells = CELLS[name]
    if kind == "VARCHAR(9)":  # makes texts of numbers, of its own form
        cells = [cell for cell in cells if not isinstance(cell[0], float | bytes) and _cell(cell[0]) == cell[0]]
    read, said = _one(tmp_path, kind, column("x", type_, declared), [given for given, _ in cells])
    assert read == [wanted for _, wanted in cells]
    unread = sum(wanted is None for _, wanted in cells)
    told = f'snapshot: table t, column "x": {unread} values are not as declared, and NULL'
    assert said == ["snapshot: table t, 1 of 1", *([told] if unread else [])]


def test_decimals_are_exact_where_they_have_to_be(tmp_path: Path) -> None:
    """Of a public table every digit counts, and so it does of a key, which double precision would make one of two."""
    cells = ["12345678901234567890.123456789012345678", "12345678901234567890.123456789012345679"]
    rows = (("INSERT INTO t VALUES (?, 'a')", (cell,)) for cell in cells)
    source = _sqlite(tmp_path, "CREATE TABLE t (x TEXT, y TEXT)", *rows)
    declared = column("x", SqlType.NUMERIC, "numeric(38,18)")
    for public in (True, False):
        of = table("t", declared, column("y", SqlType.TEXT), unit="" if public else "x", public=public)
        file = _write(copying(tmp_path / str(public), source, of))
        assert [row[0] for row in _asked(file, "SELECT CAST(x AS VARCHAR) FROM t ORDER BY x")] == cells


def test_a_number_without_a_length_can_be_no_key(tmp_path: Path) -> None:
    """There is no type in which its digits would all be kept, which is told before a row is read."""
    source = _sqlite(tmp_path, "CREATE TABLE t (x NUMERIC)")
    config = copying(tmp_path, source, table("t", column("x", SqlType.NUMERIC), unit="x"))
    with pytest.raises(ConfigError, match=r't\.yaml: column "x": a snapshot has no type for numeric') as caught:
        connect_database(config)
    assert "numeric(20,0)" in str(caught.value.hint)


def test_a_boolean_in_numbers_stays_a_number(tmp_path: Path) -> None:
    """As it does on every engine, where statements read it as 0 and 1."""
    late = replace(column("x", SqlType.BOOLEAN), in_numbers=True)
    assert _one(tmp_path, "", late, [1, 0, "yes", 2])[0] == [1, 0, 1, None]


def test_copies_answer_as_the_engine_does(tmp_path: Path) -> None:
    """What was copied fits what is declared, and the records are not asked any more."""
    config = _records(tmp_path, made="CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE)")
    _write(config)
    (tmp_path / "records.db").unlink()
    engine = open_engine(config)
    assert engine.columns("t") == {"a": "BIGINT", "b": "VARCHAR"}
    assert engine.unique_keys("t") == {frozenset({"b"})}  # of a, whose cells may be texts, several may be one number
    engine.close()


def test_later_changes_are_in_the_next_copy(tmp_path: Path) -> None:
    """Rows that are gone, rows that were changed, and rows that came."""
    config = _records(tmp_path, 3)
    before = _write(config)
    _sqlite(
        tmp_path, "DELETE FROM t WHERE a = 1", "UPDATE t SET b = 'late' WHERE a = 2", "INSERT INTO t VALUES (9, 'new')"
    )
    assert _asked(before, "FROM t SELECT a, b ORDER BY a")[0] == (1, "secret1")
    assert _asked(_write(config), "FROM t SELECT a, b ORDER BY a") == [(2, "late"), (3, "secret3"), (9, "new")]


def test_all_tables_are_of_one_state(tmp_path: Path) -> None:
    """What is written while the first table is copied is not in the second."""
    made = (
        f"{what} {name} {rest}"
        for name in "tu"
        for what, rest in (("CREATE TABLE", "(a)"), ("INSERT INTO", "VALUES (1)"))
    )
    source = _sqlite(tmp_path, "PRAGMA journal_mode = WAL", *made)
    config = copying(tmp_path, source, *(table(name, column("a", SqlType.INTEGER), unit="a") for name in "tu"))
    keep = sqlite3.connect(tmp_path / "records.db")  # else the last to close would fold the log into the file

    def tell(line: str) -> None:
        if "table u" in line:
            _sqlite(tmp_path, "INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2)")

    file = _write(config, tell)
    keep.close()
    assert _asked(file, "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)") == [(1, 1)]


def test_a_key_is_counted_in_the_copy(tmp_path: Path) -> None:
    """Nothing keeps it in the records; where it is none the operator reads so, and the copy before is served on."""
    keyed = replace(T, key="a")
    config = _records(tmp_path, 3, declared=keyed)
    before = _write(config)
    engine = open_engine(config)
    assert engine.unique_keys("t") == {frozenset({"a"})}
    engine.close()
    _sqlite(tmp_path, "INSERT INTO t VALUES (3, 'secret twice')")
    with pytest.raises(ConfigError) as caught:
        _write(config)
    assert (
        caught.value.message
        == 'the column "a" of table "t" is not unique in the snapshot, though its file says that it is the key'
    )
    assert caught.value.hint == "What there was before is served still."
    manifest = current_snapshot(config)
    assert manifest is not None
    assert manifest.name == before.stem


@pytest.mark.parametrize(("collation", "refused"), [("", False), ("COLLATE NOCASE", True), ("COLLATE RTRIM", False)])
def test_a_unit_is_what_the_database_takes_for_one(tmp_path: Path, collation: str, refused: bool) -> None:
    """Where it takes Ann for ann one person would be two, with twice the rows; blanks go, where they mean nothing."""
    source = _sqlite(tmp_path, f"CREATE TABLE t (name TEXT {collation})", "INSERT INTO t VALUES ('ann'), ('ann ')")
    config = copying(tmp_path, source, table("t", column("name", SqlType.TEXT), unit="name"))
    if refused:
        with pytest.raises(ConfigError, match=r"identifies a privacy unit.*which takes different texts for one"):
            _write(config)
        return
    names = _asked(_write(config), "SELECT DISTINCT name FROM t ORDER BY 1")
    assert names == ([("ann",)] if collation else [("ann",), ("ann ",)])


def test_what_does_not_fit_is_told_with_file_and_line(tmp_path: Path) -> None:
    """A table and a column that are not there; the type is SQLite's own word."""
    source = _sqlite(tmp_path, "CREATE TABLE t (a INTEGER)")
    config = copying(tmp_path, source, T, table("u", column("a", SqlType.INTEGER), unit="a"))
    with closing(connect_database(config)) as database, pytest.raises(ConfigError) as caught:
        database.check_tables()
    assert caught.value.message.splitlines() == [
        't.yaml: column "b" of table "t": the engine has no such column',
        'u.yaml: the engine has no table "u"',
    ]


def test_nothing_is_written_to_the_records(tmp_path: Path) -> None:
    """The file is opened to be read, and one that is not there is not made."""
    config = _records(tmp_path)
    with closing(connect_database(config)) as database, pytest.raises(Exception, match="readonly"):
        database._connection.exec_driver_sql("INSERT INTO t VALUES (1, '')")
    (tmp_path / "records.db").unlink()
    with pytest.raises(NoEngine, match="there is no SQLite file"):
        connect_database(config)
    assert not (tmp_path / "records.db").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite://", "engine.from names no file"),
        ("nodatabase://x/y", "engine.from: SQLAlchemy knows no such database or driver"),
        ("mysql+nodriver://reader:hunter2@x/y", "engine.from: SQLAlchemy knows no such database or driver"),
        ("mysql://reader:hunter2@host:port/y", "engine.from can't be read as a URL"),
        ("mssql+pyodbc://reader:hunter2@x/y?driver=none", "engine"),
        ("mysql://reader:hunter2@127.0.0.1:1/y", "reached: OperationalError 2003, the server can't be reached"),
    ],
)
def test_a_url_that_leads_nowhere_is_told_without_its_password(tmp_path: Path, url: str, says: str) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(ConfigError) as caught:
        connect_database(copying(tmp_path, CopiedDatabase(url), T))
    assert says in caught.value.message
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint} {caught.value.__cause__}"
    assert "hunter2" not in repr(CopiedDatabase(url))


def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLAlchemy itself, or a driver."""
    config = _records(tmp_path)
    client.sqlalchemy.cache_clear()
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ConfigError, match="kind copy needs sqlalchemy, which can't be imported") as caught:
        connect_database(config)
    assert "pip install -e '.[databases]'" in str(caught.value.hint)
    monkeypatch.undo()
    client.sqlalchemy.cache_clear()
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(ConfigError, match=r"engine\.from needs the driver pymysql") as caught:
        connect_database(replace(config, engine=CopiedDatabase("mysql://x/y")))
    assert ".[databases]" in str(caught.value.hint)


def test_a_database_that_nobody_has_tried_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the configuration lets any pass."""
    config = _records(tmp_path)
    monkeypatch.setattr("dpsql.engines.databases.catalogue._TRIED", frozenset({"MariaDB"}))
    with pytest.raises(ConfigError, match="nobody has tried to copy a database of SQLite"):
        connect_database(config)
    connect_database(replace(config, unverified=True)).close()


def test_nothing_of_a_row_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """However much is logged: SQLAlchemy would write each row."""
    with caplog.at_level(logging.DEBUG):
        _write(_records(tmp_path))
    assert "secret" not in caplog.text


def test_a_damaged_file_is_told_by_its_cause(tmp_path: Path) -> None:
    """The copy before is there still, and nothing of a row is said."""
    config = _records(tmp_path, 20_000)
    before = _write(config)
    with (tmp_path / "records.db").open("r+b") as file:
        file.seek(100_000)
        file.write(os.urandom(50_000))
    with pytest.raises(ConfigError) as caught:
        _write(config)
    assert "SQLITE_CORRUPT, the file is damaged" in caught.value.message
    assert caught.value.__cause__ is None
    assert before.exists()
    (tmp_path / "records.db").write_text("secret" * 1000)
    with pytest.raises(ConfigError, match="SQLITE_NOTADB, the file is no database of SQLite's"):
        _write(config)


def test_it_can_be_cancelled(tmp_path: Path) -> None:
    """In the middle of a table; nothing is left, and nothing is said to have failed."""
    config, cancellation = _records(tmp_path, 200_000), Cancellation()
    assert config.snapshot is not None

    def tell(_: str) -> None:
        threading.Timer(0.05, cancellation.cancel).start()

    with pytest.raises(QueryCanceled):
        write_snapshot(config, tell, cancellation)
    assert {file.name for file in config.snapshot.directory.iterdir()} == {"lock"}


def test_pieces_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In rows, and in letters where texts are long: one step of the driver's more, at most."""

    class Rows:
        """A driver's result of a thousand texts, of ten letters each and then of a hundred thousand."""

        def __init__(self, length: int) -> None:
            self._left, self._length = 1000, length

        def fetchmany(self, number: int) -> list[tuple[str]]:
            taken = min(number, self._left)
            self._left -= taken
            return [("x" * self._length,)] * taken

    monkeypatch.setattr(columns, "STEP", 10)
    monkeypatch.setattr(columns, "_ROWS", 300)
    monkeypatch.setattr(columns, "_BYTES", 10_000_000)
    text = ColumnReading(SourceColumn("x", Family.TEXT, "text", "text", free=True), "VARCHAR", "$c")
    assert [len(piece) for piece in columns._pieces(Rows(10), [text])] == [300, 300, 300, 100]
    assert {len(piece) for piece in columns._pieces(Rows(100_000), [text])} == {100}
