"""The plan of one scope as values: its groups, its measurements, and how each output is read off them."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share
from dpsql.errors import AccessDenied, InternalError, MissingBounds, Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.model import Value
from dpsql.privacy.features.chosen_end import chosen_end, reads_columns, wide_rows
from dpsql.privacy.features.feature import ONE, Feature, Readout, Shape, limit_passed
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.engine_sql import BoundedScan
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.rows_per_unit import SHARE, RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.mechanisms.extreme import units_above
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection, selection, weights
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.partition_selection import chances, units_for_even_chance
from dpsql.rewrite.analysis.declared_facts import PublicRows, identifying_columns
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.analysis.keys import listed_values
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.functions.table import function_of, step_of, without_double
from dpsql.rewrite.ir.expr import TRUE, Apply, Env, Expr, Ref, walk
from dpsql.rewrite.ir.relation import PerUnitRows, Relation, naming_units
from dpsql.rewrite.syntax.named.grouping import Set
from dpsql.rewrite.translate.rows.aggregates import Aggregate, VoteName, computes, inputs
from dpsql.rewrite.translate.rows.computed_statistics import Formula, Total

# The limits of a scope, for all measurements: not too large, not about single units, not hopeless.

_MOST_NODES = 25_000
"""The size of all expressions of one scope; beyond it a statement could keep planning or the engine busy."""


def require_scope(
    relation: Relation, keys: Sequence[Expr], inputs: Sequence[Expr], bound: ContributionBound, rows: PublicRows
) -> None:
    """Refuse group keys that are privacy units, and expressions without end.

    Raises:
        AccessDenied: a key depends on a column that identifies units of some kind, or on a public copy of it.
        Unsupported: the statement is too large.
    """
    # Whatever is computed of a unit's name may still tell it: a key is refused for such a column anywhere in it, unless
    # all that is asked of that is whether it is NULL.
    single = identifying_columns(relation, rows)
    for ref in (ref for key in keys for ref in _told(key)):
        if (ref.source, ref.name) in single:
            raise AccessDenied(
                f'grouping by "{ref.name}" would show single individuals',
                because="key-is-unit",
                hint="Group by something that many individuals share.",
            )
    if bound.unit.type.is_float:
        raise Unsupported(
            f'the privacy unit "{bound.unit.name}" is a floating-point column',
            because="unit-is-float",
            hint="The owner of the data has to name a column of whole numbers or texts in `privacy_units`.",
        )
    size = sum(
        1 for part in (*keys, relation.where, *(source.on for source in relation.sources), *inputs) for _ in walk(part)
    )
    if size > _MOST_NODES:
        raise Unsupported(
            f"the expressions over private rows have {size:,} parts, the limit is {_MOST_NODES:,}",
            because="expressions-too-large",
            hint="Ask for fewer aggregates in one statement, or for simpler ones.",
        )


def _told(key: Expr) -> Iterator[Ref]:
    """Yield the columns of whose values a key tells more than whether they are NULL, as EXISTS does of what it finds."""
    match key:
        case Ref():
            yield key
        case Apply():
            condition = function_of(key).condition
            if condition is None or not condition.of_null:
                for arg in key.args:
                    yield from _told(arg)
        case _:
            pass


def require_few_features(features: Sequence[Feature]) -> None:
    """Refuse more statistics than one cube should carry, and more than a statement should in all its blocks.

    Raises:
        Unsupported: there are too many.
    """
    limit = limit_passed(features)
    if limit is not None:
        raise Unsupported(
            f"the statement measures {len(features)} statistics at once, the limit is {limit}",
            because="too-many-statistics",
            hint="Ask for fewer aggregates in one statement.",
        )


def require_large_groups(buckets: Histogram, expected_rows: int | None) -> None:
    """Refuse MIN and MAX of groups so small that their extremes would be NULL, or far inside.

    The value that is found may have `reach` units beyond it; in a group of fewer than three times as many rows it is
    no extreme.

    Raises:
        Unsupported: the table's expected rows, spread over the groups, are too few.
    """
    if not buckets.extremes or expected_rows is None:
        return
    rows = Fraction(expected_rows, max(len(buckets.groups.grouped), 1))
    need = math.ceil(3 * units_above(buckets.number, buckets.epsilon, buckets.bound.rows))
    if rows < need:
        raise Unsupported(
            f"MIN and MAX need about {need:,} rows a group at this ε, about {int(rows):,} are expected",
            because="extremes-of-few-rows",
            hint="The declared bounds are in the table dpsql.columns, at no cost; or ask with a larger ε or fewer groups.",
        )


def refuse_unit_values(relation: Relation, exprs: Sequence[Expr], inside: Sequence[Expr]) -> None:
    """Check that nothing is computed with what says whose a row is: in `exprs` themselves, nor `inside` expressions.

    Raises:
        MissingBounds: it is.
    """
    for expr in (*exprs, *(arg for aggregate in inside for arg in _computed_with(aggregate))):
        if isinstance(expr, Ref) and names_unit(relation, expr):
            raise MissingBounds(
                f'"{expr.name}" identifies individuals, and is no number to compute with',
                because="computed-of-unit",
                hint=f"count(DISTINCT {expr.name}) says how many there are.",
            )


def names_unit(relation: Relation, expr: Expr) -> bool:
    """Return whether an expression is a column that says whose a row is, and has no bounds as numbers have."""
    units = naming_units(relation)
    return isinstance(expr, Ref) and (expr.source, expr.name) in units and expr.column.bounds is None


def unit_computed(aggregate: Aggregate, relation: Relation) -> str | None:
    """Return the column that says whose a row is, if an aggregate computes with such a one; None if it does not."""
    naming = (
        argument
        for argument in map(without_double, inputs(aggregate)[1:])
        if isinstance(argument, Ref) and names_unit(relation, argument)
    )
    return next((ref.name for ref in naming), None) if computes(aggregate) else None


def _computed_with(expr: Expr) -> Iterator[Expr]:
    """Yield the arguments of arithmetic in an expression."""
    for part in walk(expr):
        if isinstance(part, Apply) and function_of(part).needs_bounds:
            yield from part.args


# The values that an expression can have, of which MIN, MAX and percentile_disc return one.
#
# max(date_trunc('day', t))  →  a bucket of 43 minutes  →  the day that begins in it, or the last one before it
#
# A bucket is chosen first, whatever stands for it: so this is work on what was released, by public numbers alone.

_MOST = 2**14
"""How many values are listed, as many as there may be buckets; of more it is only known what they are multiples of."""


@dataclass(frozen=True, slots=True)
class Possible:
    """Which values there can be."""

    listed: tuple[Fraction, ...] = ()
    """All of them, in order; where there are none it is the multiples of a step."""
    step: Fraction = Fraction(1)

    @classmethod
    def of(cls, expr: Expr, env: Env) -> "Possible | None":
        """Return the values of an expression; None where nothing is known of them.

        A column whose values are not declared has all multiples of its step: to list 15,001 of them takes 80 ms.
        """
        step = step_of(expr) if expr.type.is_number else None
        if isinstance(expr, Ref) and step and env[expr].values is None:
            return cls(step=step)
        try:
            values = {Fraction(value) for value in listed_values(expr, env, _MOST) if value is not None}
        except (MissingBounds, Unsupported):
            values = set()
        if values:
            return cls(tuple(sorted(values)))
        step = step_of(expr)
        return cls(step=step) if step else None

    def of_bucket(self, histogram: Histogram, index: int, point: Fraction) -> Fraction:
        """Return the value that stands for a bucket: the one nearest its middle, or beside it where there is none in it.

        There a largest value is the last one before, a smallest the next.
        """
        middle, (low, high) = histogram.value(index), histogram.ends(index, index)
        below, above = self._at_most(middle, histogram), self._at_least(middle, histogram)
        if below is None:
            return middle if above is None else above
        if above is None:
            return below
        if histogram.extremes and below < low and above > high:
            return below if point else above
        return below if middle - below <= above - middle else above

    def half_width(self, histogram: Histogram, buckets: int, index: int, point: Fraction) -> Fraction:
        """Return how far a bucket's value may be from a possible one that is so many buckets away at most."""
        value, (low, high) = self.of_bucket(histogram, index, point), histogram.ends(index - buckets, index + buckets)
        least, most = self._at_least(low, histogram), self._at_most(high, histogram)
        if least is None or most is None or least > most:  # there is none between: it is one of those around
            least, most = self._at_most(low, histogram), self._at_least(high, histogram)
        return max(abs(value - end) for end in (least, most, value) if end is not None)

    def _at_most(self, number: Fraction, histogram: Histogram) -> Fraction | None:
        interval = histogram.x.interval
        if self.listed:
            place = bisect_right(self.listed, min(number, interval.high)) - 1
            return self.listed[place] if place >= 0 and self.listed[place] >= interval.low else None
        value = min(number, interval.high) // self.step * self.step
        return value if value >= interval.low else None

    def _at_least(self, number: Fraction, histogram: Histogram) -> Fraction | None:
        interval = histogram.x.interval
        if self.listed:
            place = bisect_left(self.listed, max(number, interval.low))
            return self.listed[place] if place < len(self.listed) and self.listed[place] <= interval.high else None
        value = math.ceil(max(number, interval.low) / self.step) * self.step
        return value if value <= interval.high else None


