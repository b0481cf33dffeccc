"""How much more ε chosen quantiles take for an error, and how far off the width of their buckets alone puts them.

A value that was chosen with its width says itself how far off it is; of others two choices are compared. Half a bucket counts
as an error that no ε makes less.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import median

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms.quantile_width import ROWS_FOR_WIDTH
from dpsql.privacy.release.draws import Draws

_TYPICAL_CHOICE = 0.3
"""A choice with a width is typically off by so much of it: by 0.15 to 0.3, as was seen of 1,000 to 20,000 rows."""
_FURTHER = 3
"""How many times as much is paid for another choice, which tells how far the first one errs, or finds enough rows."""
_SURELY = Fraction(9, 7)
"""How many times as many rows as a width needs are paid for: their number has noise, too."""
_DOUBT = 2
"""How many times the noise is taken off a value before an error is small beside it."""


def of_widths(histogram: Histogram, draws: Draws, error: Fraction, share: Fraction) -> Fraction | None:
    """Return the ε at which values chosen with their widths would err by as much; None if they do not by more.

    A margin that is too wide at any price, because the buckets are, asks for no more. As long as no width can be told
    all that is left is paid where there would not be as much again.
    """
    rows = [row for row in draws.chosen() if _is_found(histogram, row)]
    inside = [row for row in rows if row[1] < histogram.number - 1 or histogram.number == 1]
    more = median([_times(histogram, row, error) for row in rows]) if rows else _too_few(histogram)
    wanted, left = (
        histogram.epsilon * Fraction(more),
        share - sum(measurement.epsilon for measurement, _ in draws.drawn),
    )
    if 2 * len(inside) <= len(rows):
        return wanted if left >= 2 * wanted else max(left, wanted)
    return wanted if more > 1 else None


def _too_few(histogram: Histogram) -> float:
    """Return how many times as much is paid next where a width can't be told: what it takes for as many rows as expected."""
    expected = (histogram.relation.expected_rows or math.inf) / max(len(histogram.groups.grouped), 1)
    needed = float(ROWS_FOR_WIDTH * _SURELY * histogram.bound.rows / histogram.epsilon)
    return max(needed / expected, float(_FURTHER))


def _times(histogram: Histogram, row: Sequence[int], error: Fraction) -> float:
    """Return how many times as much one chosen value would have to pay."""
    bucket, width = row
    if width >= histogram.number - 1 > 0:
        return _too_few(histogram)
    grid = float(histogram.half_width(0, bucket))
    noise = _TYPICAL_CHOICE * float(histogram.half_width(width, bucket)) - _TYPICAL_CHOICE * grid
    value = abs(float(histogram.value(bucket)))
    if value + _DOUBT * noise <= grid / float(error):
        return 0.0
    return noise / max((value - _DOUBT * noise) * float(error) - grid, noise / _FURTHER)


def of_choices(draws: Draws, error: Fraction) -> Fraction | None:
    """Return the ε at which chosen values would err by as much; None if they do not by more.

    How far they err is told by how far the two best choices lie apart, which is what the worse of them errs by. Errors fall
    with 1/ε, but for half of a bucket.
    """
    (best, least_noise), *others = sorted(draws.drawn, key=lambda draw: draw[0].epsilon, reverse=True)
    if not others or not isinstance(best, Histogram):
        return best.epsilon * _FURTHER
    worse, more_noise = others[0]
    pairs = [
        (row, other)
        for row, other in zip(least_noise.numbers, more_noise.numbers, strict=True)
        if any(bucket < best.number for bucket in (*row, *other))
    ]
    apart = [_apart(best, row, other) for row, other in pairs]
    if not apart or not math.isfinite(middle := median(apart)):
        return best.epsilon * _FURTHER**2
    errs = Fraction(middle) * worse.epsilon / best.epsilon
    grid = Fraction(median([min(_bucket_share(best, row), float(error)) for row, _ in pairs if _is_found(best, row)]))
    left = error - grid if grid < error else error
    return None if errs <= left else best.epsilon * min(errs / left, Fraction(_FURTHER**2))


def _apart(histogram: Histogram, row: Sequence[int], other: Sequence[int]) -> float:
    """Return how far two choices lie apart, relative to the first; infinite where one has none."""
    furthest = 0.0
    for bucket, two in zip(row, other, strict=True):
        if max(bucket, two) >= histogram.number:
            return math.inf
        value, difference = float(histogram.value(bucket)), float(histogram.value(bucket) - histogram.value(two))
        furthest = max(furthest, abs(difference / value) if value else math.inf if difference else 0.0)
    return furthest


def off_by_buckets(histogram: Histogram, draws: Draws) -> float:
    """Return how far values may be from the middle of their buckets, as a share of them; 0 where there are none."""
    groups = [_bucket_share(histogram, row) for row in draws.chosen() if _is_found(histogram, row)]
    return median(groups) if groups else 0.0


def _bucket_share(histogram: Histogram, row: Sequence[int]) -> float:
    """Return how far values may be from the middle of their buckets, as a share of them."""
    shares = []
    for bucket in row[: len(histogram.points)]:
        value, grid = abs(float(histogram.value(bucket))), float(histogram.half_width(0, bucket))
        shares.append(grid / value if value else math.inf if grid else 0.0)
    return max(shares)


def _is_found(histogram: Histogram, row: Sequence[int]) -> bool:
    return all(bucket < histogram.number for bucket in row[: len(histogram.points)])
