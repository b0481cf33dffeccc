"""95 % margins of what was released, from noisy values and public parameters alone, so that they cost nothing.

A margin is about the noise. It covers the clamped and bounded relation, not what clamping and bounding took away.
Values are in rows: a count is in rows, a sum of u in [−1, 1] too. Groups lie along arrays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np

from dpsql.privacy.law import LEVEL, Cube, Floats, Laplaces, Noise, half_width

_GRID = 65
_MEANS, _VARIANCES = 17, 49
_HALVINGS = 32
_LARGE = 20
"""From this many noise scales of rows on, the error of the mean no longer matters to the variance's interval."""
_MEAN_LEVEL = 0.8
_MOST_VARIANCE = 2.0
"""Of values in [−1, 1]: 1 for a population, n/(n − 1) for a sample."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A noisy value for each group that is a weighted sum of noisy statistics, the weights public."""

    values: Floats
    weights: tuple[float, ...]


def count_half_width(t: int, d: int, step: int) -> Fraction:
    """Return the margin of a count whose coordinate has `step` lattice units a row and noise of scale `t` units.

    Rounded up to the lattice, for scales so small that the noise is far from continuous.
    """
    return Fraction(math.ceil(float(half_width(Cube(d, 1.0), (1.0,))) * t), step)


def sum_half_width(noise: Noise, low: float, high: float) -> float:
    """Return the margin of SUM over values in [low, high], read off a count and a centred sum."""
    return float(half_width(noise, ((high + low) / 2, (high - low) / 2)))


def ratio_interval(noise: Noise, top: Linear, bottom: Linear, low: float, high: float) -> tuple[Floats, Floats]:
    """Return for each group the ends of the interval of top/bottom, which lies in [low, high] for sure.

    Fieller's: all θ with |top − θ·bottom| within the quantile of its own noise, exact for every size of group. Where
    the group is so small that no θ can be told from another, or none fits, it is all of [low, high].
    """
    theta = np.linspace(low, high, _GRID)
    weights = np.array(top.weights) - theta[:, None] * np.array(bottom.weights)
    reach = half_width(noise, weights)
    steepest = float(np.abs(np.diff(reach) / np.diff(theta)).max())
    return _invert(top.values, bottom.values, lambda at: np.interp(at, theta, reach), steepest, (low, high))


def mean_interval(noise: Noise, n: Floats, y: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the interval of AVG over values in [low, high], from a count and a centred sum (`noise` is theirs)."""
    middle, half = (high + low) / 2, (high - low) / 2
    if not half:
        return np.full_like(n, low), np.full_like(n, high)
    return ratio_interval(noise, Linear(middle * n + half * y, (middle, half)), Linear(n, (1.0, 0.0)), low, high)


def variance_interval(
    noise: Noise, n: Floats, y: Floats, squares: Floats, half: float, *, sample: bool
) -> tuple[Floats, Floats]:
    """Return the interval of VARIANCE over values in a range of width 2·`half`.

    From a count, Σu and Σ(2u² − 1), in this order. With the mean m put in, Σ(u − m)² is linear in the three, so V is
    found as a ratio is; an error of m enters at second order only. Small groups take the union over m's 80 % range.
    """
    shape, unit = _unit(noise)
    n, y, squares = n / unit, y / unit, squares / unit
    rows = n - 1 / unit if sample else n
    mean = np.clip(np.divide(y, n, out=np.zeros_like(n), where=n > 0), -1, 1)
    reach = float(half_width(shape, (0.0, 1.0, 0.0), _MEAN_LEVEL))
    spread = np.where(n < _LARGE, np.minimum(reach / np.maximum(n, 1e-9), 2), 0)
    low, high = np.full_like(n, _MOST_VARIANCE), np.zeros_like(n)
    for share in (-1, -0.5, 0, 0.5, 1) if spread.any() else (0,):
        at = np.clip(mean + share * spread, -1, 1)
        ends = _variance_at(shape, at, (n + squares) / 2 - 2 * at * y + at**2 * n, rows)
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    return low * half**2, high * half**2


def rank_half_width(q: Fraction, buckets: int, scale: float) -> float:
    """Return by how many rows the released bucket may miss the wanted rank; `scale` is C/ε in rows.

    The utility bound of permute-and-flip, so it errs on the wide side.
    """
    a, b = q.as_integer_ratio()
    return 2 * scale * max(a, b - a) / b * math.log(buckets / (1 - LEVEL))


def _invert(
    top: Floats, bottom: Floats, reach: Callable[[Floats], Floats], steepest: float, ends: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return the ends of {θ: |top − θ·bottom| ≤ reach(θ)}.

    Where `bottom` grows faster than `reach` both ends are crossings of increasing functions, found by bisection;
    elsewhere the set is about as wide as the range.
    """

    def crossing(sign: int) -> Floats:
        low, high = np.full_like(top, ends[0]), np.full_like(top, ends[1])
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = middle * bottom - top - sign * reach(middle) > 0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return (low + high) / 2

    low, high = crossing(-1), crossing(1)
    # Both crossings at the same end of the range: no θ fits, and an interval of one point would look like certainty.
    useless = (bottom <= steepest) | (high - low <= (ends[1] - ends[0]) * 2.0 ** (2 - _HALVINGS))
    return np.where(useless, ends[0], low), np.where(useless, ends[1], high)


def _unit(noise: Noise) -> tuple[Noise, float]:
    """Return the same law at a scale of one, and its scale: margins are proportional to it."""
    match noise:
        case Cube(d, scale):
            return Cube(d, 1.0), scale
        case Laplaces(scales):
            return Laplaces(tuple(each / max(scales) for each in scales)), max(scales)
        case _:
            assert_never(noise)


def _variance_at(shape: Noise, mean: Floats, spread: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the interval of V = spread/rows if the mean were known."""
    table = _variance_reach(shape)
    per_mean, per_variance = _MEANS - 1, (_VARIANCES - 1) / _MOST_VARIANCE
    steepest = float(np.abs(np.diff(table, axis=1)).max() * per_variance)
    row = np.abs(mean) * per_mean

    def reach(variance: Floats) -> Floats:
        return _bilinear(table, row, variance * per_variance)

    return _invert(spread, rows, reach, steepest, (0.0, _MOST_VARIANCE))


@lru_cache(maxsize=64)
def _variance_reach(shape: Noise) -> Floats:
    """Return the quantile of the noise of Σ(u − m)² − V·n, on a grid of |m| (rows) and V (columns)."""
    m = np.linspace(0, 1, _MEANS)[:, None] + np.zeros(_VARIANCES)
    v = np.linspace(0, _MOST_VARIANCE, _VARIANCES) + np.zeros((_MEANS, 1))
    return half_width(shape, np.stack([0.5 + m**2 - v, -2 * m, np.full_like(m, 0.5)], axis=-1))


def _bilinear(table: Floats, row: Floats, column: Floats) -> Floats:
    """Read a table between its entries."""
    i = np.clip(row.astype(np.intp), 0, table.shape[0] - 2)
    j = np.clip(column.astype(np.intp), 0, table.shape[1] - 2)
    down, right = row - i, column - j
    upper = table[i, j] * (1 - right) + table[i, j + 1] * right
    lower = table[i + 1, j] * (1 - right) + table[i + 1, j + 1] * right
    between: Floats = upper * (1 - down) + lower * down
    return between
