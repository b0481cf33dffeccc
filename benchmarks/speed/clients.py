"""How many answers a second sessions get that ask as fast as they can: new questions, and repeated ones."""

import asyncio
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from benchmarks.sessions import dpsql_site
from benchmarks.speed.measured import today
from tests.clients.site import Site

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


def rates(seconds: float) -> Sequence[Rate]:
    """Let ever more sessions ask a server of a small table for so long, of each kind of question."""
    found = []
    for processes in PROCESSES:
        with dpsql_site(processes) as site:
            found += [_rate(site, number, processes, seconds) for number in SESSIONS]
    return found


def _rate(site: Site, sessions: int, processes: int, seconds: float) -> Rate:
    before = os.getloadavg()[0]
    new = asyncio.run(_answers(site, sessions, seconds, new=True))
    repeated = asyncio.run(_answers(site, sessions, seconds, new=False))
    return Rate(sessions, processes, new / seconds, repeated / seconds, (before, os.getloadavg()[0]), today())


async def _answers(site: Site, sessions: int, seconds: float, *, new: bool) -> int:
    """Return how many answers there are until time is up; log-ins do not count."""
    clients = [await psycopg.AsyncConnection.connect(site.words, autocommit=True) for _ in range(sessions)]
    until = time.monotonic() + seconds
    try:
        return sum(await asyncio.gather(*(_asks(client, until, new=new) for client in clients)))
    finally:
        for client in clients:
            await client.close()


async def _asks(client: psycopg.AsyncConnection, until: float, *, new: bool) -> int:
    answers = 0
    while time.monotonic() < until:
        fare = next(_FARES) if new else 20
        sql = f"SELECT count(*), avg(fare) FROM trips WHERE fare > {fare:.8f}"  # noqa: S608 # a number
        await (await client.execute(sql.encode())).fetchall()
        answers += 1
    return answers
