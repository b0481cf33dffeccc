"""The plan of one scope as values: its groups, its measurements, and how each output is read off them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.frozen import quickly_made
from dpsql.policy.model import Value
from dpsql.privacy.features.chosen_end import chosen_end, reads_columns, wide_rows
from dpsql.privacy.features.feature import Feature, Shape
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.contribution import Bound, Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.limits import check_extremes
from dpsql.privacy.measurement.possible import Possible
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.ir.relation import Relation, UnitRows
from dpsql.rewrite.syntax.named.grouping import Set
from dpsql.rewrite.translate.rows.aggregates import VoteName
from dpsql.rewrite.translate.rows.computed import Formula, Total

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
class Run:
    """Measured groups with neighbouring places, each of which counts so often."""

    places: range
    factor: int


@dataclass(frozen=True, slots=True)
class AddedUp:
    """How the groups that are shown are made of those that are measured."""

    lines: tuple[tuple[Run, ...], ...]
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


def _extreme_with_end(part: Histogram, made: UnitRows) -> Histogram | None:
    """Return MIN or MAX of a number in which the end of its interval is chosen; None where it can't be."""
    if not reads_columns(made.growing, part.x.expr):
        return part
    end = chosen_end(made, [Feature(Shape.VALUE, x=part.x)]) if _is_settled(part.bound) else None
    if end is None:
        return None
    return replace(part, x=end.clamped(part.x), end=end, bound=replace(part.bound, up_to=end.up_to))


def _is_settled(bound: Bound) -> bool:
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


def priced(plan: MeasurementPlan, epsilon: Fraction) -> MeasurementPlan:
    """Return the plan whose every part pays `epsilon`.

    Raises:
        Unsupported: that is too little for a part to say anything.
    """
    parts = tuple(
        part.paying(epsilon) if isinstance(part, Histogram) else replace(part, epsilon=epsilon) for part in plan.parts
    )
    for part in parts:
        if isinstance(part, Histogram):
            check_extremes(part, part.relation.expected_rows)
    return replace(plan, parts=parts)
