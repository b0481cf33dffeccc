"""A process full of clients of one driver, which `sail` is.

Each asks, is cancelled, dies and comes back until the process hears SIGTERM; every operation is a line of JSON in a file.
"""

import asyncio
import json
import random
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from tests.clients.asked import GROUPED
from tests.clients.data import LONG_TRIPS
from tests.faults.chaos.drivers import DRIVERS, Driver, Oops, Outcome

HUNG = 60.0
"""Seconds after which nothing is waited for any more."""
FRESH = "SELECT count(*) FROM trips WHERE fare >"
"""How a question begins that is asked once."""
PIPELINE = "pipeline"
"""What is called an operation of which psycopg does not tell which statement an error belongs to."""
SLOW = "SELECT count(*) FROM generate_series(1, 1000000000)"
REFUSED = "SELECT trip_id FROM trips"
_LEAST_PAUSE = 0.05
_RETRY = 0.2
_MOMENT = 0.15
"""The most seconds till a client interrupts what it asked: most are asked and paid for by then, and what is slow works on."""


@dataclass(frozen=True, slots=True)
class Done:
    """One operation of one client."""

    client: int
    what: str
    statement: str
    began: float
    took: float
    value: str | None = None
    """What the answer was, where there was one."""
    sqlstate: str | None = None
    failed: str | None = None
    """What the client was told, or what it found, instead of an answer."""
    given_up: bool = False
    """Whether the client itself did not wait for the answer."""


class Client:
    """One of the fleet."""

    def __init__(self, number: int, driver: Driver, seed: str, pause: float, log: IO[str]) -> None:
        self._number = number
        self._pause = pause
        self._driver = driver
        self._random = random.Random(seed)  # noqa: S311 # what is drawn has to be drawn again
        self._log = log
        self._count = 0

    async def live(self, over: asyncio.Event) -> None:
        """Do one thing after the other."""
        acts = {self._ask: 10, self._ask_many: 4, self._cancel: 1, self._die: 1}
        while not over.is_set():
            if self._driver.alive:
                (act,) = self._random.choices(list(acts), list(acts.values()))
                await act()
                await asyncio.sleep(self._random.uniform(_LEAST_PAUSE, self._pause))
            else:
                await self._connect()
        self._driver.die()

    def _fresh(self) -> str:
        """Return a question that nobody has asked, and whose answer is known."""
        self._count += 1
        # No two clients ask about the same fare; all of them are between 20 and 21, of which there is none.
        fare = 20 + (self._number * 10_000 + self._count) / 10**8
        return f"{FRESH} {fare:.8f}"

    def _statement(self) -> str:
        """Return any statement."""
        public = "SELECT count(*) FROM zones"
        return self._random.choice([public, public, GROUPED, self._fresh(), self._fresh(), self._fresh(), REFUSED])

    async def _connect(self) -> None:
        async def connect() -> list[Outcome]:
            try:
                await self._driver.connect()
            except Exception as failed:  # noqa: BLE001 # each driver has its own
                state = getattr(failed, "sqlstate", None)
                await asyncio.sleep(0)
                return [Oops(state or _code(failed), str(failed))]
            return [None]

        await self._timed("connect", [""], connect())
        if not self._driver.alive:
            await asyncio.sleep(_RETRY)

    async def _ask(self) -> None:
        statements = [self._statement()]
        await self._timed("ask", statements, self._driver.ask(statements))

    async def _ask_many(self) -> None:
        statements = [self._statement() for _ in range(self._random.randint(2, 5))]
        if self._driver.pipelines:
            await self._timed(PIPELINE, statements, self._driver.ask(statements))
            return
        for statement in statements:
            if self._driver.alive:
                await self._timed("ask", [statement], self._driver.ask([statement]))

    async def _cancel(self) -> None:
        await self._interrupted("cancel", self._driver.cancel)

    async def _die(self) -> None:
        async def die() -> None:
            self._driver.die()

        await self._interrupted("die", die)

    async def _interrupted(self, what: str, how: Callable[[], Awaitable[None]]) -> None:
        """Ask, and interrupt it after a moment; again, where that came before the statement had begun."""
        statements = [self._random.choice([SLOW, self._fresh()])]
        asking = asyncio.ensure_future(self._timed(what, statements, self._driver.ask(statements), given_up=True))
        while not asking.done():
            await asyncio.sleep(self._random.uniform(0, _MOMENT))
            await how()

    async def _timed(
        self, what: str, statements: list[str], work: Awaitable[list[Outcome]], *, given_up: bool = False
    ) -> None:
        """Write down what came of it, and how long it took."""
        began, since = time.time(), time.monotonic()
        try:
            outcomes = await asyncio.wait_for(work, HUNG)
        except TimeoutError:
            outcomes = [Oops(None, "hung")] * len(statements)
            self._driver.die()
        except Exception as failed:  # noqa: BLE001 # a driver that died in the middle of a statement says anything
            outcomes = [Oops(None, f"{type(failed).__name__}: {failed}")] * len(statements)
            self._driver.die()
        took = time.monotonic() - since
        for statement, outcome in zip(statements, outcomes, strict=True):
            done = Done(self._number, what, statement, began, took, given_up=given_up)
            if isinstance(outcome, Oops):
                done = replace(done, sqlstate=outcome.sqlstate, failed=outcome.text)
            else:
                done = replace(done, value=str(outcome))
            self._log.write(json.dumps(asdict(done)) + "\n")


def _code(failed: Exception) -> str | None:
    """Return the code that pg8000 tells."""
    told = failed.args[0] if failed.args else None
    return told.get("C") if isinstance(told, dict) else None


def expected(statement: str) -> str | None:
    """Return what a statement's answer must be, where it has one."""
    if statement == GROUPED:
        return "cash"
    return "5" if "FROM zones" in statement else str(LONG_TRIPS)


async def _live(driver: str, dsn: str, numbers: range, pause: float, seed: str, log: IO[str]) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    clients = [Client(n, DRIVERS[driver](dsn), f"{seed} {n}", pause, log) for n in numbers]
    await asyncio.gather(*(client.live(over) for client in clients))


def sail(driver: str, dsn: str, numbers: range, pause: float, seed: str, log: str) -> None:
    """Be as many clients as there are numbers, with up to `pause` seconds between two operations of one."""
    with Path(log).open("w", buffering=1, encoding="utf-8") as written:
        asyncio.run(_live(driver, dsn, numbers, pause, seed, written))
