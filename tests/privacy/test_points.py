"""Order statistics of one measurement share its ε: what all choices and draws cost adds up to what was paid."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy import quantile, release
from dpsql.privacy.buckets import Buckets
from dpsql.privacy.choice import Scores
from dpsql.privacy.entropy import Entropy
from dpsql.privacy.exact import ExactBuckets
from dpsql.privacy.noise import discrete_laplace
from dpsql.privacy.release import release_buckets
from tests.exactness import measurements
from tests.fix_world import World
from tests.memory import Memory

EPSILON = Fraction(3, 7)
FEW = (
    "SELECT median(fare) FROM rides",
    "SELECT percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY fare) FROM rides",
    "SELECT percentile_cont(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY fare) FROM rides",
    "SELECT max(fare) FROM rides",
    "SELECT min(fare), max(fare) FROM rides",
)
MANY = "SELECT percentile_cont(ARRAY[0.1, 0.3, 0.5, 0.7, 0.9]) WITHIN GROUP (ORDER BY fare) FROM rides"


def released(sql: str, policy: Policy, world: World) -> Buckets:
    """Release a statement's measurement of some histogram, and return it."""
    (part,) = measurements(sql, policy, world, Memory(policy))
    assert isinstance(part, Buckets)
    paid = replace(part, epsilon=EPSILON)
    histogram = np.full((1, paid.number), 10 * paid.bound.weight, dtype=np.int64)
    answer = release_buckets(paid, ExactBuckets(histogram), np.random.default_rng(1).bytes)
    assert len(answer.numbers[0]) == len(paid.points)
    return paid


@pytest.mark.parametrize("sql", FEW)
def test_choices_share_epsilon(sql: str, policy: Policy, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score of each choice moves by the sensitivity that it is told, for its own part of ε; the parts are all of it."""
    parts: list[Fraction] = []
    masses: list[int] = []

    def choose(_: Entropy, scores: Scores, epsilon: Fraction, sensitivity: int) -> Scores:
        parts.append(epsilon)
        masses.append(sensitivity)
        best: Scores = scores.argmax(axis=1)
        return best

    monkeypatch.setattr(quantile, "permute_and_flip", choose)
    measured = released(sql, policy, world)
    assert len(parts) == len(measured.points)
    assert sum(parts) == EPSILON
    assert min(masses) >= measured.bound.mass


def test_a_histogram_is_drawn_once(policy: Policy, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many points one noisy histogram pays for all: each count has the noise of scale mass/ε."""
    drawn: list[tuple[Fraction, int]] = []

    def draw(entropy: Entropy, scale: Fraction, number: int) -> Sequence[int]:
        drawn.append((scale, number))
        return discrete_laplace(entropy, scale, number)

    monkeypatch.setattr(release, "discrete_laplace", draw)
    measured = released(MANY, policy, world)
    assert drawn == [(measured.bound.mass / EPSILON, measured.number)]
