"""What was spent stays spent when tables, which had bare names, are declared with their schemas."""

from pathlib import Path

import duckdb
import psycopg
import pytest

from tests.support.connected import connections

_CONFIG = """\
dataset: taxi
engine: {{kind: duckdb, {engine}}}
schemas: schemas
listen: {{host: 127.0.0.1, port: 0}}
trial: forms
budget: {{passenger: {{epsilon: 2}}}}
roles: {{analyst: {{protects: passenger, budget: {{epsilon: 2}}, per_query: {{epsilon: 1}}}}}}
users: {{}}
"""
_TRIPS = """\
table: {name}
privacy_units: {{passenger: {{column: passenger, max_rows: 1}}}}
columns:
  passenger: {{type: integer}}
  fare: {{type: integer, bounds: [0, 100]}}
"""
_ASKED = "SELECT count(*) FROM trips"
_OTHER = "SELECT count(*) FROM {} WHERE fare > 2"


def _write(place: Path, name: str, engine: str) -> Path:
    (place / "schemas").mkdir(exist_ok=True)
    (place / "schemas" / "trips.yaml").write_text(_TRIPS.format(name=name))
    config = place / "config.yaml"
    config.write_text(_CONFIG.format(engine=engine))
    return config


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a directory with records in a file of DuckDB's, in two schemas, and in a file of Parquet's."""
    with duckdb.connect(str(tmp_path / "trips.duckdb")) as records:
        records.execute("CREATE TABLE trips AS SELECT n::INTEGER AS passenger, 1 AS fare FROM range(100) AS r (n)")
        records.execute("CREATE SCHEMA clinical; CREATE TABLE clinical.trips AS FROM trips")
        records.execute(f"COPY trips TO '{tmp_path / 'trips.parquet'}'")
    return tmp_path


_FILE, _BY_PLACE, _BY_SCHEMA = (
    "database: trips.duckdb",
    "tables: {trips: trips.parquet}",
    "tables: {clinical.trips: trips.parquet}",
)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (("trips", _FILE), ("public.trips", _FILE)),
        (("public.trips", _FILE), ("trips", _FILE)),
        (("trips", _FILE), ("clinical.trips", _FILE)),
        (("trips", _BY_PLACE), ("public.trips", _BY_PLACE)),
        (("trips", _BY_PLACE), ("clinical.trips", _BY_SCHEMA)),
    ],
)
def test_what_was_spent_stays_spent(place: Path, before: tuple[str, str], now: tuple[str, str]) -> None:
    """Nobody gets a new budget by it; a table that is the same by either name is told of again for nothing."""
    with connections(_write(place, *before)) as connect:
        told = connect("analyst").execute(_ASKED).fetchone()
    moved = "clinical" in now[0]
    with connections(_write(place, *now)) as connect:
        asking = connect("analyst")
        assert asking.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone() == (1,)
        if not moved:
            assert asking.execute("SELECT count(*) FROM public.trips").fetchone() == told
        assert asking.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone() == (1,)
        asking.execute(_OTHER.format(now[0]).encode())
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded):
            asking.execute(f"SELECT count(*) FROM {now[0]} WHERE fare > 3".encode())
