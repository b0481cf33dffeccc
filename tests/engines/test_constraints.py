# ruff: noqa: E501  (a column a line)
"""Which columns an engine itself keeps as they are declared: its valid constraints say so, and no row that breaks one gets in."""

from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpsql.engines.base import Engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.tables import LOOSE, Constraints, enforced_columns
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Reference, SqlType, Table
from dpsql.rewrite.dialects.postgres import POSTGRES

Make = Callable[[str], Engine]
ZONES = "CREATE TABLE zones (zone_id INTEGER PRIMARY KEY, name VARCHAR(9) UNIQUE); INSERT INTO zones VALUES (1, 'a'), (2, 'b')"
ZONE = Reference("zones", "zone_id")
_BOUNDS = Interval.of(0, 9)
_AB, _DAYS = ("a", "b"), (1, 2, 3)
TEXT, WHOLE, DOUBLE, NUMERIC = (
    (SqlType.TEXT, "text"),
    (SqlType.INTEGER, "integer"),
    (SqlType.DOUBLE, "double precision"),
    (SqlType.NUMERIC, "numeric(10,2)"),
)


def _column(kind: tuple[SqlType, str], **facts: object) -> Column:
    return Column("x", *kind, **facts)  # type: ignore[arg-type]


CASES: Sequence[tuple[str, Column, bool, Sequence[str]]] = (
    # The column's definition, its declaration, whether it is enforced, and what no row may hold if it is.
    ("INTEGER NOT NULL", _column(WHOLE, bounds=_BOUNDS), True, ("NULL",)),
    ("INTEGER", _column(WHOLE, bounds=_BOUNDS), False, ()),
    ("INTEGER CHECK (x IS NOT NULL)", _column(WHOLE, bounds=_BOUNDS), False, ()),  # is not asked of its nulls
    ("VARCHAR NOT NULL", _column(TEXT), True, ("NULL",)),
    ("VARCHAR NOT NULL", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR CHECK (x IN ('a', 'b'))", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (x IN ('a', 'b'))", _column(TEXT, values=_AB), True, ("NULL", "'c'", "'A'", "'a '")),
    ("VARCHAR(9) NOT NULL CHECK (x IN ('a', 'b'))", _column(TEXT, values=_AB), True, ("NULL", "'c'", "'A'")),
    ("VARCHAR NOT NULL CHECK (x = 'a' OR x = 'b')", _column(TEXT, values=_AB), True, ("NULL", "'c'")),
    ("VARCHAR NOT NULL CHECK (x IN ('a', 'b', 'c'))", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (x IN ('a'))", _column(TEXT, values=_AB), True, ("NULL", "'b'")),
    ("VARCHAR NOT NULL CHECK (x IN ('a', NULL))", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (x IN ('a', 'b') OR length(x) > 1)", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (x NOT IN ('c', 'd'))", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (lower(x) IN ('a', 'b'))", _column(TEXT, values=_AB), False, ()),
    ("VARCHAR NOT NULL CHECK (x >= 'a' AND x <= 'b')", _column(TEXT, values=_AB), False, ()),
    ("mood NOT NULL", _column(TEXT, values=_AB), True, ("NULL",)),
    ("mood NOT NULL", _column((SqlType.ENUM, "mood"), values=_AB), True, ("NULL",)),
    ("mood NOT NULL", _column(TEXT, values=("a",)), False, ()),
    ("mood", _column(TEXT, values=_AB), False, ()),
    ("INTEGER NOT NULL CHECK (x IN (1, 2, 3))", _column(WHOLE, values=_DAYS), True, ("NULL", "4")),
    ("INTEGER NOT NULL CHECK (x BETWEEN 1 AND 3)", _column(WHOLE, values=_DAYS), True, ("NULL", "0", "4")),
    ("INTEGER NOT NULL CHECK (x > 0) CHECK (x < 4)", _column(WHOLE, values=_DAYS), True, ("NULL", "0", "4")),
    ("INTEGER NOT NULL CHECK (x > 0) CHECK (x <= 4)", _column(WHOLE, values=_DAYS), False, ()),
    ("INTEGER NOT NULL CHECK (x >= 1 AND x <= 3)", _column(WHOLE, values=_DAYS), True, ("NULL", "0", "4")),
    ("INTEGER NOT NULL CHECK (x >= 1)", _column(WHOLE, values=_DAYS), False, ()),
    ("INTEGER NOT NULL CHECK (x >= -3 AND x <= -1)", _column(WHOLE, values=(-3, -2, -1)), True, ("NULL", "0")),
    ("INTEGER NOT NULL CHECK (x <= 3 OR x IN (7))", _column(WHOLE, values=_DAYS), False, ()),
    ("BOOLEAN NOT NULL", _column((SqlType.BOOLEAN, "boolean")), True, ("NULL",)),
    ("SMALLINT NOT NULL", _column((SqlType.BOOLEAN, "boolean"), in_numbers=True), False, ()),
    ("DOUBLE PRECISION NOT NULL", _column(DOUBLE, bounds=_BOUNDS), False, ()),
    ("DOUBLE PRECISION NOT NULL CHECK (x >= 0)", _column(DOUBLE, bounds=_BOUNDS), False, ()),
    ("DOUBLE PRECISION NOT NULL CHECK (x <= 500)", _column(DOUBLE, bounds=_BOUNDS), True, ("NULL", "'NaN'", "501")),
    ("DOUBLE PRECISION NOT NULL CHECK (x BETWEEN 0 AND 500)", _column(DOUBLE, bounds=_BOUNDS), True, ("NULL", "'NaN'")),
    ("DOUBLE PRECISION NOT NULL CHECK (x <> 'NaN')", _column(DOUBLE, bounds=_BOUNDS), True, ("NULL", "'NaN'")),
    ("DOUBLE PRECISION NOT NULL CHECK (x <= 'NaN')", _column(DOUBLE, bounds=_BOUNDS), False, ()),
    ("INTEGER NOT NULL", _column(DOUBLE, bounds=_BOUNDS), True, ("NULL",)),
    ("INTERVAL NOT NULL", _column((SqlType.INTERVAL, "interval")), False, ()),
    ("DATE NOT NULL", _column((SqlType.DATE, "date"), bounds=_BOUNDS), True, ("NULL",)),
    ("INTEGER NOT NULL REFERENCES zones (zone_id)", _column(WHOLE, references=ZONE), True, ("NULL", "99")),
    ("INTEGER REFERENCES zones (zone_id)", _column(WHOLE, references=ZONE), False, ()),
    ("INTEGER NOT NULL", _column(WHOLE, references=ZONE), False, ()),
    ("VARCHAR(9) NOT NULL REFERENCES zones (name)", _column(TEXT, references=Reference("zones", "name")), True, ("NULL", "'z'")),
    ("VARCHAR(9) NOT NULL REFERENCES zones (name)", _column(TEXT, references=Reference("other", "name")), False, ()),
)  # fmt: skip


def _table(column: Column) -> Table:
    return Table("t", {column.name: column}, {})


@pytest.fixture(params=["duck", "postgres"])
def make(request: pytest.FixtureRequest) -> Make:
    """Give each engine in turn."""
    made: Make = request.getfixturevalue(request.param)
    return made


@pytest.mark.parametrize(("written", "declared", "enforced", "refused"), CASES)
def test_what_constraints_say(
    written: str, declared: Column, enforced: bool, refused: Sequence[str], make: Make
) -> None:
    """And no row that lacks a declared value gets into a column that is enforced."""
    made = f"CREATE TYPE mood AS ENUM ('a', 'b'); {ZONES}; CREATE TABLE t (x {written})"
    assert (make(made).enforced_columns(_table(declared)) == {"x"}) is enforced
    again = "DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS zones; DROP TYPE IF EXISTS mood; "
    for value in refused:
        with pytest.raises((duckdb.Error, psycopg.Error), match=r"(?i)constraint|enum"):
            make(f"{again}{made}; INSERT INTO t VALUES ({value})")


def test_texts_that_are_taken_for_others(duck: Callable[[str], DuckDb]) -> None:
    """'A' is 'a' to such a column's CHECK, and no declared value."""
    engine = duck("CREATE TABLE t (x VARCHAR COLLATE NOCASE NOT NULL CHECK (x IN ('a', 'b')))")
    assert engine.enforced_columns(_table(_column(TEXT, values=_AB))) == frozenset()


def test_files_enforce_nothing(duck: Callable[[str], DuckDb], tmp_path: Path) -> None:
    """Whatever is in them."""
    del duck
    (tmp_path / "t.csv").write_text("x\n1\n", encoding="utf-8")
    engine = DuckDb({"t": TableFile(tmp_path / "t.csv", {"x": SqlType.INTEGER})})
    assert engine.enforced_columns(_table(_column(WHOLE, bounds=_BOUNDS))) == frozenset()
    engine.close()


CHECKED = "x text NOT NULL CHECK (x IN ('a', 'b'))"


@pytest.mark.parametrize(
    ("sql", "enforced"),
    [
        (f"CREATE TABLE t ({CHECKED})", True),
        (f"CREATE TABLE t ({CHECKED}); CREATE TABLE child () INHERITS (t)", False),
        (f"CREATE TABLE t ({CHECKED}) PARTITION BY LIST (x); CREATE TABLE p PARTITION OF t FOR VALUES IN ('a')", True),
        ("CREATE TABLE t (x text NOT NULL); ALTER TABLE t ADD CHECK (x IN ('a', 'b')) NOT VALID", False),
        ("CREATE TABLE t (x text NOT NULL); ALTER TABLE t ADD CONSTRAINT c CHECK (x IN ('a', 'b')) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT c", True),
        (f"CREATE TABLE s ({CHECKED}); CREATE VIEW t AS SELECT * FROM s", False),
        (f"CREATE TABLE s ({CHECKED}); CREATE MATERIALIZED VIEW t AS SELECT * FROM s", False),
        ("CREATE DOMAIN d AS text CHECK (VALUE IN ('a', 'b')); CREATE TABLE t (x d NOT NULL)", False),
    ],
)  # fmt: skip
def test_what_only_looks_enforced(sql: str, enforced: bool, postgres: Callable[[str], PostgresEngine]) -> None:
    """Of the very table, and of all of its rows; views, children and what is not valid keep nothing."""
    assert (postgres(sql).enforced_columns(_table(_column(TEXT, values=_AB))) == {"x"}) is enforced


@pytest.mark.parametrize("kind", ["citext", f"text{LOOSE}"])
def test_texts_that_postgresql_takes_for_others(kind: str) -> None:
    """As the catalogue tells of such columns."""
    constraints = Constraints(frozenset({"x"}), ("(x = ANY (ARRAY['a'::text, 'b'::text]))",), "postgres")
    table = _table(_column(TEXT, values=_AB))
    assert enforced_columns(table, constraints, {"x": "text"}, str, POSTGRES) == {"x"}
    assert enforced_columns(table, constraints, {"x": kind}, str, POSTGRES) == frozenset()


def test_a_foreign_table_and_a_not_null_that_is_not_valid(
    owner: psycopg.Connection, postgres: Callable[[str], PostgresEngine]
) -> None:
    """What another server holds is not ours to check; since PostgreSQL 18 NOT NULL may be NOT VALID, too."""
    declared = _table(_column(WHOLE, bounds=_BOUNDS))
    sql = "CREATE TABLE t (x integer); INSERT INTO t VALUES (NULL)"
    if owner.info.server_version >= 180_000:
        sql += "; ALTER TABLE t ADD CONSTRAINT n NOT NULL x NOT VALID"
    assert postgres(sql).enforced_columns(declared) == frozenset()
