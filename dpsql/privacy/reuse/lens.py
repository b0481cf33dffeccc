"""How one measurement is read off the release of another: which of its groups, and which of its sums, each number is made of.

Released: count(*), avg(fare) by day and payment_type. Read off it: both by day, by week, without a key, by payment_type in
March; count(*) FILTER (WHERE payment_type = 'cash'); sum(fare).

The sum of SIGN(c) = 2·1[c] − 1 is 2·N(c) − N. With x = m + h·u, Σ u = (Σ x − m·N)/h for any other m and h of the same values.

Claim: where all rows were measured without noise, and no C took anything off, a number that is read would be the one that its
own measurement gives: both leave out the same rows (`among_rows`). Post-processing (Dwork and Roth 2014, proposition 2.1):
nothing is read but what was released to the role.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.privacy.features.feature import ONE, Combination, Feature, ScaledExpr, Shape
from dpsql.privacy.features.known_statistics import coordinate_variances, sum_variance
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    ComputedMarginOutput,
    DistinctCountOutput,
    DistinctMarginOutput,
    MeasurementPlan,
    StatisticOutput,
    VoteOutput,
)
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.exclusion import exclusion
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.analysis.same_rows import AmongRows, EnforcedColumns, GroupCells, ReadRows, among_rows
from dpsql.rewrite.functions.function import Cell
from dpsql.rewrite.functions.logical import normal_form, number_of, only_branch
from dpsql.rewrite.ir.expr import TRUE, Expr, both, refs
from dpsql.rewrite.ir.relation import Join

Lines = tuple[tuple[int, ...], ...]
"""For each group that is wanted, the places of released ones that it is made of."""
Conditions = frozenset[Expr]
_ZERO = Interval.of(0, 0)


@dataclass(frozen=True, slots=True)
class Term:
    """Some times a sum that can be read of the release, over those of its groups that are in `lines`."""

    factor: Fraction
    lines: int
    feature: Feature


@dataclass(frozen=True, slots=True)
class _GroupLines:
    """The facts about how a measurement's rows are among another's."""

    among: AmongRows
    cells: GroupCells
    places: Sequence[int | None]
    """For each released group, which wanted one its rows are in; None for none."""
    number: int
    """The wanted groups."""

    @classmethod
    def of(
        cls, among: AmongRows, wanted: Sums | Histogram, told: Sums | Histogram, declared: DeclaredFacts
    ) -> "_GroupLines | None":
        """Build from how rows are among others; None where groups do not tell in which wanted ones their rows are."""
        keys = tuple(key.expr for key in told.groups.keys)
        env = refine_by_predicate(refs(*keys), both(*among.told), declared)
        if env is None or len(told.groups.shown) != len(told.groups.grouped):
            return None
        cells = GroupCells(keys, told.groups.shown, env, declared, among.lookups)
        columns = []
        for key in wanted.groups.keys:
            values = cells.of(among.renamed(key.expr))
            if values is None:
                return None
            columns.append(values)
        place = _places(wanted.groups.shown)
        if place is None:
            return None
        # For each released group the keys that its rows have in the wanted question: (2024-03-05, cash) by week is
        # (2024-03-04). Without wanted keys all lie in the one group ().
        shown = zip(*columns, strict=True) if columns else [()] * len(told.groups.shown)
        return cls(among, cells, [place.get(key) for key in shown], len(wanted.groups.shown))

    def conditions(self, *more: Expr) -> Conditions:
        """Return what holds of wanted rows, and more, and is not said by the release's own rows."""
        renamed = normal_form(*map(self.among.renamed, more))
        return (self.among.every | renamed) - self.among.told

    def of_rows(self, conditions: Conditions) -> tuple[Lines, Conditions] | None:
        """Return the groups in whose rows conditions hold, by wanted group, and the conditions that groups do not decide."""
        kept, left = [True] * len(self.places), set[Expr]()
        # A join that only the wanted question has leaves out rows without a partner. Whether a released group's rows
        # have one has to be the same for all of them, or nothing can be read off its numbers.
        items = [lookup for lookup in self.among.lookups if lookup.adds and lookup.join is not Join.LEFT]
        for item in items:
            values = self.cells.of(item)
            if values is None:
                return None
            kept = [k and v is True for k, v in zip(kept, values, strict=True)]
        for condition in conditions:
            values = self.cells.of(condition)
            if values is None:
                # The groups do not decide it. A sum over the rows for which it holds may have been released, and is
                # looked for later.
                left.add(condition)
            else:
                kept = [k and v is True for k, v in zip(kept, values, strict=True)]
        lines: list[list[int]] = [[] for _ in range(self.number)]
        for place, (group, keep) in enumerate(zip(self.places, kept, strict=True)):
            if keep and group is not None:
                lines[group].append(place)
        return tuple(map(tuple, lines)), frozenset(left)


