"""The explorer's density: what noise does to it, measured on the built-in samples with the product's sampler."""

import random
from fractions import Fraction

import numpy as np
import pytest

from dpsql.plots.density import density, distance, silverman
from dpsql.plots.samples import BUCKETS, SIZE, samples
from dpsql.privacy.mechanisms.discrete_laplace import discrete_laplace

GRID = 1024
DRAWS = 30


def mean_distance(name: str, epsilon: Fraction) -> float:
    """Return the mean L1 distance between the raw line and private ones, over 30 draws from a fixed byte source."""
    entropy = random.Random(1).randbytes  # noqa: S311 -- the injected byte source of a test
    sample = samples()[name]
    raw = density(sample.counts, sample.low, sample.high)
    drawn = np.array(discrete_laplace(entropy, GRID / epsilon, BUCKETS * DRAWS)).reshape(DRAWS, BUCKETS) / GRID
    noisy = (density(np.add(sample.counts, noise), sample.low, sample.high) for noise in drawn)
    return float(np.mean([distance(raw, private) for private in noisy]))


@pytest.mark.parametrize(("epsilon", "expected"), [("0.01", 1.0), ("0.1", 0.25), ("1", 0.025), ("10", 0.0025)])
def test_distance_of_the_fares(epsilon: str, expected: float) -> None:
    """About 1.0, .25, .025 and .0025 at ε = .01, .1, 1 and 10; within a factor of 1.5 (fixed bytes, no false alarm)."""
    assert expected / 1.5 < mean_distance("fare", Fraction(epsilon)) < 1.5 * expected


@pytest.mark.parametrize("name", ["normal", "bimodal", "tip", "uniform"])
def test_distance_falls_with_epsilon(name: str) -> None:
    """Larger ε approaches the raw line, whatever the distribution."""
    found = [mean_distance(name, Fraction(epsilon)) for epsilon in ("0.01", "0.1", "1", "10")]
    assert found == sorted(found, reverse=True)
    assert found[0] > 10 * found[-1]


def test_curve_keeps_its_mass() -> None:
    """Reflected at both edges: the area is 1 even where everything stands at an edge."""
    for counts in ([1000, 0, 0, 0, 0], [0, 0, 0, 0, 7], [3, 9, 1, 5, 5]):
        curve = density(counts, 0.0, 10.0)
        step = 10.0 / (len(curve.x) - 1)
        assert np.trapezoid(curve.y, dx=step) == pytest.approx(1.0, abs=0.01)


def test_bandwidth_comes_from_the_noisy_counts() -> None:
    """1.06·σ·n^(−1/5), negative counts included."""
    centres = np.array([1.0, 3, 5, 7, 9])
    for counts in ([10, 0, 20, 0, 10], [10, -1, 20, -1, 10]):
        spread = np.sqrt(np.average((centres - 5) ** 2, weights=counts))
        assert silverman(counts, 0, 10) == pytest.approx(1.06 * spread * sum(counts) ** -0.2)


@pytest.mark.parametrize(
    ("counts", "expected"), [([-9, 0, 4, 0, -9], 1.0), ([0, 0, 0, 0, 0], 1.0), ([-3, 8, -3], 5 / 3)]
)
def test_bandwidth_survives_too_much_noise(counts: list[float], expected: float) -> None:
    """Where nothing is left of mass or variance, it is half a bucket."""
    assert silverman(counts, 0, 10) == pytest.approx(expected)


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
    """Ten distributions of 2,000 values in 100 buckets; nothing falls out of the range."""
    assert len(samples()) == 10
    for sample in samples().values():
        assert (len(sample.counts), sum(sample.counts)) == (BUCKETS, SIZE)
        assert sample.low < sample.high
