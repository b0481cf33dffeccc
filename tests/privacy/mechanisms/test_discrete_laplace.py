"""The laws of the samplers, against exact probabilities."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.errors import InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms import discrete_laplace as module
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.mechanisms.discrete_laplace import cube, discrete_laplace
from dpsql.privacy.release.exact import ExactSums
from dpsql.privacy.release.release import release_sums
from tests.support.exactness import measurements
from tests.support.fix_world import World
from tests.support.laws import chisquare, independent
from tests.support.memory import Memory
from tests.support.samples import examples

DRAWS = examples(40_000, 100_000)
FALSE_ALARM = 1e-6
"""Of each statistical test here, if its fixed seed were changed."""

Law = Callable[[int], float]


def _entropy(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def _laplace(scale: float) -> Law:
    p = math.exp(-1 / scale)
    return lambda z: (1 - p) / (1 + p) * p ** abs(z)


def _radius(t: float, d: int) -> Law:
    """Return the law of max|zᵢ| in the cube."""

    def weight(m: int) -> float:
        return ((2 * m + 1) ** d - (2 * m - 1) ** d if m else 1) * math.exp(-m / t)

    total = sum(weight(m) for m in range(int(t * (d + 60))))
    return lambda m: weight(m) / total


def _p_value(drawn: Iterable[int], law: Law, support: range) -> float:
    """Return the chi-square p-value; cells that expect fewer than 8 are pooled."""
    counts = Counter(drawn)
    n = sum(counts.values())
    cells = [(counts[z], n * law(z)) for z in support if n * law(z) >= 8]
    observed, expected = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    observed, expected = np.append(observed, n - observed.sum()), np.append(expected, n - expected.sum())
    return chisquare(observed, expected)


def _norms(points: Iterable[Sequence[int]]) -> list[int]:
    return [max(map(abs, z)) for z in points]


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7), Fraction(1, 3), Fraction(17, 4)])
def test_laplace_law(scale: Fraction) -> None:
    """Chi-square against the exact probabilities of the discrete Laplace."""
    drawn = discrete_laplace(_entropy(1), scale, DRAWS)
    assert _p_value(drawn, _laplace(float(scale)), range(-200, 201)) > FALSE_ALARM


@pytest.mark.parametrize(("t", "d"), [(1, 1), (1, 2), (5, 2), (3, 3), (4, 4), (1, 5), (2, 6), (3, 7), (2, 8)])
def test_cube_radius(t: int, d: int) -> None:
    """The largest coordinate has its exact law."""
    drawn = cube(_entropy(2), t, d, examples(20_000, 60_000))
    assert _p_value(_norms(drawn), _radius(t, d), range(60 * t)) > FALSE_ALARM


@pytest.mark.parametrize(("t", "d", "shell"), [(1, 2, 2), (2, 3, 1), (2, 3, 2)])
def test_cube_shell_is_uniform(t: int, d: int, shell: int) -> None:
    """All points of one radius are equally likely."""
    points = [z for z in itertools.product(range(-shell, shell + 1), repeat=d) if max(map(abs, z)) == shell]
    counts = Counter(tuple(z) for z in cube(_entropy(3), t, d, DRAWS))
    assert chisquare([counts[z] for z in points]) > FALSE_ALARM


def test_cube_of_one_dimension_is_laplace() -> None:
    """For d = 1 the cube's law is the discrete Laplace."""
    drawn = [z for (z,) in cube(_entropy(4), 6, 1, DRAWS)]
    assert _p_value(drawn, _laplace(6), range(-200, 201)) > FALSE_ALARM


@pytest.mark.parametrize("claim", [0.9, 1.1])
def test_other_scales_are_rejected(claim: float) -> None:
    """The same chi-square rejects a scale 10 % smaller or larger, so it would see a wrong one; likewise half of it."""
    laplace, points = discrete_laplace(_entropy(5), 20, 60_000), cube(_entropy(6), 20, 4, 60_000)
    assert _p_value(laplace, _laplace(20), range(-600, 601)) > FALSE_ALARM
    assert _p_value(laplace, _laplace(20 * claim), range(-600, 601)) < 1e-12
    assert _p_value(_norms(points), _radius(20, 4), range(1200)) > FALSE_ALARM
    assert _p_value(_norms(points), _radius(20 * claim, 4), range(1200)) < 1e-12


def test_independent_laplaces_are_not_the_cube() -> None:
    """Independent draws at the cube's scale, which would cost d times as much, are rejected."""
    flat = discrete_laplace(_entropy(7), 20, 120_000)
    assert _p_value(_norms(zip(flat[::2], flat[1::2], strict=True)), _radius(20, 2), range(1200)) < 1e-12


def _exact_cube(z: Sequence[int], t: int, terms: int = 400) -> float:
    """Add up, over all radii, the probability that the sampler's steps lead to `z` (up to its constant)."""
    d = len(z)
    first = max(map(abs, z))
    proposed = (math.comb(m + d, d) * math.exp(-m / t) for m in range(first, first + terms))
    accepted = (math.prod((2 * m + 1) / (2 * m + 2 * i) for i in range(1, d + 1)) for m in range(first, first + terms))
    spread = ((2 * m + 1) ** -d for m in range(first, first + terms))
    return sum(map(math.prod, zip(proposed, accepted, spread, strict=True)))


@pytest.mark.parametrize("d", range(1, 9))
def test_cube_by_exact_probability(d: int) -> None:
    """The probability of a point is that of 0 times exp(−max|zᵢ|/t), in every dimension, wherever the point is."""
    draw = np.random.default_rng(11)
    for t in (1, 3, 8):
        middle = _exact_cube([0] * d, t)
        for z in draw.integers(-4 * t, 4 * t + 1, (20, d)).tolist():
            assert _exact_cube(z, t) / middle == pytest.approx(math.exp(-max(map(abs, z)) / t), rel=1e-9)


