"""The results of a measurement in synthetic databases, and the mistakes that they show: some of them are asked at once."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from dpsql.errors import InternalError
from dpsql.interrupt import stop_if_cancelled
from dpsql.privacy.measurement.plan import Measured
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.trial.ground import PATIENCE, Ground, GroundFailed, GroundLate, Optimized, TrialPlace
from dpsql.trial.moves import MeasuredNumbers, difference, reader

_LARGE = 50_000
"""Characters from which on one is asked at a time: to plan a text of a thousand keys takes an engine some hundred MiB."""


_FORESEEN = 3
"""Answers from which it is foreseen how long the others take: the first may have waited for something."""
_WITHOUT_ORDER = 0.2
"""Seconds that a statement may take where joins are in no order; they are given one, if it takes longer."""
_BUSY = 3
"""How many times as long as it may work a trial may take by the clock, on a machine that does other things."""


class TimeLimit:
    """The time that a trial may take: of the processor where this process works on it, so that load refuses nothing."""

    def __init__(self, seconds: float, *, in_process: bool) -> None:
        """Begin now."""
        self._seconds, self._in_process = seconds, in_process
        self._begun, self._begun_work = time.monotonic(), time.process_time()

    @property
    def used(self) -> float:
        """Return the seconds that are used up."""
        passed = time.monotonic() - self._begun
        return min(passed, max(time.process_time() - self._begun_work, passed / _BUSY)) if self._in_process else passed

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return self._seconds - self.used

    def for_next(self) -> float:
        """Return the seconds for the next statement.

        Raises:
            GroundLate: there are none.
        """
        if self.left <= 0:
            raise GroundLate
        return min(self.left, PATIENCE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for a measurement in synthetic databases."""

    place: TrialPlace
    wrong: str | None
    """The mistake that was found there; None if there is none in any place."""
    rows: Sequence[EngineRow]
    """The engine's rows in the first place."""
    late: bool = False
    """Whether nothing is wrong but that it takes too long."""
    databases: int = 0
    """How many databases were gone through, each with and without some units."""


def what_is_wrong(
    ground: Ground,
    measurement: Measured,
    sql: str,
    places: Sequence[TrialPlace],
    cancellation: Cancellation,
    limit: TimeLimit,
) -> Outcome:
    """Return the mistake of a measurement, and its place, within the time when all are tried."""
    text, read = ground.names.split(sql), reader(measurement)
    first: list[Sequence[EngineRow]] = []
    unordered = True

    def numbers(place: TrialPlace, *, plainly: bool) -> MeasuredNumbers:
        stop_if_cancelled(cancellation)
        rows = _plain_rows(place) if plainly else ground.asked(text.at(place.name), cancellation, limit.for_next())
        if place is places[0] and not plainly:
            first.append(rows)
        return read(rows)

    def _plain_rows(place: TrialPlace) -> Sequence[EngineRow]:
        """Ask without any optimizer; where that takes long, because each row meets each, with joins in order."""
        nonlocal unordered
        if unordered:
            seconds = limit.for_next()
            try:
                return ground.asked(text.at(place.name), cancellation, min(seconds, _WITHOUT_ORDER), Optimized.NOT)
            except GroundLate:
                unordered = False
        return ground.asked(text.at(place.name), cancellation, limit.for_next(), Optimized.JOINS_ALONE)

    asked = [(place, plainly) for place in places for plainly in ((False, True) if place.whole else (False,))]
    calls = (partial(numbers, place, plainly=plainly) for place, plainly in asked)
    of_one = sum(place.world == places[0].world for place, _ in asked)
    with closing(_in_order(calls, ground.at_once if len(sql) < _LARGE else 1)) as answers:
        place, wrong, late = _first_wrong(measurement, places, _in_time(answers, of_one, len(asked), limit))
    worlds = list(dict.fromkeys(one.world for one in places))
    return Outcome(place, wrong, first[0] if first else (), late, worlds.index(place.world) if late else len(worlds))


def _in_order(calls: Iterable[Callable[[], MeasuredNumbers]], at_once: int) -> Generator[MeasuredNumbers, None, None]:
    """Yield what calls return, of which some go on at once: the numbers of many groups are large, so that few are kept."""
    with ThreadPoolExecutor(at_once) as pool:
        waiting = deque[Future[MeasuredNumbers]]()
        try:
            for call in calls:
                waiting.append(pool.submit(call))
                if len(waiting) >= at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _in_time(
    answers: Iterator[MeasuredNumbers], of_one: int, number: int, limit: TimeLimit
) -> Iterator[MeasuredNumbers]:
    """Yield the answers, as long as it is not to be foreseen that they come too late: `of_one` of the first database, or all.

    Raises:
        GroundLate: it is: some have come, and as many as are missing would take twice the time that is left.
    """
    begun = limit.used
    for place, answer in enumerate(answers, 1):
        missing = (of_one if place < of_one else number) - place
        if place >= _FORESEEN and (limit.used - begun) / place * missing > 2 * limit.left:
            raise GroundLate
        yield answer


def _first_wrong(
    measurement: Measured, places: Sequence[TrialPlace], answers: Iterator[MeasuredNumbers]
) -> tuple[TrialPlace, str | None, bool]:
    """Return where a mistake is, which, and whether it is only that it takes too long."""
    whole = MeasuredNumbers(())
    for place in places:
        late = False
        try:
            numbers = next(answers)
            if place.whole:
                whole = numbers
                wrong = None if whole.same(next(answers)) else "the engine's optimizer changes the measured numbers"
            else:  # the rest of a database comes after it
                wrong = difference(measurement, whole, numbers, neighbour=place.unit is not None)
        except (GroundFailed, InternalError) as failed:
            wrong, late = f"it fails: {failed}", isinstance(failed, GroundLate)
        if wrong is not None:
            return place, wrong, late
    return places[0], None, False
