"""Plans of rows that are compared with constants: a histogram between these is measured, and added up for each of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from dpsql.errors import AccessDenied, InternalError, MissingBounds, Unsupported
from dpsql.privacy.measurement.plan import AddedUp, ComputedMarginOutput, GroupRun, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.bounds import evaluable, evaluate
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.ir.expr import Expr, refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.translate.rows.aggregates import Aggregate, ComputedStatistic, Margin, Moment, told_of
from dpsql.rewrite.translate.rows.computed_statistics import refused_margin, refused_shrunk
from dpsql.rewrite.translate.rows.interval_partition import IntervalPartition, compare_once

Planned = Callable[[Relation, Sequence[Expr], Sequence[Aggregate]], MeasurementPlan]
"""Plans the aggregates of a relation by some keys."""


def compared_once(
    plan: MeasurementPlan,
    relation: Relation,
    keys: Sequence[Expr],
    aggregates: Sequence[Aggregate],
    planned: Planned,
) -> MeasurementPlan:
    """Return a plan that measures each row once where `plan` measures it once for each constant that it matches."""
    read_off = [_moments(aggregate) for aggregate in aggregates] if _adds_up(plan) else []
    moments = [] if () in read_off else [moment for some in read_off for moment in some]
    read = [expr for moment in moments for expr in (*moment.args, moment.where)]
    comparison = compare_once(relation, read) if moments else None
    if comparison is None:
        return plan
    if any(isinstance(output, ComputedMarginOutput) and output.totals for output in plan.outputs):
        raise refused_margin("dpsql.margin() of a total over groups that have rows in common is not known")
    if any(isinstance(output, StatisticOutput) and output.shrunk for output in plan.outputs):
        raise refused_shrunk("and these have rows in common", "Write avg(x) by itself, or group by a key of the rows.")
    # SELECT v.d, ward, count(*) FROM (VALUES (10), (20)) AS v(d) JOIN labs ON value < v.d GROUP BY 1, 2
    # Measured by ward and stretch (below 10, from 10 to 20); the group (20, a) is read off both stretches of ward a.
    own = [place for place, key in enumerate(keys) if _of_constants(key, comparison)]
    others = [place for place, key in enumerate(keys) if place not in own]
    # A key of constants and rows together, such as value − d, is another one for each constant: it can't be measured
    # once.
    if any(_reads(keys[place], comparison) for place in others):
        return plan
    try:
        by = [*(comparison.without(keys[place]) for place in others), comparison.bucket]
        inner = planned(comparison.relation, by, [_without(aggregate, comparison) for aggregate in aggregates])
    except (Unsupported, MissingBounds, AccessDenied):  # then it is measured as it was written
        return plan
    if not _adds_up(inner):
        return plan
    stretches = _stretches(
        [keys[place] for place in own], [plan.groups.keys[place].returned for place in own], comparison
    )
    sums = _added_up(plan.groups, own, others, inner.groups, stretches)
    return replace(inner, groups=plan.groups, added_up=sums, count=None, hides_empty=False)


def _adds_up(plan: MeasurementPlan) -> bool:
    sums = all(isinstance(part, Sums) and part.distinct is CountOf.ROWS and not part.delta for part in plan.parts)
    read = all(
        isinstance(output, (StatisticOutput, ComputedMarginOutput)) and output.part is not None
        for output in plan.outputs
    )
    return bool(plan.parts) and sums and read and not plan.unanswered


def _moments(aggregate: Aggregate) -> tuple[Moment, ...]:
    """Return what a statistic is read off, or its margin; nothing of one that is another here, as count(DISTINCT key)."""
    match told_of(aggregate):
        case Moment() as moment:
            return (moment,)
        case ComputedStatistic(of=moments):
            return moments
        case _:
            return ()


def _without(aggregate: Aggregate, stretches: IntervalPartition) -> Aggregate:
    match aggregate:
        case Moment():
            return _moment_without(aggregate, stretches)
        case Margin(of=Moment() as of):
            return replace(aggregate, of=_moment_without(of, stretches))
        case Margin(of=ComputedStatistic() as of):
            return replace(aggregate, of=replace(of, of=tuple(_moment_without(each, stretches) for each in of.of)))
        case _:
            raise InternalError


def _moment_without(moment: Moment, stretches: IntervalPartition) -> Moment:
    return replace(moment, args=tuple(map(stretches.without, moment.args)), where=stretches.without(moment.where))


def _reads(key: Expr, stretches: IntervalPartition) -> bool:
    return any(ref.source == stretches.source for ref in refs(key))


def _of_constants(key: Expr, stretches: IntervalPartition) -> bool:
    read = refs(key)
    return bool(read) and all(ref.source == stretches.source for ref in read) and evaluable(key)


def _stretches(
    keys: Sequence[Expr], returned: Sequence[Callable[[Cell], Cell]], comparison: IntervalPartition
) -> Mapping[tuple[Cell, ...], Sequence[tuple[range, int]]]:
    """Return how often each stretch counts for each of the keys that constants have, in ranges that have none in common."""
    counted: dict[tuple[Cell, ...], list[range]] = {}
    for row, stretches in comparison.constants:
        cells = tuple(of(evaluate(key, row)) for key, of in zip(keys, returned, strict=True))
        counted.setdefault(cells, []).append(stretches)
    return {cells: _apart(ranges) for cells, ranges in counted.items()}


def _apart(ranges: Sequence[range]) -> Sequence[tuple[range, int]]:
    """Return the parts of ranges, and in how many of these each is."""
    if len(ranges) == 1:
        return [(ranges[0], 1)]
    # Two constants may have one key, and their ranges rows in common, which count twice, as they do in a join: 0 … 3
    # and 2 … 5  →  0 … 2 once, 2 … 3 twice, 3 … 5 once.
    ends = sorted({end for each in ranges for end in (each.start, each.stop)})
    parts = ((range(start, stop), sum(start in each for each in ranges)) for start, stop in pairwise(ends))
    return [(part, number) for part, number in parts if number]


def _added_up(
    shown: Groups,
    own: Sequence[int],
    others: Sequence[int],
    measured: Groups,
    stretches: Mapping[tuple[Cell, ...], Sequence[tuple[range, int]]],
) -> AddedUp:
    of_stretches = dict[tuple[Cell, ...], dict[int, int]]()
    for place, cells in enumerate(measured.shown):
        # The stretch is the last key of what is measured. A row that matches no constant has none.
        if isinstance(stretch := cells[-1], int):
            of_stretches.setdefault(tuple(cells[:-1]), {})[stretch] = place
    lines, chains = [], dict[tuple[Cell, ...], list[int]]()
    for place, (grouped, cells) in enumerate(zip(shown.grouped, shown.shown, strict=True)):
        beside, counted = tuple(cells[i] for i in others), stretches.get(tuple(grouped[i] for i in own), ())
        places = of_stretches.get(beside, {})
        lines.append(tuple(run for part, number in counted for run in _runs(places, part, number)))
        chains.setdefault(beside, []).append(place)
    return AddedUp(tuple(lines), tuple(_rising(lines, list(chains.values()))))


def _runs(places: Mapping[int, int], stretches: range, factor: int) -> Iterator[GroupRun]:
    """Yield the places of stretches, of which some may not be measured: no row can be in these."""
    first, last = places.get(stretches.start), places.get(stretches.stop - 1)
    if first is not None and last is not None and last - first == len(stretches) - 1:  # places rise with the stretches
        yield GroupRun(range(first, last + 1), factor)
        return
    found = sorted(place for stretch in stretches if (place := places.get(stretch)) is not None)
    start = 0
    for end in range(1, len(found) + 1):
        if end == len(found) or found[end] != found[end - 1] + 1:
            yield GroupRun(range(found[start], found[end - 1] + 1), factor)
            start = end


def _rising(lines: Sequence[tuple[GroupRun, ...]], together: Sequence[list[int]]) -> Iterator[tuple[int, ...]]:
    """Yield the groups that are the same but for what is compared, where each has all that the one before has."""
    for places in together:
        chain = sorted(places, key=lambda place: sum(len(run.places) for run in lines[place]))
        if len(chain) > 1 and all(_has_all(lines[large], lines[small]) for small, large in pairwise(chain)):
            yield tuple(chain)


def _has_all(large: Sequence[GroupRun], small: Sequence[GroupRun]) -> bool:
    """Return whether each measured group counts in one line as often as in the other."""
    return all(
        any(
            run.factor == other.factor
            and other.places.start <= run.places.start
            and run.places.stop <= other.places.stop
            for other in large
        )
        for run in small
    )