@pytest.mark.parametrize(("d", "t", "s"), [(1, 4, 3), (2, 3, 2), (3, 5, 1)])
def test_largest_log_ratio_is_the_claim(d: int, t: int, s: int) -> None:
    """Over a lattice and all shifts of norm ≤ s, the worst log-ratio of the sampler's law is s/t, and is attained.

    Independent Laplaces of the same scale reach d times that.
    """
    reach = 3
    law = {z: _exact_cube(z, t) for z in itertools.product(range(-reach - s, reach + s + 1), repeat=d)}
    shifts = list(itertools.product(range(-s, s + 1), repeat=d))
    worst = max(
        math.log(law[z] / law[tuple(a + b for a, b in zip(z, shift, strict=True))])
        for z in itertools.product(range(-reach, reach + 1), repeat=d)
        for shift in shifts
    )
    independent = max(sum(map(abs, shift)) / t for shift in shifts)
    assert worst == pytest.approx(s / t, abs=1e-9)
    assert independent == pytest.approx(d * s / t)


def _of_blocks(policy: Policy, world: World, entropy: Callable[[int], bytes]) -> tuple[Sums, NDArray[np.int64]]:
    """Return a measurement of a cube of two, three cells and a lone count with noise of scale 3, and its noise."""
    select = (
        "avg(fare) FILTER (WHERE seats = 1), stddev(fare) FILTER (WHERE seats = 2), count(*) FILTER (WHERE seats = 3)"
    )
    (measured,) = measurements(f"SELECT {select} FROM rides", policy, world, Memory(policy))
    assert isinstance(measured, Sums)
    sums = replace(measured, epsilon=Fraction(measured.sensitivity, 3))
    assert (sums.scale, [len(block.places) for block in sums.blocks]) == (3, [2, 3, 1])
    nothing = ExactSums(None, [(0,) * len(sums.features)] * examples(25_000, 60_000))
    return sums, np.array(release_sums(sums, nothing, entropy).numbers)


def test_blocks_have_laws_of_their_own(policy: Policy, world: World) -> None:
    """Each block's noise has the law of its own dimension and norm, which that of another dimension is not."""
    sums, drawn = _of_blocks(policy, world, _entropy(11))
    for block in sums.blocks:
        of_block, d = drawn[:, list(block.places)], len(block.places)
        if block.norm is Norm.TOTAL:
            assert all(_p_value(column, _laplace(3), range(-100, 101)) > FALSE_ALARM for column in of_block.T.tolist())
        else:
            assert _p_value(_norms(of_block.tolist()), _radius(3, d), range(180)) > FALSE_ALARM
            assert _p_value(_norms(of_block.tolist()), _radius(3, d + 1), range(180)) < 1e-12


def test_blocks_are_independent(policy: Policy, world: World) -> None:
    """Whether one block's noise is large, or one cell's, says nothing about another's; within a cube it does."""
    _, drawn = _of_blocks(policy, world, _entropy(12))
    large = np.abs(drawn) > 2
    for i, j in itertools.combinations(range(6), 2):
        table = [[int(np.sum((large[:, i] == a) & (large[:, j] == b))) for b in (False, True)] for a in (False, True)]
        together = (i, j) == (0, 1)
        p_value = independent(table)
        assert p_value < 1e-12 if together else p_value > FALSE_ALARM


@pytest.mark.parametrize("words", [2**62, 0])
def test_wide_draws_have_the_same_law(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The samplers over unbounded integers follow the same laws where both can be compared, drawn in words or not."""
    monkeypatch.setattr(module, "_NARROW", 1)
    monkeypatch.setattr(module, "_WIDE", words)
    laplace = discrete_laplace(_entropy(8), Fraction(7, 2), 3_000)
    points = cube(_entropy(9), 3, 3, 1_000)
    assert _p_value(laplace, _laplace(3.5), range(-200, 201)) > FALSE_ALARM
    assert _p_value(_norms(points), _radius(3, 3), range(200)) > FALSE_ALARM


@pytest.mark.parametrize("t", [2**45 - 1, 2**45, 2**62, 2**62 + 1, 2**200])
def test_large_scales_do_not_overflow(t: int) -> None:
    """Magnitudes follow the scale on both sides of every word size.

    The mean of |z|/t over 200 draws is 1 ± 0.07 (one standard error), of max|zᵢ|/t in the cube 3 ± 0.12.
    """
    laplace, points = discrete_laplace(_entropy(10), t, 200), cube(_entropy(10), t, 3, 200)
    assert sum(map(abs, laplace)) / 200 / t == pytest.approx(1, abs=0.4)
    assert sum(_norms(points)) / 200 / t == pytest.approx(3, abs=0.7)
    assert any(z < 0 for z in laplace)
    assert any(z > 0 for z in laplace)


def test_source_stuck_on_zero_is_noticed() -> None:
    """Zeros for ever would be an endless run of heads."""
    with pytest.raises(InternalError):
        discrete_laplace(bytes, 5, 1)


@pytest.mark.parametrize("scale", [0, -1])
def test_scale_must_be_positive(scale: int) -> None:
    """A scale of nothing would be no noise at all."""
    with pytest.raises(ValueError, match="scale"):
        discrete_laplace(_entropy(0), scale, 1)
    with pytest.raises(ValueError, match="scale"):
        cube(_entropy(0), scale, 1, 1)


def test_no_draws() -> None:
    """Nothing is drawn for no groups."""
    assert discrete_laplace(_entropy(0), 3, 0) == []
    assert cube(_entropy(0), 3, 2, 0) == []
