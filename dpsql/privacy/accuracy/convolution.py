"""How far noise reaches that was drawn in several independent pieces: by convolution of their laws.

Everything is rounded outwards: a margin is never too small but by
the rounding of floating-point numbers.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpsql.privacy.accuracy.noise_quantile import LEVEL, noise_quantile
from dpsql.privacy.mechanisms.law import Law, Reals

_POINTS = 2**12
_SHARES = 2**9
"""Weights are rounded up to so many parts of the largest."""
_REACH = 16
"""In standard deviations; what lies beyond has a probability below e^-20 for one Laplace, and less for all else."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A weighted sum of some coordinates of one draw; weights are positive, as laws are symmetric."""

    law: Law
    weights: tuple[float, ...]
    times: int = 1
    """How many such sums there are, each of a draw of its own."""

    @property
    def variance(self) -> float:
        """Return its variance at scale 1."""
        return self.times * sum(w**2 for w in self.weights) * float(self.law.variance)


def reach(pieces: Sequence[Piece], scale: float, level: float = LEVEL) -> float:
    """Return x with P(|Σ pieces| ≤ x) = `level`, where all have noise of one scale."""
    if not pieces:
        return 0.0
    largest = max(w for piece in pieces for w in piece.weights)
    # Larger weights reach further (Anderson's inequality); few different ones are soon all known.
    shapes = (
        replace(piece, weights=tuple(math.ceil(w / largest * _SHARES) / _SHARES for w in piece.weights))
        for piece in pieces
    )
    sorted_shapes = tuple(sorted(shapes, key=lambda piece: (repr(piece.law), piece.weights)))
    return _unit_reach(sorted_shapes, level) * largest * scale


@lru_cache(maxsize=4096)
def _unit_reach(pieces: tuple[Piece, ...], level: float) -> float:
    if len(pieces) == 1 and pieces[0].times == 1:
        return noise_quantile(pieces[0].law, pieces[0].weights, level)
    step = 2 * _REACH * math.sqrt(sum(piece.variance for piece in pieces)) / _POINTS
    spectrum = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    for piece, number in Counter(pieces).items():
        spectrum *= np.fft.rfft(_masses(piece, step)) ** (number * piece.times)
    law = np.fft.irfft(spectrum, _POINTS)[: _POINTS // 2]
    within = law[0] + 2 * np.cumsum(law[1:])
    first = int(np.argmax(within >= level)) + 1
    return (first + 0.5) * step


def _masses(piece: Piece, step: float) -> Reals:
    """Return the probabilities of a piece's value rounded to whole steps, those of negative ones at the end."""
    edges: Reals = np.arange(0.5, _POINTS // 2 + 1) * step
    beyond = np.clip(piece.law.tail(edges, np.array(piece.weights)), 0, 1) / 2
    positive = np.maximum(beyond[:-1] - beyond[1:], 0)
    masses = np.zeros(_POINTS)
    masses[0] = 1 - 2 * beyond[0]
    masses[1 : _POINTS // 2] = positive[:-1]
    masses[_POINTS // 2 + 1 :] = positive[:-1][::-1]
    return masses
