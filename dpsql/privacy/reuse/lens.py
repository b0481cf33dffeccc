"""How one measurement is read off the release of another: which of its groups, and which of its sums, each number is made of.

Released: count(*), avg(fare) by day and payment_type. Read off it: both by day, by week, without a key, by payment_type in
March; count(*) FILTER (WHERE payment_type = 'cash'); sum(fare).

Claim: where all rows were measured without noise, and no C took anything off, a number that is read would be the one that its
own measurement gives. Post-processing (Dwork and Roth 2014, proposition 2.1): nothing is read but what was released to the
role.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpsql.privacy.features.blocks import Combination
from dpsql.privacy.features.feature import Feature, Scaled
from dpsql.privacy.features.variance import coordinate_variances, spread
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.reuse.lines import GroupLines, Lines
from dpsql.privacy.reuse.terms import SumTerms, Term
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.told.same_rows import AmongRows, ReadRows, among_rows
from dpsql.rewrite.ir.expr import Expr


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
            self._by_feature[feature] = float(spread({feature: 1}, self.read, self.variances))
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

    def only(self, needed: Sequence[Feature]) -> "Lens":
        """Return the lens on some sums."""
        return replace(self, terms={feature: self.terms[feature] for feature in needed})

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
    wanted: Sums | Histogram, needed: Sequence[Feature], told: Sums | Histogram, declared: Declared
) -> Lens | None:
    """Return how `wanted` is read off the release of `told`; None where that does not say it, or is not known to.

    `needed` are the sums that outputs are read off.
    """
    if not _is_alike(wanted, told):
        return None
    among = among_rows(_rows(wanted), _rows(told), declared.rows)
    if among is None or _renamed_unit(among, wanted) != told.bound.unit:
        return None
    groups = GroupLines.of(among, wanted, told, declared)
    if groups is None:
        return None
    if isinstance(wanted, Sums) and isinstance(told, Sums) and wanted.distinct is CountOf.ROWS:
        return _of_sums(groups, wanted, needed, told)
    return _as_it_is(groups, wanted, told)


def _is_alike(wanted: Sums | Histogram, told: Sums | Histogram) -> bool:
    """Return whether two measurements are of one kind, and their units are kept to one bound in one way."""
    if not _takes_off_nothing(told) and replace(wanted.bound, unit=told.bound.unit) != told.bound:
        return False
    match wanted, told:
        case Sums(), Sums():
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
        return ReadRows(measurement.relation, measurement.where, [*keys, measurement.x.expr])
    features = [e for f in measurement.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s))]
    return ReadRows(
        measurement.relation, measurement.where, [*keys, *measurement.values, *features, *measurement.block_conditions]
    )


def _renamed_unit(among: AmongRows, wanted: Sums | Histogram) -> Expr:
    return among.renamed(wanted.bound.unit)


def _as_it_is(groups: GroupLines, wanted: Sums | Histogram, told: Sums | Histogram) -> Lens | None:
    """Return the lens where each group that is wanted is one that was measured: what can't be added up."""
    of_rows = groups.of_rows(groups.conditions())
    if of_rows is None or of_rows[1] or any(len(line) > 1 for line in of_rows[0]):
        return None
    if isinstance(wanted, Histogram) or isinstance(told, Histogram):
        alike = isinstance(wanted, Histogram) and isinstance(told, Histogram) and _is_same(groups, wanted.x, told.x)
        return Lens((of_rows[0],), {}) if alike and all(of_rows[0]) else None
    values = tuple(map(groups.among.renamed, wanted.values))
    features = {f: _renamed(groups, f) for f in wanted.readable}
    if values != told.values or not set(features.values()) <= told.readable.keys():
        return None
    return Lens((of_rows[0],), {f: (Term(Fraction(1), 0, of),) for f, of in features.items()})


def _of_sums(groups: GroupLines, wanted: Sums, needed: Sequence[Feature], told: Sums) -> Lens | None:
    """Return the lens for what can be added up."""
    terms = SumTerms(groups, wanted, told, {}, [])
    by_feature: dict[Feature, tuple[Term, ...]] = {}
    for feature in dict.fromkeys((*needed, *wanted.readable)):
        made = terms.of(feature)
        if made is not None:
            by_feature[feature] = made
        elif feature in needed:
            return None
    return Lens(tuple(terms.lines), by_feature)


def _renamed(groups: GroupLines, feature: Feature) -> Feature:
    renamed = groups.among.renamed
    x, y = (None if s is None else replace(s, expr=renamed(s.expr)) for s in (feature.x, feature.y))
    return Feature(feature.shape, renamed(feature.where), x, y, feature.block)


def _is_same(groups: GroupLines, wanted: Scaled, told: Scaled) -> bool:
    return replace(wanted, expr=groups.among.renamed(wanted.expr)) == told
