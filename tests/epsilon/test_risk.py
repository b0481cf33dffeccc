"""The bounds bound, and the tight one is attained."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.databases.worlds import Worlds
from dpsql.epsilon.numbers import BadInput
from dpsql.epsilon.risks import study
from dpsql.epsilon.risks.study import person_risk_at, risk_curve, risks_at, study_risk
from tests.epsilon.universes import LINEAR, QUANTILES, SPREADS, universes

MEAN = StudiedStatistic.named("mean")


def test_tight_bound_is_the_supremum_of_the_posterior() -> None:
    """No noisy answer on a fine grid gives more, and the answer at a world itself gives as much."""
    for universe in universes(5, 60):
        answers = worlds.world_answers(universe, MEAN)
        tight = study.tight_risk(Worlds.of_answers(answers), epsilon=1.5, sensitivity=2.0)
        grid = np.concatenate([np.linspace(answers.min() - 3, answers.max() + 3, 300), answers])
        seen = [study.posterior(answers, float(x), epsilon=1.5, sensitivity=2.0).max() for x in grid]
        assert max(seen) == pytest.approx(tight, abs=1e-12)


def test_tight_bound_holds_for_any_prior() -> None:
    """With unequal priors the supremum is still attained at the worlds."""
    rng = np.random.default_rng(6)
    for universe in universes(6, 60):
        answers = worlds.world_answers(universe, MEAN)
        prior = rng.dirichlet(np.ones(len(answers)))
        tight = study.tight_risk(Worlds.of_answers(answers, prior), epsilon=0.7, sensitivity=1.0)
        grid = np.concatenate([np.linspace(answers.min() - 3, answers.max() + 3, 300), answers])
        seen = [study.posterior(answers, float(x), epsilon=0.7, sensitivity=1.0, prior=prior).max() for x in grid]
        assert max(seen) == pytest.approx(tight, abs=1e-12)


def test_near_and_far_sums_agree() -> None:
    """The fast sums and the ones that can't overflow are the same function."""
    rng = np.random.default_rng(12)
    place = np.sort(rng.uniform(0, 250, 5_000))
    place -= place[0]
    log_mass = np.log(rng.dirichlet(np.ones(5_000)))
    assert study._near_sums(log_mass, place) == pytest.approx(study._far_sums(log_mass, place), abs=1e-9)


def test_very_large_epsilon_neither_overflows_nor_exceeds_one() -> None:
    """At ε = 10⁶ the risk is what only equal worlds prevent."""
    possible = worlds.of_universe(Universe.of([1, 2, 3, 10, 10]), MEAN)
    assert study.tight_risk(possible, epsilon=1e6, sensitivity=1e-3) == pytest.approx(1.0)


def test_upper_bound_is_never_below_the_tight_one() -> None:
    """For every statistic and ε."""
    for universe in universes(7, 60):
        for statistic in (*LINEAR, *QUANTILES[:3], *SPREADS[:1]):
            result = study_risk(universe, statistic, Fraction(9, 10))
            for epsilon in (0.0, 0.1, 1.0, 10.0):
                upper, tight = risks_at(result, epsilon)
                assert tight <= upper + 1e-12


def test_risk_never_falls_with_epsilon() -> None:
    """That is what bisection rests on."""
    result = study_risk(Universe.of([1, 5, 5, 9, 30]), MEAN, Fraction(1, 2))
    risks = risk_curve(result, np.linspace(0, 20, 400).tolist())
    assert list(risks.tight) == sorted(risks.tight)
    assert list(risks.upper) == sorted(risks.upper)


def test_without_noise_only_equal_worlds_protect_each_other() -> None:
    """Three people of the same value can't be told apart at any ε."""
    possible = worlds.of_universe(Universe.of([1, 1, 1, 5, 5, 5]), MEAN)
    assert study.limit_risk(possible) == pytest.approx(1 / 3)
    assert study.tight_risk(possible, epsilon=1e4, sensitivity=1.0) == pytest.approx(1 / 3)


def test_a_prior_must_be_a_distribution() -> None:
    """One positive probability a world, 1 in total."""
    for prior in ([0.5, 0.5], [0.2, 0.2, 0.2], [1.0, 0.5, -0.5]):
        with pytest.raises(BadInput, match="prior"):
            Worlds.of_answers([1, 2, 3], prior)


def test_ten_thousand_people_are_studied() -> None:
    """Sensitivities, worlds and search at n = 10,000; the curves agree with the direct sum."""
    values = np.random.default_rng(8).lognormal(3, 1, 10_000)
    result = study_risk(Universe.of(values), MEAN, Fraction(1, 3))
    assert risks_at(result, result.epsilon_tight)[1] == pytest.approx(1 / 3, rel=1e-9)
    answers = worlds.leave_one_out(values, MEAN)
    top = answers[np.argmax(values)]
    direct = 1 / np.exp(-np.abs(answers - top) / result.noise_sensitivity).sum()
    assert risks_at(result, 1.0)[1] == pytest.approx(direct, rel=1e-9)


def test_study_with_several_missing_counts_all_worlds() -> None:
    """The compact worlds of a mean and of quantiles have the risk of all C(n, k) worlds looked at one by one."""
    rng = np.random.default_rng(9)
    for _ in range(40):
        universe = Universe.of(rng.integers(0, 9, 8), missing=int(rng.integers(2, 4)))
        for statistic in (MEAN, *QUANTILES):
            possible = worlds.of_universe(universe, statistic)
            every = Worlds.of_answers(worlds.world_answers(universe, statistic))
            for epsilon in (0.0, 0.3, 3.0):
                direct = study.tight_risk(every, epsilon=epsilon, sensitivity=2.0)
                assert study.tight_risk(possible, epsilon=epsilon, sensitivity=2.0) == pytest.approx(direct, rel=1e-9)


def test_study_says_when_worlds_are_too_many() -> None:
    """A variance with several missing people is looked at one by one, or refused."""
    with pytest.raises(BadInput, match="too many"):
        study_risk(Universe.of(range(100), missing=5), StudiedStatistic.named("variance"), Fraction(1, 2))


def test_person_risk_is_only_for_sums() -> None:
    """A median's worlds do not follow from sums over people."""
    universe = Universe.of(range(10), missing=2)
    assert person_risk_at(study_risk(universe, StudiedStatistic.named("median"), Fraction(1, 2)), 1.0) is None
    assert person_risk_at(study_risk(universe, MEAN, Fraction(1, 2)), math.inf) is None
