"""The end of long work: points at which it stops when it is cancelled, and a thread that ends what takes too long unasked."""

import contextlib
import ctypes
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import clear_frames
from typing import Protocol, TypeVar

from dpsql.errors import DpsqlError, QueryCanceled, TooComplex
from dpsql.question import Cancellation

_T = TypeVar("_T")
Bytes = Callable[[int], bytes]
"""A source of so many random bytes."""


def stop_if_cancelled(cancellation: Cancellation | None) -> None:
    """Raise an error if somebody has cancelled.

    Raises:
        QueryCanceled: somebody has.
    """
    if cancellation is not None and cancellation.requested:
        raise QueryCanceled


def interruptible(entropy: Bytes, cancellation: Cancellation) -> Bytes:
    """Return a source of the same bytes that ends the work of its reader when somebody cancels.

    Every number of every noise is made of drawn bytes, so that no sampler needs to know.
    """

    def drawn(count: int) -> bytes:
        stop_if_cancelled(cancellation)
        return entropy(count)

    return drawn


def until_cancelled(items: Iterable[_T], cancellation: Cancellation) -> Iterator[_T]:
    """Yield the same items, until somebody cancels.

    Raises:
        QueryCanceled: somebody has.
    """
    for item in items:
        stop_if_cancelled(cancellation)
        yield item


def pause(seconds: float, cancellation: Cancellation | None) -> None:
    """Wait, or until somebody cancels.

    Raises:
        QueryCanceled: somebody has.
    """
    if cancellation is None:
        threading.Event().wait(seconds)
    else:
        cancellation.wait(seconds)
    stop_if_cancelled(cancellation)


def wait_for(changed: threading.Condition, holds: Callable[[], bool], cancellation: Cancellation | None) -> None:
    """Wait, with the condition's lock held, until `holds`.

    Raises:
        QueryCanceled: somebody has cancelled.
    """

    def wake() -> None:
        with changed:
            changed.notify_all()

    if cancellation is not None:
        # If the cancel came before, `wake` is called here and now, by the thread that has the lock: a Condition's lock lets
        # it in.
        cancellation.on_cancel(wake)
    changed.wait_for(lambda: holds() or (cancellation is not None and cancellation.requested))
    stop_if_cancelled(cancellation)


# Ends what takes too long without asking it: one thread looks at all that is watched, many times a second.
#
# Promise: all that is watched ends soon after its time is up or somebody cancels, whether it looks at a clock or not.
# Python's own work is ended by an exception that is raised in its thread (`ended_when_overdue`); what waits for others
# by a call that ends the waiting (`called_when_overdue`).

_LOG = logging.getLogger("dpsql.server")
# Twenty looks a second cost nothing that shows, and nobody notices a cancel that comes 50 ms late.
_WATCHDOG_LOOKS = 0.05
"""Seconds between two looks."""
_ENDED_AGAIN = 0.5
"""Seconds until it is raised again in a thread that has swallowed it."""
PROCESSOR_SECONDS = 2.0
"""Of the processor, however busy it is with others: twenty times what the largest statements of the tests take."""
_SECONDS = 20.0
"""By the clock, with all that others are asked meanwhile."""
_YOUNG = 1
"""The oldest generation of objects that is looked through for what an ended statement leaves; older ones take long."""
_ROOM = 150
"""Steps into each other that what must not be left half done may take; the shadow is asked in thirty."""
NODES = 5_000
"""Nodes of trees that are written out for one statement, where one part of it stands in many places."""


# Two ways to end work that does not look at a clock, of a parser that recurses or a regular expression, say. Python can
# raise an exception in another thread before its next bytecode; a call into C is not ended so, and for that there is
# `called_when_overdue`, which closes what the call waits for.
class _EndedError(BaseException):
    """Raised in a thread from outside; nothing that handles errors handles it."""


class _TooManyNodesError(BaseException):
    """Raised by the work itself."""


class _Watched(Protocol):
    @property
    def is_overdue(self) -> bool: ...

    def end(self) -> None: ...


class _Watchdog:
    """Looks at what is watched, while there is any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # of C: nothing that is raised within leaves it locked
        self._some = threading.Event()
        self._watched: set[_Watched] = set()
        self._thread: threading.Thread | None = None

    def watch(self, watched: _Watched) -> None:
        """Begin to look."""
        with self.lock:
            self._watched.add(watched)
            self._some.set()
            if self._thread is None or not self._thread.is_alive():  # which no process has that was forked
                self._thread = threading.Thread(target=self._run, name="dpsql-watchdog", daemon=True)
                self._thread.start()

    def leave(self, watched: _Watched) -> None:
        """Look no more: when this has returned `watched` is not ended."""
        with self.lock:
            self._watched.discard(watched)

    def _run(self) -> None:
        while True:
            self._some.wait()
            time.sleep(_WATCHDOG_LOOKS)
            self._look()

    def _look(self) -> None:
        """Look at each once; a frame that never ends would keep the last one for good."""
        with self.lock:
            for watched in self._watched:
                if watched.is_overdue:
                    watched.end()
            if not self._watched:
                self._some.clear()


_WATCHDOG = _Watchdog()


@dataclass(slots=True, eq=False)
class _Effort:
    """A thread's work for one statement, and the resources that it has taken so far."""

    cancellation: Cancellation | None
    thread: int = field(default_factory=threading.get_ident)
    clock: int = field(default_factory=lambda: _clock_of_thread())  # noqa: PLW0108
    until: float = field(default_factory=lambda: time.monotonic() + _SECONDS)
    processor: float = field(default_factory=lambda: time.clock_gettime(_clock_of_thread()) + PROCESSOR_SECONDS)
    nodes: int = 0
    calls: int = 0
    """How many calls it is in that must not be left half done."""
    ended: float = 0.0
    """When it was told to end; 0 if it was not."""

    @property
    def is_overdue(self) -> bool:
        """Return whether somebody has cancelled, or it has taken what it may."""
        return (
            _is_cancelled(self.cancellation)
            or time.monotonic() > self.until
            # The processor's time is what counts against a statement: on a busy machine twenty seconds by the clock may
            # be one of work.
            or time.clock_gettime(self.clock) > self.processor
        )

    def end(self) -> None:
        """Raise an exception in the thread; with the watchdog's lock held."""
        if not self.calls and time.monotonic() > self.ended + _ENDED_AGAIN:
            self.ended = time.monotonic()
            _raise_in(self.thread, _EndedError)

    def leave(self) -> None:
        """Let nothing be raised from now on; the thread's own call."""
        _WATCHDOG.leave(self)
        if not self.ended:
            return
        # An exception that was raised, and has not come, is replaced by one that comes now. Taken back, it would leave
        # Python a mark that something is to come, with which 3.11 runs in a circle once it is profiled, or traced.
        with contextlib.suppress(_EndedError):
            _raise_in(self.thread, _EndedError)
            while True:
                pass


