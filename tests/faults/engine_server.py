"""A PostgreSQL server that holds the records, for tests that stop it, kill it and start it again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg

from dpsql.shadow.server.postgres import Postgres
from tests.clients.data import write
from tests.support import clusters

FILE = "engine: {kind: duckdb, database: taxi.duckdb}"


@contextmanager
def engine_server(directory: Path) -> Iterator[Postgres]:
    """Run a server with the tables in a schema of their own, and a role that reads them."""
    server = clusters.start(directory / "source", _source)
    try:
        yield server
    finally:
        server.stop()


def _source(place: Path) -> Path:
    server = clusters.start(place / "source")
    write(place / "copied.duckdb")
    with psycopg.connect(server.dsn("postgres"), autocommit=True) as owner:
        owner.execute(f"CREATE ROLE reader LOGIN PASSWORD '{server.address.secret}'".encode())
        owner.execute("CREATE SCHEMA rides; GRANT USAGE ON SCHEMA rides TO reader")
        owner.execute("ALTER ROLE reader SET search_path = rides; SET search_path = rides")
        with duckdb.connect(place / "copied.duckdb") as duck:
            for table in ("zones", "trips"):
                _copy(duck, owner, table)
    server.stop()
    return place / "source"


def of(server: Postgres) -> str:
    """Return what a configuration says of it."""
    dsn = server.dsn("postgres", "reader")
    return f'engine: {{kind: postgres, dsn: "{dsn}"}}'


def use(config: Path, engine: str) -> Path:
    """Let a configuration have another engine."""
    text = config.read_text()
    assert FILE in text
    config.write_text(text.replace(FILE, engine))
    return config


def _copy(duck: duckdb.DuckDBPyConnection, owner: psycopg.Connection, table: str) -> None:
    rows = duck.execute(f"SELECT * FROM {table}")
    columns = [f'"{name}" {"float8" if str(kind) == "DOUBLE" else str(kind)}' for name, kind, *_ in rows.description]
    owner.execute(f"CREATE TABLE {table} ({', '.join(columns)}); GRANT SELECT ON {table} TO reader".encode())
    with owner.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
        for row in rows.fetchall():
            copy.write_row(row)
