"""Statements are stopped when time is up or somebody cancels, and no thread is begun for one that is not."""

import threading
import time
from collections.abc import Callable

import pytest

from dpsql.engines import watch
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.question import Cancellation


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_no_thread_is_begun_for_a_statement_that_ends() -> None:
    """One thread keeps the time of all."""
    with stopping_when_cancelled(lambda: None, 600, Cancellation()):
        before = threading.active_count()
    for _ in range(20):
        with (
            stopping_when_cancelled(lambda: None, 600, Cancellation()) as stopped,
            stopping_when_cancelled(lambda: None, 500, Cancellation()),
        ):
            assert threading.active_count() <= before
        assert not stopped.is_set()


@pytest.mark.parametrize("timeout", [0.0, 0.02])
def test_one_that_takes_too_long_is_stopped_again_and_again(timeout: float) -> None:
    """Also where the time of another, that began earlier, is up much later; after the block never."""
    calls = list[float]()
    with (
        stopping_when_cancelled(lambda: None, 600, Cancellation()) as other,
        stopping_when_cancelled(lambda: calls.append(time.monotonic()), timeout, Cancellation()) as stopped,
    ):
        _until(lambda: len(calls) > 2)
        assert stopped.is_set()
        assert not other.is_set()
    number = len(calls)
    time.sleep(0.12)
    assert len(calls) == number


def test_a_cancel_stops_it_and_after_the_block_does_not() -> None:
    """Whether it comes before, within or after."""
    calls, before, late = list[str](), Cancellation(), Cancellation()
    before.cancel()
    with stopping_when_cancelled(lambda: calls.append("before"), 600, before):
        _until(lambda: "before" in calls)
    with stopping_when_cancelled(lambda: calls.append("within"), 600, within := Cancellation()):
        within.cancel()
        _until(lambda: "within" in calls)
    with stopping_when_cancelled(lambda: calls.append("late"), 600, late):
        pass
    late.cancel()
    time.sleep(0.12)
    assert "late" not in calls


def test_an_engine_that_does_not_hear_keeps_no_other_waiting() -> None:
    """A call that hangs is that statement's alone."""
    hangs, calls = threading.Event(), list[str]()

    def hang() -> None:
        hangs.wait(10)

    with stopping_when_cancelled(hang, 0.0, Cancellation()) as stopped:
        _until(stopped.is_set)
        with stopping_when_cancelled(lambda: calls.append("other"), 0.01, Cancellation()):
            _until(lambda: calls)
        hangs.set()


def test_no_thread_to_stop_with_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives no thread for a moment, the statement is stopped a little later."""
    begin, refused = watch._Stopping.begin, list[watch._Stopping]()

    def hesitant(stopping: watch._Stopping) -> None:
        if not refused:
            refused.append(stopping)
            raise RuntimeError("can't start new thread")
        begin(stopping)

    monkeypatch.setattr(watch._Stopping, "begin", hesitant)
    with stopping_when_cancelled(lambda: None, 0.01, Cancellation()) as stopped:
        assert stopped.wait(20)
    assert refused