def _places(groups: Sequence[tuple[Cell, ...]]) -> Mapping[tuple[Cell, ...], int] | None:
    """Return the place of each group by its keys; None where two look the same."""
    place_of = {group: place for place, group in enumerate(groups)}
    return place_of if len(place_of) == len(groups) else None


@dataclass(frozen=True, slots=True)
class _SumTerms:
    """The terms that sums are made of."""

    groups: _GroupLines
    wanted: Sums
    told: Sums
    entries: dict[Conditions, tuple[int, Conditions] | None]
    lines: list[Lines]

    def of(self, feature: Feature) -> tuple[Term, ...] | None:
        """Return what a wanted sum is made of."""
        conditions = self.wanted.block_conditions
        if feature.block is not None and feature.block >= len(conditions):
            return None  # what is in no block that has a condition
        block = TRUE if feature.block is None else conditions[feature.block]
        return _sum_of(self._made(feature, block, self.groups.conditions(block, feature.where)))

    def _made(self, feature: Feature, block: Expr, where: Conditions) -> Iterator[tuple[Term, ...] | None]:
        renamed = {s: replace(s, expr=self.groups.among.renamed(s.expr)) for s in (feature.x, feature.y) if s}
        match feature.shape:
            case Shape.ONE:
                yield self.counted(where)
            case Shape.SIGN:
                yield _times(self.counted(where), 2)
                yield _times(self.counted(self.groups.conditions(block)), -1)
            case Shape.VALUE | Shape.SIGNED:
                assert feature.x is not None
                yield from self._valued(feature.shape, renamed[feature.x], where)
            case _:
                x, y = (None if s is None else renamed[s] for s in (feature.x, feature.y))
                yield self._measured(Feature(feature.shape, x=x, y=y), where)

    def counted(self, where: Conditions) -> tuple[Term, ...] | None:
        """Return the number of rows for which conditions hold."""
        placed = self._at(where)
        if placed is None:
            return None
        lines, left, block = placed
        if not left:
            count_feature = Feature(Shape.ONE, block=block)
            return (Term(Fraction(1), lines, count_feature),) if count_feature in self._readable else None
        # Σ SIGN is 2·N(c) − N, so that N(c) is half of both together.
        half = Fraction(1, 2)
        sign, count_feature = self._feature(Shape.SIGN, left, block), Feature(Shape.ONE, block=block)
        if sign is None or count_feature not in self._readable:
            return None
        return (Term(half, lines, sign), Term(half, lines, count_feature))

    def _valued(self, shape: Shape, x: ScaledExpr, where: Conditions) -> Iterator[tuple[Term, ...] | None]:
        """Yield the terms of a sum of values, from 0 or from the middle, by one of the same values in either form."""
        branch = only_branch(x.expr) if shape is Shape.SIGNED else None
        if (
            branch is not None and number_of(branch[2]) == 0
        ):  # a sum over some rows, as one over all with 0 for the others
            where, x = where | normal_form(branch[0]) - self.groups.among.told, replace(x, expr=branch[1])
        placed = self._at(where)
        if placed is None:
            yield None
            return
        lines, left, block = placed
        # A sum from 0 may have been taken with weights of its own, no smaller than those of the count. A value from the
        # middle is made of both, m·N + h·U, and would be off where heavy units' rows weigh differently in them.
        signed = shape is Shape.SIGNED or self.told.bound.weighs_alike
        for other in (Shape.SIGNED, Shape.VALUE) if signed else (Shape.VALUE,):
            same = self._scaled_alike(x, left, block, other)
            if same is None or same.x is None:
                continue
            (low, width), (of_low, of_width) = _line(shape, x), _line(other, same.x)
            if not width:
                break  # all values are one
            # x = of_low + of_width·v = low + width·u
            yield (Term(of_width / width, lines, same),)
            if of_low != low:
                yield _times(self.counted(where), (of_low - low) / width)
            return
        yield None

    def _scaled_alike(self, x: ScaledExpr, left: Conditions, block: int | None, shape: Shape) -> Feature | None:
        """Return a released sum of the same values, within bounds that are no narrower."""
        for feature in self._readable:
            alike = feature.shape is shape and feature.block == block and normal_form(feature.where) == left
            if alike and feature.x is not None and feature.x.expr == x.expr:
                # Narrower released bounds have clamped values that the wanted sum has in full.
                within = feature.x.interval.hull(_ZERO) if shape is Shape.SIGNED else feature.x.interval
                return feature if within.low <= x.interval.low and x.interval.high <= within.high else None
        return None

    def _measured(self, feature: Feature, where: Conditions) -> tuple[Term, ...] | None:
        """Return a sum that is released unchanged."""
        placed = self._at(where)
        if placed is None:
            return None
        lines, left, block = placed
        same = self._feature(feature.shape, left, block, feature.x, feature.y)
        return None if same is None else (Term(Fraction(1), lines, same),)

    def _feature(
        self,
        shape: Shape,
        left: Conditions,
        block: int | None,
        x: ScaledExpr | None = None,
        y: ScaledExpr | None = None,
    ) -> Feature | None:
        for feature in self._readable:
            alike = feature.shape is shape and feature.block == block and (feature.x, feature.y) == (x, y)
            if alike and normal_form(feature.where) == left:
                return feature
        return None

    def _at(self, where: Conditions) -> tuple[int, Conditions, int | None] | None:
        """Return the lines where conditions hold, what of these is left to sums, and the block that says some of that."""
        if where not in self.entries:
            of_rows = self.groups.of_rows(where)
            if of_rows is not None:
                self.lines.append(of_rows[0])
            self.entries[where] = None if of_rows is None else (len(self.lines) - 1, of_rows[1])
        entry = self.entries[where]
        if entry is None:
            return None
        lines, left = entry
        for block, condition in enumerate(self.told.block_conditions):
            said = normal_form(condition)
            # A block has sums of its own rows. So its condition is said by reading these, and is not asked for a second
            # time.
            if said <= left:
                return lines, left - said, block
        return lines, left, None

    @property
    def _readable(self) -> Iterator[Feature]:
        """Yield the sums that can be read of the release; of blocks together only where each row is in one."""
        every = self._blocks_hold_all()
        return (feature for feature in self.told.readable if every or feature.block is not None)

    def _blocks_hold_all(self) -> bool:
        conditions = self.told.block_conditions
        if not conditions or any(feature.block == len(conditions) for feature in self.told.features):
            return True
        env = self.groups.cells.declared.env(refs(*conditions))
        excluded = exclusion(conditions, lambda expr: facts(expr, env))
        return excluded is not None and excluded.exhaustive


