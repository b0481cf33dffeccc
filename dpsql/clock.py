"""Time: the clock that a server goes by, handed in where it starts, and the time that stages of statements take.

No configuration names another than the system's. The demo that grows has one of its own, and tests have.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


# The time that the stages of statements take, counted for those who watch the server.
#
# To find out why statements are slow: `dpsql_stage_seconds` (the extra `metrics`) has these by stage, which are bind, plan,
# trial, run through, ready and charge, run and release. Binding asks the shadow, running the engine; the rest is Python.

BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Seconds that tell counts apart; a measurement takes no longer than the last."""


@dataclass(slots=True)
class StageTime:
    """How often a stage took no longer than each of the bounds, and longer than all; and how long in all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class StageTimes:
    """The times of every stage, for any number of threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._stages: dict[str, StageTime] = {}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count what is done meanwhile, whether it succeeds or not."""
        since = time.monotonic()
        try:
            yield
        finally:
            self.count(stage, time.monotonic() - since)

    def count(self, stage: str, seconds: float) -> None:
        """Count one more."""
        with self._lock:
            stage_time = self._stages.setdefault(stage, StageTime())
            # 0.004 seconds count at 0.01, the first bound that is no less; more than 300 at the last place, which has no
            # bound.
            stage_time.counts[bisect_left(BOUNDS, seconds)] += 1
            stage_time.seconds += seconds

    def seen(self) -> Mapping[str, StageTime]:
        """Return what was counted so far."""
        with self._lock:
            return {
                stage: StageTime(list(stage_time.counts), stage_time.seconds)
                for stage, stage_time in self._stages.items()
            }
