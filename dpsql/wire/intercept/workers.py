"""The threads on which the gateway works: no user's statements can take them all.

Those that read and plan share one interpreter, so that two of a user's would take twice as long each, and others wait.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import TypeVar

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation

_T = TypeVar("_T")


_MEASURED = 4
"""Statements of one user that are measured at a time."""


class Workers:
    """Those for each kind of work."""

    def __init__(self, planning: Executor, trying: Executor, measuring: Executor) -> None:
        """`planning` are threads that compute, `measuring` those that wait for engines and draw noise.

        `trying` are those for trials on synthetic people: they are free, so that they may not keep others waiting.
        """
        self.reading, self.planning = Turns(planning, 1), Turns(planning, 1)
        self.trying, self.measuring = Turns(trying, 1), Turns(measuring, _MEASURED)

    @property
    def waiting(self) -> Mapping[str, int]:
        """Return how many statements wait, for each kind of work."""
        kinds = {"reading": self.reading, "planning": self.planning, "trying": self.trying, "measuring": self.measuring}
        return {name: turns.waiting for name, turns in kinds.items()}


class Turns:
    """Runs at most `share` statements of one user at a time."""

    def __init__(self, threads: Executor, share: int) -> None:
        self._threads = threads
        self._share = share
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._waiting: set[object] = set()

    @property
    def waiting(self) -> int:
        """Return how many statements wait for their turn, or for a thread."""
        return len(self._waiting)

    async def run(self, user: str, work: Callable[[], _T], cancellation: Cancellation) -> _T:
        """Return what `work` returns, when it is the user's turn and a thread is free.

        Raises:
            QueryCanceled: a cancel came before.
        """
        turn = self._turns.get(user)
        if turn is None:
            turn = self._turns[user] = asyncio.Semaphore(self._share)
        place = object()

        def begun() -> _T:
            self._waiting.discard(place)
            return work()

        self._waiting.add(place)
        try:
            await _taken(turn, cancellation)
            try:
                return await self._ran(begun, cancellation)
            finally:
                turn.release()
        finally:
            self._waiting.discard(place)

    async def _ran(self, work: Callable[[], _T], cancellation: Cancellation) -> _T:
        submitted = self._threads.submit(work)
        running = asyncio.wrap_future(submitted)

        def drop() -> None:
            submitted.cancel()  # without effect once it has begun: then it checks for the cancel itself

        cancellation.on_cancel(drop)
        return await _outcome(running, cancellation)


async def _taken(turn: asyncio.Semaphore, cancellation: Cancellation) -> None:
    """Return when it is the waiting task's turn; most need not wait."""
    if not turn.locked():
        if cancellation.requested:
            raise QueryCanceled
        await turn.acquire()
        return
    waiting = asyncio.get_running_loop().create_task(turn.acquire())
    try:
        await _unless_cancelled(waiting, cancellation)
    except BaseException:
        if waiting.done() and not waiting.cancelled():
            turn.release()
        raise


async def _unless_cancelled(waiting: asyncio.Task[_T], cancellation: Cancellation) -> _T:
    loop = asyncio.get_running_loop()

    def give_up() -> None:
        if not waiting.done():
            loop.call_soon_threadsafe(waiting.cancel)

    cancellation.on_cancel(give_up)
    return await _outcome(waiting, cancellation)


async def _outcome(future: asyncio.Future[_T], cancellation: Cancellation) -> _T:
    """Return the result of `future`; where a cancel request has stopped it, raise the error for the client instead."""
    try:
        return await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if cancellation.requested and task is not None and not task.cancelling():
            raise QueryCanceled from None
        raise