def _line(shape: Shape, x: ScaledExpr) -> tuple[Fraction, Fraction]:
    """Return m and h with x = m + h·u, where u is what is summed."""
    if shape is Shape.SIGNED:
        return Fraction(0), x.interval.magnitude
    return x.interval.middle, x.interval.half


def _times(terms: tuple[Term, ...] | None, factor: Fraction | int) -> tuple[Term, ...] | None:
    return None if terms is None else tuple(replace(term, factor=term.factor * factor) for term in terms)


def _sum_of(parts: Iterator[tuple[Term, ...] | None]) -> tuple[Term, ...] | None:
    """Return terms added up; None where one is missing."""
    factors: dict[tuple[int, Feature], Fraction] = {}
    for part in parts:
        if part is None:
            return None
        for term in part:
            place = term.lines, term.feature
            factors[place] = factors.get(place, Fraction(0)) + term.factor
    return tuple(Term(factor, lines, feature) for (lines, feature), factor in factors.items() if factor)


@dataclass(frozen=True, slots=True)
class ToldNoise:
    """The noise of one release: all who read it ask for the same, so that it is kept beside it."""

    unit: float
    """The variance with t = 1 and one whole row; of a histogram, that of all that is read off it."""
    of_histogram: bool = False
    read: Mapping[Feature, Combination] = field(default_factory=dict)
    variances: Sequence[Fraction] = ()
    _by_feature: dict[Feature, float] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, told: Sums | Histogram) -> "ToldNoise":
        """Return the noise of a release."""
        if isinstance(told, Histogram):
            return cls(float(1 / told.epsilon**2), of_histogram=True)
        variances = coordinate_variances(told.features, told.mechanism)
        return cls((told.scale / told.steps_per_row) ** 2, False, told.readable, variances)

    def variance(self, feature: Feature) -> float:
        """Return the variance of a feature's sum in a group, in units of `unit`."""
        if feature not in self._by_feature:
            self._by_feature[feature] = float(sum_variance({feature: 1}, self.read, self.variances))
        return self._by_feature[feature]


