"""Add noise to exact measurements: the only way from what the engine returned to what may be shown."""

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from math import log, sqrt
from operator import add
from typing import Any

from dpsql.errors import InternalError
from dpsql.privacy.accuracy.margin import Margins, largest_share
from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.beyond_bounds import ONE_UNIT, BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import (
    ByUnits,
    FromCount,
    KeySearch,
    Measured,
    Measurement,
    Searched,
    SelectionRule,
    as_chosen,
)
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms import extreme, partition_selection, quantile
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.quantile import quantile_and_width
from dpsql.privacy.release.exact import (
    EngineRow,
    ExactBuckets,
    ExactCells,
    ExactSums,
    KeyRow,
    exact_buckets,
    exact_cells,
    exact_sums,
    exact_units,
)
from dpsql.privacy.release.noisy_ladder import NoisyLadder
from dpsql.rewrite.ir.relation import reads_all


@dataclass(frozen=True, slots=True)
class Release:
    """Whole numbers for every group, in the groups' order: free to be shown to the role that paid."""

    numbers: Sequence[Sequence[int]]
    """Noisy coordinates, or the buckets that were chosen."""
    keys: Sequence[KeyRow] | None = None
    """The groups, where the policy does not declare them."""
    chosen: ChosenBound | None = None
    """C, where it was chosen by what was released before."""
    _written: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)
    """The form that is stored, once it was made or read: a ledger compares releases by that."""

    def to_bytes(self) -> bytes:
        """Return the form that is stored, which is made once."""
        if not self._written:
            # A fraction is written as a text, since JSON's numbers come back as doubles: 1/3 would be another key.
            keys = None if self.keys is None else [[_stored(cell) for cell in key] for key in self.keys]
            chosen = [] if self.chosen is None else [*astuple(self.chosen)]
            text = json.dumps([[list(row) for row in self.numbers], keys, *chosen])
            self._written.append(zlib.compress(text.encode()))
        return self._written[0]

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Release":
        """Return what `to_bytes` stored."""
        numbers, keys, *chosen = json.loads(zlib.decompress(stored))
        read = None if keys is None else [tuple(_read(cell) for cell in key) for key in keys]
        release = cls(numbers, read, ChosenBound(*chosen) if chosen else None)
        # These very bytes: another version of zlib may write the same numbers otherwise, and two would look like two
        # releases.
        release._written.append(stored)
        return release


def _stored(cell: Any) -> Any:
    return {"f": str(cell)} if isinstance(cell, Fraction) else cell


def _read(cell: Any) -> Any:
    return Fraction(cell["f"]) if isinstance(cell, dict) else cell


def release_sums(measurement: Sums, exact: ExactSums, entropy: Entropy, rule: SelectionRule | None = None) -> Release:
    """Return the coordinates with the measurement's noise; of undeclared groups only those that the rule shows.

    A threshold is compared with the very count that is shown (its first coordinate), under that count's own marginal law
    (Korolova et al. 2009; Wilson et al. 2020).
    """
    if isinstance(rule, ByUnits) and exact.keys is not None:
        return _chosen(measurement, exact.keys, exact.coordinates, entropy, rule)
    noise = _noise(measurement, len(exact.coordinates), len(measurement.features), entropy)
    noisy = [
        [x + z for x, z in zip(row, drawn, strict=True)] for row, drawn in zip(exact.coordinates, noise, strict=True)
    ]
    if exact.keys is None:
        return Release(noisy)
    if not isinstance(rule, FromCount):
        raise InternalError
    # Noise is drawn for every group that the engine found, and then compared. To leave small groups out before would
    # make how much is drawn, and when, depend on exact counts.
    kept = [i for i, row in enumerate(noisy) if row[0] >= rule.least]
    counted = measurement.distinct is not CountOf.UNITS  # else keys alone are released
    return Release([noisy[i] if counted else [0] for i in kept], [exact.keys[i] for i in kept])


