"""Which types of an engine may stand behind a declared one, and what is told when they may not."""

from collections.abc import Callable

import pytest

from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.kinds import fits, identifies
from dpsql.engines.tables import check_tables
from dpsql.errors import ConfigError
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.function import Dialect
from tests.support.fix_shadow import POLICY

TRIPS = """
CREATE TABLE trips (trip_id BIGINT, passenger_id INTEGER, pickup_ts TIMESTAMP, pickup_zone SMALLINT,
  payment_type VARCHAR, fare DECIMAL(10, 2), distance FLOAT);
CREATE TABLE zones (zone_id INTEGER, zone VARCHAR);
"""
SECRETS = "CREATE TABLE secrets (person INTEGER, kept BOOLEAN)"


def test_the_declared_tables_are_there(duck: Callable[[str], DuckDb]) -> None:
    """Narrower integers and floats may be declared wider."""
    check_tables(POLICY, duck(TRIPS + SECRETS))


def test_every_mistake_is_told(duck: Callable[[str], DuckDb]) -> None:
    """A line each."""
    changed = TRIPS.replace("pickup_ts TIMESTAMP", "pickup_ts DATE").replace("distance FLOAT", "length FLOAT")
    with pytest.raises(ConfigError) as caught:
        check_tables(POLICY, duck(changed))
    assert caught.value.message.splitlines() == [
        ': column "pickup_ts" of table "trips" is declared timestamp, the engine has DATE',
        ': column "distance" of table "trips": the engine has no such column',
        ': the engine has no table "secrets"',
    ]


@pytest.mark.parametrize(
    ("declared", "written", "found", "dialect"),
    [
        (SqlType.SMALLINT, "smallint", "TINYINT", Dialect.DUCKDB),
        (SqlType.BIGINT, "bigint", "UINTEGER", Dialect.DUCKDB),
        (SqlType.DOUBLE, "double precision", "HUGEINT", Dialect.DUCKDB),
        (SqlType.NUMERIC, "numeric", "DECIMAL(38,9)", Dialect.DUCKDB),
        (SqlType.TEXT, "text", "ENUM('a', 'b')", Dialect.DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "TIMESTAMP_NS", Dialect.DUCKDB),
        (SqlType.BIGINT, "bigint", "smallint", Dialect.POSTGRES),
        (SqlType.REAL, "real", "double precision", Dialect.POSTGRES),
        (SqlType.NUMERIC, "numeric", "numeric", Dialect.POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric(12,4)", Dialect.POSTGRES),
        (SqlType.TEXT, "text", "character varying(20)", Dialect.POSTGRES),
        (SqlType.TIMESTAMP, "timestamp", "timestamp(3) with time zone", Dialect.POSTGRES),
    ],
)
def test_types_that_fit(declared: SqlType, written: str, found: str, dialect: Dialect) -> None:
    """The cast to the declared type never fails."""
    assert fits(declared, written, found, dialect)


@pytest.mark.parametrize(
    ("declared", "written", "found", "dialect"),
    [
        (SqlType.INTEGER, "integer", "BIGINT", Dialect.DUCKDB),
        (SqlType.BIGINT, "bigint", "HUGEINT", Dialect.DUCKDB),
        (SqlType.BIGINT, "bigint", "DOUBLE", Dialect.DUCKDB),
        (SqlType.DOUBLE, "double precision", "VARCHAR", Dialect.DUCKDB),
        (SqlType.TEXT, "text", "VARCHAR[]", Dialect.DUCKDB),
        (SqlType.TEXT, "text", "ENUM('a')[]", Dialect.DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "DATE", Dialect.DUCKDB),
        (SqlType.TIMESTAMP, "timestamp", "TIMESTAMP_S", Dialect.DUCKDB),
        (SqlType.DATE, "date", "TIMESTAMP", Dialect.DUCKDB),
        (SqlType.DOUBLE, "double precision", "numeric", Dialect.POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric", Dialect.POSTGRES),
        (SqlType.NUMERIC, "numeric(10,2)", "numeric(900,2)", Dialect.POSTGRES),
        (SqlType.NUMERIC, "numeric", "money", Dialect.POSTGRES),
        (SqlType.TEXT, "text", "jsonb", Dialect.POSTGRES),
        (SqlType.BOOLEAN, "boolean", "integer", Dialect.POSTGRES),
    ],
)
def test_types_that_do_not_fit(declared: SqlType, written: str, found: str, dialect: Dialect) -> None:
    """The cast could fail, or would lose what tells values apart."""
    assert not fits(declared, written, found, dialect)


def test_a_float_identifies_nobody() -> None:
    """Two units could look alike; a decimal keeps them apart."""
    assert not identifies(SqlType.NUMERIC, "DOUBLE", Dialect.DUCKDB)
    assert not identifies(SqlType.NUMERIC, "real", Dialect.POSTGRES)
    assert identifies(SqlType.NUMERIC, "DECIMAL(18,0)", Dialect.DUCKDB)