@dataclass(frozen=True, slots=True)
class Lens:
    """See the module."""

    lines: tuple[Lines, ...]
    terms: Mapping[Feature, tuple[Term, ...]]
    """The terms of the wanted sums; order statistics and distinct counts have none, and one of `lines`."""

    most: tuple[int, ...] = field(init=False, compare=False)
    """Of each of `lines`, how many groups one that is wanted is made of at most."""

    def __post_init__(self) -> None:
        """Count: it is asked of all lenses for each statement."""
        object.__setattr__(self, "most", tuple(max(map(len, lines), default=0) for lines in self.lines))

    @property
    def is_direct(self) -> bool:
        """Return whether each number is a released one, unchanged, or computed of one group's."""
        return max(self.most, default=0) <= 1

    def noise(self, told: ToldNoise, needed: Sequence[Feature]) -> float:
        """Return the variance of what is read in the largest group, relative to others of the same wanted measurement."""
        if told.of_histogram:
            return told.unit
        return told.unit * sum(
            float(term.factor) ** 2 * told.variance(term.feature) * self.most[term.lines]
            for feature in needed
            for term in self.terms.get(feature, ())
        )


def lens(
    wanted: Sums | Histogram,
    needed: Sequence[Feature],
    told: Sums | Histogram,
    declared: DeclaredFacts,
    enforced: EnforcedColumns,
) -> Lens | None:
    """Return how `wanted` is read off the release of `told`; None where that does not say it, or is not known to.

    `needed` are the sums that outputs are read off; `enforced` returns the columns that a table's engine keeps as declared.
    """
    if not _is_alike(wanted, told):
        return None
    among = among_rows(_rows(wanted), _rows(told), declared.rows, enforced)
    # The same rows may belong to two kinds of units. Noise that covers a passenger's rows does not cover a driver's.
    if among is None or _renamed_unit(among, wanted) != told.bound.unit:
        return None
    groups = _GroupLines.of(among, wanted, told, declared)
    if groups is None:
        return None
    if isinstance(wanted, Sums) and isinstance(told, Sums) and wanted.distinct is CountOf.ROWS:
        return _of_sums(groups, wanted, needed, told)
    return _as_it_is(groups, wanted, told)


def _is_alike(wanted: Sums | Histogram, told: Sums | Histogram) -> bool:
    """Return whether two measurements are of one kind, and their units are kept to one bound in one way."""
    bound = replace(wanted.bound, unit=told.bound.unit)
    if bound.form is Form.REWEIGHT and told.bound.form is Form.EUCLIDEAN:
        bound = replace(bound, form=told.bound.form)  # of which rows weigh no less: more of them are told
    if not _takes_off_nothing(told) and bound != told.bound:
        return False
    match wanted, told:
        case Sums(), Sums():
            # Where keys were found, those that few have are missing from the release, and any total of it would lack
            # them.
            return wanted.distinct is told.distinct and not wanted.delta and not told.delta
        case Histogram(), Histogram():
            alike = (wanted.points, wanted.extremes) == (told.points, told.extremes)
            return alike and (told.margin or not wanted.margin)
        case _:
            return False


