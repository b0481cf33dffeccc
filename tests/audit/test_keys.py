"""Keys that nobody declared: that one which only one unit has is shown happens with probability δ, whatever the unit does.

Every audit has a fixed seed; with another one it would fail by chance with probability 1e-6.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.policy.model import Policy, Privacy
from dpsql.privacy.measurement import plan
from dpsql.privacy.mechanisms import gaussian_selection, k_norm
from dpsql.privacy.mechanisms.gaussian import discrete_gaussian
from dpsql.privacy.mechanisms.gaussian_selection import Weight, full_weight
from dpsql.privacy.mechanisms.threshold import threshold
from tests.audit.canaries import FALSE_ALARM
from tests.support import key_mutants
from tests.support.fix_policy import with_rows
from tests.support.fix_world import NewClient
from tests.support.laws import at_least
from tests.support.memory import Memory
from tests.support.mutants import Break
from tests.support.schema import of

UNITS, FEW, DELTA = 3_000, 600, Fraction(1, 20)
COUNT = "SELECT number, count(*) FROM rides GROUP BY number"
CUBE = "SELECT number, count(*), sum(fare), avg(tip), sum(seats) FROM rides GROUP BY number"
DISTINCT = "SELECT DISTINCT number FROM rides"
CASES = [(sql, most, keys) for sql in (COUNT, CUBE, DISTINCT) for most, keys in ((1, 1), (3, 3), (3, 20), (40, 40))]
"""Statements, with how many rows a unit may have and in how many keys it is; with many, keys are found by units."""
MANY = 40
Shown = Callable[..., int]


@pytest.fixture
def shown(policy: Policy, new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Give a function that says how many units have some key shown."""

    def shown(sql: str, most: int, keys: int, mutant: Break | None = None, units: int = FEW) -> int:
        if mutant is not None:
            mutant(monkeypatch)
        role = replace(policy.roles["explorer"], per_query=Privacy(Fraction(1), DELTA))
        bounded = replace(with_rows(policy, "rides", "passenger", most), roles={"explorer": role})
        engine = Memory(bounded)
        rows = f"SELECT u, u * 100 + k, 150, 35, 6 FROM range({units}) AS t (u), range({keys}) AS s (k)"
        engine.execute(f"INSERT INTO {engine.named(of('rides'))} (rider, number, fare, tip, seats) {rows}")
        client = new_client(engine, "eve", policy=bounded, entropy=np.random.default_rng(3).bytes)
        return len({int(str(row[0])) // 100 for row in client.ask(sql).rows})

    return shown


@pytest.mark.parametrize("units", [FEW, pytest.param(UNITS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("sql", "most", "keys"), CASES)
def test_a_key_of_one_unit_is_hardly_ever_shown(sql: str, most: int, keys: int, units: int, shown: Shown) -> None:
    """Of many units with keys of their own, a share δ or less has some of them shown."""
    assert at_least(shown(sql, most, keys, units=units), units, float(DELTA)) > FALSE_ALARM


def scalar_threshold(patch: pytest.MonkeyPatch) -> None:
    """Compare a count out of a cube with the threshold of a count alone."""
    patch.setattr(k_norm, "threshold", lambda scale, _, *rest: threshold(scale, 1, *rest))


def threshold_of_one_key(patch: pytest.MonkeyPatch) -> None:
    """Keep one key of a unit hidden, and not all of them together."""
    gaussian_selection.selection.cache_clear()
    patch.setattr(gaussian_selection, "per_key", lambda delta, _: delta)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    """Draw keys' noise at half of σ."""
    patch.setattr(
        gaussian_selection, "discrete_gaussian", lambda entropy, sigma, n: discrete_gaussian(entropy, sigma // 2, n)
    )


def full_weight_for_each_key(patch: pytest.MonkeyPatch) -> None:
    """Let a unit count once for each of its keys."""
    patch.setattr(plan, "weights", lambda keys: [Weight(keys, full_weight(keys))])


@pytest.mark.parametrize("mutant", [threshold_of_one_key, full_weight_for_each_key])
def test_wrong_searches_by_units_are_caught(mutant: Break, shown: Shown) -> None:
    """A threshold for one of forty keys, and forty keys at full weight, show more."""
    rates = shown(DISTINCT, MANY, MANY, mutant)
    gaussian_selection.selection.cache_clear()
    assert at_least(rates, FEW, float(DELTA)) < FALSE_ALARM


Gap = Callable[..., float]


@pytest.fixture
def gap(policy: Policy, new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> Gap:
    """Give a function that says by how many standard errors canaries show keys more often than (ε, δ) allows.

    In thousands of keys, each of which others nearly show by themselves, a coin puts a unit with no other key. How many
    others there are makes its being shown the event that tells most, or there are some `more`.
    """

    def gap(mutant: Break | None = None, more: int = 0) -> float:
        epsilon, delta, most = Fraction(1), Fraction(1, 20), MANY
        role = replace(policy.roles["explorer"], per_query=Privacy(epsilon, delta))
        bounded = replace(with_rows(policy, "rides", "passenger", most), roles={"explorer": role})
        chosen = gaussian_selection.selection(epsilon, delta, most)
        # The loss passes ε where the noise passes εσ²/W − W/2: as many others as leave that much to the threshold.
        weight = full_weight(most)
        others = more + round(
            (chosen.least - weight - (epsilon * chosen.sigma**2 / weight - Fraction(weight, 2))) / weight
        )
        engine, there = Memory(bounded), np.random.default_rng(8).random(UNITS) < 0.5
        crowd = f"SELECT 1000000 + k * 100 + n, k FROM range({UNITS}) AS t (k), range({others}) AS s (n)"
        engine.execute(f"INSERT INTO {engine.named(of('rides'))} (rider, number) {crowd}")
        canaries = np.flatnonzero(there).tolist()
        engine.execute(
            f"INSERT INTO {engine.named(of('rides'))} (rider, number) SELECT k, k FROM unnest({canaries}) AS t (k)"
        )
        if mutant is not None:
            mutant(monkeypatch)
        client = new_client(engine, "eve", policy=bounded, entropy=np.random.default_rng(9).bytes)
        shows = np.isin(np.arange(UNITS), [int(str(row[0])) for row in client.ask(DISTINCT).rows])
        with_, without = shows[there].mean(), shows[~there].mean()
        growth = np.exp(float(epsilon))
        error = np.sqrt(with_ * (1 - with_) / there.sum() + growth**2 * without * (1 - without) / (~there).sum())
        return float((with_ - growth * without - float(delta)) / error)

    return gap


@pytest.mark.parametrize("more", [0, 2])
def test_a_canary_shows_its_key_no_more_often_than_claimed(more: int, gap: Gap) -> None:
    """P(shown with it) ≤ e^ε·P(shown without it) + δ, to five standard errors."""
    assert gap(more=more) < 5


def test_half_the_noise_of_a_search_is_caught(gap: Gap) -> None:
    """With half of σ it is far above, where two units more are there."""
    assert gap(half_the_noise, 2) > 6


@pytest.mark.parametrize(
    ("mutant", "sql", "keys"), [(scalar_threshold, CUBE, 1), (key_mutants.no_selection, COUNT, 20)]
)
def test_what_is_wrong_is_caught(mutant: Break, sql: str, keys: int, shown: Shown) -> None:
    """The wrong threshold, and a unit in any number of groups, show more."""
    assert at_least(shown(sql, 1, keys, mutant), FEW, float(DELTA)) < FALSE_ALARM