# The measurement that finds keys by the number of units that have them: one statement sums what each unit adds to its keys.
#
# Claim: adding or removing all rows of one unit moves the numbers of at most `bound.rows` keys, all g of them by one
# ⌊W/√g⌋, and no other unit's; noise and threshold for it are those of `gaussian_selection`.
# Proof: the statement reads the distinct pairs of a unit and a key as it comes back, keeps at most `bound.rows` of each
# unit's, chosen by that unit's pairs alone, and weighs them by how many that unit has.


@dataclass(frozen=True, slots=True)
class KeySearch:
    """The keys of a relation that enough units share."""

    relation: Relation
    groups: Groups
    bound: ContributionBound
    """At most so many keys of a unit, by selection."""
    delta: Fraction
    epsilon: Fraction = Fraction(0)

    def selection(self) -> GaussianSelection:
        """Return the noise and the threshold."""
        return selection(self.epsilon, self.delta, self.bound.rows)

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: the keys, and what their units add to them as text."""
        scan = BoundedScan.of(self.relation, TRUE, self.groups.keys, [], self.bound, emitter)
        *steps, last = weights(self.bound.rows)
        cases = " ".join(f"WHEN n <= {step.keys} THEN {step.weight}" for step in steps)
        return scan.spread(f"CASE {cases} ELSE {last.weight} END" if steps else str(last.weight))


Measurement = Sums | Histogram | KeySearch
"""The measurements that outputs are read off."""
Searched = RowsPerUnit | BeyondBounds
"""Measurements that no output is read off, but that tell how to measure: cells with noise of their own, to which a
unit adds little."""
Measured = Measurement | Searched
"""All that is measured."""


def with_relation(measurement: Measured, relation: Relation) -> Measured:
    """Return the measurement of other rows."""
    if isinstance(measurement, RowsPerUnit):
        return replace(measurement, of=replace(measurement.of, relation=relation))
    return replace(measurement, relation=relation)


def as_chosen(measurement: Measured, rows: int) -> Measured:
    """Return a measurement with the C that was chosen for it."""
    return measurement.settled(rows) if isinstance(measurement, (Sums, Histogram)) else measurement


@quickly_made
@dataclass(frozen=True, slots=True)
class StatisticOutput:
    """An output read off noisy sums."""

    part: int | None
    """The measurement that has them; None: nothing is measured, everything is publicly zero."""
    readout: Readout
    margin: bool
    cut: bool = False
    """Whether it is neither the statistic nor its margin, but the share of it that is missing."""
    shrunk: bool = False
    """Whether it is drawn towards the mean of all groups, or the margin of that."""


@dataclass(frozen=True, slots=True)
class QuantileOutput:
    """An output that is a chosen bucket, or an array of them: the places of its points."""

    part: int | None
    places: tuple[int, ...]
    array: bool
    ordered: tuple[Value, ...] | None = None
    """The texts whose places were measured."""
    possible: Possible | None = None
    """The values of which it is one; None where it may be any."""


@dataclass(frozen=True, slots=True)
class DistinctCountOutput:
    """An output that is the first coordinate of a measurement: a distinct count."""

    part: int | None
    most: int | None = None
    """How many values there are, where the policy says so."""


@dataclass(frozen=True, slots=True)
class DistinctMarginOutput:
    """An output that is the margin of a distinct count."""

    part: int | None


@dataclass(frozen=True, slots=True)
class PointMarginOutput:
    """An output that is the margin of a chosen bucket."""

    part: int | None
    possible: Possible | None = None
    """The values of which the value is one; None where it may be any."""


@dataclass(frozen=True, slots=True)
class GroupingOutput:
    """An output that says which of some keys a row is not grouped by, as bits."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VoteOutput:
    """An output that is one of some values, or their number, by the noisy counts of each."""

    part: int | None
    name: VoteName
    values: tuple[Value, ...]
    readouts: tuple[Readout, ...]
    margin: bool = False
    """Whether it is not the number of values, but how many more there may be."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ReadTotal:
    """A total over all groups that have the same values of some keys, by the places of these."""

    of: Total
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ComputedMarginOutput:
    """An output that is the margin of what is computed of statistics."""

    part: int | None
    formula: Formula
    readouts: tuple[Readout, ...]
    totals: tuple[ReadTotal, ...]
    """The totals in the formula."""


@dataclass(frozen=True, slots=True)
class KnownOutput:
    """An output that the policy knows, whatever rows there are."""

    value: Value | None


Output = (
    StatisticOutput
    | QuantileOutput
    | DistinctCountOutput
    | DistinctMarginOutput
    | PointMarginOutput
    | GroupingOutput
    | VoteOutput
    | ComputedMarginOutput
    | KnownOutput
)


@quickly_made
@dataclass(frozen=True, slots=True)
class GroupRun:
    """Measured groups with neighbouring places, each of which counts so often."""

    places: range
    factor: int


@dataclass(frozen=True, slots=True)
class AddedUp:
    """How the groups that are shown are made of those that are measured."""

    lines: tuple[tuple[GroupRun, ...], ...]
    """For each that is shown, the measured groups that it is made of."""
    rising: tuple[tuple[int, ...], ...] = ()
    """Chains of shown groups each of which has all that the one before has."""

    @property
    def noise(self) -> float:
        """Return how many times the noise of a measured group that of a shown one is at most."""
        return math.sqrt(max(map(self.variance, range(len(self.lines))), default=1))

    def variance(self, place: int) -> int:
        """Return how many times the variance of a measured group that of a shown one is."""
        return sum(len(run.places) * run.factor**2 for run in self.lines[place])

    def number(self, place: int) -> int:
        """Return of how many measured groups a shown one is made."""
        return sum(len(run.places) * run.factor for run in self.lines[place])


@quickly_made
@dataclass(frozen=True, slots=True)
class LeastUnits:
    """How many units a group has to have to be shown, and where their number is read off."""

    least: int
    counted: StatisticOutput | DistinctCountOutput
    """Rows are counted where each unit has one."""


_MOST_GROUPS = 1_000
"""Groups that a number of units has in wide bounds; of more most are empty."""


def _with_end(part: Measurement) -> Measurement | None:
    """Return a measurement in which the end of a number's bounds is chosen, if it is of one; None where it can't be."""
    made = wide_rows(part.relation)
    if made is None or isinstance(part, KeySearch):
        return part
    if isinstance(part, Histogram) and part.extremes:
        return _extreme_with_end(part, made)
    if isinstance(part, Histogram):
        sums = {value.column.name for value in made.values if value.function == "sum"}
        return None if reads_columns(sums, part.x.expr) else part
    if not reads_columns(
        made.growing, *(scaled.expr for f in part.features for scaled in (f.x, f.y) if scaled is not None)
    ):
        return part
    end = chosen_end(made, part.features) if part.distinct is CountOf.ROWS and _is_settled(part.bound) else None
    if end is None:
        return None
    return replace(part, features=end.narrowed(part.features), end=end, bound=replace(part.bound, up_to=end.up_to))


def _extreme_with_end(part: Histogram, made: PerUnitRows) -> Histogram | None:
    """Return MIN or MAX of a number in which the end of its interval is chosen; None where it can't be."""
    if not reads_columns(made.growing, part.x.expr):
        return part
    end = chosen_end(made, [Feature(Shape.VALUE, x=part.x)]) if _is_settled(part.bound) else None
    if end is None:
        return None
    return replace(part, x=end.clamped(part.x), end=end, bound=replace(part.bound, up_to=end.up_to))


