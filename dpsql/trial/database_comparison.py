"""The results of a measurement in synthetic databases, and the mistakes that they show: some of them are asked at once."""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain

from dpsql.errors import InternalError
from dpsql.interrupt import stop_if_cancelled
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measured
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.mechanisms.gaussian_selection import full_weight
from dpsql.privacy.release.exact import EngineRow, ExactSums, KeyRow, exact_cells, exact_sums, exact_units, whole_number
from dpsql.privacy.release.noisy_ladder import powers_of_two
from dpsql.question import Cancellation
from dpsql.trial.engine import (
    PATIENCE,
    DatabaseVariant,
    OptimizerLevel,
    TrialEngine,
    TrialEngineFailed,
    TrialEngineLate,
)

# How far a unit moves what was measured, in the norm that its noise is made for, and what else of it may not show.

Numbers = Sequence[int]


@dataclass(frozen=True, slots=True)
class MeasuredNumbers:
    """The exact numbers that a measurement found in a synthetic database."""

    numbers: Sequence[Numbers]
    """By group, in the order in which groups are declared, or were found."""
    keys: Sequence[KeyRow] | None = None
    """The groups, where they were found."""

    def same(self, other: "MeasuredNumbers") -> bool:
        """Return whether another has the same numbers, in any order."""
        if self.keys is None or other.keys is None:
            return [*map(tuple, self.numbers)] == [*map(tuple, other.numbers)]
        return {k: (*v,) for k, v in self.by_key.items()} == {k: (*v,) for k, v in other.by_key.items()}

    def moved(self, other: "MeasuredNumbers") -> Iterator[Numbers]:
        """Yield by how much each group's numbers differ from another's, of those that do."""
        if self.keys is None or other.keys is None:
            pairs: Iterable[tuple[Numbers, Numbers]] = zip(self.numbers, other.numbers, strict=True)
        else:
            # A group that only one database has counts as nothing in the other: that is how a unit that makes a group
            # moves it.
            mine, theirs = self.by_key, other.by_key
            width = len(next(chain(self.numbers, other.numbers), ()))
            nothing = (0,) * width
            pairs = ((mine.get(key, nothing), theirs.get(key, nothing)) for key in mine.keys() | theirs.keys())
        return ([abs(x - y) for x, y in zip(a, b, strict=True)] for a, b in pairs if a != b)

    @property
    def by_key(self) -> Mapping[KeyRow, Numbers]:
        """Return the numbers of groups that were found."""
        return dict(zip(self.keys or (), self.numbers, strict=True))


def reader(measurement: Measured) -> Callable[[Sequence[EngineRow]], MeasuredNumbers]:
    """Return what reads the engine's rows of a measurement, as a release does.

    It raises `InternalError` where a number is not whole.
    """
    match measurement:
        case Sums():
            return lambda rows: _of_groups(exact_sums(measurement, rows))
        case KeySearch():
            return lambda rows: _of_groups(exact_units(measurement, rows))
        case RowsPerUnit(is_by_number=True):
            return partial(_of_ladder, measurement)
        case RowsPerUnit() | BeyondBounds():
            return lambda rows: MeasuredNumbers([exact_cells(measurement, rows).cells])
        case Histogram(told_apart=None):
            return partial(_of_buckets, measurement, Counter(measurement.groups.grouped))
        case Histogram():
            return partial(_of_outermost, measurement)


def _of_groups(exact: ExactSums) -> MeasuredNumbers:
    return MeasuredNumbers(exact.coordinates, exact.keys)


def _of_ladder(measurement: RowsPerUnit, rows: Sequence[EngineRow]) -> MeasuredNumbers:
    """Return the cells, and for each C that may be chosen the number of rows that is told by the same rows of the engine."""
    answer = [[*map(whole_number, row)] for row in rows]
    counts = ((measurement.weighed(answer, bound),) for bound in _bounds(measurement))
    return MeasuredNumbers([measurement.cells(answer), *counts])


def _bounds(measurement: RowsPerUnit) -> Iterator[ContributionBound]:
    return (measurement.bound.settled(rows) for rows in powers_of_two(measurement.rungs[-1]))


def _of_buckets(measurement: Histogram, declared: Mapping[KeyRow, int], rows: Sequence[EngineRow]) -> MeasuredNumbers:
    """Return a histogram's buckets, each as a group of its own: they are many, and most are empty.

    A group that is `declared` twice is released twice, and each time a unit moves it.
    """
    groups, last = measurement.groups, measurement.number - 1
    counts: Counter[KeyRow] = Counter()
    for *cells, bucket, weight in rows:
        key: KeyRow = tuple(k.returned(cell) for k, cell in zip(groups.keys, cells, strict=True))
        shown = key if declared else groups.show(key)
        # The same bucket may be sent by several of the engine's rows, and these are added up as a release adds them up.
        times = declared.get(key, 0) if declared else 1
        if shown is not None and bucket is not None and times:
            counts[*shown, min(max(whole_number(bucket), 0), last)] += whole_number(weight) * times
    return MeasuredNumbers([(number,) for number in counts.values()], list(counts))


