"""Means of groups drawn together: nearer to the truth over all of them, and total."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.accuracy.shrunk import ShrunkMean, shrunk_means
from dpsql.privacy.features.feature import FIRST, Readout
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.measurement.plan import StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory

SIZES = (2, 3, 5, 8, 12, 20, 40, 80, 150, 400) * 6


@pytest.fixture
def mean_of_fares(policy: Policy, new_client: NewClient) -> tuple[Margins, Readout]:
    """How an average is read off sums, and their noise: at ε = 1, 20 rows each."""
    client: Client = new_client(
        Memory(policy), policy=with_epsilon(with_rows(policy, "rides", "passenger", 20), Fraction(1))
    )
    question = client.gateway.examine("SELECT paid, avg(fare) FROM rides GROUP BY paid", client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    (scope,) = client.gateway.priced(analyzed, request).scopes
    (output,), sums = scope.plan.outputs, scope.parts[-1].measurement
    assert isinstance(output, StatisticOutput)
    assert isinstance(sums, Sums)
    return Margins.of(sums), output.readout


def _drawn(
    mean_of_fares: tuple[Margins, Readout], means: Sequence[float], sizes: Sequence[int], seed: int
) -> list[dict[object, float]]:
    """Return noisy sums of groups of such means of u and sizes: normal noise of the variance that the law has."""
    margins, readout = mean_of_fares
    draw = np.random.default_rng(seed)
    assert readout.count is not None
    ((law, _),) = margins.laws
    deviation = math.sqrt(law.variance) * margins.unit
    assert set(margins.readable) >= {readout.count, readout.at(FIRST.value)}
    return [
        {
            readout.count: size + draw.normal(0, deviation),
            readout.at(FIRST.value): size * mean + draw.normal(0, deviation),
        }
        for mean, size in zip(means, sizes, strict=True)
    ]


def _errors(values: Sequence[float], true: Sequence[float]) -> float:
    return math.sqrt(fmean((value - each) ** 2 for value, each in zip(values, true, strict=True)))


def _in_units(mean: ShrunkMean | None, readout: Readout) -> float:
    assert mean is not None
    interval = readout.scaled(FIRST).interval
    return (mean.value - float(interval.middle)) / float(interval.half)


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.1, 0.3])
def test_all_groups_together_are_nearer(spread: float, mean_of_fares: tuple[Margins, Readout]) -> None:
    """However much they differ; margins cover 19 of 20 of them: of 1,200 fewer than 90 % by chance never."""
    margins, readout = mean_of_fares
    half, covered, plain, drawn = float(readout.scaled(FIRST).interval.half), [], [], []
    for seed in range(20):
        draw = np.random.default_rng(100 + seed)
        true = np.clip(draw.normal(-0.2, spread, len(SIZES)), -1, 1).tolist()
        groups = _drawn(mean_of_fares, true, SIZES, seed)
        shrunk = shrunk_means(readout, [(margins, group) for group in groups])  # type: ignore[misc]
        values = [_in_units(mean, readout) for mean in shrunk]
        kind = statistic("avg")
        by = readout.scaled(FIRST).interval
        said = [kind.estimate(readout, group) for group in groups]  # type: ignore[arg-type]
        usual = [0.0 if s is None else (s - float(by.middle)) / float(by.half) for s in said]
        plain.append(_errors(usual, true))
        drawn.append(_errors(values, true))
        covered += [
            abs(value - each) * half <= mean.half_width
            for value, each, mean in zip(values, true, shrunk, strict=True)
            if mean is not None
        ]
    assert fmean(drawn) < fmean(plain) * (0.35 if spread < 0.05 else 0.9)
    assert 0.9 < fmean(covered) <= 1.0


def test_what_is_not_hidden_stays(mean_of_fares: tuple[Margins, Readout]) -> None:
    """Groups of a million rows differ as much as they do; a group of nobody has what is common."""
    margins, readout = mean_of_fares
    sizes, true = [1_000_000] * 4 + [0], [-0.6, -0.2, 0.1, 0.7, 0.0]
    groups = [
        {readout.count: float(size), readout.at(FIRST.value): size * mean}
        for size, mean in zip(sizes, true, strict=True)
    ]
    *large, nobody = shrunk_means(readout, [(margins, group) for group in groups])  # type: ignore[misc]
    assert [_in_units(mean, readout) for mean in large] == pytest.approx(true[:4], abs=1e-3)
    assert _in_units(nobody, readout) == pytest.approx(0.0, abs=0.05)
    assert nobody is not None
    assert all(mean is not None and mean.half_width < nobody.half_width / 10 for mean in large)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("size", [-1e9, -3.0, 0.0, 0.4, 1.5, 1e12, math.inf, math.nan])
def test_it_is_total(size: float, number: int, mean_of_fares: tuple[Margins, Readout]) -> None:
    """After the engine was asked nothing fails: of no rows it is nothing, of any others inside the bounds."""
    margins, readout = mean_of_fares
    interval = readout.scaled(FIRST).interval
    for noise in (1, Fraction(1, 10**12), 10**12):
        with_noise = margins.times(Fraction(noise))
        for of_all in (-1e15, 0.0, 1e15):
            group = {readout.count: size, readout.at(FIRST.value): of_all}
            shrunk = shrunk_means(readout, [(with_noise, group)] * number)  # type: ignore[list-item]
            assert len(shrunk) == number
            for mean in shrunk:
                assert (mean is None) == (not math.isfinite(size) or size * number < 1)
                if mean is not None:
                    assert interval.low <= mean.value <= interval.high
                    assert 0 <= mean.half_width <= float(interval.high - interval.low)
    assert shrunk_means(readout, []) == []


def test_a_cut_widens_it(mean_of_fares: tuple[Margins, Readout]) -> None:
    """What C takes off all groups moves the mean that they are drawn to."""
    margins, readout = mean_of_fares
    groups = _drawn(mean_of_fares, [0.0] * len(SIZES), SIZES, 1)
    without = shrunk_means(readout, [(margins, group) for group in groups])  # type: ignore[misc]
    cutting = replace(margins, cut=sum(SIZES) / len(SIZES), cut_of_all=sum(SIZES))
    cut = shrunk_means(readout, [(cutting, group) for group in groups])  # type: ignore[misc]
    assert [mean and mean.value for mean in cut] == [mean and mean.value for mean in without]
    assert all(a and b and a.half_width > b.half_width for a, b in zip(cut, without, strict=True))
