"""How many answers a second sessions get that ask as fast as they can, new questions and repeated ones, and what one takes.

Of the processor: it hardly depends on what else the machine does.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.sessions import dpsql_site
from benchmarks.speed.measured import today
from tests.clients.site import Site
from tests.support.processes import children, seconds_worked

SESSIONS, PROCESSES = (1, 8, 64), (1, 2)
_FARES = (20 + number / 10**8 for number in itertools.count(1))
"""No two questions have the same."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What so many sessions get together."""

    sessions: int
    processes: int
    """How many of dpsql answer."""
    new: float
    """Answers a second to questions that nobody has asked before."""
    repeated: float
    load: tuple[float, float]
    """The machine's load in the last minute, before and after."""
    taken: str
    """The day."""
    new_takes: Sequence[float] = ()
    """Milliseconds of the processor for an answer: of dpsql with DuckDB, of the shadow, and of who asks here."""
    repeated_takes: Sequence[float] = ()


def rates(seconds: float) -> Sequence[Rate]:
    """Let ever more sessions ask a server of a small table for so long, of each kind of question."""
    found = []
    for processes in PROCESSES:
        with dpsql_site(processes) as site:
            asyncio.run(_answers(site, 8, 1.0, new=True))  # the first of its form is tried on synthetic people
            found += [_rate(site, number, processes, seconds) for number in SESSIONS]
    return found


def _rate(site: Site, sessions: int, processes: int, seconds: float) -> Rate:
    before = os.getloadavg()[0]
    new, new_takes = asyncio.run(_answers(site, sessions, seconds, new=True))
    repeated, repeated_takes = asyncio.run(_answers(site, sessions, seconds, new=False))
    load = (before, os.getloadavg()[0])
    return Rate(sessions, processes, new / seconds, repeated / seconds, load, today(), new_takes, repeated_takes)


async def _answers(site: Site, sessions: int, seconds: float, *, new: bool) -> tuple[int, list[float]]:
    """Return how many answers there are until time is up, and what each takes; log-ins do not count."""
    clients = [await psycopg.AsyncConnection.connect(site.words, autocommit=True) for _ in range(sessions)]
    before, until = _worked(site), time.monotonic() + seconds
    try:
        answers = sum(await asyncio.gather(*(_asks(client, until, new=new) for client in clients)))
        takes = [(b - a) * 1000 / answers for a, b in zip(before, _worked(site), strict=True)]
    finally:
        for client in clients:
            await client.close()
    return answers, takes


def _worked(site: Site) -> tuple[float, float, float]:
    """Return how long dpsql's processes have had a processor, its shadow's, and ours."""
    assert site.process is not None
    dpsql = shadow = 0.0
    left = [site.process.pid]
    while left:
        pid = left.pop()
        left += children(pid)
        worked, name = seconds_worked(pid), Path(f"/proc/{pid}/comm").read_text()
        dpsql, shadow = (dpsql, shadow + worked) if name.startswith("postgres") else (dpsql + worked, shadow)
    return dpsql, shadow, sum(os.times()[:2])


async def _asks(client: psycopg.AsyncConnection, until: float, *, new: bool) -> int:
    answers = 0
    while time.monotonic() < until:
        fare = next(_FARES) if new else 20
        sql = f"SELECT count(*), avg(fare) FROM trips WHERE fare > {fare:.8f}"  # noqa: S608 # a number
        await (await client.execute(sql.encode())).fetchall()
        answers += 1
    return answers
