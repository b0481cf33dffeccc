"""The engine's rows before noise: they exist between `run` and `release` and show themselves to nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import InternalError
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Searched
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.functions.function import Cell, order_of

EngineRow = Sequence[int | str | None]
"""One row of the engine: the groups' keys, then whole numbers, most of them as text."""
KeyRow = tuple[Cell, ...]
_MOST = 2**62
"""The most that a group's histogram adds up to."""


@dataclass(frozen=True, slots=True)
class ExactSums:
    """The exact coordinates of every group; not to be printed, logged or sent."""

    keys: Sequence[KeyRow] | None
    """The groups that were selected, as they are shown, where the policy does not declare them."""
    coordinates: Sequence[Sequence[int]] = field(repr=False)
    width: int = 1
    """How many coordinates each group has."""

    def at(self, keys: Sequence[KeyRow]) -> "ExactSums":
        """Return the coordinates of groups that another measurement selected, zero where a group has no rows."""
        sums_by_key = dict(zip(self.keys or (), self.coordinates, strict=True))
        nothing = (0,) * self.width
        return ExactSums(None, [sums_by_key.get(key, nothing) for key in keys], self.width)


@dataclass(frozen=True, slots=True)
class ExactBuckets:
    """The exact histogram of every group; not to be printed, logged or sent."""

    histogram: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExactCells:
    """The exact numbers in the cells of a search; not to be printed, logged or sent."""

    cells: Sequence[int] = field(repr=False)


def exact_cells(search: Searched, rows: Sequence[EngineRow]) -> ExactCells:
    """Return what stands in each cell from the engine's rows.

    Raises:
        InternalError: a number is not whole.
    """
    return ExactCells(search.cells([[*map(whole_number, row)] for row in rows]))


def exact_sums(measurement: Sums, rows: Sequence[EngineRow]) -> ExactSums:
    """Return the coordinates of every group from the engine's rows.

    Groups without rows are zero, and groups that the policy does not know are nobody's and are dropped, unless partition
    selection decides which keys are shown. Everything else about the rows, their number and order included, ends here.

    Raises:
        InternalError: a sum is not a whole number.
    """
    width, read = len(measurement.groups.keys), measurement.reader()
    sums_by_key: dict[KeyRow, Sequence[int]] = {}
    for row in rows:
        key = _returned(measurement.groups, row[:width])
        coordinates = read([whole_number(cell) for cell in row[width:]])
        # Two rows of one group add up, as records do: one that hid the other would depend on their order.
        sums_by_key[key] = tuple(map(add, sums_by_key.get(key, [0] * len(coordinates)), coordinates))
    if not measurement.groups.grouped:  # they are selected, though all keys may be declared
        return _candidates(measurement.groups, sums_by_key, len(measurement.features))
    nothing, width = (0,) * len(measurement.features), len(measurement.features)
    return ExactSums(None, [sums_by_key.get(grouped, nothing) for grouped in measurement.groups.grouped], width)


def _returned(groups: Groups, cells: Sequence[Cell]) -> KeyRow:
    return tuple(key.returned(cell) for key, cell in zip(groups.keys, cells, strict=True))


def exact_units(search: KeySearch, rows: Sequence[EngineRow]) -> ExactSums:
    """Return what the units of every possible key have added to it, from the engine's rows.

    Of several rows that are one key here the largest stays: a unit that is in each of them moves it no further than one,
    as it would a sum.

    Raises:
        InternalError: a sum is not a whole number.
    """
    width = len(search.groups.keys)
    rows_by_key: dict[KeyRow, Sequence[int]] = {}
    for row in rows:
        key = _returned(search.groups, row[:width])
        rows_by_key[key] = (max(whole_number(row[width]), *rows_by_key.get(key, (0,))),)
    return _candidates(search.groups, rows_by_key, 1)


def _candidates(groups: Groups, sums_by_key: Mapping[KeyRow, Sequence[int]], width: int) -> ExactSums:
    """Return the groups that occur and are possible, in the order of their keys."""
    shown = {key: groups.show(key) for key in sums_by_key}
    # By the keys alone, in which no two tie: the order in which the engine returns them depends on everybody's rows.
    possible = sorted(
        ((s, key) for key, s in shown.items() if s is not None), key=lambda pair: [*map(order_of, pair[0])]
    )
    return ExactSums([s for s, _ in possible], [sums_by_key[key] for _, key in possible], width)


def exact_buckets(measurement: Histogram, rows: Sequence[EngineRow], keys: Sequence[KeyRow] | None) -> ExactBuckets:
    """Return the histograms from the engine's rows; `keys` are the groups shown, where partition selection chose them.

    No row can be too many, nor in no bucket: cells grow up to where a group's sum still has 64 bits, and a unit moves none of
    them further than without that end.

    Raises:
        InternalError: a weight is not a whole number.
    """
    groups = measurement.groups
    place = {key: i for i, key in enumerate(groups.grouped if keys is None else keys)}
    histogram = np.zeros((len(place), measurement.number), dtype=np.int64)
    last, most = measurement.number - 1, _MOST // measurement.number
    for *cells, bucket, weight in rows:
        key = _returned(groups, cells)
        shown = key if keys is None else groups.show(key)
        at = None if shown is None else place.get(shown)
        if at is not None and bucket is not None:
            b = min(max(whole_number(bucket), 0), last)
            histogram[at, b] = min(int(histogram[at, b]) + whole_number(weight), most)
    return ExactBuckets(histogram)


def whole_number(cell: int | str | None) -> int:
    """Return a whole number that the engine sent; an empty sum is 0."""
    if cell is None:
        return 0
    if not isinstance(cell, (int, str)) or isinstance(cell, bool):
        raise InternalError
    try:
        return int(cell)
    except ValueError:
        raise InternalError from None