def _is_settled(bound: ContributionBound) -> bool:
    """Return whether all rows of a unit count, of which there are few enough anyway."""
    return bound.form is Form.UNIQUE or bound.rows == (bound.up_to or bound.rows)


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """The plan of one scope: its groups, its measurements, and how each aggregate is read off them."""

    groups: Groups
    parts: tuple[Measurement, ...]
    """Empty if nothing has to be measured. Where groups are not declared the first part selects them."""
    outputs: tuple[Output, ...]
    sets: tuple[Set, ...] | None = None
    """The grouping sets, where there are any but all keys: their rows are sums of the groups'."""
    count: StatisticOutput | None = None
    """Where the number of a group's rows is read off, if it is measured: it tells which groups may be empty."""
    hides_empty: bool = False
    """Whether groups that may be empty are left out."""
    counted_along: bool = False
    """Whether their rows are counted for that alone."""
    units: LeastUnits | None = None
    """The number of units that a group has to have, where the role's answers are about no fewer."""
    unanswered: tuple[str, ...] = ()
    """The columns that say whose a row is and of which something was to be computed: that is NULL."""
    unbounded: tuple[str, ...] = ()
    """The columns without bounds that were to be profiled beside others: what is computed of them is NULL, too."""
    added_up: AddedUp | None = None
    """How `groups` are made of those that the parts measure, if they are not the same."""
    quotients: tuple[tuple[int, int], ...] = ()
    """Outputs that are divided by others, by their places: how far off that is EXPLAIN says, too."""
    capped: tuple[tuple[str, int], ...] = ()
    """The units of whose own rows numbers decide, and the most that count of them, where that is not declared."""
    nowhere: tuple[Ref | str | None, ...] = ()
    """The columns that have no value, by what is declared of them, of which a condition would hold; None for one that the
    role does not see, or that is computed. Where each part of the condition has some: of which rows the role sees no more."""
    by_units: "MeasurementPlan | None" = None
    """The same where the groups are found by the number of their units, if they can be; which of the two is taken depends
    on what the statement pays."""

    def with_nulls(self, nulls: Sequence[tuple[str | None, str | None]]) -> "MeasurementPlan":
        """Return the plan with NULL in the places of what is of a unit's column, or of one that has no bounds."""
        measured, names = iter(self.outputs), [unit or other for unit, other in nulls]
        outputs = tuple(next(measured) if name is None else QuantileOutput(None, (), array=False) for name in names)
        by_units = None if self.by_units is None else self.by_units.with_nulls(nulls)
        units = tuple(dict.fromkeys(unit for unit, _ in nulls if unit is not None))
        unbounded = tuple(dict.fromkeys(other for _, other in nulls if other is not None and other not in units))
        return replace(self, outputs=outputs, unanswered=units, unbounded=unbounded, by_units=by_units)

    def told_by_last(self, least: int) -> "MeasurementPlan":
        """Return the plan whose last output says how many units a group has, of which it has to have some to be shown."""
        *outputs, counted = self.outputs
        if not isinstance(counted, (StatisticOutput, DistinctCountOutput)):
            raise InternalError
        by_units = None if self.by_units is None else self.by_units.told_by_last(least)
        return replace(self, outputs=tuple(outputs), units=LeastUnits(least, counted), by_units=by_units)

    def with_chosen_ends(self) -> "MeasurementPlan | None":
        """Return the plan of numbers in wide bounds in which their ends are chosen, where those matter.

        None where they have to be settled before: since keys are selected, or many, or buckets would be too wide.
        """
        parts = [_with_end(part) for part in self.parts]
        if self.finder is not None or self.by_units is not None or any(part is None for part in parts):
            return None
        made, keys = wide_rows(self.parts[0].relation) if parts else None, [key.grouped for key in self.groups.keys]
        if made is not None and len(self.groups.grouped) > _MOST_GROUPS and reads_columns(made.growing, *keys):
            return None
        return replace(self, parts=tuple(part for part in parts if part is not None))

    @property
    def finder(self) -> Sums | KeySearch | None:
        """Return the measurement that finds the groups, None if they are declared."""
        match self.parts:
            case (Sums() | KeySearch() as first, *_) if first.delta:
                return first
            case _:
                return None


