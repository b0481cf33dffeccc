"""64 sessions that keep asking: what they wait for, and what dpsql takes of memory, beside a plain PostgreSQL.

Run `python -m benchmarks.sessions`; SECONDS=600 lets it take ten minutes at each server, one unless given. A session asks
up to five times a second: for the catalogue, for public rows, a private question that was asked before, one that is new.
Before that they ask new ones as fast as they can until all is full that has a limit: what dpsql remembers, and the lists of
used buffers that DuckDB clears when they are long.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psycopg
from rich.console import Console
from rich.table import Table

from dpsql.shadow.server.postgres import OWNER
from tests.clients.asked import COLUMNS, GROUPED
from tests.clients.data import write
from tests.clients.site import Site, configure, plain_site, serving
from tests.faults.controls import write as replace
from tests.support.processes import megabytes

SESSIONS = 64
_THINKING = 0.2  # seconds, on average
_EVERY = 5.0  # seconds between two looks at the memory
_SHARES = {"catalogue": 2, "public rows": 4, "private, asked before": 3, "private, new": 1}
_BEFORE = 10_000
"""New questions until what is kept in memory has filled up."""


@dataclass(frozen=True, slots=True)
class Soak:
    """What came of it."""

    seconds: float
    waits: Mapping[str, list[float]]
    """By kind of statement."""
    errors: tuple[str, ...]
    memory: tuple[int, ...]
    """Megabytes of the server's process, again and again."""

    @property
    def growth(self) -> float:
        """Return by what part memory has grown from the first tenth of the time to the last."""
        tenth = max(len(self.memory) // 10, 1)
        return statistics.mean(self.memory[-tenth:]) / statistics.mean(self.memory[:tenth]) - 1


def main() -> None:
    """Measure and print; end with 1 if there was an error, or memory has grown by more than a tenth."""
    seconds = float(os.environ.get("SECONDS", "60"))
    with dpsql_site() as site:
        asyncio.run(_fill(site))
        ours = asyncio.run(soak(site, seconds))
    with _plain_site() as site:
        theirs = asyncio.run(soak(site, seconds))
    table = Table(
        "what", "dpsql: a second", "half wait", "99 of 100 wait", "PostgreSQL: a second", "half wait", "99 of 100 wait"
    )
    for what in _SHARES:
        table.add_row(what, *_figures(ours, what), *_figures(theirs, what))
    Console(width=130).print(table)
    Console().print(
        f"dpsql had {ours.memory[0]} to {max(ours.memory)} MB, {ours.growth:.1%} more in the last tenth than in the first"
    )
    if ours.errors or ours.growth > 0.1:
        sys.exit(f"MISSED: {len(ours.errors)} errors {ours.errors[:3]}, growth {ours.growth:.1%}")


def _figures(soaked: Soak, what: str) -> tuple[str, str, str]:
    waits = sorted(soaked.waits[what])
    return (
        f"{len(waits) / soaked.seconds:.0f}",
        f"{statistics.median(waits) * 1000:.1f} ms",
        f"{waits[len(waits) * 99 // 100] * 1000:.0f} ms",
    )


async def soak(site: Site, seconds: float) -> Soak:
    """Let the sessions ask for so long."""
    waits: dict[str, list[float]] = defaultdict(list)
    errors: list[str] = []
    memory: list[int] = []
    until = time.monotonic() + seconds
    asking = [_ask(site, number, until, waits, errors) for number in range(SESSIONS)]
    await asyncio.gather(_watch(site, until, memory), *asking)
    return Soak(seconds, waits, tuple(errors), tuple(memory))


async def _fill(site: Site) -> None:
    """Have the sessions ask new questions without a pause."""

    async def ask(number: int) -> None:
        async with await psycopg.AsyncConnection.connect(site.words, autocommit=True) as connection:
            for count in range(_BEFORE // SESSIONS):
                await connection.execute(_new(number, -count))

    await asyncio.gather(*map(ask, range(SESSIONS)))


def _new(number: int, count: int) -> bytes:
    fare = 20 + (number * 100_000 + count) / 10**8
    return f"SELECT count(*), avg(fare) FROM trips WHERE fare > {fare:.8f}".encode()  # noqa: S608


async def _ask(site: Site, number: int, until: float, waits: Mapping[str, list[float]], errors: list[str]) -> None:
    drawn = random.Random(number)  # noqa: S311 # the same each time
    async with await psycopg.AsyncConnection.connect(site.words, autocommit=True) as connection:
        count = 0
        while time.monotonic() < until:
            (what,) = drawn.choices(list(_SHARES), list(_SHARES.values()))
            count += 1
            statement = {
                "catalogue": COLUMNS.encode(),
                "public rows": f"SELECT zone, borough FROM zones WHERE zone_id = {count % 5 + 1}".encode(),  # noqa: S608
                "private, asked before": GROUPED.encode(),
                "private, new": _new(number, count),
            }[what]
            begun = time.perf_counter()
            try:
                await (await connection.execute(statement)).fetchall()
            except psycopg.Error as failed:
                errors.append(str(failed))
            waits[what].append(time.perf_counter() - begun)
            await asyncio.sleep(drawn.expovariate(1 / _THINKING))


async def _watch(site: Site, until: float, memory: list[int]) -> None:
    while True:
        if site.process is not None:
            memory.append(megabytes(site.process.pid))
        if time.monotonic() + _EVERY > until:
            return
        await asyncio.sleep(_EVERY)


@contextmanager
def dpsql_site(processes: int = 1) -> Iterator[Site]:
    """Serve a few trips by dpsql, to a role that may ask as often as it likes."""
    with _directory() as directory:
        config = configure(directory)
        # A hundred thousand questions, however fast the machine is: a budget that ends would measure refusals.
        replace(config, "epsilon: 10000000}", "epsilon: 100000000}")
        replace(config, "per_query: {epsilon: 1000}", "per_query: {epsilon: 1000}, limits: {runs: 1000000}")
        replace(config, "port: 0", f"port: 0, processes: {processes}")
        with serving(config) as site:
            yield site


@contextmanager
def _plain_site() -> Iterator[Site]:
    """Serve the same trips by PostgreSQL alone."""
    with _directory() as directory, plain_site(directory) as site:
        write(directory / "rows.duckdb")
        where = site.words.replace(f"user={site.user}", f"user={OWNER}")
        with psycopg.connect(where) as owner, duckdb.connect(directory / "rows.duckdb") as rows:
            for table in ("zones", "trips"):
                found = rows.execute(f"SELECT * FROM {table}")  # noqa: S608
                names = ", ".join(column[0] for column in found.description)
                with owner.cursor().copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy:
                    for row in found.fetchall():
                        copy.write_row(row)
        yield site


@contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


if __name__ == "__main__":
    main()
