"""All flights from New York's airports in 2013 behind dpsql: real data, a real engine, real connections."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

import dpsql

HERE = Path(__file__).parent
TABLES = ("flights", "planes", "airlines", "airports")


def _fill(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        for table in TABLES:
            source = HERE / "data" / f"{table}.parquet"
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{source}')")


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the configuration of a directory that holds the flights in DuckDB."""
    home = tmp_path_factory.mktemp("flights")
    shutil.copytree(HERE / "schemas", home / "schemas")
    shutil.copy(HERE / "config.yaml", home)
    _fill(home / "flights.duckdb")
    return home / "config.yaml"


@pytest.fixture(scope="session")
def exact(deployed: Path) -> Iterator[psycopg.Connection]:
    """Connect as a role whose ε is so large that the noise is far below one row."""
    with dpsql.connect(deployed, role="exact") as connection:
        connection.autocommit = True
        yield connection


@pytest.fixture(scope="session")
def analyst(deployed: Path) -> Iterator[psycopg.Connection]:
    """Connect as a role that pays ε = 2 a statement."""
    with dpsql.connect(deployed, role="analyst") as connection:
        connection.autocommit = True
        yield connection


@pytest.fixture(scope="session")
def truth(deployed: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the data itself as dpsql's users are meant to see it: planes without a number left out, values clamped."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{deployed.parent / 'flights.duckdb'}' AS f (READ_ONLY)")
    clamped = {"dep_delay": (-60, 300), "arr_delay": (-90, 300), "air_time": (0, 720), "distance": (0, 5000)}
    columns = ", ".join(
        f"CASE WHEN {c} < {low} THEN {low} WHEN {c} > {high} THEN {high} ELSE {c} END AS {c}"
        for c, (low, high) in clamped.items()
    )
    connection.execute(
        f"CREATE TABLE flights AS SELECT * REPLACE ({columns}, "
        "CASE WHEN dest IN (SELECT faa FROM f.airports) THEN dest END AS dest) FROM f.flights WHERE tailnum IS NOT NULL"
    )
    for table in TABLES[1:]:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM f.{table}")
    yield connection
    connection.close()
