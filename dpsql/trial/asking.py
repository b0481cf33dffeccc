"""The results of a measurement in made-up databases, and the mistakes that they show: some of them are asked at once."""

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
from dpsql.trial.ground import PATIENCE, TOO_LONG, Ground, GroundFailed, TrialPlace
from dpsql.trial.moves import MeasuredNumbers, difference, reader

_LARGE = 50_000
"""Characters from which on one is asked at a time: to plan a text of a thousand keys takes an engine some hundred MiB."""


_FORESEEN = 3
"""Answers from which it is foreseen how long the others take: the first may have waited for something."""


def _left(until: float) -> float:
    """Return the seconds that are left for the next statement.

    Raises:
        GroundFailed: there are none.
    """
    left = until - time.monotonic()
    if left <= 0:
        raise GroundFailed(TOO_LONG)
    return min(left, PATIENCE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for a measurement in made-up databases."""

    place: TrialPlace
    wrong: str | None
    """The mistake that was found there; None if there is none in any place."""
    rows: Sequence[EngineRow]
    """The engine's rows in the first place."""


def what_is_wrong(
    ground: Ground,
    measurement: Measured,
    sql: str,
    places: Sequence[TrialPlace],
    cancellation: Cancellation,
    until: float,
) -> Outcome:
    """Return the mistake of a measurement, and its place, `until` when all are tried."""
    text, read = ground.names.split(sql), reader(measurement)
    first: list[Sequence[EngineRow]] = []

    def numbers(place: TrialPlace, *, plainly: bool) -> MeasuredNumbers:
        stop_if_cancelled(cancellation)
        rows = ground.asked(text.at(place.name), cancellation, _left(until), plainly=plainly)
        if place is places[0] and not plainly:
            first.append(rows)
        return read(rows)

    asked = [(place, plainly) for place in places for plainly in ((False, True) if place.whole else (False,))]
    calls = (partial(numbers, place, plainly=plainly) for place, plainly in asked)
    with closing(_in_order(calls, ground.at_once if len(sql) < _LARGE else 1)) as answers:
        place, wrong = _first_wrong(measurement, places, _in_time(answers, len(asked), until))
        return Outcome(place, wrong, first[0] if first else ())


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


def _in_time(answers: Iterator[MeasuredNumbers], number: int, until: float) -> Iterator[MeasuredNumbers]:
    """Yield the answers, `number` of them, as long as it is not to be foreseen that they come too late.

    Raises:
        GroundFailed: it is: some have come, and as many as are missing would take twice the time that is left.
    """
    begun = time.monotonic()
    for place, answer in enumerate(answers, 1):
        now = time.monotonic()
        if place >= _FORESEEN and (now - begun) / place * (number - place) > 2 * (until - now):
            raise GroundFailed(TOO_LONG)
        yield answer


def _first_wrong(
    measurement: Measured, places: Sequence[TrialPlace], answers: Iterator[MeasuredNumbers]
) -> tuple[TrialPlace, str | None]:
    whole = MeasuredNumbers(())
    for place in places:
        try:
            numbers = next(answers)
            if place.whole:
                whole = numbers
                wrong = None if whole.same(next(answers)) else "the engine's optimizer changes the measured numbers"
            else:  # the rest of a database comes after it
                wrong = difference(measurement, whole, numbers, neighbour=place.unit is not None)
        except (GroundFailed, InternalError) as failed:
            wrong = f"it fails: {failed}"
        if wrong is not None:
            return place, wrong
    return places[0], None
