"""What MEDIAN gives away through the gateway, and whether the buckets that come out have the law of permute-and-flip.

Long, with a fixed seed; with another one each test would fail by chance with probability 1e-6.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms import quantile
from tests.audit.canaries import FALSE_ALARM, Attack, Recorder, Result, fill
from tests.support.exactness import Measured, measurements
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import NewClient, World, noon
from tests.support.laws import chisquare
from tests.support.memory import Memory

pytestmark = pytest.mark.slow

ROWS = 6
MEDIAN = Attack(
    "median(seats)",
    most=ROWS,
    rows=ROWS,
    values={"seats": "6"},
    crowd=79,
    others={"seats": "CASE WHEN n < 44 THEN 0 ELSE 6 END"},
    epsilon=Fraction(2),
    days=3,
)
"""44 rows are at one end and 35 at the other, where a canary has six more; five buckets between them are empty."""
Seen = NDArray[np.int64]
Chances = NDArray[np.float64]


def law(histogram: Sequence[int], epsilon: float, mass: int) -> Chances:
    """Return the chance of each bucket to be chosen as the median, and of none because there are too few rows.

    Candidates come in random order, so at a uniform time x each: the i-th is chosen at its own time if its coin falls on
    heads and no earlier one's did. With chances pᵢ = exp(ε·(sᵢ − s*)/2Δ) that is pᵢ·∫ Π_{j ≠ i} (1 − x·pⱼ) dx.
    """
    counts = np.array(histogram, dtype=np.float64)
    upper = counts.cumsum()
    middle = upper[-1] / 2
    outside = np.maximum(np.maximum(middle - upper, upper - counts - middle), 0) * 2
    lacking = math.floor(2 * mass * math.log(20 * len(counts)) / epsilon) - upper[-1]
    distance = np.append(np.maximum(outside, lacking), max(1 - lacking, 0))
    heads = np.exp((distance.min() - distance) * epsilon / (2 * mass))
    x, weights = np.polynomial.legendre.leggauss(100)
    tails = 1 - np.outer((x + 1) / 2, heads)
    chances: Chances = heads * (weights / 2 @ (tails.prod(axis=1, keepdims=True) / tails))
    return chances


@dataclass(frozen=True, slots=True)
class Choices:
    """The chosen buckets of every group, and which groups had a canary."""

    chosen: Seen
    there: NDArray[np.bool_]
    laws: tuple[Chances, Chances]
    """Without and with it."""

    def guesses(self) -> Result:
        """Guess that a canary is there where that makes the bucket likeliest, against without it."""
        ratio = self.laws[1] / self.laws[0]
        sure = np.isin(self.chosen, np.flatnonzero(ratio > 0.99 * ratio.max()))
        return Result(float(MEDIAN.epsilon), int(sure.sum()), int(self.there[sure].sum()))

    def p_value(self, *, there: bool) -> float:
        """Return the chi-square p-value of the buckets against the law."""
        groups = self.there == there
        seen = np.bincount(self.chosen[groups], minlength=len(self.laws[there]))
        return chisquare(seen, self.laws[there] * groups.sum())


Run = Callable[[], Choices]


@pytest.fixture
def run(policy: Policy, world: World, new_client: NewClient, tmp_path: Path) -> Run:
    """Give a function that asks once for the median of every minute of three days."""
    bounded = with_epsilon(with_rows(policy, "rides", "passenger", MEDIAN.most), MEDIAN.epsilon)
    engine, draw = Memory(bounded), np.random.default_rng(5)
    (part,) = measurements(MEDIAN.sql, bounded, world, engine)
    assert isinstance(part, Histogram)
    mass = part.bound.mass

    def histogram(canaries: Sequence[int]) -> Sequence[int]:
        one_day = replace(MEDIAN, days=1)
        fill(engine, one_day, canaries)
        return next(iter(Measured.of(part, engine, world).exact().values()))

    laws = [law(histogram(canaries), float(MEDIAN.epsilon), mass) for canaries in ([], [0])]
    there = draw.random(MEDIAN.minutes) < 0.5
    fill(engine, MEDIAN, np.flatnonzero(there).tolist())

    def run() -> Choices:
        with Recorder(tmp_path / "choices.db", noon) as ledger:
            client = new_client(engine, policy=bounded, entropy=draw.bytes, ledger=ledger)
            question = client.gateway.examine(MEDIAN.sql, client.asker)
            assert question is not None
            client.text(question)
            (release,) = ledger.released
        return Choices(np.array(release.numbers, dtype=np.int64)[:, 0], there, (laws[0], laws[1]))

    return run


def test_no_guess_is_better_than_epsilon_allows(run: Run) -> None:
    """Four thousand canaries, each six rows that move the median's score by all that is claimed."""
    result = run().guesses()
    assert result.guesses > 500
    assert result.p_value > FALSE_ALARM


def test_the_buckets_have_their_law(run: Run) -> None:
    """With the canary and without it, all seven buckets and none of them come out as often as permute-and-flip says."""
    choices = run()
    assert choices.p_value(there=False) > FALSE_ALARM
    assert choices.p_value(there=True) > FALSE_ALARM


@pytest.mark.parametrize("factor", [2, ROWS])
def test_a_claim_too_small_is_caught(factor: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the sensitivity, or that of one row, has another law; that of one row gives canaries away."""
    right = quantile.quantile
    monkeypatch.setattr(quantile, "quantile", lambda e, h, q, epsilon, mass: right(e, h, q, epsilon, mass // factor))
    choices = run()
    assert choices.p_value(there=False) < FALSE_ALARM
    assert choices.p_value(there=True) < FALSE_ALARM
    assert factor < ROWS or choices.guesses().p_value < FALSE_ALARM
