"""Margins: quantiles against the literature's numbers and against drawn noise, and the coverage of every interval."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.privacy.law import Cube, Floats, Laplaces, Noise, half_width
from dpsql.privacy.margin import (
    Linear,
    count_half_width,
    mean_interval,
    rank_half_width,
    ratio_interval,
    sum_half_width,
    variance_interval,
)

DRAWS = 20_000


def _draw(noise: Noise, n: int, count: int = DRAWS, seed: int = 1) -> list[Floats]:
    """Draw `count` times the noise of the first `n` statistics."""
    rng = np.random.default_rng(seed)
    if isinstance(noise, Cube):
        radius = rng.gamma(noise.d + 1, noise.scale, count)
        return [radius * rng.uniform(-1, 1, count) for _ in range(n)]
    return [rng.laplace(0, scale, count) for scale in noise.scales[:n]]


def _share(inside: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(np.mean(inside))


@pytest.mark.parametrize(("d", "expected"), [(1, 2.996), (2, 4.113), (3, 5.186), (4, 6.234), (6, 8.282), (8, 10.29)])
def test_marginal_of_the_cube(d: int, expected: float) -> None:
    """The half-width of one statistic in scales, for every dimension that was computed elsewhere."""
    assert float(half_width(Cube(d, 1.0), (1.0,))) == pytest.approx(expected, abs=5e-3)
    assert float(half_width(Cube(d, 7.0), (2.0,))) == pytest.approx(14 * expected, rel=1e-3)


@pytest.mark.parametrize("noise", [Cube(2, 3.0), Cube(3, 1.0), Cube(8, 0.5), Laplaces((1.0, 2.0, 2.0))])
@pytest.mark.parametrize(
    "weights", [(1, 0.5, 0), (1, 1, 0), (0.01, 1, 0), (0.5, 100, 0), (0.7, -1, 0.5), (0.5, 0, 0.5), (0, 0, 1)]
)
def test_weighted_sums_against_draws(noise: Noise, weights: tuple[float, ...]) -> None:
    """5 % of drawn noise lies beyond; 0.5 % off is 10 standard errors of 200,000 draws (false alarm below 1e-20)."""
    n = 2 if noise == Cube(2, 3.0) else 3
    drawn = sum(w * z for w, z in zip(weights, _draw(noise, n, 200_000), strict=False))
    beyond = _share(np.abs(drawn) > half_width(noise, weights[:n]))
    expected = 0.05 if any(weights[:n]) else 0.0
    assert beyond == pytest.approx(expected, abs=0.005)


def test_weights_of_nothing() -> None:
    """What carries no noise has no margin; a vector beside it keeps its own."""
    widths = half_width(Cube(2, 1.0), [(0.0, 0.0), (1.0, 0.0)])
    assert widths[0] == 0
    assert widths[1] == pytest.approx(4.113, abs=5e-3)


def test_more_weights_than_statistics() -> None:
    """A cube has no more statistics than dimensions."""
    with pytest.raises(ValueError, match="2 weights for 1"):
        half_width(Cube(1, 1.0), (1.0, 1.0))


def _beyond(t: int, d: int, h: int) -> float:
    """Add up P(|z| > h) of one coordinate of the discrete cube."""

    def weight(radius: int) -> float:
        return float((2 * radius + 1) ** d) * math.exp(-radius / t)

    far = h + t * (40 + 4 * d)
    above = math.fsum(weight(r) * 2 * (r - h) / (2 * r + 1) for r in range(h + 1, far))
    return above / math.fsum(weight(r) for r in range(far))


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("t", [1, 2, 3, 10, 100])
def test_count_is_covered_on_coarse_lattices(t: int, d: int) -> None:
    """Even where the noise is a few lattice steps, at least 95 % of it is within the margin of a count."""
    margin = count_half_width(t, d, 4)
    assert _beyond(t, d, int(margin * 4)) <= 0.05
    assert _beyond(t, d, int(margin * 4) - 2) > 0.05


@pytest.mark.parametrize(("low", "high"), [(0.0, 100.0), (-50.0, 50.0), (90.0, 100.0), (5.0, 5.0)])
@pytest.mark.parametrize("noise", [Cube(2, 2.0), Cube(4, 1.0), Laplaces((4.0, 2.0))])
def test_sum_is_covered(noise: Noise, low: float, high: float) -> None:
    """94 to 96 % of sums lie within; 1 % off is 6 standard errors of 20,000 draws (false alarm below 1e-8)."""
    z0, z1 = _draw(noise, 2)
    error = (high + low) / 2 * z0 + (high - low) / 2 * z1
    assert _share(np.abs(error) <= sum_half_width(noise, low, high)) == pytest.approx(0.95, abs=0.01)


def _values(kind: str, n: int) -> Floats:
    """Return values in [0, 100]."""
    rng = np.random.default_rng(7)
    match kind:
        case "uniform":
            return rng.uniform(0, 100, n)
        case "skewed":
            return np.clip(rng.lognormal(2, 1, n), 0, 100)
        case _:
            return np.where(np.arange(n) % 10 == 0, 90.0, 0.0)


@pytest.mark.parametrize("kind", ["uniform", "skewed", "two points"])
@pytest.mark.parametrize("n", [5, 20, 200, 5000])
@pytest.mark.parametrize("noise", [Cube(2, 1.0), Cube(4, 1.0), Laplaces((2.0, 2.0))])
def test_mean_is_covered(noise: Noise, n: int, kind: str) -> None:
    """At least 94 % of means lie within, and little more in large groups; 6 standard errors, false alarm below 1e-8."""
    values = _values(kind, n)
    z0, z1 = _draw(noise, 2)
    low, high = mean_interval(noise, n + z0, ((values - 50) / 50).sum() + z1, 0, 100)
    covered = _share((low <= values.mean()) & (values.mean() <= high))
    assert covered >= 0.94
    assert n < 200 or covered <= 0.96


@pytest.mark.parametrize("kind", ["uniform", "skewed", "two points"])
@pytest.mark.parametrize(("n", "most"), [(5, 1.0), (50, 0.995), (1000, 0.965), (20_000, 0.965)])
@pytest.mark.parametrize("noise", [Cube(3, 1.0), Cube(6, 0.5), Laplaces((3.0, 3.0, 3.0))])
def test_variance_is_covered(noise: Noise, n: int, most: float, kind: str) -> None:
    """At least 93.5 % of sample variances lie within (4.9 standard errors), hardly more in large groups."""
    values = _values(kind, n)
    u = (values - 50) / 50
    z0, z1, z2 = _draw(noise, 3, 5000)
    low, high = variance_interval(noise, n + z0, u.sum() + z1, (2 * u**2 - 1).sum() + z2, 50, sample=True)
    true = values.var(ddof=1)
    covered = _share((low <= true) & (true <= high))
    assert 0.935 <= covered <= most


def test_intervals_hold_the_estimate_and_shrink() -> None:
    """In a large group the interval is narrow, and around the estimate."""
    n, y = np.array([1e6]), np.array([2e5])
    low, high = mean_interval(Cube(2, 1.0), n, y, 0, 100)
    assert low[0] < 60 < high[0]
    assert high[0] - low[0] < 1e-3
    low, high = variance_interval(Cube(3, 1.0), n, np.zeros(1), np.zeros(1), 50, sample=False)
    assert low[0] < 1250 < high[0]
    assert high[0] - low[0] < 0.1


def test_small_groups_know_nothing() -> None:
    """Where noise outweighs the rows, or the count came out negative, the interval is the whole range."""
    low, high = mean_interval(Cube(2, 10.0), np.array([3.0, -8.0]), np.array([1.0, 2.0]), 0, 100)
    assert low.tolist() == [0, 0]
    assert high.tolist() == [100, 100]


def test_impossible_sums_are_not_certain() -> None:
    """A noisy mean far outside the range gives the whole range, not one end of it."""
    low, high = mean_interval(Cube(2, 1.0), np.array([50.0]), np.array([90.0]), 0, 100)
    assert (low[0], high[0]) == (0, 100)


def test_range_of_one_value_is_certain() -> None:
    """Where the bounds leave one value, so does the margin."""
    low, high = mean_interval(Cube(2, 1.0), np.array([50.0]), np.array([0.0]), 7, 7)
    assert (low[0], high[0]) == (7, 7)


def test_ratio_of_cells() -> None:
    """From two cells of independent noise, Σ(1 − x) and Σx: the mean of x in [0, 1]; 94 to 96 % (false alarm 1e-8)."""
    noise = Laplaces((1.0, 1.0))
    rest, sums = _draw(noise, 2)
    top, bottom = Linear(30 + sums, (0.0, 1.0)), Linear(100 + rest + sums, (1.0, 1.0))
    low, high = ratio_interval(noise, top, bottom, 0, 1)
    assert _share((low <= 0.3) & (high >= 0.3)) == pytest.approx(0.95, abs=0.01)


def test_rank_margin() -> None:
    """For the median it is (C/ε)·ln(20·k); other ranks move more with each row."""
    assert rank_half_width(Fraction(1, 2), 1024, 20.0) == pytest.approx(20 * math.log(20 * 1024))
    assert rank_half_width(Fraction(9, 10), 1024, 20.0) == pytest.approx(36 * math.log(20 * 1024))