def _clock_of_thread() -> int:
    """Return the clock of what this thread has had of the processor; where there is none, that on the wall."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    return time.CLOCK_MONOTONIC if clock_of is None else int(clock_of(threading.get_ident()))


def _is_cancelled(cancellation: Cancellation | None) -> bool:
    return cancellation is not None and cancellation.requested


def _clear(error: BaseException | None) -> None:
    """Let an error keep nothing that was made until it came: a keeper of the error would keep all of that."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__context__


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Have a thread raise an exception before its next step, instead of another that it has not raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


_OF_THREAD = threading.local()


def _effort() -> _Effort | None:
    return getattr(_OF_THREAD, "effort", None)


def ended_when_overdue(
    work: Callable[[], _T], cancellation: Cancellation | None, processor: float = PROCESSOR_SECONDS
) -> _T:
    """Return what `work` returns; where it takes too long, or somebody cancels, it is ended wherever it is.

    `processor` is how many seconds of the processor it may take.

    It must keep nothing that another thread sees, but in `uninterruptible` steps. Within other such work it is a part of it.

    Raises:
        TooComplex: it takes too long, or writes out too many nodes.
        QueryCanceled: somebody has cancelled.
    """
    if _effort() is not None:
        return work()
    effort = _OF_THREAD.effort = _Effort(cancellation)
    effort.processor += processor - PROCESSOR_SECONDS
    try:
        try:
            _WATCHDOG.watch(effort)
            return work()
        finally:
            effort.leave()
    # It may come at any bytecode, also between `return work()` and the end of the block: this is why leaving is done
    # twice.
    except _EndedError:
        effort.leave()  # it may have come while we left
    except _TooManyNodesError:
        pass
    except DpsqlError as error:
        _clear(error)
        if not _is_cancelled(cancellation):  # else it may be for that
            raise
    finally:
        _OF_THREAD.effort = None
    gc.collect(_YOUNG)  # trees refer to themselves, and others of the same size may come at once
    if _is_cancelled(cancellation):
        raise QueryCanceled
    raise TooComplex(
        f"planning this statement takes more than {processor:g} seconds or {NODES:,} nodes",
        because="planning-budget",
        hint="Shorten it: fewer subqueries, common table expressions that are read once, fewer keys in GROUP BY.",
    )


@contextmanager
def uninterruptible() -> Iterator[None]:
    """Let no work of this thread be ended within the block, which takes little time or ends by itself.

    Raises:
        RecursionError: now, and not within it: the stack has no room for it.
    """
    _require_room(_ROOM)
    effort = _effort()
    if effort is None:
        yield
        return
    # Under the lock under which `end` is called: either it has raised already, and `pending` says so, or it finds the call.
    with _WATCHDOG.lock:
        effort.calls += 1
        pending = effort.ended > 0
    try:
        if pending:  # it comes now, and not within
            raise _EndedError
        yield
    finally:
        effort.calls -= 1


def _require_room(steps: int) -> None:
    """Take so many steps into each other."""
    if steps:
        _require_room(steps - 1)


def count_nodes(number: int = 1) -> None:
    """Count nodes that are written out for this thread's statement; where there are too many, its work is ended."""
    effort = _effort()
    if effort is not None:
        # A CTE of ten nodes that is read by ten others, each read by ten more, is a thousand nodes once all of it is
        # written out.
        effort.nodes += number
        if effort.nodes > NODES:
            raise _TooManyNodesError


@dataclass(slots=True, eq=False)
class _Call:
    """A wait for somebody else."""

    stop: Callable[[], None]
    until: float
    within: _Effort | None

    @property
    def is_overdue(self) -> bool:
        """Return whether its own time is up, or that of the work it is a part of."""
        return time.monotonic() > self.until or (self.within is not None and self.within.is_overdue)

    def end(self) -> None:
        """End the waiting; with the watchdog's lock held."""
        try:
            self.stop()
        except Exception:  # noqa: BLE001 # whatever it is, others are to be ended as well
            _LOG.exception("what takes too long could not be ended")


@contextmanager
def called_when_overdue(stop: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call `stop`, which returns at once, again and again where the block takes longer, or the work that it is in.

    The block is undivided: a waiting thread hears of the end by the thing that it waits for.
    """
    with uninterruptible():
        call = _Call(stop, time.monotonic() + seconds, _effort())
        _WATCHDOG.watch(call)
        try:
            yield
        finally:
            _WATCHDOG.leave(call)