def _of_outermost(measurement: Histogram, rows: Sequence[EngineRow]) -> MeasuredNumbers:
    """Return how many units lie at each bucket or farther out, from the outermost on, up to where they count (`extreme`).

    The engine alone decides which other rows it reads among those that are one to the mechanism.
    """
    counted, most, reached = Counter[int](), measurement.told_apart or 0, 0
    last = measurement.number - 1
    for bucket, weight in rows:
        if bucket is not None:
            counted[min(max(whole_number(bucket), 0), last)] += whole_number(weight)
    numbers: dict[KeyRow, int] = {}
    for bucket in sorted(counted, reverse=bool(measurement.points[0])):
        if counted[bucket] and reached < most:
            reached = min(reached + counted[bucket], most)
            numbers[bucket,] = reached
    return MeasuredNumbers([(number,) for number in numbers.values()], list(numbers))


def _outermost_moved(measurement: Histogram, numbers: MeasuredNumbers, other: MeasuredNumbers) -> int:
    """Return by how much a unit's rows are at most more than without it; beyond the claim where they are fewer."""
    sign = -1 if measurement.points[0] else 1
    sides = [
        sorted((sign * int(key[0] or 0), number) for key, (number,) in side.by_key.items()) for side in (numbers, other)
    ]

    def reached(side: list[tuple[int, int]], bucket: int) -> int:
        return max((number for at, number in side if at <= bucket), default=0)

    moves = [reached(sides[0], at) - reached(sides[1], at) for side in sides for at, _ in side]
    return max((move if move >= 0 else claim_of(measurement) - move for move in moves), default=0)


def _ladder_moved(measurement: RowsPerUnit, numbers: MeasuredNumbers, other: MeasuredNumbers) -> int:
    """Return how far the cells are moved; beyond the claim where a number of rows that they tell is moved further than C."""
    (cells, *counts), (others, *other_counts) = numbers.numbers, other.numbers
    moved = sum(abs(x - y) for x, y in zip(cells, others, strict=True))
    for bound, (mine,), (theirs,) in zip(_bounds(measurement), counts, other_counts, strict=True):
        if abs(mine - theirs) > bound.mass:
            return moved + claim_of(measurement) + abs(mine - theirs)
    return moved


def claim_of(measurement: Measured) -> int:
    """Return how far one unit may move it; for Gaussian noise, also where keys are found, the square of how far in ℓ2."""
    match measurement:
        case Sums(bound=ContributionBound(form=Form.EUCLIDEAN)):
            return measurement.square
        case Sums() | RowsPerUnit() | BeyondBounds():
            return measurement.sensitivity
        case KeySearch():
            return full_weight(measurement.bound.rows) ** 2
        case Histogram():
            return measurement.bound.mass


def moved_by(measurement: Measured, numbers: MeasuredNumbers, other: MeasuredNumbers) -> int:
    """Return how far apart two databases' numbers are, in the norm of the measurement's noise; `other` lacks a unit."""
    if isinstance(measurement, Histogram) and measurement.told_apart is not None:
        return _outermost_moved(measurement, numbers, other)
    if isinstance(measurement, RowsPerUnit) and measurement.is_by_number:
        return _ladder_moved(measurement, numbers, other)
    return sum(_norm(measurement, moved) for moved in numbers.moved(other))


def _norm(measurement: Measured, moved: Numbers) -> int:
    match measurement:
        case KeySearch() | Sums(bound=ContributionBound(form=Form.EUCLIDEAN)):
            return sum(x**2 for x in moved)
        case Sums():
            blocks = ((block.norm, [moved[i] for i in block.places]) for block in measurement.blocks)
            return sum(max(own) if norm is Norm.LARGEST else sum(own) for norm, own in blocks)
        case _:
            return sum(moved)


