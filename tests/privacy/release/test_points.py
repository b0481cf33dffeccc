"""Order statistics of one measurement share its ε: what all choices and draws cost adds up to what was paid."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms import extreme, quantile
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.quantile import Scores
from dpsql.privacy.release import release
from dpsql.privacy.release.exact import ExactBuckets
from dpsql.privacy.release.release import release_buckets
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.memory import Memory

EPSILON = Fraction(3, 7)
FEW = (
    "SELECT median(fare) FROM rides",
    "SELECT percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY fare) FROM rides",
    "SELECT percentile_cont(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY fare) FROM rides",
    "SELECT percentile_cont(ARRAY[0.1, 0.3, 0.5, 0.7, 0.9]) WITHIN GROUP (ORDER BY fare) FROM rides",
)
TENTHS = ", ".join(f"{q / 100}" for q in range(4, 100, 7))
MANY = f"SELECT percentile_cont(ARRAY[{TENTHS}]) WITHIN GROUP (ORDER BY fare) FROM rides"


def released(sql: str, policy: Policy, world: World) -> Histogram:
    """Release a statement's measurement of some histogram, and return it."""
    (part,) = measurements(sql, policy, world, Memory(policy))
    assert isinstance(part, Histogram)
    paid = replace(part, epsilon=EPSILON)
    histogram = np.full((1, paid.number), 10 * paid.bound.weight, dtype=np.int64)
    answer = release_buckets(paid, ExactBuckets(histogram), np.random.default_rng(1).bytes)
    assert len(answer.numbers[0]) == len(paid.points)
    return paid


@pytest.mark.parametrize("which", ["maximum", "minimum"])
def test_an_extreme_is_one_choice(which: str, policy: Policy, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made with all of ε, for what a unit's rows may weigh."""
    asked: list[tuple[Fraction, int]] = []
    right = getattr(extreme, which)

    def choose(entropy: Entropy, histogram: Scores, epsilon: Fraction, mass: int, most: int) -> Scores:
        asked.append((epsilon, mass))
        chosen: Scores = right(entropy, histogram, epsilon, mass, most)
        return chosen

    monkeypatch.setattr(extreme, which, choose)
    measured = released(f"SELECT {which[:3]}(fare) FROM rides", policy, world)
    ((epsilon, mass),) = asked
    assert epsilon == EPSILON
    assert mass >= measured.bound.mass


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


@pytest.mark.parametrize(
    ("sql", "noisy"),
    [
        (MANY, True),
        ("SELECT median(seats) FROM rides", False),
        ("SELECT percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY seats) FROM rides", True),
        ("SELECT max(seats) FROM rides", False),
    ],
)
def test_points_are_read_off_together_where_that_is_less_noise(
    sql: str, noisy: bool, policy: Policy, world: World
) -> None:
    """Of few buckets two points already; of 1,024 only a dozen. One point and extremes are always chosen."""
    assert released(sql, policy, world).noisy is noisy


def test_points_of_a_noisy_histogram_are_near(policy: Policy, world: World) -> None:
    """They are off by some 16 scales: not by what cutting off counts below 0 would add, half a scale a bucket."""
    (part,) = measurements(MANY, policy, world, Memory(policy))
    assert isinstance(part, Histogram)
    paid, rows = replace(part, epsilon=EPSILON), np.zeros((40, part.number), dtype=np.int64)
    rows[:, 100:120] = 10 * math.ceil(paid.scale)
    answer = release_buckets(paid, ExactBuckets(rows), np.random.default_rng(1).bytes)
    middle = [point[6] for point in answer.numbers]
    assert part.points[6] == Fraction(23, 50)
    assert sum(105 <= bucket <= 114 for bucket in middle) >= 36


def test_points_of_too_few_rows_are_none(policy: Policy, world: World) -> None:
    """A group without rows has no quantile, however many are asked for; one in 24 is taken for more, here of 200."""
    (part,) = measurements(MANY, policy, world, Memory(policy))
    assert isinstance(part, Histogram)
    nothing = ExactBuckets(np.zeros((200, part.number), dtype=np.int64))
    answer = release_buckets(replace(part, epsilon=EPSILON), nothing, np.random.default_rng(1).bytes)
    none = [set(point) == {part.number} for point in answer.numbers]
    assert sum(none) > 180


def test_points_are_in_order_and_keep_their_none() -> None:
    """What each point says that there is stays; the others change places."""
    points = (Fraction(9, 10), Fraction(1, 10), Fraction(1, 2))
    assert release.sorted_by(points, [3, 7, 5], 8) == [7, 3, 5]
    assert release.sorted_by(points, [3, 7, 8], 8) == [7, 3, 8]
    assert release.sorted_by(points, [8, 8, 2], 8) == [8, 8, 2]
