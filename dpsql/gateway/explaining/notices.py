"""Notices beside a client's rows: read off released values, and so post-processing."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, starmap
from math import ceil

from dpsql.accounting.privacy_loss import show_down
from dpsql.errors import InternalError
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.pricing import AimedPrice, Drawn, PricedPlan, is_declared
from dpsql.privacy.accuracy.margin import Margins, first_width, rests_on_nothing
from dpsql.privacy.features.feature import row_count
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    KeySearch,
    LeastUnits,
    MeasurementPlan,
    StatisticOutput,
    units_needed,
)
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.postprocess import CanHaveRows, empty_groups, hidden_statistics, too_few
from dpsql.privacy.release.release import Draws, Profile
from dpsql.privacy.release.target import irreducible_error, is_aimed, is_met
from dpsql.rewrite.functions.table import describe
from dpsql.rewrite.ir.expr import Ref, refs
from dpsql.rewrite.ir.literal import format_value
from dpsql.rewrite.ir.relation import stored_columns
from dpsql.rewrite.translate.rows.aggregates import Moment

_MUCH, _FAR_MORE = 0.1, 10
"""What a C takes off is told if it is more than this part of the noise's margin; what it may take off, which is not known,
if it is so many times as much."""


def notices(priced: PricedPlan, drawn: Drawn, reading: Reading) -> tuple[str, ...]:
    """Return the notices of an answer."""
    beyond = (text for stage in priced.stages() for scope in stage.scopes for text in _beyond(scope, reading.profile))
    possible = reading.possible(priced, drawn) if priced.inner else [None] * len(priced.scopes)
    scopes = zip(priced.scopes, possible, strict=True)
    inner = (
        f"an inner query: {text}"
        for inner_plan in priced.inner
        for scope in inner_plan.scopes
        for text in chain(starmap(_capped, scope.plan.capped), _far(inner_plan, scope, drawn))
    )
    own = (text for scope, which in scopes for text in _of_scope(priced, scope, drawn, which))
    return tuple(dict.fromkeys((*inner, *own, *beyond)))


def _of_scope(priced: PricedPlan, scope: PricedScope, drawn: Drawn, possible: CanHaveRows | None) -> Iterator[str]:
    draws = [drawn[part.identity] for part in scope.parts]
    yield from map(_uncomputed, scope.plan.unanswered)
    yield from map(_unbounded, scope.plan.unbounded)
    yield from map(nowhere, scope.plan.nowhere)
    yield from map(_unseen, filter(_selects, scope.parts))
    yield from _too_few(scope.plan, draws, possible)
    yield from _empty(scope.plan, draws, possible)
    yield from (text for draw in draws if (text := _cut(draw)) is not None)
    yield from starmap(_capped, scope.plan.capped)
    yield from (_of_few(draw) for draw in draws if draw.is_of_few)
    yield from _taken_for_alike(scope.plan, draws)
    yield from _weighed_apart(scope.plan, draws)
    if scope.plan.sets is None and scope.plan.added_up is None and not any(draw.keys is not None for draw in draws):
        yield from map(_hidden, hidden_statistics(scope.plan, draws))
    yield from _far(priced, scope, drawn)


def _far(priced: PricedPlan, scope: PricedScope, drawn: Drawn) -> Iterator[str]:
    """Yield which parts err by more than is aimed at, if anything is."""
    if priced.aim is None:
        return
    for place, part in enumerate(scope.parts):
        # Of others nobody can tell.
        if is_declared(part) and is_aimed(scope.plan, place):
            yield from _missed(scope.plan, place, drawn[part.identity], priced.aim)


def _too_few(plan: MeasurementPlan, draws: list[Draws], possible: CanHaveRows | None) -> Iterator[str]:
    """Yield how many groups are left out because they can't be shown to have as many units as they have to."""
    if plan.units is None or not draws:
        return
    few, groups = too_few(plan, draws, possible)
    if few and plan.groups.keys:
        yield f"{few:,} of {groups:,} groups are left out: {_of_units(plan.units)}"
    elif few:
        yield f"the answer is NULL: {_of_units(plan.units)}"


def _of_units(units: LeastUnits) -> str:
    return f"they can't be shown to have {units.least:,} units (min_units), by their noisy number"


def _missed(plan: MeasurementPlan, place: int, draws: Draws, aim: AimedPrice) -> Iterator[str]:
    """Yield that a part errs by more than is aimed at, and what would help."""
    if is_met(plan, place, draws, aim.error, aim.steps):
        return
    why = irreducible_error(plan, place, draws, aim.error)
    paid = f"a statement may pay at most ε = {show_down(aim.cap)}, or the budget has no more"
    yield f"the typical error is above {100 * float(aim.error):g} %: {why or paid}"


