"""Guesses prove what they may: never more than is there, but by chance, and nearly all of it from many answers."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpsql.canaries.auditing import AnswerNumbers, Guesser, Guesses

ROUNDS, _STEPS = 4_000, 16
Flags = NDArray[np.bool_]


def _guessed(epsilon: float, seed: int, rounds: int = ROUNDS) -> Guesses:
    """Guess from one count with Laplace noise, to which the person adds 1, beside a number that says nothing."""
    draw = np.random.default_rng(seed)

    def answers(there: Flags) -> AnswerNumbers:
        # Whole numbers: the last digits of what is computed in floating point tell more than ε (Mironov 2012), as was seen.
        noise = np.subtract(*draw.geometric(1 - math.exp(-epsilon / _STEPS), (2, len(there))))
        return np.column_stack((there * _STEPS + noise, draw.normal(size=len(there)))).astype(np.float64)

    nobody, everybody = np.zeros(rounds, bool), np.ones(rounds, bool)
    guesser = Guesser.learnt(answers(nobody), answers(everybody))
    there = draw.random(rounds) < 0.5
    return guesser.guessed(answers(there), there)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_more_is_proved_than_there_is(epsilon: float) -> None:
    """And of ε ≥ 1 more than half of it."""
    guesses = _guessed(epsilon, 1)
    assert guesses.epsilon(0.95) <= epsilon
    assert guesses.epsilon(0.95) >= (epsilon / 2 if epsilon >= 1 else 0)
    assert guesses.breaks(epsilon) > 1e-6


def test_too_little_noise_is_proved() -> None:
    """Twice the ε that is paid can't be right by chance."""
    assert _guessed(2.0, 2).breaks(1.0) < 1e-6


@pytest.mark.parametrize(("number", "right"), [(0, 0), (10, 0), (1, 1)])
def test_few_guesses_prove_nothing(number: int, right: int) -> None:
    """None, none that is right, and one that is."""
    assert Guesses(number, right).epsilon(0.95) == 0.0
    assert Guesses(number, right).breaks(1000.0) == 1.0


def test_the_bound_is_clopper_and_pearson_s() -> None:
    """Of 90 right guesses of 100 the least probability is 0.8362 at 95 %, one-sided (R: binom.test, alternative greater)."""
    assert Guesses(100, 90).epsilon(0.95) == pytest.approx(math.log(0.8362 / 0.1638), abs=2e-3)
