"""The two servers that tools are sent to: dpsql, and a PostgreSQL that has the very rows."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg

from tests.clients.data import write
from tests.clients.site import Site, configure, plain_site, serving
from tests.support.demo_schemas import copy_with_numbers

_ABOUT = (
    "one row per taxi ride in New York in March 2019; "
    "rows that a preview shows are made up, answers to aggregates are not"
)
"""What dpsql says of trips where a role sees made-up ones."""


@contextmanager
def sites() -> Iterator[tuple[Site, Site, Site]]:
    """Run dpsql, with answers nearly exact, for a role that sees no rows and one that sees made-up ones; and PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="dpsql-tools-") as name, ExitStack() as held:
        directory = Path(name)
        directory.chmod(0o711)
        here = held.enter_context(serving(configured(directory)))
        plain = held.enter_context(plain_with_rows(directory))
        yield here, replace(here, user="pia"), plain


@contextmanager
def plain_with_rows(directory: Path) -> Iterator[Site]:
    """Run PostgreSQL with the rows that dpsql answers from."""
    write(directory / "rows.duckdb")
    with plain_site(directory) as plain:
        _fill(plain, directory / "rows.duckdb")
        yield plain


def configured(directory: Path, *, seeing: bool = True) -> Path:
    """Configure a role that sees no rows, and one that sees made-up ones; trips have a key, as most tables do."""
    schemas = copy_with_numbers(directory / "declared")
    trips = schemas / "trips.yaml"
    trips.write_text(
        trips.read_text(encoding="utf-8").replace("table: trips\n", "table: trips\nkey: trip_id\n"), encoding="utf-8"
    )
    config = configure(directory, schemas=schemas)
    text = (
        config.read_text(encoding="utf-8")
        .replace("10000000}", "1000000000}")
        .replace("epsilon: 1000}", "epsilon: 100000}, empty_groups: hide")
    )
    if not seeing:  # without what was not always there
        config.write_text(text, encoding="utf-8")
        return config
    (role,) = [line for line in text.splitlines() if "analyst:" in line]
    (user,) = [line for line in text.splitlines() if "ana:" in line]
    other = role.replace("analyst", "seeing").replace("per_query", "preview: made-up, per_query")
    text = text.replace(role, f"{role}\n{other}") + user.replace("ana:", "pia:").replace("analyst", "seeing") + "\n"
    config.write_text(f"trial: off\n{text}", encoding="utf-8")  # what is tried here is clients
    return config


def _fill(plain: Site, database: Path) -> None:
    """Put the records into a PostgreSQL, as the superuser that it lets in."""
    with (
        duckdb.connect(database, read_only=True) as records,
        psycopg.connect(f"host={plain.host} port={plain.port} dbname={plain.database} user=dpsql_owner") as owner,
    ):
        for table in ("zones", "trips"):
            with owner.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in records.execute(f"SELECT * FROM {table}").fetchall():
                    copy.write_row(row)
        owner.execute("GRANT TEMPORARY ON DATABASE taxi TO ana")
        owner.execute("ALTER TABLE trips ADD PRIMARY KEY (trip_id)")
        owner.execute(f"COMMENT ON TABLE trips IS '{_ABOUT}'".encode())
