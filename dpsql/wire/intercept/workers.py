"""The threads on which the gateway answers, shared fairly: nobody's statements keep everybody else's waiting."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation

T = TypeVar("T")


class Workers:
    """Runs at most `share` statements of one user at a time."""

    def __init__(self, threads: Executor, share: int) -> None:
        self._threads = threads
        self._share = share
        self._turns: dict[str, asyncio.Semaphore] = {}

    async def run(self, user: str, work: Callable[[], T], cancellation: Cancellation) -> T:
        """Return what `work` returns, when it is the user's turn.

        Raises:
            QueryCanceled: a cancel came before the turn.
        """
        turn = self._turns.setdefault(user, asyncio.Semaphore(self._share))
        await _acquired(turn, cancellation)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            turn.release()


async def _acquired(turn: asyncio.Semaphore, cancellation: Cancellation) -> None:
    loop = asyncio.get_running_loop()
    waiting = loop.create_task(turn.acquire())

    def give_up() -> None:
        if not waiting.done():
            loop.call_soon_threadsafe(waiting.cancel)

    cancellation.on_cancel(give_up)
    try:
        await waiting
    except asyncio.CancelledError:
        if waiting.done() and not waiting.cancelled():
            turn.release()
        task = asyncio.current_task()
        if cancellation.requested and task is not None and not task.cancelling():
            raise QueryCanceled from None
        raise
