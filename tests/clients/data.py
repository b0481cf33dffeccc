"""A small database of trips in which no passenger has more than their share, so that nothing is scaled down."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tests.support.schema import APART, SCHEMA

TRIPS = 3_000

_ZONES = """
CREATE TABLE zones (zone_id INTEGER PRIMARY KEY, zone VARCHAR NOT NULL, borough VARCHAR NOT NULL);
INSERT INTO zones SELECT n, 'Zone ' || n, CASE n % 2 WHEN 0 THEN 'Queens' ELSE 'Bronx' END FROM range(1, 6) AS r (n);
"""
_TRIPS = """
CREATE TABLE trips AS SELECT
  n::BIGINT AS trip_id, (n % 40)::INTEGER AS driver_id, (n % 500)::INTEGER AS passenger_id,
  TIMESTAMP '2019-03-01' + INTERVAL 13 MINUTE * n AS pickup_ts, (1 + n % 5)::INTEGER AS pickup_zone,
  CASE n % 3 WHEN 0 THEN 'cash' WHEN 1 THEN 'credit card' END AS payment_type, (1 + n % 4)::INTEGER AS passenger_count,
  (n % 97 / 4)::DOUBLE AS trip_distance, (3 + n % 50)::DOUBLE AS fare, (n % 7)::DOUBLE AS tip,
  (3 + n % 50 + n % 7)::DOUBLE AS total
FROM range($trips) AS r (n)
"""

BY_PAYMENT: list[tuple[str | None, int]] = [("cash", 1000), ("credit card", 1000), (None, 1000)]
"""How many trips were paid how."""
LONG_TRIPS = 1920
"""How many trips cost more than 20 dollars: 32 fares of 50."""


def write(path: Path) -> None:
    """Write the tables to a DuckDB file; a hundred tests have one, and to copy it takes a tenth of the time."""
    path.write_bytes(_file())


@cache
def _file() -> bytes:
    with TemporaryDirectory(prefix="dpsql-trips-") as place:
        path = Path(place) / "trips.duckdb"
        with duckdb.connect(path) as connection:
            if APART:
                connection.execute(f"CREATE SCHEMA {SCHEMA}; USE {SCHEMA}")
            connection.execute(_ZONES)
            connection.execute(_TRIPS, {"trips": TRIPS})
            if APART:
                connection.execute(
                    f"USE main; CREATE TABLE zones AS FROM {SCHEMA}.zones LIMIT 1; "
                    f"CREATE TABLE trips AS FROM {SCHEMA}.trips UNION ALL FROM {SCHEMA}.trips"
                )
        return path.read_bytes()