def pay_parts(plan: MeasurementPlan, epsilon: Fraction) -> MeasurementPlan:
    """Return the plan whose every part pays `epsilon`.

    Raises:
        Unsupported: that is too little for a part to say anything.
    """
    # Here ε is known, and with it how far a mechanism reaches: what would say next to nothing is refused before it is
    # paid for.
    parts = tuple(
        part.paying(epsilon) if isinstance(part, Histogram) else replace(part, epsilon=epsilon) for part in plan.parts
    )
    for part in parts:
        if isinstance(part, Histogram):
            require_large_groups(part, part.relation.expected_rows)
    return replace(plan, parts=parts)


# The rule of partition selection, which groups are shown: fixed when a measurement is priced, before any data is read.
#
# Thresholds and chances take the longer to compute the less ε there is. Computed after the engine has answered, and only for
# groups that occur, their time and memory would tell whether some do.


@dataclass(frozen=True, slots=True)
class FromCount:
    """A group is shown from a noisy count on."""

    least: int
    """τ for the first coordinate, in lattice units."""


@dataclass(frozen=True, slots=True)
class ByUnits:
    """A group is shown with a chance that depends on how many units have it; nothing else of it is released."""

    chances: bytes = b""
    """As `partition_selection.chances` packs them."""


SelectionRule = FromCount | ByUnits | GaussianSelection