def _takes_off_nothing(told: Sums | Histogram) -> bool:
    """Return whether each unit counts in all groups that there are: then its bound is that, however many are wanted."""
    units = isinstance(told, Sums) and told.distinct is CountOf.UNITS
    return units and told.bound.rows >= max(len(told.groups.grouped), 1)


def _rows(measurement: Sums | Histogram) -> ReadRows:
    """Return the rows of a measurement, with all that is read of them."""
    keys = [key.expr for key in measurement.groups.keys]
    if isinstance(measurement, Histogram):
        return ReadRows(measurement.relation, measurement.where, [*keys, measurement.x.expr], measurement.bound.unit)
    features = [e for f in measurement.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s))]
    read = [*keys, *measurement.values, *features, *measurement.block_conditions]
    return ReadRows(measurement.relation, measurement.where, read, measurement.bound.unit)


def _renamed_unit(among: AmongRows, wanted: Sums | Histogram) -> Expr:
    return among.renamed(wanted.bound.unit)


def _as_it_is(groups: _GroupLines, wanted: Sums | Histogram, told: Sums | Histogram) -> Lens | None:
    """Return the lens where each group that is wanted is one that was measured: what can't be added up."""
    of_rows = groups.of_rows(groups.conditions())
    if of_rows is None or of_rows[1] or any(len(line) > 1 for line in of_rows[0]):
        return None
    if isinstance(wanted, Histogram) or isinstance(told, Histogram):
        alike = isinstance(wanted, Histogram) and isinstance(told, Histogram) and _is_same(groups, wanted.x, told.x)
        # A sum over none of the released groups is 0. A bucket that was chosen for none of them does not exist.
        return Lens((of_rows[0],), {}) if alike and all(of_rows[0]) else None
    values = tuple(map(groups.among.renamed, wanted.values))
    features = {f: _renamed(groups, f) for f in wanted.readable}
    if values != told.values or not set(features.values()) <= told.readable.keys():
        return None
    return Lens((of_rows[0],), {f: (Term(Fraction(1), 0, of),) for f, of in features.items()})


def _of_sums(groups: _GroupLines, wanted: Sums, needed: Sequence[Feature], told: Sums) -> Lens | None:
    """Return the lens for what can be added up."""
    terms = _SumTerms(groups, wanted, told, {}, [])
    by_feature: dict[Feature, tuple[Term, ...]] = {}
    for feature in dict.fromkeys((*needed, *wanted.readable)):
        made = terms.of(feature)
        if made is not None:
            by_feature[feature] = made
        elif feature in needed:
            return None
    return Lens(tuple(terms.lines), by_feature)


def _renamed(groups: _GroupLines, feature: Feature) -> Feature:
    renamed = groups.among.renamed
    x, y = (None if s is None else replace(s, expr=renamed(s.expr)) for s in (feature.x, feature.y))
    return Feature(feature.shape, renamed(feature.where), x, y, feature.block)


def _is_same(groups: _GroupLines, wanted: ScaledExpr, told: ScaledExpr) -> bool:
    return replace(wanted, expr=groups.among.renamed(wanted.expr)) == told


def needed_sums(plan: MeasurementPlan, place: int) -> tuple[Feature, ...]:
    """Return the sums that outputs read of one part, and those that tell which groups may be empty."""
    return tuple(dict.fromkeys(_needed(plan, place)))


def _needed(plan: MeasurementPlan, place: int) -> Iterator[Feature]:
    for output in (*plan.outputs, *([] if plan.count is None else [plan.count])):
        match output:
            case StatisticOutput(part=part, readout=readout) if part == place:
                yield from readout.features
            case VoteOutput(part=part, readouts=readouts) | ComputedMarginOutput(part=part, readouts=readouts) if (
                part == place
            ):
                for each in readouts:
                    yield from each.features
            case DistinctCountOutput(part=part) | DistinctMarginOutput(part=part) if part == place:
                yield ONE
            case _:
                pass
