"""Work that takes too long is ended wherever it is, and what must not be left half done is not."""

import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from dpsql import interrupt
from dpsql.errors import QueryCanceled, TooComplex
from dpsql.interrupt import NODES, called_when_overdue, count_nodes, ended_when_overdue, uninterruptible
from dpsql.question import Cancellation


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let work take a moment."""
    monkeypatch.setattr(interrupt, "PROCESSOR_SECONDS", 0.2)
    monkeypatch.setattr(interrupt, "_SECONDS", 2.0)


def _endless() -> None:
    while True:
        pass


def _stubborn() -> None:
    while True:
        try:
            _endless()
        except Exception:  # noqa: BLE001, S112 # as careless code would
            continue


def _swallowing() -> None:
    while True:
        try:
            _endless()
        except BaseException:  # noqa: BLE001 # once; then it is raised again
            break
    _endless()


def _nodes() -> None:
    count_nodes(NODES + 1)


@pytest.mark.parametrize("work", [_endless, _stubborn, _swallowing, _nodes])
def test_endless_work_ends(work: Callable[[], None]) -> None:
    """Whether it handles errors or not, and whether it counts."""
    with pytest.raises(TooComplex, match="planning this statement takes more than"):
        ended_when_overdue(work, Cancellation())
    time.sleep(0.1)  # in which nothing more is raised


def test_a_cancel_ends_it() -> None:
    """Soon, and long before its time is up."""
    cancellation = Cancellation()
    threading.Timer(0.05, cancellation.cancel).start()
    with pytest.raises(QueryCanceled):
        ended_when_overdue(_endless, cancellation)


def test_usual_work_returns() -> None:
    """With what it returns, or raises; within other such work it is a part of that."""
    assert ended_when_overdue(lambda: ended_when_overdue(lambda: 1, None), None) == 1
    with pytest.raises(ZeroDivisionError):
        ended_when_overdue(lambda: 1 // 0, None)


def test_what_is_undivided_is_ended_behind_it() -> None:
    """However long it takes, it is done wholly."""
    steps = []

    def work() -> None:
        with uninterruptible():
            until = time.thread_time() + 0.5
            while time.thread_time() < until:
                pass
            steps.append("done")
        _endless()

    with pytest.raises(TooComplex):
        ended_when_overdue(work, None)
    assert steps == ["done"]


def test_a_wait_is_ended_by_a_call() -> None:
    """When its own time is up, and when that of the work around it is."""
    for seconds, cancelled in ((0.1, False), (60.0, True)):
        over, cancellation = threading.Event(), Cancellation()
        if cancelled:
            threading.Timer(0.1, cancellation.cancel).start()

        def work(over: threading.Event = over, seconds: float = seconds, endless: bool = cancelled) -> None:
            with called_when_overdue(over.set, seconds):
                assert over.wait(10)
            if endless:
                _endless()

        since = time.monotonic()
        if cancelled:
            with pytest.raises(QueryCanceled):
                ended_when_overdue(work, cancellation)
        else:
            work()
        assert time.monotonic() - since < 5


def test_many_ends_leave_nothing_behind() -> None:
    """A thread whose work was ended thirty times goes on as if nothing had been."""
    for _ in range(30):
        cancellation = Cancellation()
        cancellation.cancel()
        with pytest.raises(QueryCanceled):
            ended_when_overdue(_endless, cancellation)
    assert sum(range(1_000_000)) == 499_999_500_000


_PROFILED = """
import sys
from dpsql.question import Cancellation
from dpsql.interrupt import ended_when_overdue

def endless():
    while True:
        pass

cancellation = Cancellation()
cancellation.cancel()
for work in (int, endless):
    try:
        ended_when_overdue(work, cancellation)
    except Exception:
        pass
    sys.setprofile(lambda *_: None)
    (lambda: 1)()
    sys.setprofile(None)
"""


def test_who_was_watched_can_be_profiled() -> None:
    """Nothing is left that makes Python stand still under a profiler, a debugger or a measurement of coverage."""
    subprocess.run([sys.executable, "-c", _PROFILED], check=True, timeout=30)  # noqa: S603


def test_nobody_is_remembered_who_was_looked_at() -> None:
    """Its thread is there when the process ends, with all that it has a name for: of an engine DuckDB says that it leaks."""

    class Engine:
        def stop(self) -> None: ...

    engine = Engine()
    alive = weakref.ref(engine)
    with called_when_overdue(engine.stop, 60.0):
        time.sleep(0.2)  # it is looked at
    time.sleep(0.2)
    del engine
    assert alive() is None
