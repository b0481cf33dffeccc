"""Keys found by their units' number: the exact probability of every set of keys, with one unit and without it."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.privacy.mechanisms import gaussian_selection
from dpsql.privacy.mechanisms.gaussian_selection import (
    GaussianSelection,
    delta_at_most,
    full_weight,
    selection,
    weights,
)
from dpsql.privacy.mechanisms.threshold import per_key

GRID = [
    (epsilon, delta, keys)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3))
    for delta in (Fraction(1, 20), Fraction("1e-6"), Fraction("1e-12"))
    for keys in (1, 2, 3, 5)
]


@pytest.mark.parametrize("keys", [1, 2, 3, 5, 20, 64, 65, 400, 5_000])
def test_no_unit_adds_more_than_one(keys: int) -> None:
    """Whatever number of keys a unit has, the squares that it adds come to W² at most, and hardly to less."""
    steps = weights(keys)
    assert [step.keys for step in steps] == sorted({step.keys for step in steps})
    assert steps[-1].keys == keys
    for g in range(1, keys + 1):
        weight = next(step.weight for step in steps if g <= step.keys)
        assert g * weight**2 <= full_weight(keys) ** 2
        assert g * weight**2 > 0.9 * full_weight(keys) ** 2


@lru_cache(maxsize=4)
def _tails(sigma: int) -> NDArray[np.float64]:
    """Return P(z ≥ m) for |m| ≤ 12σ, by adding up; all terms are positive, so that next to nothing is lost."""
    z = np.arange(-12 * sigma, 12 * sigma + 1, dtype=np.float64)
    tails = np.exp(-(z**2) / (2 * sigma**2))[::-1].cumsum()[::-1]
    return np.asarray(tails / tails[0])


def _shows(chosen: GaussianSelection, number: int) -> float:
    """Return P(number + z ≥ τ)."""
    m = chosen.least - number + 12 * chosen.sigma
    return float(_tails(chosen.sigma)[m]) if m > 0 else 1.0


def _gap(chosen: GaussianSelection, epsilon: Fraction, others: Sequence[int], weight: int) -> float:
    """Return the least δ at ε for two databases: `others` has what other units add to one unit's keys, 0 for none.

    A key that nobody has is never shown.
    """
    without = [_shows(chosen, n) if n else 0.0 for n in others]
    with_ = [_shows(chosen, n + weight) for n in others]
    gaps = [0.0, 0.0]
    for shown in itertools.product((True, False), repeat=len(others)):
        p, q = (
            math.prod(c if s else 1 - c for c, s in zip(chances, shown, strict=True)) for chances in (without, with_)
        )
        for i, (a, b) in enumerate(((p, q), (q, p))):
            gaps[i] += max(a - math.exp(epsilon) * b, 0.0)
    return max(gaps)


def _worst(chosen: GaussianSelection, epsilon: Fraction) -> float:
    """Return the largest δ over databases in which others have some of the unit's keys, near the threshold and far."""
    worst = 0.0
    for g in range(1, chosen.keys + 1):
        weight = next(step.weight for step in weights(chosen.keys) if g <= step.keys)
        around = [max(chosen.least + round(x * chosen.sigma), 1) for x in (-4.5, -2.5, -1.5, -0.5, 0.5, 2.5)]
        for alone in range(g + 1):
            for n in around if alone < g else [0]:
                worst = max(worst, _gap(chosen, epsilon, [0] * alone + [n] * (g - alone), weight))
    return worst


@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_no_set_of_keys_tells_more_than_claimed(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    """For databases with and without a unit, whose keys others have or not, no event is likelier than (ε, δ) allows."""
    assert _worst(selection(epsilon, delta, keys), epsilon) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_the_threshold_is_about_the_least(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    """At τ a unit's own keys stay hidden but with half of δ; at a threshold lower by a twentieth of σ they would not."""
    chosen = selection(epsilon, delta, keys)

    def leak(tau: int) -> float:
        moved = GaussianSelection(keys, chosen.sigma, tau)
        return max(-math.expm1(s.keys * math.log1p(-_shows(moved, s.weight))) for s in weights(keys))

    assert leak(chosen.least) <= delta / 2 * (1 + 1e-9)
    assert leak(chosen.least - chosen.sigma // 20) > delta / 2


@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_the_noise_has_half_of_delta(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    """At most, by its own bound: what databases show of more is too little to be seen from outside."""
    assert delta_at_most(epsilon, full_weight(keys), selection(epsilon, delta, keys).sigma) <= delta / 2


def test_what_is_wrong_tells_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison of all sets of keys sees half of σ, and a threshold made for one key only."""
    epsilon, delta = Fraction(1), Fraction(1, 20)
    right = selection(epsilon, delta, 5)
    assert _worst(GaussianSelection(5, right.sigma // 2, right.least), epsilon) > delta
    selection.cache_clear()
    monkeypatch.setattr(gaussian_selection, "per_key", lambda delta, _: per_key(delta, 1))
    assert _worst(selection(epsilon, delta, 5), epsilon) > delta >= _worst(right, epsilon)
    selection.cache_clear()


def test_thresholds_grow_with_the_root_of_keys() -> None:
    """Sixteen times as many keys a unit need about four times as many units, not sixteen."""
    few, many = (selection(Fraction(1, 2), Fraction("1e-6"), keys).units for keys in (20, 320))
    assert 4 < many / few < 4.5


def test_a_key_is_shown_from_its_threshold_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what its units have added and its noise, and not a step before; no draw would show one step."""
    chosen = selection(Fraction(1), Fraction(1, 20), 3)
    monkeypatch.setattr(gaussian_selection, "discrete_gaussian", lambda _, __, n: [5] * n)
    assert chosen.shown(bytes, [chosen.least - 6, chosen.least - 5, chosen.least - 4]) == [False, True, True]


def test_keys_are_shown_as_often_as_their_chance() -> None:
    """The draws follow the law; false alarms: below 1e-6 each."""
    chosen, n = selection(Fraction(1), Fraction(1, 20), 3), 20_000
    entropy = np.random.default_rng(5).bytes
    for number in (chosen.least - chosen.sigma, chosen.least, chosen.least + chosen.sigma):
        expected = _shows(chosen, number)
        shows = sum(chosen.shown(entropy, [number] * n))
        assert shows / n == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / n))


@pytest.mark.parametrize(("epsilon", "delta", "keys"), [(0, Fraction(1, 2), 1), (1, 0, 1), (1, Fraction(1, 2), 0)])
def test_no_choice_without_privacy(epsilon: int, delta: Fraction, keys: int) -> None:
    """There is none without ε, δ or keys."""
    with pytest.raises(ValueError, match="δ"):
        selection(Fraction(epsilon), Fraction(delta), keys)
