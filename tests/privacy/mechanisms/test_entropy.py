"""Uniform integers from random bytes."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from dpsql.privacy.mechanisms.entropy import below, below_each
from tests.support.laws import chisquare

FALSE_ALARM = 1e-6
"""Of each statistical test here, if its fixed seed were changed."""


def _entropy(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 256, 1000])
def test_uniform_integers(limit: int) -> None:
    """Every integer below the limit is equally likely, in words and in unbounded integers."""
    entropy = _entropy(12)
    drawn = below_each(entropy, np.full(20_000, limit, dtype=np.uint64)).tolist()
    single = [below(entropy, limit) for _ in range(20_000)]
    for numbers in (drawn, single):
        counts = Counter(numbers)
        assert set(counts) <= set(range(limit))
        if limit > 1:
            assert chisquare([counts[i] for i in range(limit)]) > FALSE_ALARM


def test_biased_words_are_drawn_again() -> None:
    """Words past the last whole multiple of the limit are thrown away: modulo alone would favour small numbers."""
    limit = 3 * 2**62
    rejected, kept = 2**64 - 1, 5
    source = iter([rejected.to_bytes(8, "little"), kept.to_bytes(8, "little")])
    assert below_each(lambda _: next(source), np.array([limit], dtype=np.uint64)).tolist() == [kept]
