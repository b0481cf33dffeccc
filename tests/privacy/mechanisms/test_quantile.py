"""Buckets are chosen near the wanted rank, and their scores move no more than is claimed."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.privacy.mechanisms import quantile as module
from dpsql.privacy.mechanisms.quantile import Scores, depth, quantile

Histogram = NDArray[np.int64]
Measure = Callable[[Histogram], object]


def _entropy(seed: int = 1) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


class Asked:
    """Stands in for the choice: keeps what it was asked, and chooses the best."""

    def __init__(self) -> None:
        self.scores: list[list[int]] = []
        self.sensitivity = 0
        self.epsilon = Fraction(0)

    def __call__(self, _: object, scores: Scores, epsilon: Fraction, sensitivity: int) -> Histogram:
        """Choose the first bucket of the best score."""
        self.scores, self.epsilon, self.sensitivity = scores.tolist(), epsilon, sensitivity
        chosen: Histogram = scores.argmax(axis=1)
        return chosen


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Put the stand-in in the place of the choice."""
    double = Asked()
    monkeypatch.setattr(module, "permute_and_flip", double)
    return double


def _histograms(buckets: int, most: int) -> list[Histogram]:
    return [np.array([cells], dtype=np.int64) for cells in itertools.product(range(most + 1), repeat=buckets)]


QS = [Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
MEASURES: list[tuple[str, Measure]] = [
    *((f"quantile {q}", lambda h, q=q: quantile(bytes, h, q, Fraction(1), 2)) for q in QS),
]


@pytest.mark.parametrize("measure", [m for _, m in MEASURES], ids=[name for name, _ in MEASURES])
def test_scores_move_by_the_claim_and_no_more(asked: Asked, measure: Measure) -> None:
    """For all small histograms and all ways to add mass 2, no score moves by more than the sensitivity; some does, at ε."""

    def scores(histogram: Histogram) -> list[int]:
        measure(histogram)
        return asked.scores[0]

    worst = max(
        abs(a - b)
        for histogram in _histograms(3, 3)
        for added in _histograms(3, 2)
        if added.sum() <= 2
        for a, b in zip(scores(histogram), scores(histogram + added), strict=True)
    )
    assert worst == asked.sensitivity
    assert asked.epsilon == 1


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("q", "bucket"),
    [(Fraction(0), 1), (Fraction(1, 2), 1), (Fraction(3, 5), 1), (Fraction(61, 100), 8), (Fraction(1), 8)],
)
def test_best_bucket_spans_the_rank(q: Fraction, bucket: int) -> None:
    """With 60 rows in one bucket and 40 in another, the best score is of one of the two, never between."""
    histogram = np.zeros((1, 10), dtype=np.int64)
    histogram[0, [1, 8]] = 60, 40
    assert quantile(bytes, histogram, q, Fraction(1), 1).tolist() == [bucket]


def test_choice_is_near_the_rank() -> None:
    """Every group has its own median, within ln(buckets/β)·C/ε rows; a miss at β = 1e-6 in 30 groups: 3e-5."""
    rng = np.random.default_rng(5)
    histogram = rng.integers(0, 50, (30, 64))
    chosen = quantile(_entropy(), histogram, Fraction(1, 2), Fraction(1), 1)
    through = np.cumsum(histogram, axis=1)
    upper = through[np.arange(30), chosen]
    lower = upper - histogram[np.arange(30), chosen]
    middle, miss = through[:, -1] / 2, np.log(64 / 1e-6)
    assert (lower - miss <= middle).all()
    assert (middle <= upper + miss).all()


def test_scores_beyond_64_bits_are_exact() -> None:
    """A rank that int64 would wrap is found."""
    rows = 2**43
    histogram = np.array([[998 * rows // 1000, rows // 1000, rows // 1000]], dtype=np.int64) * 2**19
    q = Fraction(1997, 2000)
    assert q.numerator * int(histogram.sum()) > 2**64
    assert quantile(_entropy(), histogram, q, Fraction(1), 2**20).tolist() == [1]


def test_few_rows_are_seldom_taken_for_many() -> None:
    """An empty group has no quantile with probability 19/20; fewer than 450 of 500 groups: false alarms below 1e-5."""
    empty = np.zeros((500, 64), dtype=np.int64)
    assert (quantile(_entropy(), empty, Fraction(9, 10), Fraction(1), 1) == 64).sum() >= 450


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 1000), Fraction(999, 1000), Fraction(1)])
def test_outer_quantiles_are_none_of_the_empty_buckets_beyond(q: Fraction) -> None:
    """What lies between a bound and the rows is chosen with probability 1/20 at most, in 400 groups of 20,000 rows.

    More than 40 of them are a false alarm below 1e-4.
    """
    histogram = np.zeros((400, 1000), dtype=np.int64)
    histogram[:, 400:600] = 100
    chosen = quantile(_entropy(), histogram, q, Fraction(1), 10)
    assert ((chosen < 400) | (chosen >= 600)).sum() <= 40
    ends = chosen[(chosen >= 400) & (chosen < 600)]
    assert (np.minimum(ends - 400, 599 - ends) <= 10).all()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("q", QS)
def test_quantiles_of_too_few_rows_are_none(q: Fraction) -> None:
    """With fewer rows than the choice needs no bucket is right; with as many, and with one where ε is no limit, one is."""
    enough = depth(10, Fraction(1), 1)
    histogram = np.zeros((3, 10), dtype=np.int64)
    histogram[:, 4] = 0, enough - 1, enough
    assert quantile(bytes, histogram, q, Fraction(1), 1).tolist() == [10, 10, 4]
    histogram[:, 4] = 0, 1, 2
    assert quantile(bytes, histogram, q, Fraction(10**9), 1).tolist() == [10, 4, 4]


def test_any_epsilon_is_computed_with() -> None:
    """However little is paid, that says only that there are too few rows."""
    rows = np.full((1, 10), 2**40, dtype=np.int64)
    assert quantile(_entropy(), rows, Fraction(1, 3), Fraction(1, 10**30), 2**20).tolist() == [10]


def test_depth_is_exact_at_any_size() -> None:
    """floor(2·C·ln(20·k)/ε), in units of the lattice."""
    assert depth(1024, Fraction(1, 2), 20) == 794
    assert depth(1024, Fraction(1, 2), 20 * 2**16) == 52047139


@pytest.mark.parametrize("q", [Fraction(-1, 2), Fraction(3, 2)])
def test_quantile_is_between_0_and_1(q: Fraction) -> None:
    """There is no rank outside the rows."""
    with pytest.raises(ValueError, match="quantile"):
        quantile(bytes, np.zeros((1, 2), dtype=np.int64), q, Fraction(1), 1)


def test_no_groups() -> None:
    """No group, no choice."""
    assert quantile(bytes, np.zeros((0, 4), dtype=np.int64), Fraction(1, 2), Fraction(1), 1).tolist() == []
