"""The demo's DuckDB file: written beside its place and moved there whole, so that a reader never sees half of it."""

import os
from pathlib import Path

import duckdb

from dpsql.demo.trips import PAYMENTS, trips, zones
from dpsql.private_files import make_directory

TRIPS = 1_000_000

TRIPS_TABLE = """
CREATE TABLE trips (
  trip_id BIGINT NOT NULL,
  driver_id INTEGER NOT NULL,
  passenger_id INTEGER NOT NULL,
  pickup_ts TIMESTAMP NOT NULL,
  pickup_zone INTEGER,
  payment_type VARCHAR,
  passenger_count INTEGER NOT NULL,
  trip_distance DOUBLE NOT NULL,
  fare DOUBLE NOT NULL CHECK (NOT isnan(fare)),
  tip DOUBLE NOT NULL CHECK (NOT isnan(tip)),
  total DOUBLE NOT NULL CHECK (NOT isnan(total))
)
"""
"""What is clean is kept so: of other columns, some zones and distances are missing, as in real records."""
ZONES_TABLE = "CREATE TABLE zones (zone_id INTEGER PRIMARY KEY, zone VARCHAR NOT NULL, borough VARCHAR NOT NULL)"
_MADE = """
INSERT INTO trips
SELECT
  trip_id::BIGINT AS trip_id,
  driver_id::INTEGER AS driver_id,
  passenger_id::INTEGER AS passenger_id,
  pickup_ts,
  nullif(pickup_zone, 0)::INTEGER AS pickup_zone,
  $payments[payment + 1] AS payment_type,
  passenger_count::INTEGER AS passenger_count,
  CASE WHEN isinf(trip_distance) THEN 'NaN'::DOUBLE ELSE trip_distance END AS trip_distance,
  fare,
  tip,
  total
FROM made
"""


def generate(path: Path, number: int = TRIPS) -> None:
    """Write the tables `trips` and `zones` to a DuckDB file, the same ones every time."""
    make_directory(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(draft, number)
        # The records are private: nobody else on this machine is to read them.
        draft.chmod(0o600)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(f"{draft.name}.wal").unlink(missing_ok=True)


def _write(path: Path, number: int) -> None:
    with duckdb.connect(path) as connection:
        connection.register("made", trips(number))
        connection.execute(TRIPS_TABLE)
        connection.execute(_MADE, {"payments": list(PAYMENTS)})
        connection.execute(ZONES_TABLE)
        rows = [(zone.zone_id, zone.zone, zone.borough) for zone in zones()]
        connection.executemany("INSERT INTO zones VALUES (?, ?, ?)", rows)