def selection_rule(measurement: Measurement) -> SelectionRule | None:
    """Return the rule by which a measurement selects its groups, None if it selects none.

    Keys alone are chosen by their chances where these are few enough to be tabulated; else, as with so little ε the two
    hardly differ, by a noisy count of units that is not released.
    """
    if isinstance(measurement, KeySearch):
        return measurement.selection()
    if isinstance(measurement, Histogram) or not measurement.delta:
        return None
    table = b""
    if measurement.distinct is CountOf.UNITS:
        table = chances(measurement.epsilon, measurement.delta, measurement.bound.rows)
    return ByUnits(table) if table else FromCount(least_count(measurement))


def least_count(measurement: Sums) -> int:
    """Return the threshold τ for the first coordinate, in lattice units.

    Raises:
        InternalError: that coordinate is not one of a single cube, whose law the threshold is made for.
    """
    # A threshold is made for the law of one coordinate of one cube. Of another design it could be too low, and show
    # keys of single units: so this is seen to, and not only believed.
    block, *others = measurement.blocks
    if others or block.norm is not Norm.LARGEST or measurement.features[0] != ONE:
        raise InternalError
    noise, rows = mechanism(measurement.mechanism), measurement.bound.rows
    return noise.threshold(measurement.scale, block, measurement.row_norm, rows, measurement.delta)


