"""A whole server with pages over a few made-up rides, whose exact values are easy to recognise."""

import asyncio
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dpsql.policy.load import load
from dpsql.server import Server
from dpsql.wire.protocol.scram import Verifier
from tests.support import clusters

FARES = {7.38291: 6173, 23.46917: 9257, 61.92853: 4561}
"""Every fare in the table, and in how many rows it stands."""
USERS = {"olga": "owner", "ana": "analyst", "tess": "third_party"}

_CONFIG = """\
dataset: rides
engine: {kind: duckdb, database: rides.duckdb}
schemas: schemas
listen: {host: 127.0.0.1, port: 0}
web: {host: 127.0.0.1, port: 0}
ledger: sqlite:///ledger.db
budget: {passenger: {epsilon: 100}, driver: {epsilon: 50}}
roles:
  owner: {protects: passenger, budget: {epsilon: 40}, per_query: {epsilon: 1}, owner: true}
  analyst: {protects: passenger, budget: {epsilon: 30, period: week}, per_query: {epsilon: 0.5}}
  third_party: {protects: driver, budget: {epsilon: 20}, per_query: {epsilon: 0.2}}
users:
"""
_RIDES = """\
table: rides
expected_rows: 20_000
privacy_units: {passenger: {column: passenger, max_rows: 2}, driver: {column: driver}}
columns:
  passenger: {type: integer}
  driver: {type: integer}
  fare: {type: double precision, bounds: [0, 100], description: in dollars}
  seats: {type: integer, bounds: [1, 6]}
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs, and how to get in."""

    url: str
    sql: str
    """The host and port that SQL clients connect to."""
    passwords: Mapping[str, str]


def _write(home: Path) -> Path:
    """Write configuration, schema and data."""
    (home / "schemas").mkdir()
    (home / "schemas" / "rides.yaml").write_text(_RIDES, encoding="utf-8")
    lines = [
        f'  {name}: {{role: {role}, password: "{Verifier.of(f"pw-{name}", iterations=4096)}"}}\n'
        for name, role in USERS.items()
    ]
    (home / "config.yaml").write_text(_CONFIG + "".join(lines), encoding="utf-8")
    rows = [fare for fare, times in FARES.items() for _ in range(times)]
    with duckdb.connect(str(home / "rides.duckdb")) as connection:
        connection.execute("CREATE TABLE rides (passenger INTEGER, driver INTEGER, fare DOUBLE, seats INTEGER)")
        connection.execute(
            "INSERT INTO rides SELECT i // 2, i // 40, ($fares)[i + 1], 1 + i % 6 FROM range(len($fares)) r(i)",
            {"fares": rows},
        )
    return home / "config.yaml"


async def _serve(config: Path, started: Future[tuple[str, str]], stop: threading.Event) -> None:
    async with Server(load(config)) as server:
        host, port = server.address
        assert server.pages is not None
        started.set_result((server.pages, f"host={host} port={port}"))
        await asyncio.to_thread(stop.wait)


@contextmanager
def rides() -> Iterator[Running]:
    """Serve the rides, with nothing spent."""
    with tempfile.TemporaryDirectory(prefix="dpsql-pages-") as directory:
        home = Path(directory)
        home.chmod(0o711)
        clusters.prepare(home / ".dpsql" / "shadow")
        stop, started = threading.Event(), Future[tuple[str, str]]()
        thread = threading.Thread(target=lambda: asyncio.run(_serve(_write(home), started, stop)), daemon=True)
        thread.start()
        url, sql = started.result(60)
        yield Running(url, sql, {name: f"pw-{name}" for name in USERS})
        stop.set()
        thread.join(30)


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """Give the server; it stops when the session ends."""
    with rides() as served:
        yield served
