"""What the wire costs: the same through dpsql and straight to the shadow, in one run.

Run `python -m benchmarks.wire`. Each pair is measured in turns, so that a busy machine slows both; medians are shown.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from dpsql.shadow.server.postgres import ShadowAddress
from tests.clients.site import Site, configure, serving

_CATALOGUE = (
    "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a"
    " WHERE a.attrelid = 'public.trips'::regclass AND a.attnum > 0 ORDER BY a.attnum"
)
_ROWS = "SELECT n, n * 1.5 AS x, 'some text' AS t FROM generate_series(1, 100000) AS n"
_PRIVATE = "SELECT payment_type, count(*), avg(fare) FROM trips GROUP BY payment_type"


@dataclass(frozen=True, slots=True)
class Result:
    """One thing measured: seconds through dpsql, and straight to the shadow where that can be."""

    name: str
    through: float
    straight: float | None
    limit: str
    ok: bool


def main() -> None:
    """Measure and print; end with 1 if a limit is missed."""
    with _servers() as (site, straight):
        results = list(measure(site, straight))
    table = Table("what", "through dpsql", "straight", "limit", "")
    for result in results:
        told = "" if result.straight is None else _milliseconds(result.straight)
        table.add_row(result.name, _milliseconds(result.through), told, result.limit, "ok" if result.ok else "MISSED")
    Console().print(table)
    if not all(result.ok for result in results):
        sys.exit(1)


def measure(site: Site, straight: str) -> Iterator[Result]:
    """Yield each result; `straight` says how the shadow is reached."""
    with psycopg.connect(site.words, autocommit=True) as ours, psycopg.connect(straight, autocommit=True) as theirs:
        for name, statement in (("SELECT 1", "SELECT 1"), ("a catalogue query", _CATALOGUE)):
            a, b = _both(partial(_all, statement), ours, theirs, 1000)
            yield Result(name, a, b, "250 µs more", a - b <= 250e-6)
        a, b = _both(lambda c: c.execute(_ROWS).fetchall(), ours, theirs, 9)
        yield Result("100,000 rows", a, b, "half the rate", a <= 2 * b)
        a, b = _both(lambda c: c.execute(_ROWS, binary=True).fetchall(), ours, theirs, 9)
        yield Result("100,000 rows, binary", a, b, "half the rate", a <= 2 * b)
        ours.execute(_PRIVATE)
        a = _median(lambda: ours.execute(_PRIVATE).fetchall(), 200)
        yield Result("a private question again", a, None, "10 ms", a < 10e-3)
    a, b = (_median(partial(_connect_and_ask, dsn), 40) for dsn in (site.words, straight))
    yield Result("connect and ask SELECT 1", a, b, "25 ms", a < 25e-3)


def _all(statement: LiteralString, connection: psycopg.Connection) -> object:
    return connection.execute(statement).fetchall()


def _connect_and_ask(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT 1").fetchall()


def _both(
    ask: Callable[[psycopg.Connection], object], ours: psycopg.Connection, theirs: psycopg.Connection, times: int
) -> tuple[float, float]:
    """Return the median seconds of each, taken in turns after a warm-up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(times + times // 10 + 1):
        for connection, seconds in zip((ours, theirs), taken, strict=True):
            begun = time.perf_counter()
            ask(connection)
            if turn > times // 10:
                seconds.append(time.perf_counter() - begun)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _median(ask: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


@contextmanager
def _servers() -> Iterator[tuple[Site, str]]:
    """Serve a few trips; give dpsql's place, and how its own shadow is reached."""
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        with serving(configure(directory)) as site:
            (written,) = (directory / "shadow").rglob("cluster")
            address = ShadowAddress(str(directory / "shadow" / "sockets"), written.read_text().partition("\n")[2])
            where: dict[str, Any] = {"host": address.directory, "port": address.port, "password": address.secret}
            yield site, make_conninfo(**where, user=site.user, dbname=site.database)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f} ms"


if __name__ == "__main__":
    main()
