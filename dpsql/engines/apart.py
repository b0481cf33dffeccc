"""Measurements on a thread of their own, which is left to itself where the engine hangs: nobody waits for it for good.

Promise: a question ends soon after its time is up or somebody cancels, even if the engine hangs. A measurement whose
time is up is late, whether the engine stops or not: rows may be the cause of both.
"""

import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import Engine, PreparedMeasurements
from dpsql.errors import DpsqlError, EngineAway, QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rate_limited_log import RateLimitedLog

_LOG = RateLimitedLog(logging.getLogger("dpsql.engine"))
_T = TypeVar("_T")
_AFTER_CANCEL, _AFTER_TIME = 3.0, 30.0
"""Seconds in which an engine has to stop after a cancel, by a waiting thread or by the clock."""


@contextmanager
def ready_apart(
    engine: Engine, statements: Sequence[str], *, timeout: float, cancellation: Cancellation
) -> Iterator[PreparedMeasurements]:
    """Make measurements ready, as `Engine.ready` does, and run them, on a thread that may be left behind.

    Raises:
        EngineAway: the engine hangs; nothing is charged.
        DpsqlError: what `Engine.ready` raises.
    """
    thread = _Thread(timeout, cancellation)
    try:
        ready = engine.ready(statements, timeout=timeout, cancellation=cancellation)
        yield _PreparedApart(thread.enter(ready), thread)
    finally:
        thread.end()


@dataclass(frozen=True, slots=True)
class _PreparedApart:
    """See `PreparedMeasurements`."""

    prepared: PreparedMeasurements
    thread: "_Thread"

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        return self.thread.ask(lambda: self.prepared.run(sql, charge), QueryCanceled)


@dataclass(slots=True)
class _Answer(Generic[_T]):
    """The result of a call, once it returns."""

    over: threading.Event = field(default_factory=threading.Event)
    changed: threading.Event = field(default_factory=threading.Event)
    """Set when it is over, and when somebody cancels."""
    returned: list[_T] = field(default_factory=list, repr=False)
    """The result, which may be exact rows: not to be printed or logged."""
    error: BaseException | None = None

    def make(self, call: Callable[[], _T]) -> None:
        """Call, and keep the result."""
        try:
            self.returned.append(call())
        except BaseException as error:  # noqa: BLE001 # it is raised where the answer is awaited
            self.error = error
        self.over.set()
        self.changed.set()

    def awaited(self, timeout: float, cancellation: Cancellation) -> bool:
        """Wait; return whether it is over, and not given up."""
        cancellation.on_cancel(self.changed.set)
        # A cancel ends the first wait at once, and leaves the engine the second to stop. A call that is over ends both.
        return self.changed.wait(timeout + _AFTER_TIME) and self.over.wait(_AFTER_CANCEL)


class _Thread:
    """Asks one thing after the other; what it holds is let go of in it, also when nobody waits any more."""

    def __init__(self, timeout: float, cancellation: Cancellation) -> None:
        self._timeout, self._cancellation = timeout, cancellation
        self._held = ExitStack()
        self._hangs = False
        self._calls = _free_thread()

    def enter(self, held: AbstractContextManager[_T]) -> _T:
        """Return what a context gives, which is held until the end."""
        return self.ask(lambda: self._held.enter_context(held), EngineAway)

    def ask(self, call: Callable[[], _T], hanging: Callable[[], DpsqlError]) -> _T:
        """Return what a call returns.

        Raises:
            QueryCanceled: somebody cancelled, and the engine does not stop.
            DpsqlError: time is up, and it does not stop: what `hanging` makes.
        """
        answer: _Answer[_T] = _Answer()
        self._calls.put(lambda: answer.make(call))
        if not answer.awaited(self._timeout, self._cancellation):
            # Python can't end a thread. It is left with the call that hangs, and with what it holds: `end` puts the
            # letting go into its queue, for when the engine does return, and then the end of the thread. No other
            # question is given to it.
            self._hangs = True
            _LOG.warning("the engine does not answer, and does not stop: what it was asked is not waited for any more")
            raise QueryCanceled if self._cancellation.requested else hanging()
        if answer.error is not None:
            raise answer.error
        return answer.returned[0]

    def end(self) -> None:
        """Let go of what is held, and wait for that, unless the engine hangs; the thread is free for others then."""
        answer: _Answer[None] = _Answer()
        self._calls.put(lambda: answer.make(self._held.close))
        if self._hangs or not answer.over.wait(_AFTER_CANCEL):
            self._calls.put(None)
        else:
            _FREE.append(self._calls)
        if not self._hangs and not answer.over.is_set():
            _LOG.warning("the engine does not take back what a measurement held")
        elif answer.error is not None:
            _LOG.warning("the engine failed to take back what a measurement held: %s", type(answer.error).__name__)


_Calls = queue.SimpleQueue[Callable[[], None] | None]
_FREE: list[_Calls] = []
"""The queues of idle threads: at most as many as have asked at a time."""
os.register_at_fork(after_in_child=_FREE.clear)


def _free_thread() -> _Calls:
    """Return what a thread takes its calls from that does nothing: to begin one takes a tenth of a millisecond."""
    with contextlib.suppress(IndexError):
        return _FREE.pop()
    calls: _Calls = queue.SimpleQueue()
    threading.Thread(target=_run, args=(calls,), name="dpsql-engine", daemon=True).start()
    return calls


def _run(calls: _Calls) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # with the rows that it has read