def _cut(draws: Draws) -> str | None:
    """Return that a declared C takes much off, or may do so, as a profile tells."""
    measured, release = draws.best
    if release.chosen is not None or draws.profile is None or not isinstance(measured, Sums):
        return None
    bound, width = measured.bound, first_width(measured)
    limit = f"max_rows: {bound.rows:,} of {bound.unit.table}"
    if draws.cut:
        if draws.doubted_of_group <= _MUCH * width:
            return None
        return (
            f"about {100 * (draws.missing or 0.0):.2g} % are cut off by {limit}, as its profile estimates: "
            f"each ({bound.unit.name}) with more rows counts as that many; margins cover it; "
            "max_rows: auto chooses for each statement"
        )
    at_most = draws.profile.share_cut(bound.rows).at_most
    if at_most is None or at_most * max(draws.counted, 0.0) <= _FAR_MORE * width:
        return None
    return (
        f"up to {100 * at_most:.2g} % may be cut off by {limit}, as far as its profile says; dpsql.margin does not "
        "cover that; a profile at a larger ε is more precise"
    )


def nowhere(ref: Ref | str | None) -> str:
    """Return that a condition on a column, or on the rows that are granted, holds nowhere, which nobody has measured."""
    if isinstance(ref, str):
        return f"no row that the role sees can satisfy what is said: it sees {ref}; nothing was measured"
    if ref is None:
        return "no row can satisfy what is said, by what is declared; nothing was measured"
    column, declared = ref.column, f"one of {len(ref.column.values or ()):,} values"
    if column.values is None and column.bounds is not None:
        low, high = (_end(end, ref) for end in (column.bounds.low, column.bounds.high))
        declared = f"{column.declared} from {low} to {high} (what lies beyond counts as the nearest)"
    never = "" if column.nullable else ", never NULL"
    return f"no row can satisfy what is said of {ref.name}: it is declared as {declared}{never}; nothing was measured"


def _end(end: Fraction, ref: Ref) -> str:
    return f"{float(end):.17g}" if ref.type.is_number else format_value(end, ref.type)


def _beyond(scope: PricedScope, profile: Profile) -> Iterator[str]:
    """Yield which columns have values beyond their bounds, by a profile, if that matters to what is computed of them."""
    read: dict[Ref, tuple[Fraction, ...]] = {}
    for part in scope.parts:
        match part.measurement:
            case Sums(relation=relation, features=features):
                exprs = [scaled.expr for feature in features for scaled in (feature.x, feature.y) if scaled is not None]
                read |= dict.fromkeys(stored_columns(relation, exprs), ())
            case Histogram(relation=relation, x=x, points=points):
                direct = set(refs(x.expr))
                # A column that is summed, too, keeps its entry without points: sums change with every value that is
                # clamped.
                read = {ref: points if ref in direct else () for ref in stored_columns(relation, [x.expr])} | read
            case _:
                pass
    for ref, points in read.items():
        known = profile.of(ref.table)
        for side, share in zip(("below", "above"), known.beyond.get(ref.name, ()) if known else (), strict=False):
            bounds = ref.column.bounds
            # A quantile inside of the values that keep to the bounds is the same with any bounds.
            reached = not points or any(
                (q <= share.value) if side == "below" else (1 - q <= share.value) for q in points
            )
            if bounds is not None and share.at_most is None and reached:
                end = _end(bounds.low if side == "below" else bounds.high, ref)
                yield (
                    f"about {100 * share.value:.2g} % of the values of {ref.name} lie {side} {end} and count as that, as the "
                    f"profile of {ref.table} estimates: what is computed of them is of the clamped values"
                )


def _capped(unit: str, most: int) -> str:
    """Return that a unit's rows count up to a number that has not been declared, where a number of them decides."""
    return (
        f"each {unit}'s own numbers and sums are capped at {most:,} rows here: "
        f"where units have more, the owner of the data may declare a number, or {{auto: N}}"
    )


def _of_few(draws: Draws) -> str:
    """Return that nobody can say what a chosen C takes off: heavy units may be among so few without being seen."""
    unit = draws.best[0].bound.unit.name
    return (
        f"there are too few units ({unit}) to choose the row limit well; the error may exceed dpsql.margin: "
        "a larger ε helps, and so does a profile, or a number for max_rows that the owner of the data declares"
    )


