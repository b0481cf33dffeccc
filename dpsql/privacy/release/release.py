"""Add noise to exact measurements: the only way from what the engine returned to what may be shown."""

import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from itertools import accumulate
from operator import add
from typing import Any

from dpsql.errors import InternalError
from dpsql.privacy.accuracy.margin import largest_share
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.partition_rule import ByUnits, FromCount, SelectionRule
from dpsql.privacy.measurement.plan import KeySearch, Measured, Searched
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


@dataclass(frozen=True, slots=True)
class Release:
    """Whole numbers for every group, in the groups' order: free to be shown to the role that paid."""

    numbers: Sequence[Sequence[int]]
    """Noisy coordinates, or the buckets that were chosen."""
    keys: Sequence[KeyRow] | None = None
    """The groups, where the policy does not declare them."""
    chosen: ChosenBound | None = None
    """C, where it was chosen by what was released before."""

    def to_bytes(self) -> bytes:
        """Return a form to be stored."""
        keys = None if self.keys is None else [[_stored(cell) for cell in key] for key in self.keys]
        chosen = [] if self.chosen is None else [*astuple(self.chosen)]
        return zlib.compress(json.dumps([[list(row) for row in self.numbers], keys, *chosen]).encode())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Release":
        """Return what `to_bytes` stored."""
        numbers, keys, *chosen = json.loads(zlib.decompress(stored))
        read = None if keys is None else [tuple(_read(cell) for cell in key) for key in keys]
        return cls(numbers, read, ChosenBound(*chosen) if chosen else None)


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
    kept = [i for i, row in enumerate(noisy) if row[0] >= rule.least]
    counted = measurement.distinct is not CountOf.UNITS  # else keys alone are released
    return Release([noisy[i] if counted else [0] for i in kept], [exact.keys[i] for i in kept])


def _chosen(
    measurement: Sums, keys: Sequence[KeyRow], coordinates: Sequence[Sequence[int]], entropy: Entropy, rule: ByUnits
) -> Release:
    """Return which keys are shown where nothing else is: chosen by how many units have them, no number is released."""
    kept = partition_selection.shown(entropy, [row[0] // measurement.row_norm for row in coordinates], rule.chances)
    chosen = [key for key, keep in zip(keys, kept, strict=True) if keep]
    return Release([[0] for _ in chosen], chosen)


def release_keys(exact: ExactSums, entropy: Entropy, rule: SelectionRule | None) -> Release:
    """Return the keys that their units' number, with its noise, shows; no number is released."""
    if exact.keys is None or not isinstance(rule, GaussianSelection):
        raise InternalError
    kept = rule.shown(entropy, [row[0] for row in exact.coordinates])
    chosen = [key for key, keep in zip(exact.keys, kept, strict=True) if keep]
    return Release([[0] for _ in chosen], chosen)


def release_cells(search: Searched, exact: ExactCells, entropy: Entropy) -> Release:
    """Return the cells, each with noise of its own."""
    noise = discrete_laplace(entropy, search.scale, len(exact.cells))
    return Release([list(map(add, exact.cells, noise))])


def _noise(measurement: Sums, groups: int, d: int, entropy: Entropy) -> Sequence[Sequence[int]]:
    """Return `d` numbers for each group: each block's are drawn together, and without the others'."""
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