def difference(measurement: Measured, whole: MeasuredNumbers, other: MeasuredNumbers, *, neighbour: bool) -> str | None:
    """Return what tells two synthetic databases apart that should not, None if nothing does.

    A `neighbour` lacks one unit; otherwise they have the same rows of units, in another order.
    """
    if not neighbour:
        same = whole.same(other) and (isinstance(measurement, Histogram) or whole.keys == other.keys)
        return None if same else "the order of rows, or rows of nobody, change the measured numbers"
    # The heart of a trial. `moved` is in lattice units, whole numbers: no tolerance is needed, and one step too far
    # fails.
    moved, claim = moved_by(measurement, whole, other), claim_of(measurement)
    if moved > claim:
        return f"a unit moves the measured numbers by {moved:,}, and its noise is made for {claim:,}"
    if isinstance(measurement, Histogram) or whole.keys is None or other.keys is None:
        return None
    mine, theirs = whole.by_key, other.by_key
    # The noise of found groups is drawn in the order in which the engine sends them. If a unit could change that order,
    # the n-th draw would belong to another group, and the two answers would not be neighbours.
    if [key for key in theirs if key in mine] != [key for key in mine if key in theirs]:
        return "a unit changes the order of selected groups"
    selects = isinstance(measurement, Sums) and bool(measurement.delta)
    if selects and len(mine.keys() - theirs.keys()) > measurement.bound.rows:
        return f"a unit is in more selected groups than {measurement.bound.rows:,}"
    return None


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
        # `process_time` counts all threads of this process, also those of other trials. So it may say more than this
        # trial has used, and the clock is the upper bound; a third of the clock is the lower one.
        passed = time.monotonic() - self._begun
        return min(passed, max(time.process_time() - self._begun_work, passed / _BUSY)) if self._in_process else passed

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return self._seconds - self.used

    def for_next(self) -> float:
        """Return the seconds for the next statement.

        Raises:
            TrialEngineLate: there are none.
        """
        if self.left <= 0:
            raise TrialEngineLate
        return min(self.left, PATIENCE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for a measurement in synthetic databases."""

    place: DatabaseVariant
    wrong: str | None
    """The mistake that was found there; None if there is none in any place."""
    rows: Sequence[EngineRow]
    """The engine's rows in the first place."""
    late: bool = False
    """Whether nothing is wrong but that it takes too long."""
    databases: int = 0
    """How many databases were gone through, each with and without some units."""


def what_is_wrong(
    trial_engine: TrialEngine,
    measurement: Measured,
    sql: str,
    places: Sequence[DatabaseVariant],
    cancellation: Cancellation,
    limit: TimeLimit,
) -> Outcome:
    """Return the mistake of a measurement, and its place, within the time when all are tried."""
    text, read = trial_engine.names.split(sql), reader(measurement)
    first: list[Sequence[EngineRow]] = []
    unordered = True

    def numbers(place: DatabaseVariant, *, plainly: bool) -> MeasuredNumbers:
        stop_if_cancelled(cancellation)
        rows = _plain_rows(place) if plainly else trial_engine.run(text.at(place.name), cancellation, limit.for_next())
        if place is places[0] and not plainly:
            first.append(rows)
        return read(rows)

    def _plain_rows(place: DatabaseVariant) -> Sequence[EngineRow]:
        """Ask without any optimizer; where that takes long, because each row meets each, with joins in order."""
        nonlocal unordered
        if unordered:
            seconds = limit.for_next()
            try:
                return trial_engine.run(
                    text.at(place.name), cancellation, min(seconds, _WITHOUT_ORDER), OptimizerLevel.NOT
                )
            except TrialEngineLate:
                unordered = False
        return trial_engine.run(text.at(place.name), cancellation, limit.for_next(), OptimizerLevel.JOINS_ALONE)

    # Each database in full is asked twice, as it is served and without the optimizer. An optimizer that answers
    # otherwise is a bug of the engine, and bugs of optimizers are the likeliest reason for a right text to count wrong.
    asked = [(place, plainly) for place in places for plainly in ((False, True) if place.whole else (False,))]
    calls = (partial(numbers, place, plainly=plainly) for place, plainly in asked)
    of_one = sum(place.world == places[0].world for place, _ in asked)
    with closing(_in_order(calls, trial_engine.at_once if len(sql) < _LARGE else 1)) as answers:
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
        TrialEngineLate: it is: some have come, and as many as are missing would take twice the time that is left.
    """
    begun = limit.used
    for place, answer in enumerate(answers, 1):
        missing = (of_one if place < of_one else number) - place
        if place >= _FORESEEN and (limit.used - begun) / place * missing > 2 * limit.left:
            raise TrialEngineLate
        yield answer


def _first_wrong(
    measurement: Measured, places: Sequence[DatabaseVariant], answers: Iterator[MeasuredNumbers]
) -> tuple[DatabaseVariant, str | None, bool]:
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
        except (TrialEngineFailed, InternalError) as failed:
            wrong, late = f"it fails: {failed}", isinstance(failed, TrialEngineLate)
        if wrong is not None:
            return place, wrong, late
    return places[0], None, False