def _taken_for_alike(plan: MeasurementPlan, draws: list[Draws]) -> Iterator[str]:
    """Yield which margins rest on what is thought of the rows that C takes off, where these matter: not those of shares."""
    for place, draw in enumerate(draws):
        if not draw.cut or not draw.groups or not isinstance(draw.measurement, Sums):
            continue
        shown = [o.readout for o in plan.outputs if isinstance(o, StatisticOutput) and o.part == place and not o.cut]
        computed = [o.readouts for o in plan.outputs if isinstance(o, ComputedMarginOutput) and o.part == place]
        shown = list(dict.fromkeys((*shown, *(readout for readouts in computed for readout in readouts))))
        located = [readout for readout in shown if statistic(readout.moment.name).located]
        if not located:
            continue
        # Of the group with the most rows, beside which noise is smallest: what is cut off matters there, if anywhere.
        sums = max(map(draw.reader(), range(draw.groups)), key=lambda group: row_count(located[0], group))
        margins = Margins.of(draw.measurement, draw.cut, None, draw.groups)
        for readout in located:
            width, cut = margins.half_width(readout, sums), margins.cut_off(readout, sums)
            if width is not None and cut > _MUCH * width and not rests_on_nothing(readout):
                name = f"{readout.moment.name}({', '.join(map(describe, readout.moment.args))})"
                yield (
                    f"dpsql.margin({name}) assumes that the mean of the rows cut off by the row limit, about "
                    f"{100 * (draw.missing or 0.0):.2g} % of all, differs by an eighth of the bounds' width at most"
                )


def _weighed_apart(plan: MeasurementPlan, draws: list[Draws]) -> Iterator[str]:
    """Yield that sums and counts are of rows that weigh differently, where a declared C may take much off the counts."""
    for place, draw in enumerate(draws):
        measured, release = draw.best
        if release.chosen is not None or not isinstance(measured, Sums) or not measured.valued:
            continue
        shown = [o.readout for o in plan.outputs if isinstance(o, StatisticOutput) and o.part == place]
        sums = [readout.moment for readout in shown if measured.valued & set(readout.features)]
        if sums and any(statistic(readout.moment.name).counts for readout in shown):
            what = f"sum({describe(sums[0].args[0])})"
            yield (
                f"{what} and the count weigh rows differently where a {measured.bound.unit.name} has more than "
                f"{measured.bound.rows:,} (max_rows): their quotient is no average; ask avg, or divide in the same SELECT"
            )


def _uncomputed(column: str) -> str:
    return (
        f"what is computed of {column} is NULL: it identifies individuals, and is no number to compute with; "
        f"count(DISTINCT {column}) says how many there are"
    )


def _hidden(hidden_values: tuple[Moment, int, int]) -> str:
    """Return that a spread is shown as 0 because noise is larger than it."""
    moment, number, groups = hidden_values
    name = f"{moment.name}({', '.join(map(describe, moment.args))})"
    where = "is 0" if groups == 1 else f"is 0 in {number:,} of {groups:,} groups"
    return f"{name} {where}: noise is larger than it; dpsql.margin({name}) says how large it may be"


def _unbounded(column: str) -> str:
    return (
        f"what is computed of {column} is NULL: it has no declared bounds, of which the owner of the data can declare some; "
        f"count(DISTINCT {column}) is answered"
    )


def _selects(part: PricedMeasurement) -> bool:
    return part.rule is not None


def _unseen(part: PricedMeasurement) -> str:
    """Return which groups are left out of those that were selected, by public parameters alone."""
    measurement, rule = part.measurement, part.rule
    if rule is None or not isinstance(measurement, (Sums, KeySearch)):
        raise InternalError
    least = ceil(units_needed(measurement, rule))
    return (
        f"groups of fewer than about {least:,} units ({measurement.bound.unit.name}) are not shown, "
        "nor in what is computed of the groups: they are not distinguishable from groups that nobody has"
    )


def _empty(plan: MeasurementPlan, draws: list[Draws], possible: CanHaveRows | None) -> Iterator[str]:
    """Yield how many groups may be empty, where they are left out, or are most of those that are shown."""
    if not plan.groups.keys or plan.count is None or not draws:
        return
    # Of ROLLUP and the like it is said of the groups by all keys, where these are shown, and hidden.
    if plan.sets is not None and not (plan.hides_empty and tuple(range(len(plan.groups.keys))) in plan.sets):
        return
    if draws[0].keys is not None:
        return  # they were selected by how many rows or units they have
    empty, groups = empty_groups(plan, draws, possible)
    if plan.hides_empty and empty:
        yield (
            f"{empty:,} of {groups:,} groups are hidden, their counts are not distinguishable from zero: "
            "SET dpsql.empty_groups = 'show' lists them"
        )
    elif empty * 2 > groups:
        yield (
            f"{empty:,} of {groups:,} groups may be empty, their counts are not distinguishable from zero: "
            "SET dpsql.empty_groups = 'hide' leaves them out"
        )
