"""The few laws that statistical tests judge by, from scipy's special functions: scipy.stats takes seconds to import."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, chdtrc


def at_least(successes: int, trials: int, chance: float) -> float:
    """Return how likely so many successes or more are."""
    return float(bdtrc(successes - 1, trials, chance)) if successes > 0 else 1.0


def as_far(successes: int, trials: int, chance: float) -> float:
    """Return at most how likely a number of successes is that is as unlikely as this one, on either side."""
    return min(1.0, 2 * min(float(bdtr(successes, trials, chance)), at_least(successes, trials, chance)))


def chisquare(seen: ArrayLike, expected: ArrayLike | None = None) -> float:
    """Return how likely counts are that are as far from the expected ones, which are all the same unless given."""
    counts = np.asarray(seen, dtype=float)
    right = np.full_like(counts, counts.mean()) if expected is None else np.asarray(expected, dtype=float)
    assert np.isclose(counts.sum(), right.sum(), rtol=1e-8)
    return float(chdtrc(counts.size - 1, ((counts - right) ** 2 / right).sum()))


def independent(table: Sequence[Sequence[int]]) -> float:
    """Return how likely a table is that is as far from one whose rows and columns have nothing to do with each other."""
    counts = np.asarray(table, dtype=float)
    right = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chdtrc(freedom, ((counts - right) ** 2 / right).sum()))
