"""Private choice of one candidate among many by score, in every group at once.

Permute-and-flip (McKenna and Sheldon, "Permute-and-Flip: A New Mechanism for Differentially Private Selection", 2020),
which is never worse than the exponential mechanism.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.mechanisms.bernoulli import coins
from dpsql.privacy.mechanisms.entropy import Entropy, below_each

_BLOCK = 2**20
"""How many coins are in memory at once."""


Scores = NDArray[np.int64] | NDArray[np.object_]
"""Integers, as objects where 64 bits could not hold them: a row is a group, a column a candidate."""


def permute_and_flip(entropy: Entropy, scores: Scores, epsilon: Fraction, sensitivity: int) -> NDArray[np.int64]:
    """Return for each group the index of the chosen candidate.

    `sensitivity` is the most by which one unit moves any score; where groups share no rows it is the most by which it
    moves the scores of all its groups together, and every group has the full `epsilon`.

    Walking through the candidates in random order and taking the first whose coin falls on heads is the same as
    flipping all coins and choosing uniformly among the heads, so nothing has to be permuted.
    """
    if epsilon <= 0 or sensitivity < 1:
        raise ValueError("the choice needs a positive ε and sensitivity")
    groups, candidates = scores.shape
    rate = epsilon / (2 * sensitivity)
    rows = max(1, _BLOCK // candidates)
    chosen = [_choose(entropy, scores[first : first + rows], rate) for first in range(0, groups, rows)]
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def _choose(entropy: Entropy, scores: Scores, rate: Fraction) -> NDArray[np.int64]:
    behind = scores.max(axis=1, keepdims=True).astype(scores.dtype) - scores
    if scores.dtype == np.int64:
        # A number beyond 2^63 wrapped round, and modulo 2^64 is the exact difference.
        behind = behind.astype(np.uint64)
    heads = coins(entropy, behind.ravel(), rate).reshape(scores.shape)
    rank = below_each(entropy, np.count_nonzero(heads, axis=1).astype(np.uint64)) + np.uint64(1)
    chosen: NDArray[np.int64] = (np.cumsum(heads, axis=1, dtype=np.uint64) == rank[:, None]).argmax(axis=1)
    return chosen
