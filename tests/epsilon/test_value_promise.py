"""The third promise: what can be believed of a member's value, by enumerating every answer of an exact mechanism."""

import itertools
from fractions import Fraction

import pytest

from dpsql.epsilon.advising.rule import VALUE, Promise, Promises, belief_after, membership_epsilon, value_epsilon
from dpsql.epsilon.numbers import BadInput

TRIPLE = Fraction(1, 3)
"""e^−ε for ε = ln 3, the recommended one."""


def two_sided(odds: Fraction, centre: int, reach: int) -> dict[int, Fraction]:
    """Return the weights of discrete Laplace noise about a centre: the next integer is `odds` times as likely."""
    return {answer: odds ** abs(answer - centre) for answer in range(-reach, reach + 1)}


def largest_belief(odds: Fraction, worlds: tuple[int, ...], answers: int = 1) -> Fraction:
    """Return the largest posterior of any world, from even odds, over all sequences of so many answers."""
    laws = [two_sided(odds, world, 5) for world in worlds]
    best = Fraction(0)
    for seen in itertools.product(laws[0], repeat=answers):
        weights = [Fraction(1)] * len(worlds)
        for answer in seen:
            weights = [weight * law[answer] for weight, law in zip(weights, laws, strict=True)]
        best = max(best, max(weights) / sum(weights))
    return best


def test_a_value_of_a_member_is_believed_with_90_percent() -> None:
    """A person counts −1 or 1, and 0 if absent: at ε = ln 3 membership becomes 3/4 and the value 9/10, exactly."""
    assert largest_belief(TRIPLE, (0, 1)) == Fraction(3, 4)
    assert largest_belief(TRIPLE, (-1, 1)) == Fraction(9, 10)


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_answers_add_up(answers: int) -> None:
    """K answers at odds q for each are one of q^k: the formula holds for the sum of ε."""
    odds = Fraction(2, 3)
    both = odds ** (-2 * answers)
    assert largest_belief(odds, (-1, 1), answers) == both / (1 + both)


def test_beliefs_are_those_of_the_enumeration() -> None:
    """Three answers of ε = ln(3/2) each."""
    epsilon = Fraction("1.2163953243244932")
    belief = belief_after(epsilon, 1000)
    assert belief.value == pytest.approx(float(largest_belief(Fraction(2, 3), (-1, 1), 3)))
    assert belief.membership == pytest.approx(float(largest_belief(Fraction(2, 3), (0, 1), 3)))


def test_more_values_are_harder_to_guess() -> None:
    """Two equally likely values are the worst case; of four, 9/12 is left at ln 3."""
    assert largest_belief(TRIPLE, (-1, 1, 1, 1)) == Fraction(9, 12)


def test_default_value_promise_allows_what_the_default_membership_allows() -> None:
    """90 % of a value is 75 % of membership: e^2ε against e^ε. Neither makes the other's ε smaller."""
    assert value_epsilon(VALUE) == membership_epsilon(Fraction(3, 4)) == Fraction("1.0986")


def test_a_stricter_value_promise_binds() -> None:
    """75 % of a value halves the ε."""
    promises = Promises(10_000, Fraction(1, 3), Fraction(3, 4), Fraction(3, 4))
    assert promises.largest() == Fraction("0.5493")
    assert promises.binding() == (Promise.VALUE,)


@pytest.mark.parametrize(("people", "binding"), [(18, (Promise.NAMING,)), (20, (Promise.MEMBERSHIP, Promise.VALUE))])
def test_naming_stops_binding_above_19_people(people: int, binding: tuple[Promise, ...]) -> None:
    """With the usual promises the number of people decides only in very small groups."""
    assert Promises(people, Fraction(1, 3), Fraction(3, 4), VALUE).binding() == binding


@pytest.mark.parametrize("value", [Fraction(1, 2), Fraction(1, 5), Fraction(1)])
def test_a_blind_guess_cannot_be_promised_away(value: Fraction) -> None:
    """Half is what anybody guesses."""
    with pytest.raises(BadInput, match="value risk"):
        value_epsilon(value)