def _chosen(
    measurement: Sums, keys: Sequence[KeyRow], coordinates: Sequence[Sequence[int]], entropy: Entropy, rule: ByUnits
) -> Release:
    """Return which keys are shown where nothing else is: chosen by how many units have them, no number is released."""
    kept = partition_selection.select_keys(
        entropy, [row[0] // measurement.row_norm for row in coordinates], rule.chances
    )
    chosen = [key for key, keep in zip(keys, kept, strict=True) if keep]
    return Release([[0] for _ in chosen], chosen)


def release_keys(exact: ExactSums, entropy: Entropy, rule: SelectionRule | None) -> Release:
    """Return the keys that their units' number, with its noise, shows; no number is released."""
    if exact.keys is None or not isinstance(rule, GaussianSelection):
        raise InternalError
    # The keys are in an order of their own by now (`exact._candidates`): which key gets which draw tells nothing of the
    # rows.
    kept = rule.shown(entropy, [row[0] for row in exact.coordinates])
    chosen = [key for key, keep in zip(exact.keys, kept, strict=True) if keep]
    return Release([[0] for _ in chosen], chosen)


def release_cells(search: Searched, exact: ExactCells, entropy: Entropy) -> Release:
    """Return the cells, each with noise of its own."""
    noise = discrete_laplace(entropy, search.scale, len(exact.cells))
    return Release([list(map(add, exact.cells, noise))])


def _noise(measurement: Sums, groups: int, d: int, entropy: Entropy) -> Sequence[Sequence[int]]:
    """Return `d` numbers for each group: each block's are drawn together, and without the others'."""
    # A row is in one block alone, so that each block may have noise for the whole ε: parallel composition within a
    # row's group.
    noise, law = [[0] * d for _ in range(groups)], mechanism(measurement.mechanism)
    for block in measurement.blocks:
        for row, drawn in zip(noise, law.sample(entropy, measurement.scale, block, groups), strict=True):
            for place, z in zip(block.places, drawn, strict=True):
                row[place] = z
    return noise


def release_buckets(
    measurement: Histogram, exact: ExactBuckets, entropy: Entropy, missing_rows: float = 0.0
) -> Release:
    """Return for every group the bucket that was chosen for each point, in the points' order, or one and its width.

    `missing_rows` is how many rows of a group the C may take off.
    """
    histogram, epsilon, mass = exact.histogram, measurement.epsilon, measurement.bound.mass
    if not len(histogram):
        return Release([])
    if measurement.extremes:
        choose = extreme.maximum if measurement.points[0] else extreme.minimum
        most = extreme.NO_END if measurement.told_apart is None else measurement.told_apart
        return Release([[int(bucket)] for bucket in choose(entropy, histogram, epsilon, mass, most)])
    if measurement.noisy:
        return Release(_from_noisy(measurement, exact, entropy))
    if measurement.margin:
        (q,) = measurement.points
        missing = math.ceil(missing_rows * measurement.bound.weight)
        bucket, width = quantile_and_width(entropy, histogram, q, epsilon, mass, missing)
        return Release([[int(b), int(w)] for b, w in zip(bucket, width, strict=True)])
    # Each point is a choice of its own over the same rows, so that their ε add up.
    share = epsilon / len(measurement.points)
    chosen = [quantile.quantile(entropy, histogram, q, share, mass).tolist() for q in measurement.points]
    return Release([sorted_by(measurement.points, row, measurement.number) for row in zip(*chosen, strict=True)])


def _from_noisy(measurement: Histogram, exact: ExactBuckets, entropy: Entropy) -> list[list[int]]:
    """Read every point off one histogram with noise in each bucket.

    Counts below 0 stay as they are: cutting them off would add rows everywhere, and draw all points to the middle.
    """
    groups, k = exact.histogram.shape
    noise = discrete_laplace(entropy, measurement.scale, groups * k)
    enough = measurement.enough(measurement.bound.mass)
    rows = []
    for group, counts in enumerate(exact.histogram.tolist()):
        through = list(accumulate(map(add, counts, noise[group * k : (group + 1) * k])))
        rows.append([_at(through, q, enough) if through[-1] >= enough else k for q in measurement.points])
    return rows


def _at(through: Sequence[int], q: Fraction, enough: int) -> int:
    """Return the first bucket up to which a share q of the rows lies, and any row.

    An outer point lies at least so far inside as noise alone may add up to.
    """
    rows = through[-1]
    wanted, inside = math.ceil(q * rows), min(enough, rows // 2)
    if q <= quantile.OUTER:
        wanted = max(wanted, inside)
    elif 1 - q <= quantile.OUTER:
        wanted = min(wanted, rows - inside)
    wanted = max(wanted, 1)
    return next(index for index, rows in enumerate(through) if rows >= wanted)


def sorted_by(points: Sequence[Fraction], chosen: Sequence[int], number: int) -> list[int]:
    """Return the chosen buckets rearranged so that a higher point never has a lower bucket: post-processing.

    A point that has none of the `number` buckets has none afterwards.
    """
    ranks = sorted((i for i, bucket in enumerate(chosen) if bucket < number), key=points.__getitem__)
    ordered = dict(zip(ranks, sorted(chosen[i] for i in ranks), strict=True))
    return [ordered.get(i, bucket) for i, bucket in enumerate(chosen)]


def estimates(measurement: Sums) -> Callable[[Sequence[int]], Mapping[Feature, float]]:
    """Return the function from one group's noisy numbers to all features that can be read, in rows.

    A row adds at most 1 to each.
    """
    whole, read = measurement.steps_per_row, measurement.readable
    return lambda noisy: {f: float(sum(n * noisy[i] for i, n in made.items()) / whole) for f, made in read.items()}


# From the engine's rows to a release, for each kind of measurement.


def release_of(part: PricedMeasurement, rows: Sequence[EngineRow], finder: Release | None, entropy: Entropy) -> Release:
    """Return what may be shown of the engine's rows; they end here."""
    measurement = part.measurement
    keys = None if finder is None else finder.keys
    released = _with_noise(part, measurement, rows, keys, entropy)
    return released if part.chosen is None else replace(released, chosen=part.chosen)


def _with_noise(
    part: PricedMeasurement,
    measurement: Measured,
    rows: Sequence[EngineRow],
    keys: Sequence[KeyRow] | None,
    entropy: Entropy,
) -> Release:
    match measurement:
        case RowsPerUnit() | BeyondBounds():
            return release_cells(measurement, exact_cells(measurement, rows), entropy)
        case Sums():
            exact = exact_sums(measurement, rows)
            return release_sums(measurement, exact if keys is None else exact.at(keys), entropy, part.rule)
        case KeySearch():
            return release_keys(exact_units(measurement, rows), entropy, part.rule)
        case Histogram():
            buckets, chosen = exact_buckets(measurement, rows, keys), part.chosen
            missing = 0.0 if chosen is None else (chosen.cut + chosen.doubt) / largest_share(len(buckets.histogram))
            return release_buckets(measurement, buckets, entropy, missing)


# The contents of a profile: how many rows units have, and the share of values beyond the bounds.
#
# All of it is read off releases: post-processing.

_REACH = log(20)
"""How many scales of Laplace noise a margin at 95 % is."""


_TWO_SIDED = 1.96
"""How many standard deviations of a sum of noise a margin at 95 % is."""
_ROUNDS = 20
"""After so many a share that is found from itself has settled."""
_SHARE = "share of"
"""With which it begins what a share is of."""
_UNKNOWN = 1 / 2
"""A share whose margin is as large as that may be anything."""
_SHOWN_BOUNDS = (1, 4, 16, 64, 256)
"""The C of which it is told what they would take off, beside the declared one."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One thing that is known, for people."""

    table: str
    column: str | None
    what: str
    value: float
    margin: float | None
    """The half-width of its 95 % interval, where that can be said."""


def is_share(what: object) -> bool:
    """Return whether a line of a profile tells of a share."""
    return str(what).startswith(_SHARE)


def is_unknown(what: object, margin: object) -> bool:
    """Return whether a line of a profile tells nothing: its ε was too small for so few units, and so much to tell."""
    return is_share(what) and isinstance(margin, float) and margin >= _UNKNOWN


@dataclass(frozen=True, slots=True)
class NoisyShare:
    """A share, and the half-width of its 95 % interval; both between 0 and 1."""

    value: float
    margin: float

    @property
    def at_most(self) -> float | None:
        """Return the end of the interval, where the share can't be told from none; else None."""
        return min(self.value + self.margin, 1.0) if self.value <= self.margin else None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The facts about one table."""

    ladder: NoisyLadder | None = None
    """How many rows units have; None where nobody has asked, or a constraint says that they have one."""
    declared: int = 1
    """C, where the policy says it."""
    beyond: Mapping[str, tuple[NoisyShare, NoisyShare]] = field(default_factory=dict)
    """By column: the mean over units of the share of each unit's values that is below its bounds, and above."""

    def with_rows(self, search: RowsPerUnit, cells: Sequence[int]) -> "TableProfile":
        """Return the profile with the released cells of a search."""
        return replace(self, ladder=NoisyLadder.of(search, cells), declared=search.also)

    def with_values(self, measured: BeyondBounds, cells: Sequence[int]) -> "TableProfile":
        """Return the profile with released shares of values beyond bounds."""
        whole = max(cells[0], ONE_UNIT)
        # P(|z| > b·ln 20) = 1/20 for Laplace noise of scale b.
        reach = min(_REACH * float(measured.scale) / whole, 1.0)
        shares = [NoisyShare(min(max(cell / whole, 0.0), 1.0), reach) for cell in cells[1:]]
        pairs = zip(shares[::2], shares[1::2], strict=True)
        beyond = {ref.name: pair for ref, pair in zip(measured.columns, pairs, strict=True)}
        return replace(self, beyond=beyond)

    @property
    def rows(self) -> float | None:
        """Return how many rows there are, as it seems; None where that is not known."""
        return None if self.ladder is None else self.ladder.cut(0)

    @property
    def units(self) -> float:
        """Return how many units there are, as it seems."""
        return 0.0 if self.ladder is None else max(sum(self.ladder.cells), 0.0)

    def share_cut(self, rows: int) -> NoisyShare:
        """Return which share of all rows a C takes off, as it seems."""
        if self.ladder is None or not self.rows:
            return NoisyShare(0.0, 1.0)
        cut, reach = self.ladder.cut(rows), self.ladder.reach(rows)
        return NoisyShare(min(cut / self.rows, 1.0), min(reach / self.rows, 1.0))

    def cut(self, rows: int, counted: float | None = None) -> tuple[float, float]:
        """Return how many rows a C takes off a statement that counts so many rows of this table without them, and ± how many.

        A condition is taken to keep the same share of every unit's rows; `counted` None is all. Both are 0 where it can't be
        told from the profile's own noise: that widens nothing.
        """
        all_rows = self.rows
        if self.ladder is None or not all_rows:
            return 0.0, 0.0
        cut, keeping = 0.0, 1.0
        for _ in range(
            _ROUNDS if counted is not None else 1
        ):  # what is kept is what is counted, and what is cut off it
            keeping = 1.0 if counted is None else min((max(counted, 0.0) + cut) / all_rows, 1.0)
            cut = self.ladder.cut(rows, keeping)
        reach = self.ladder.reach(rows, keeping)
        return (cut, reach) if cut > reach else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """The facts about the tables of one unit kind, by their names."""

    tables: Mapping[str, TableProfile] = field(default_factory=dict)
    releases: tuple[tuple[str, bytes], ...] = ()
    """All releases that it is read off, as they are stored."""

    def of(self, table: str) -> TableProfile | None:
        """Return the profile of a table."""
        return self.tables.get(table)

    def with_release(self, table: str, identity: str, measured: Searched, release: Release) -> "Profile":
        """Return the profile with one more release."""
        profile, cells = self.tables.get(table, TableProfile()), release.numbers[0]
        match measured:
            case RowsPerUnit():
                profile = profile.with_rows(measured, cells)
            case BeyondBounds():
                profile = profile.with_values(measured, cells)
        return Profile({**self.tables, table: profile}, (*self.releases, (identity, release.to_bytes())))

    def lines(self, kind: str) -> Iterator[ProfileLine]:
        """Yield the profile for a unit kind, a fact a line."""
        for name, table in self.tables.items():
            ladder, rows = table.ladder, table.rows
            if ladder is not None and rows is not None:
                reach = _TWO_SIDED * ladder.deviation * sqrt(len(ladder.cells))
                yield ProfileLine(name, None, f"number of {kind} units", table.units, reach)
                yield ProfileLine(name, None, "number of rows", rows, ladder.reach(0))
                for most in sorted({*_SHOWN_BOUNDS, table.declared}):
                    cut = table.share_cut(most)
                    yield ProfileLine(name, None, f"{_SHARE} rows cut by max_rows: {most:,}", cut.value, cut.margin)
            for column, (below, above) in table.beyond.items():
                yield ProfileLine(name, column, f"{_SHARE} values below the bounds", below.value, below.margin)
                yield ProfileLine(name, column, f"{_SHARE} values above the bounds", above.value, above.margin)


NOTHING_KNOWN = Profile()


# Releases of one measurement, each with noise of its own, read together by inverse variance: post-processing.

Draw = tuple[Measured, Release]
Found = Mapping[Feature, float]
"""Noisy sums of features, in rows."""
_DIGITS = 10**12
_LIKELY = 1 / 4
"""The share of what margins allow for that errors are most likely off by."""


@dataclass(frozen=True, slots=True)
class Draws:
    """The releases of one measurement, at one ε or at several; at least one.

    The noise of each has a variance proportional to 1/ε², so that their mean with weights ε² has the least variance there
    can be: as much as one release at √(Σ ε²). Groups that are not declared are found once, and then there is one release.
    """

    drawn: tuple[Draw, ...]
    profile: TableProfile | None = None
    """The table's profile, where that tells what a C takes off: units have no more rows here."""

    @classmethod
    def of(cls, *drawn: Draw) -> "Draws":
        """Build from releases of one measurement as it was planned: each with the C that was chosen for it."""
        return cls(tuple((_as_chosen(measurement, release), release) for measurement, release in drawn))

    def __post_init__(self) -> None:
        """See that none is there twice: what is paid for is stored by its ε, so that one ε has one release."""
        if len({measurement.epsilon for measurement, _ in self.drawn}) < len(self.drawn):
            raise InternalError

    def with_draw(self, measurement: Measured, release: Release) -> "Draws":
        """Return them with one more, which takes the place of one at the same ε."""
        others = tuple(draw for draw in self.drawn if draw[0].epsilon != measurement.epsilon)
        return Draws.of(*others, (measurement, release))

    @property
    def best(self) -> Draw:
        """Return the one with the least noise."""
        return max(self.drawn, key=lambda draw: draw[0].epsilon)

    @property
    def measurement(self) -> Measurement:
        """Return the measurement that alone would have as much noise as all; of choices the best counts, and no other.

        Raises:
            InternalError: it is none that outputs are read off.
        """
        best, _ = self.best
        if isinstance(best, Searched):
            raise InternalError
        if len(self.drawn) == 1 or isinstance(best, Histogram):
            return best
        return replace(best, epsilon=together(measurement.epsilon for measurement, _ in self.drawn))

    @property
    def cut(self) -> float:
        """Return how many rows C takes off, as it seems; 0 where nothing tells."""
        chosen, (by_profile, _) = self.best[1].chosen, self._by_profile
        return by_profile if chosen is None or (chosen.few and by_profile) else float(chosen.cut)

    @property
    def doubted(self) -> float:
        """Return how many rows C may take off, for margins: of units that are seen, and of others that may be there."""
        chosen, by_profile = self.best[1].chosen, sum(self._by_profile)
        return by_profile if chosen is None or (chosen.few and by_profile) else float(chosen.cut + chosen.doubt)

    @property
    def is_of_few(self) -> bool:
        """Return whether C was chosen for so few units that heavy ones may have been missed, and no profile tells of them."""
        chosen = self.best[1].chosen
        return chosen is not None and chosen.few and not sum(self._by_profile)

    @property
    def likely_cut(self) -> float:
        """Return how many rows C takes off, most likely: of what it may take off units that were not seen a fourth counts.

        Where next to nothing is known of these it is all of that.
        """
        return self.doubted if self.is_of_few else self.cut + (self.doubted - self.cut) * _LIKELY

    def doubted_of(self) -> Callable[[int | None], float]:
        """Return the function to how many rows C may take off a group, by its share of all rows.

        It is no less than of a group as large as those in which most rows are: of a small one the share is noise.
        """
        doubted, usual = self.doubted, self.doubted / largest_share(self.groups)
        if usual == doubted:
            return lambda _: doubted
        sizes = self.sizes()
        whole = sum(sizes)
        return lambda place: usual if place is None or not whole else max(usual, doubted * sizes[place] / whole)

    @property
    def doubted_of_group(self) -> float:
        """Return how many rows C may take off a group of the usual size, which its chosen values' widths do not hold yet."""
        if isinstance(self.best[0], Histogram) and self.best[1].chosen is not None:
            return 0.0  # they were chosen for that
        return self.doubted / largest_share(len(self.best[0].groups.grouped))

    @property
    def missing(self) -> float | None:
        """Return which share of all that is summed C takes off, as it seems; None where nothing tells."""
        if self.best[1].chosen is None and self.profile is None:
            return None
        cut = self.likely_cut
        return cut / (max(self.counted, 0.0) + cut) if cut else 0.0

    @property
    def counted(self) -> float:
        """Return how many rows, or what else C bounds, seem to count in all groups; 0 of what is chosen, not counted."""
        return sum(self._sizes())

    def sizes(self) -> Sequence[float]:
        """Return how many rows, or what else C bounds, seem to count in each group, none below 0."""
        return [max(size, 0.0) for size in self._sizes()]

    def _sizes(self) -> Sequence[float]:
        measured, read = self.best[0], self.reader()
        if not isinstance(measured, Sums):
            return [0.0] * self.groups
        size = _size if measured.end is None else measured.end.total
        return [size(read(group)) for group in range(self.groups)]

    @property
    def _by_profile(self) -> tuple[float, float]:
        """Return how many rows C takes off by the profile of the table, and ± how many; 0 where that can't be told."""
        measured = self.best[0]
        if self.profile is None or not isinstance(measured, (Sums, Histogram)):
            return 0.0, 0.0
        whole, rows = reads_all(measured.relation, measured.where), measured.bound.rows
        if isinstance(measured, Histogram):
            return self.profile.cut(rows) if whole else (0.0, 0.0)  # nobody counts the rows that a condition keeps
        # Of sums by themselves the size of values is bounded: in this, units have a smaller share of what they have in rows.
        return self.profile.cut(rows, None if whole and not measured.weighs_norms else self.counted)

    def bounded_by(self, profile: TableProfile) -> "Draws":
        """Return them with the profile of their table."""
        return replace(self, profile=profile)

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return len(self.best[1].numbers)

    def margins_by_place(self, *, missing: bool) -> Callable[[int | None], Margins | None]:
        """Return the function to the margins of a group, or for None such as no group's are above; None of no sums.

        `missing` says that it is asked which share of all rows the C takes off, for which all groups are read.
        """
        measured, of_all = self.measurement, self.missing if missing else None
        if isinstance(measured, Sums):
            margins, cut = Margins.of(measured, self.doubted, of_all, self.groups), self.doubted_of()
            return lambda place: margins.cutting(cut(place))
        return lambda _: None

    @property
    def keys(self) -> Sequence[KeyRow] | None:
        """Return the groups, where the policy does not declare them."""
        return self.best[1].keys

    def reader(self) -> Callable[[int], Found]:
        """Return the function from a group's place to all sums that can be read of it; a histogram has none."""
        sums = [(measurement, release) for measurement, release in self.drawn if isinstance(measurement, Sums)]
        # The weights are of what was paid, which is public. Weighing by how the numbers look would favour outliers of
        # the noise.
        whole = sum((measurement.epsilon**2 for measurement, _ in sums), Fraction(0))
        readers = [(float(m.epsilon**2 / whole), estimates(m), release.numbers) for m, release in sums]

        def read(group: int) -> Found:
            every = [(weight, estimate(numbers[group])) for weight, estimate, numbers in readers]
            if len(every) == 1:
                return every[0][1]
            return {
                f: sum(weight * measured_sums[f] for weight, measured_sums in every)
                for f in (every[0][1] if every else ())
            }

        return read

    def chosen(self) -> Sequence[Sequence[int]]:
        """Return for each group the buckets that were chosen with the least noise; of sums the numbers are no buckets."""
        return self.best[1].numbers


def _as_chosen(measurement: Measured, release: Release) -> Measured:
    return measurement if release.chosen is None else as_chosen(measurement, release.chosen.rows)


def _size(sums: Found) -> float:
    """Return how many rows there seem to be, or where none are counted how large the largest sum is."""
    return sums[ONE] if ONE in sums else max(map(abs, sums.values()), default=0.0)


def together(epsilons: Iterable[Fraction], less: Fraction = Fraction(0)) -> Fraction:
    """Return √(Σ ε² − less²), rounded down: the ε at which one release has as much noise as all."""
    return Fraction(math.isqrt(int((sum(epsilon**2 for epsilon in epsilons) - less**2) * _DIGITS**2)), _DIGITS)
