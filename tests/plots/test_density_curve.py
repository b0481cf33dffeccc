"""The explorer's density: what noise does to it, measured on the built-in samples with the product's sampler."""

import random
from fractions import Fraction

import numpy as np
import pytest

from dpsql.plots.density import density, distance
from dpsql.plots.samples import REAL_TRIPS, SAMPLE_BUCKETS, SIZE, SIZES, samples
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace

GRID = 1024
DRAWS = 30


def mean_distance(name: str, epsilon: Fraction) -> float:
    """Return the mean L1 distance between the raw line and private ones, over 30 draws from a fixed byte source."""
    entropy = random.Random(1).randbytes  # noqa: S311 -- the injected byte source of a test
    sample = samples()[name]
    raw = density(sample.counts, sample.low, sample.high)
    drawn = (
        np.array(discrete_laplace(entropy, GRID / epsilon, SAMPLE_BUCKETS * DRAWS)).reshape(DRAWS, SAMPLE_BUCKETS)
        / GRID
    )
    noisy = (density(np.add(sample.counts, noise), sample.low, sample.high) for noise in drawn)
    return float(np.mean([distance(raw, private) for private in noisy]))


@pytest.mark.parametrize(("epsilon", "expected"), [("0.01", 1.0), ("0.1", 0.25), ("1", 0.025), ("10", 0.0025)])
def test_distance_of_the_fares(epsilon: str, expected: float) -> None:
    """About 1.0, .25, .025 and .0025 at ε = .01, .1, 1 and 10; within a factor of 1.5 (fixed bytes, no false alarm)."""
    assert expected / 1.5 < mean_distance("fare", Fraction(epsilon)) < 1.5 * expected


@pytest.mark.parametrize("name", ["normal", "bimodal", "tip", "uniform"])
def test_distance_falls_with_epsilon(name: str) -> None:
    """Larger ε approaches the raw line, whatever the distribution."""
    distances = [mean_distance(name, Fraction(epsilon)) for epsilon in ("0.01", "0.1", "1", "10")]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > 10 * distances[-1]


def test_curve_keeps_its_mass() -> None:
    """Reflected at both edges: the area is 1 even where everything stands at an edge."""
    for counts in ([1000, 0, 0, 0, 0], [0, 0, 0, 0, 7], [3, 9, 1, 5, 5]):
        curve = density(counts, 0.0, 10.0)
        step = 10.0 / (len(curve.x) - 1)
        assert np.trapezoid(curve.y, dx=step) == pytest.approx(1.0, abs=0.01)


def test_smoothing_is_the_same_whatever_the_noise() -> None:
    """The kernel's width is a share of the range, so two lines differ by their noise alone."""
    for counts in ([10, 0, 20, 0, 10] * 20, [10, -9, 20, -9, 10] * 20, [-9.0] * 100):
        assert density(counts, 0, 10).bandwidth == pytest.approx(0.2)
    assert density([10, 0, 20, 0, 10], 0, 10).bandwidth == 1.0  # half a bucket, where they are few


def test_peaks_do_not_double_by_smoothing() -> None:
    """Of tips at ε = 0.3 the highest point is that of the raw line within a tenth on average; it was a third off."""
    entropy = random.Random(3).randbytes  # noqa: S311 -- the injected byte source of a test
    sample = samples()["tip"]
    raw = max(density(sample.counts, sample.low, sample.high).y)
    drawn = np.array(discrete_laplace(entropy, Fraction(10, 3), SAMPLE_BUCKETS * DRAWS)).reshape(DRAWS, SAMPLE_BUCKETS)
    peaks = [max(density(np.add(sample.counts, noise), sample.low, sample.high).y) for noise in drawn]
    assert np.mean(peaks) == pytest.approx(raw, rel=0.1)
    assert max(peaks) < 1.25 * raw


def test_without_smoothing_the_buckets_stand_as_they_are() -> None:
    """Each bucket's share over its width, negative ones as nothing."""
    curve = density([3, -2, 1], 0, 3, smoothing=0)
    assert curve.bandwidth == 0
    assert sorted(set(curve.y)) == [0.0, 0.25, 0.75]


def test_without_positive_counts_the_curve_is_flat_zero() -> None:
    """All noise and no mass: nothing is invented."""
    assert set(density([-1.0, -5.0, 0.0], 0, 1).y) == {0.0}


def test_band_follows_the_margins() -> None:
    """Twice the margins, twice the band."""
    once = density([5, 9, 5], 0, 3, margins=[1, 1, 1]).band
    twice = density([5, 9, 5], 0, 3, margins=[2, 2, 2]).band
    assert once is not None
    assert twice == pytest.approx([2 * half for half in once])


@pytest.mark.parametrize(("counts", "low", "high"), [([], 0, 1), ([1], 1, 1)])
def test_density_needs_buckets_and_a_range(counts: list[float], low: float, high: float) -> None:
    """No buckets or no range: no curve."""
    with pytest.raises(ValueError, match="at least one bucket"):
        density(counts, low, high)


def test_samples_are_the_declared_ones() -> None:
    """Ten distributions of made-up values and four of real trips in 100 buckets; nothing falls out of the range."""
    assert len(samples()) == 14
    for sample in samples().values():
        for size, counts in sample.by_size.items():
            assert (len(counts), sum(counts)) == (SAMPLE_BUCKETS, size)
        assert sum(sample.counts) == SIZE
        assert max(sample.by_size) == (6_433 if sample.group == REAL_TRIPS else SIZES[-1])
        assert sample.low < sample.high


def _moments(name: str) -> tuple[float, float, float]:
    """Return mean, deviation and skew of a sample."""
    sample = samples()[name]
    wide = (sample.high - sample.low) / SAMPLE_BUCKETS
    values = np.repeat(sample.low + wide * (np.arange(SAMPLE_BUCKETS) + 0.5), sample.counts)
    mean, deviation = float(values.mean()), float(values.std())
    return mean, deviation, float(((values - mean) ** 3).mean()) / deviation**3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("normal", (0, 1, 0)),
        ("normal_50", (50, 10, 0)),
        ("uniform", (0.5, 12**-0.5, 0)),
        ("exponential", (0.5, 0.5, 2)),
        ("log_normal", (1.2, 0.8, 2.2)),
    ],
)
def test_each_sample_has_its_shape(name: str, expected: tuple[float, float, float]) -> None:
    """The mean, deviation and skew that its name says."""
    mean, deviation, skew = _moments(name)
    assert mean == pytest.approx(expected[0], abs=0.05 * expected[1])
    assert deviation == pytest.approx(expected[1], rel=0.05)
    assert skew == pytest.approx(expected[2], abs=0.25)


def test_two_peaks_are_two() -> None:
    """In between there are fewer than half as many."""
    counts = samples()["bimodal"].counts
    valley = min(counts[35:65])
    assert min(max(counts[:50]), max(counts[50:])) > 2 * valley


@pytest.mark.parametrize("name", ["fare", "distance", "duration", "tip"])
def test_trips_are_mostly_short(name: str) -> None:
    """Real and made-up ones in the same unit and range, alike in mean within a factor of two; few are long."""
    made, real = samples()[name], samples()[f"real_{name}"]
    assert (made.unit, made.low, made.high) == (real.unit, real.low, real.high)
    assert made.unit in {"dollars", "miles", "minutes"}
    assert 0.5 < _moments(name)[0] / _moments(f"real_{name}")[0] < 2
    assert min(_moments(sample)[2] for sample in (name, f"real_{name}")) > 1.5
