"""Times of stages, as they are counted."""

import threading

import pytest

from dpsql.clock import BOUNDS, StageTimes


def test_each_time_is_counted_once_below_its_bound() -> None:
    """One at a bound is not above it; what takes longer than all has a place of its own."""
    times = StageTimes()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.1, BOUNDS[-1], BOUNDS[-1] * 2):
        times.count("run", seconds)
    counts = times.seen()["run"].counts
    assert (counts[0], counts[1], counts[-2], counts[-1], sum(counts)) == (2, 1, 1, 1, 5)


def test_what_fails_is_counted_too() -> None:
    """It took its time."""
    times = StageTimes()
    with pytest.raises(ZeroDivisionError), times.timed("run"):
        raise ZeroDivisionError
    assert sum(times.seen()["run"].counts) == 1


def test_threads_lose_no_count() -> None:
    """Whoever counts at the same time."""
    times = StageTimes()
    threads = [threading.Thread(target=lambda: _count(times)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(times.seen()["plan"].counts) == 4_000


def _count(times: StageTimes) -> None:
    for _ in range(500):
        times.count("plan", 0.1)
