"""The numbers of the four pupils: universe of 4, one missing, ρ = 1/3."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.risks import study
from dpsql.epsilon.risks.study import Study, risks_at, study_risk

YEARS, ABSENCES = (1, 2, 3, 4), (1, 2, 3, 10)
SEEN = 2.20131
THIRD = Fraction(1, 3)
MEAN = StudiedStatistic.named("mean")


def studied(values: tuple[int, ...], name: str) -> Study:
    """Return the study of one column and statistic."""
    return study_risk(Universe.of(values), StudiedStatistic.named(name), THIRD)


def belief(values: tuple[int, ...], epsilon: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the posterior after seeing the article's answer."""
    answers = worlds.world_answers(Universe.of(values), MEAN)
    return study.posterior(answers, SEEN, epsilon=epsilon, sensitivity=studied(values, "mean").noise_sensitivity)


@pytest.mark.parametrize(
    ("values", "noise", "apart"), [(YEARS, 5 / 6, 1.0), (ABSENCES, 17 / 6, 3.0)], ids=["years", "absences"]
)
def test_mean_sensitivities(values: tuple[int, ...], noise: float, apart: float) -> None:
    """Δf and Δv of the mean are 5/6 and 1 for school years, 17/6 and 3 for absences."""
    result = studied(values, "mean")
    assert (result.noise_sensitivity, result.world_sensitivity) == pytest.approx((noise, apart), abs=1e-14)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (YEARS, [0.33898835, 0.40031580, 0.17987348, 0.08082237]),
        (ABSENCES, [0.61802372, 0.15816999, 0.12500781, 0.09879847]),
    ],
    ids=["years", "absences"],
)
def test_posterior_of_the_mean(values: tuple[int, ...], expected: list[float]) -> None:
    """The posteriors after seeing 2.20131 at ε = 2, the world without the last pupil first."""
    assert belief(values, 2.0) == pytest.approx(np.array(expected), abs=5e-9)


@pytest.mark.parametrize(("values", "largest"), [(YEARS, 0.4003158), (ABSENCES, 0.6180237)], ids=["years", "absences"])
def test_disclosure_risk_is_the_largest_posterior(values: tuple[int, ...], largest: float) -> None:
    """The adversary names the most probable world."""
    assert study.disclosure_risk(belief(values, 2.0)) == pytest.approx(largest, abs=5e-8)


@pytest.mark.parametrize(
    ("values", "upper", "tight"),
    [(YEARS, 0.7860684399, 0.3291788293012836), (ABSENCES, 0.7347845418, 0.3476971459619019)],
    ids=["years", "absences"],
)
def test_bounds_of_the_mean(values: tuple[int, ...], upper: float, tight: float) -> None:
    """The upper bound at ε = 2 and the tight bound at ε = 0.5."""
    result = studied(values, "mean")
    assert risks_at(result, 2.0)[0] == pytest.approx(upper, abs=5e-11)
    assert risks_at(result, 0.5)[1] == pytest.approx(tight, abs=1e-14)


@pytest.mark.parametrize(
    ("values", "upper", "tight"),
    [(YEARS, 0.3378875900901369, 0.52514968726951), (ABSENCES, 0.38293926876882173, 0.43172011956720)],
    ids=["years", "absences"],
)
def test_epsilon_of_the_mean(values: tuple[int, ...], upper: float, tight: float) -> None:
    """The inverse of the upper bound, and the root of the tight one (exact roots computed with 50 digits)."""
    result = studied(values, "mean")
    assert result.epsilon_upper == pytest.approx(upper, abs=1e-15)
    assert result.epsilon_tight == pytest.approx(tight, abs=2e-14)


@pytest.mark.parametrize(
    ("values", "noise", "apart", "upper", "tight"),
    [(YEARS, 1.0, 1.0, 0.405465108, math.log(2)), (ABSENCES, 4.0, 1.0, 1.621860432, 4 * math.log(2))],
    ids=["years", "absences"],
)
def test_median(values: tuple[int, ...], noise: float, apart: float, upper: float, tight: float) -> None:
    """Sensitivities and both ε of the median."""
    result = studied(values, "median")
    assert (result.noise_sensitivity, result.world_sensitivity) == (noise, apart)
    assert result.epsilon_upper == pytest.approx(upper, abs=5e-10)
    assert result.epsilon_tight == pytest.approx(tight, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "name", "upper", "tight"),
    [
        (YEARS, "var_pop", 0.59552688, 1.01805992),
        (ABSENCES, "var_pop", 0.41632578, 0.46609933),
        (YEARS, "var_samp", 0.65888080, 1.12636417),
        (ABSENCES, "var_samp", 0.41415365, 0.46366751),
        (YEARS, "sum", 0.54062014, 0.84023950),
        (ABSENCES, "sum", 0.45051679, 0.50790602),
    ],
)
def test_epsilon_of_other_statistics(values: tuple[int, ...], name: str, upper: float, tight: float) -> None:
    """Both ε of the variances and the sum, to the eight digits given."""
    result = studied(values, name)
    assert (result.epsilon_upper, result.epsilon_tight) == pytest.approx((upper, tight), abs=5e-9)


@pytest.mark.parametrize("values", [YEARS, ABSENCES], ids=["years", "absences"])
def test_count_reveals_nothing_when_the_size_is_known(values: tuple[int, ...]) -> None:
    """All worlds have the same count, so any ε will do."""
    result = studied(values, "count")
    assert (result.epsilon_upper, result.epsilon_tight) == (math.inf, math.inf)