def units_needed(measurement: Sums | KeySearch, rule: SelectionRule) -> Fraction:
    """Return with how many units a group is as often shown as not, by public parameters alone.

    Each unit is taken to be in as many groups as it may, with one row in each.
    """
    match rule:
        case GaussianSelection():
            return rule.units
        case ByUnits(chances=table):
            return Fraction(units_for_even_chance(table))
        case FromCount(least=least) if isinstance(measurement, Sums):
            return Fraction(least, measurement.steps_per_row)
        case _:
            raise InternalError


# By which of two ways the keys of a statement are found: the one that is predicted to show a group with fewer units.


def choose_plans(plans: Sequence[MeasurementPlan], epsilon: Fraction, least: Fraction) -> Sequence[MeasurementPlan]:
    """Return the plans in the ways that find most at the statement's ε, where each part pays at least `least`.

    Depends on ε, δ and the bounds only: on nothing that was measured.
    """
    best = [_better(plan, epsilon) for plan in plans]
    return best if equal_share(epsilon, sum(map(_parts, best))) >= least else plans


def _parts(plan: MeasurementPlan) -> int:
    """Return in how many parts a plan's ε is divided at most: choosing a C pays one, and others several."""
    choosing = sum(part.bound.up_to is not None for part in plan.parts)
    return len(plan.parts) * SHARE + choosing if choosing else len(plan.parts)


def _better(plan: MeasurementPlan, epsilon: Fraction) -> MeasurementPlan:
    by_units = plan.by_units
    if by_units is None:
        return plan
    return min((plan, by_units), key=lambda each: _units_needed(each, epsilon))


def _units_needed(plan: MeasurementPlan, epsilon: Fraction) -> Fraction:
    """Return with how many units a group is shown, were the plan the whole statement."""
    if plan.finder is None:
        return Fraction(0)
    finder = replace(plan.finder, epsilon=equal_share(epsilon, len(plan.parts)))
    rule = selection_rule(finder)
    return Fraction(0) if rule is None else units_needed(finder, rule)
