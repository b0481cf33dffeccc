"""The noise of every numeric release: exact draws of integers, never a rounded real number.

Floating-point Laplace noise betrays the value under it (Mironov, CCS 2012), so the laws here are discrete and the
samplers exact: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 2, and
for several statistics at once the K-norm mechanism (Hardt and Talwar, STOC 2010) with the cube as its ball.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.errors import InternalError
from dpsql.privacy.mechanisms.entropy import Entropy, below, below_each, coin, coins, signs

_NARROW = 2**45
"""Scales below this are drawn in 64-bit words alone, larger ones added up in Python's integers."""
_WIDE = 2**62
"""From here on all is done in Python's integers."""
_FEW = 12
"""So few numbers are drawn one by one, which is quicker than to begin with arrays."""
_RUN = 2**10
"""A run of so many heads has probability e^-1024; sums of draws stay below 2^62 without one."""
_DIMENSIONS = 40


def discrete_laplace(entropy: Entropy, scale: Fraction | int, n: int) -> list[int]:
    """Return `n` independent integers z with P(z) ∝ exp(−|z| / scale), for any rational scale > 0."""
    scale = Fraction(scale)
    if scale <= 0:
        raise ValueError(f"scale must be positive, not {scale}")
    if max(scale.numerator, scale.denominator) >= _NARROW:
        return _wide_laplaces(entropy, scale, n)
    # For a scale s/t in lowest terms: ⌊x / t⌋ of a geometric x with P(x) ∝ exp(−x/s) has P(y) ∝ exp(−y·t/s), which is
    # the law of |z|. So no real number has to be drawn, and none is rounded.
    magnitude = np.zeros(n, dtype=np.int64)
    todo = np.arange(n)
    while todo.size:
        drawn = (_geometric(entropy, scale.numerator, todo.size) // np.uint64(scale.denominator)).astype(np.int64)
        negative = signs(entropy, todo.size)
        # Zero has one sign, not two.
        kept = (drawn != 0) | ~negative
        magnitude[todo[kept]] = np.where(negative, -drawn, drawn)[kept]
        todo = todo[~kept]
    return list(map(int, magnitude.tolist()))


def geometric(entropy: Entropy, scale: Fraction | int, n: int) -> list[int]:
    """Return `n` independent integers z ≥ 0 with P(z) ∝ exp(−z / scale), for any rational scale > 0."""
    scale = Fraction(scale)
    if scale <= 0:
        raise ValueError(f"scale must be positive, not {scale}")
    wide = max(scale.numerator, scale.denominator) >= _NARROW
    drawn = _wide_geometrics(entropy, scale.numerator, n) if wide else _geometric(entropy, scale.numerator, n).tolist()
    return [int(x) // scale.denominator for x in drawn]


def cube(entropy: Entropy, t: int, d: int, groups: int) -> list[list[int]]:
    """Return for each group `d` integers z with P(z) ∝ exp(−max|zᵢ| / t).

    exp(−m/t) is, up to a constant, the sum of exp(−M/t) over M ≥ m. So: draw M with P(M) ∝ (2M+1)^d · exp(−M/t), then
    z uniformly from {−M … M}^d. The sum of d+1 geometrics has P(M) ∝ (M+1)…(M+d) · exp(−M/t), and is accepted as M
    with probability Π (2M+1)/(2M+2i), i = 1 … d.
    """
    if t < 1 or not 1 <= d <= _DIMENSIONS:
        raise ValueError(f"no cube of scale {t} in {d} dimensions")
    if groups * d <= _FEW:
        return [_wide_cube(entropy, t, d) for _ in range(groups)]
    if t >= _NARROW:
        return [_inside(entropy, radius, d) for radius in _wide_radii(entropy, t, d, groups)]
    radius = np.zeros(groups, dtype=np.uint64)
    todo = np.arange(groups)
    while todo.size:
        drawn = _geometric(entropy, t, todo.size * (d + 1)).reshape(-1, d + 1).sum(axis=1, dtype=np.uint64)
        kept = np.ones(todo.size, dtype=np.bool_)
        for i in range(1, d + 1):
            kept &= below_each(entropy, 2 * drawn + np.uint64(2 * i)) < 2 * drawn + np.uint64(1)
        radius[todo[kept]] = drawn[kept]
        todo = todo[~kept]
    # All coordinates of a group share one radius. They are drawn uniformly within the cube, its surface included, so
    # that a point inside comes from each larger radius, too: that is what the sum over M ≥ m in the docstring says.
    wide = np.repeat(radius, d)
    inside = below_each(entropy, 2 * wide + np.uint64(1)).astype(np.int64) - wide.astype(np.int64)
    return [list(map(int, row)) for row in inside.reshape(groups, d).tolist()]


def _geometric(entropy: Entropy, t: int, n: int) -> NDArray[np.uint64]:
    """Return `n` integers x ≥ 0 with P(x) ∝ exp(−x / t), t < 2^45."""
    parts, runs = _parts(entropy, t, n)
    return parts + np.uint64(t) * runs


def _parts(entropy: Entropy, t: int, n: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return `n` integers as in `_geometric`, t ≤ 2^62: modulo t, and how many times t they are."""
    parts = np.zeros(n, dtype=np.uint64)
    todo = np.arange(n)
    while todo.size:
        part = below_each(entropy, np.full(todo.size, t, dtype=np.uint64))
        kept = coins(entropy, part, Fraction(1, t))
        parts[todo[kept]] = part[kept]
        todo = todo[~kept]
    return parts, _runs(entropy, n)


def _runs(entropy: Entropy, n: int) -> NDArray[np.uint64]:
    """Return `n` lengths of runs of heads of a coin with probability 1/e."""
    length = np.zeros(n, dtype=np.uint64)
    running = np.arange(n)
    for _ in range(_RUN):
        running = running[coins(entropy, np.ones(running.size, dtype=np.uint64), Fraction(1))]
        if not running.size:
            return length
        length[running] += np.uint64(1)
    raise InternalError


def _wide_laplaces(entropy: Entropy, scale: Fraction, n: int) -> list[int]:
    """Draw discrete Laplace integers in unbounded integers."""
    draws: list[int] = []
    while len(draws) < n:
        left = n - len(draws)
        drawn = [x // scale.denominator for x in _wide_geometrics(entropy, scale.numerator, left)]
        signed = zip(drawn, signs(entropy, left).tolist(), strict=True)
        draws += [-x if negative else x for x, negative in signed if x or not negative]
    return draws


def _wide_cube(entropy: Entropy, t: int, d: int) -> list[int]:
    """Draw one point of the cube's law in unbounded integers."""
    while True:
        radius = sum(_wide_geometric(entropy, t) for _ in range(d + 1))
        if _accepted(entropy, radius, d):
            return _inside(entropy, radius, d)


def _wide_radii(entropy: Entropy, t: int, d: int, n: int) -> list[int]:
    """Draw the cube's radii in unbounded integers."""
    accepted: list[int] = []
    while len(accepted) < n:
        drawn = _wide_geometrics(entropy, t, (n - len(accepted)) * (d + 1))
        radii = [sum(drawn[i : i + d + 1]) for i in range(0, len(drawn), d + 1)]
        accepted += [radius for radius in radii if _accepted(entropy, radius, d)]
    return accepted


def _accepted(entropy: Entropy, radius: int, d: int) -> bool:
    return all(below(entropy, 2 * radius + 2 * i) < 2 * radius + 1 for i in range(1, d + 1))


def _inside(entropy: Entropy, radius: int, d: int) -> list[int]:
    return [below(entropy, 2 * radius + 1) - radius for _ in range(d)]


def _wide_geometrics(entropy: Entropy, t: int, n: int) -> list[int]:
    """Return integers as in `_geometric` for any t; up to 2^62 what takes longest is done in 64-bit words.

    Beyond that all numbers are Python's, and only coins are thrown together: they would take ten times as long.
    """
    if n <= _FEW:
        return [_wide_geometric(entropy, t) for _ in range(n)]
    if t > _WIDE:
        wide = _wide_parts(entropy, t, n)
        return [part + t * run for part, run in zip(wide, _runs(entropy, n).tolist(), strict=True)]
    parts, runs = _parts(entropy, t, n)
    return [part + t * run for part, run in zip(parts.tolist(), runs.tolist(), strict=True)]


def _wide_parts(entropy: Entropy, t: int, n: int) -> list[int]:
    """Return `n` integers x from 0 to t − 1 with P(x) ∝ exp(−x / t), for any t."""
    parts: list[int] = []
    while len(parts) < n:
        drawn = [below(entropy, t) for _ in range(n - len(parts))]
        kept = coins(entropy, np.array(drawn, object), Fraction(1, t))
        parts += [part for part, keep in zip(drawn, kept.tolist(), strict=True) if keep]
    return parts


def _wide_geometric(entropy: Entropy, t: int) -> int:
    """Draw one integer x ≥ 0 with P(x) ∝ exp(−x / t) in unbounded integers."""
    while True:
        drawn = below(entropy, t)
        if not coin(entropy, drawn, t):
            continue
        while coin(entropy, 1, 1):
            drawn += t
        return drawn
