"""Six mistakes of the article that the model was learnt from, each pinned so that it is not made again."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.epsilon.databases import worlds
from dpsql.epsilon.databases.statistic import StudiedStatistic, Universe
from dpsql.epsilon.risks import study
from dpsql.epsilon.risks.study import risks_at, study_risk

SEEN = 2.20131
THIRD = Fraction(1, 3)
MEAN = StudiedStatistic.named("mean")


@pytest.mark.parametrize(
    ("values", "right", "printed"),
    [((1, 2, 3, 4), 0.15031580, 0.1691776), ((1, 2, 3, 10), 0.36802372, 0.1512015)],
    ids=["years", "absences"],
)
def test_confidence_is_posterior_minus_prior(values: tuple[int, ...], right: float, printed: float) -> None:
    """The printed confidences come from swapped arguments: they are max(prior − posterior)."""
    result = study_risk(Universe.of(values), MEAN, THIRD)
    answers = worlds.world_answers(result.universe, MEAN)
    belief = study.posterior(answers, SEEN, epsilon=2.0, sensitivity=result.noise_sensitivity)
    assert study.confidence(belief) == pytest.approx(right, abs=5e-9)
    assert (0.25 - belief).max() == pytest.approx(printed, abs=5e-8)


@pytest.mark.parametrize(
    ("values", "printed"), [((1, 2, 3, 4), 0.33788780), ((1, 2, 3, 10), 0.38293951)], ids=["years", "absences"]
)
def test_tight_search_uses_the_tight_bound(values: tuple[int, ...], printed: float) -> None:
    """The values printed as tight results belong to the upper bound; the tight ε is larger."""
    result = study_risk(Universe.of(values), MEAN, THIRD)
    assert result.epsilon_upper == pytest.approx(printed, abs=3e-7)
    assert result.epsilon_tight > printed + 0.04


def test_last_world_counts() -> None:
    """The order of people does not matter: leaving out the last world gives .2923 for one order."""
    forward, backward = (study_risk(Universe.of(values), MEAN, THIRD) for values in ((1, 2, 3, 10), (10, 3, 2, 1)))
    assert risks_at(backward, 0.5)[1] == pytest.approx(0.3477, abs=5e-5)
    assert risks_at(backward, 0.5)[1] == pytest.approx(risks_at(forward, 0.5)[1], abs=1e-15)
    answers = worlds.world_answers(backward.universe, MEAN)
    reach = np.exp(-0.5 * np.abs(answers[:, None] - answers) / backward.noise_sensitivity).sum(axis=1)
    assert (1 / reach)[:-1].max() == pytest.approx(0.2923, abs=5e-5)


def test_worlds_of_equal_value_count() -> None:
    """Three pupils with one absence protect each other: the risk is .3547, not the .6225 of two worlds."""
    result = study_risk(Universe.of((1, 1, 1, 10)), MEAN, THIRD)
    assert risks_at(result, 0.5)[1] == pytest.approx(0.3547, abs=5e-5)
    distinct = worlds.Worlds.of_answers(np.unique(worlds.world_answers(result.universe, MEAN)))
    alone = study.tight_risk(distinct, epsilon=0.5, sensitivity=result.noise_sensitivity)
    assert alone == pytest.approx(0.6225, abs=5e-5)


def test_posterior_uses_the_statistic_that_was_asked() -> None:
    """The posterior after a median is computed from medians; two worlds with the same median are equally probable."""
    median = StudiedStatistic.named("median")
    result = study_risk(Universe.of((1, 2, 3, 10)), median, THIRD)
    answers = worlds.world_answers(result.universe, median)
    belief = study.posterior(answers, SEEN, epsilon=2.0, sensitivity=result.noise_sensitivity)
    assert answers.tolist() == [2.0, 2.0, 3.0, 3.0]
    assert belief[0] == belief[1] > belief[2] == belief[3]


def test_search_never_exceeds_the_requirement() -> None:
    """The article's last midpoint, .525149770057615, gives more than 1/3; the end that is returned does not."""
    possible = worlds.of_universe(Universe.of((1, 2, 3, 4)), MEAN)
    assert study.tight_risk(possible, epsilon=0.525149770057615, sensitivity=5 / 6) > 1 / 3
    for denominator in range(301, 399):
        requirement = Fraction(denominator, 1000)
        reached = study.tight_epsilon(possible, requirement, sensitivity=5 / 6)
        assert study.tight_risk(possible, epsilon=reached, sensitivity=5 / 6) <= requirement
