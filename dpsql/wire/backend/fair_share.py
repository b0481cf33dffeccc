"""Shares of a user: no user's messages can take the event loop from the others, and no user's statements all threads.

The loop looks at all connections in turns. Once what one user's connections send, and what the shadow sends them, has had so
much time of it together, however much has come, the rest waits for the next turn. So somebody who sends thousands of
messages at once, or asks for millions of rows, is slow himself.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import ClassVar, Self, TypeVar

from dpsql.errors import QueryCanceled
from dpsql.question import Cancellation

_EACH = 0.002
"""Seconds of the processor for one user in each turn: others wait for a message or two of theirs."""
_SUSPENDED = 0.000_5
"""Seconds that a message is taken to have had that was waiting for something in between."""
_MOST_OWED = 20
"""Turns that a user has to leave out at most for one that took long."""

Begin = Callable[[], bool]
"""Begins with what has waited for its turn; returns whether there was anything left to begin with."""


class FairShare:
    """The time on the event loop that one user's connections share."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        """`clock` tells how long this thread has had the processor."""
        self._clock = clock
        self._left = _EACH
        self._is_next_due = False
        self._waiting: deque[Begin] = deque()

    @property
    def has_time(self) -> bool:
        """Return whether one more may begin in this turn, before which nothing waits."""
        return self._left > 0 and not self._waiting

    async def begin(self) -> "HeldTurn":
        """Return when it is the turn of one more message; those that wait longest come first."""
        if not self.has_time:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def begin() -> bool:
                if mine.done():  # its connection was closed meanwhile
                    return False
                mine.set_result(None)
                return True

            self.wait(begin)
            await mine
        return self.taken()

    def taken(self) -> "HeldTurn":
        """Return what measures something that begins now."""
        return HeldTurn(self, self._clock())

    def suspend(self) -> None:
        """Count what the one of this share has had that is about to wait, if it has begun last."""
        held = HeldTurn.latest
        if held is not None:
            held.suspend(self)

    def count(self, since: float) -> None:
        """Count what something has had since then."""
        self._left = max(self._left - (self._clock() - since), -_MOST_OWED * _EACH)

    def wait(self, begin: Begin) -> None:
        """Have something begin at its turn."""
        self._waiting.append(begin)
        self._have_next()

    def spent(self, since: float, *, alone: bool) -> None:
        """Count what something has had, and let the next one begin if there is time left; `alone` if nothing began since."""
        self.count(since if alone else self._clock() - _SUSPENDED)
        if self._left > 0:
            self._let_next()
        else:
            self._have_next()

    def _have_next(self) -> None:
        """See that there is a next turn: what is called soon is called in that, and not in this one."""
        if not self._is_next_due:
            self._is_next_due = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        self._is_next_due = False
        if not self._waiting:
            self._left = _EACH
            return
        self._left = min(self._left + _EACH, _EACH)
        self._have_next()
        if self._left > 0:
            self._let_next()

    def _let_next(self) -> None:
        """Let the one begin that has waited longest, unless it has been given up."""
        while self._waiting and not self._waiting.popleft()():
            pass


class HeldTurn:
    """Something that has its turn."""

    __slots__ = ("_share", "_since")
    latest: ClassVar["HeldTurn | None"] = None
    """The one that has begun last, of all users, unless it waits."""

    def __init__(self, share: FairShare, since: float) -> None:
        self._share, self._since = share, since
        HeldTurn.latest = self

    def suspend(self, share: FairShare) -> None:
        """Count what it has had, if it is of this share: what the processor does from now on may be for others."""
        if share is self._share:
            share.count(self._since)
            HeldTurn.latest = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # One that has waited was counted up to then, and where something else began meanwhile it was waiting, too. What it
        # has done behind that is a little.
        self._share.spent(self._since, alone=HeldTurn.latest is self)


class FairShares:
    """The shares of all users."""

    def __init__(self) -> None:
        self._of: dict[str, FairShare] = {}

    def of(self, user: str) -> FairShare:
        """Return the share of a user, of whom there are no more than the configuration has."""
        if user not in self._of:
            self._of[user] = FairShare()
        return self._of[user]


# The threads on which the gateway works: no user's statements can take them all.
#
# Those that read and plan share one interpreter, so that two of a user's would take twice as long each, and others wait.

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
