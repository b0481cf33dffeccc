"""Permute-and-flip chooses with exactly its law, whatever the size of the scores."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.mechanisms import quantile as module
from dpsql.privacy.mechanisms.quantile import permute_and_flip
from tests.support.laws import chisquare


def _law(scores: list[int], epsilon: float, sensitivity: int) -> list[float]:
    """Enumerate all orders of the candidates: the first whose coin falls on heads is chosen."""
    heads = [math.exp(epsilon * (score - max(scores)) / (2 * sensitivity)) for score in scores]
    chosen = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        passed = 1.0
        for candidate in order:
            chosen[candidate] += passed * heads[candidate] / len(orders)
            passed *= 1 - heads[candidate]
    return chosen


def _p_value(scores: list[int], epsilon: Fraction, sensitivity: int, groups: int = 60_000) -> float:
    drawn = permute_and_flip(
        np.random.default_rng(1).bytes, np.tile(np.array(scores, dtype=np.int64), (groups, 1)), epsilon, sensitivity
    )
    counts = Counter(drawn.tolist())
    expected = np.array(_law(scores, float(epsilon), sensitivity)) * groups
    return chisquare([counts[i] for i in range(len(scores))], expected)


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity"),
    [
        ([0, -1, -2, -3, -1], Fraction(1), 1),
        ([5, 5, 5], Fraction(1), 1),
        ([-7, -3, -10, -4], Fraction(1, 3), 2),
        ([2, 0], Fraction(3), 1),
    ],
)
def test_law_is_the_enumerated_one(scores: list[int], epsilon: Fraction, sensitivity: int) -> None:
    """Chi-square against the law by enumeration of all orders; false alarms: 1e-6."""
    assert _p_value(scores, epsilon, sensitivity) > 1e-6


def test_scores_at_the_ends_of_int64() -> None:
    """Differences of scores pass 2^63 without wrapping: the law is that of the true gaps; false alarms: 1e-6."""
    low, high = -(2**63), 2**63 - 1
    sensitivity = 2**62
    assert _p_value([low, 0, high], Fraction(1), sensitivity) > 1e-6
    assert (high - low) / (2 * sensitivity) == pytest.approx(2)


def test_choice_is_private() -> None:
    """Between score vectors that differ by the sensitivity, no candidate's probability moves by more than e^ε."""
    epsilon, moves = 0.8, (-1, 0, 1)
    base = [3, 2, 0]
    worst = max(
        abs(math.log(a / b))
        for move in itertools.product(moves, repeat=3)
        for a, b in zip(
            _law(base, epsilon, 1), _law([s + m for s, m in zip(base, move, strict=True)], epsilon, 1), strict=True
        )
    )
    assert worst <= epsilon + 1e-12
    assert worst > 0.7 * epsilon


def test_groups_are_chosen_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has its own scores, and blocks of groups join up in order."""
    monkeypatch.setattr(module, "_BLOCK", 6)
    scores = np.full((7, 3), -(10**9), dtype=np.int64)
    wanted = [0, 2, 1, 1, 0, 2, 2]
    scores[np.arange(7), wanted] = 0
    assert permute_and_flip(np.random.default_rng(2).bytes, scores, Fraction(1), 1).tolist() == wanted


def test_no_groups() -> None:
    """No group, no choice."""
    assert permute_and_flip(bytes, np.zeros((0, 4), dtype=np.int64), Fraction(1), 1).tolist() == []


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(0), 1), (Fraction(1), 0)])
def test_parameters_must_be_positive(epsilon: Fraction, sensitivity: int) -> None:
    """Neither ε nor the sensitivity may vanish."""
    with pytest.raises(ValueError, match="positive"):
        permute_and_flip(bytes, np.zeros((1, 1), dtype=np.int64), epsilon, sensitivity)
