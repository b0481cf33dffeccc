"""Which types of an engine may stand behind a declared one, and what is told when they may not."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.tables import fits, fits_column, identifies, require_tables
from dpsql.errors import ConfigError
from dpsql.policy.model import Column, SqlType, Table
from dpsql.rewrite.dialects.base import Dialect
from tests.support.dialects import DUCKDB, POSTGRES
from tests.support.fix_shadow import POLICY

TRIPS = """
CREATE TABLE trips (trip_id BIGINT, passenger_id INTEGER, pickup_ts TIMESTAMP, pickup_zone SMALLINT,
  payment_type VARCHAR, fare DECIMAL(10, 2), distance FLOAT);
CREATE TABLE zones (zone_id INTEGER, zone VARCHAR);
"""
SECRETS = "CREATE TABLE secrets (person INTEGER, kept BOOLEAN)"


def test_the_declared_tables_are_there(duck: Callable[[str], DuckDb]) -> None:
    """Narrower integers and floats may be declared wider."""
    require_tables(POLICY, duck(TRIPS + SECRETS))


def test_every_mistake_is_told(duck: Callable[[str], DuckDb]) -> None:
    """A line each."""
    changed = TRIPS.replace("pickup_ts TIMESTAMP", "pickup_ts DATE").replace("distance FLOAT", "length FLOAT")
    with pytest.raises(ConfigError) as caught:
        require_tables(POLICY, duck(changed))
    assert caught.value.message.splitlines() == [
        ': column "pickup_ts" of table "trips" is declared timestamp, the engine has DATE',
        ': column "distance" of table "trips": the engine has no such column',
        ': the engine has no table "secrets"',
    ]


@pytest.mark.parametrize(("there", "meant"), [("Distance", "Distance"), ("distanse", "distanse"), ("length", None)])
def test_the_column_that_may_be_meant_is_told(there: str, meant: str | None, duck: Callable[[str], DuckDb]) -> None:
    """Spelt a little otherwise, or with capitals, which a name in quotes keeps."""
    with pytest.raises(ConfigError) as caught:
        require_tables(POLICY, duck(TRIPS.replace("distance FLOAT", f'"{there}" FLOAT') + SECRETS))
    asked = "" if meant is None else f'; did you mean "{meant}"?'
    assert caught.value.message == f': column "distance" of table "trips": the engine has no such column{asked}'


def test_a_label_that_the_engine_lacks_is_told(duck: Callable[[str], DuckDb]) -> None:
    """No row has it: it is spelt wrong, mostly, and the rows of the right one would count for nothing."""
    mood = Column("mood", SqlType.ENUM, "mood", values=("sad", "glad", "it's"))
    policy = replace(POLICY, tables={"t": Table("t", {"mood": mood}, {}, public=True)})
    made = "CREATE TYPE mood AS ENUM ('sad', 'it''s', 'good'); CREATE TABLE t (mood {})"
    with pytest.raises(ConfigError) as caught:
        require_tables(policy, duck(made.format("mood")))
    assert caught.value.message == ': column "mood" of table "t" has no \'glad\' in the engine\'s enumeration'
    require_tables(policy, duck(made.format("VARCHAR")))


@pytest.mark.parametrize(
    ("stored", "dialect", "fit"),
    [
        ("TINYINT", DUCKDB, True),
        ("UHUGEINT", DUCKDB, True),
        ("BOOLEAN", DUCKDB, False),
        ("DOUBLE", DUCKDB, False),
        ("bigint", POSTGRES, True),
        ("boolean", POSTGRES, False),
        ("text", POSTGRES, False),
    ],
)
def test_a_boolean_that_is_0_or_1_is_a_whole_number(stored: str, dialect: Dialect, *, fit: bool) -> None:
    """Of any size; and not a boolean."""
    column = Column("late", SqlType.BOOLEAN, "boolean", in_numbers=True)
    assert fits_column(column, stored, dialect) is fit


@pytest.mark.parametrize(
    ("declared", "written", "stored", "dialect"),
    [
        (SqlType.SMALLINT, "smallint", "TINYINT", DUCKDB),
        (SqlType.BIGINT, "bigint", "UINTEGER", DUCKDB),
        (SqlType.DOUBLE, "double precision", "HUGEINT", DUCKDB),
        (SqlType.NUMERIC, "numeric", "DECIMAL(38,9)", DUCKDB),
        (SqlType.TEXT, "text", "ENUM('a', 'b')", DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "TIMESTAMP_NS", DUCKDB),
        (SqlType.TIMESTAMPTZ, "timestamptz", "TIMESTAMPTZ_NS", DUCKDB),
        (SqlType.TIME, "time", "TIME_NS", DUCKDB),
        (SqlType.BIGINT, "bigint", "smallint", POSTGRES),
        (SqlType.REAL, "real", "double precision", POSTGRES),
        (SqlType.NUMERIC, "numeric", "numeric", POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric(12,4)", POSTGRES),
        (SqlType.TEXT, "text", "character varying(20)", POSTGRES),
        (SqlType.TIMESTAMP, "timestamp", "timestamp(3) with time zone", POSTGRES),
        (SqlType.TIMESTAMPTZ, "timestamptz", "timestamp with time zone", POSTGRES),
        (SqlType.TIMESTAMPTZ, "timestamptz", "TIMESTAMP WITH TIME ZONE", DUCKDB),
        (SqlType.CHARACTER, "character(4)", "character(4)", POSTGRES),
        (SqlType.CHARACTER, "character(4)", "VARCHAR", DUCKDB),
        (SqlType.UUID, "uuid", "uuid", POSTGRES),
        (SqlType.UUID, "uuid", "UUID", DUCKDB),
    ],
)
def test_types_that_fit(declared: SqlType, written: str, stored: str, dialect: Dialect) -> None:
    """The cast to the declared type never fails."""
    assert fits(declared, written, stored, dialect)


@pytest.mark.parametrize(
    ("declared", "written", "stored", "dialect"),
    [
        (SqlType.INTEGER, "integer", "BIGINT", DUCKDB),
        (SqlType.BIGINT, "bigint", "HUGEINT", DUCKDB),
        (SqlType.BIGINT, "bigint", "DOUBLE", DUCKDB),
        (SqlType.DOUBLE, "double precision", "VARCHAR", DUCKDB),
        (SqlType.TEXT, "text", "VARCHAR[]", DUCKDB),
        (SqlType.TEXT, "text", "ENUM('a')[]", DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "DATE", DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "TIMESTAMP_S", DUCKDB),
        (SqlType.DATE, "date", "TIMESTAMP", DUCKDB),
        (SqlType.DOUBLE, "double precision", "numeric", POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric", POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric(900,2)", POSTGRES),
        (SqlType.NUMERIC, "numeric", "money", POSTGRES),
        (SqlType.TEXT, "text", "jsonb", POSTGRES),
        (SqlType.UUID, "uuid", "text", POSTGRES),
        (SqlType.UUID, "uuid", "VARCHAR", DUCKDB),
        (SqlType.CHARACTER, "character(4)", "UUID", DUCKDB),
        (SqlType.BOOLEAN, "boolean", "integer", POSTGRES),
    ],
)
def test_types_that_do_not_fit(declared: SqlType, written: str, stored: str, dialect: Dialect) -> None:
    """The cast could fail, or would lose what tells values apart."""
    assert not fits(declared, written, stored, dialect)


def test_a_float_identifies_nobody() -> None:
    """Two units could look alike; a decimal keeps them apart."""
    assert not identifies(SqlType.NUMERIC, "DOUBLE", DUCKDB)
    assert not identifies(SqlType.NUMERIC, "real", POSTGRES)
    assert identifies(SqlType.NUMERIC, "DECIMAL(18,0)", DUCKDB)
