"""The data-independent rule, what beliefs can become, and renewals."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.epsilon.advising.rule import (
    MEMBERSHIP,
    belief_after,
    membership_epsilon,
    posterior_after,
    singling_out_epsilon,
    total_epsilon,
)
from dpsql.epsilon.numbers import BadInput, down_to_digits, down_to_step, percent
from dpsql.policy.load.roles import epsilon_for

THIRD = Fraction(1, 3)


def test_default_membership_risk_allows_ln_3() -> None:
    """A 50/50 guess may become 0.75: ε ≤ 1.0986."""
    assert membership_epsilon(MEMBERSHIP) == Fraction("1.0986")


def test_first_term_alone_allows_too_much() -> None:
    """For 10,000 people it is 8.5 before it is halved, where membership is nearly certain."""
    whole = singling_out_epsilon(10_000, THIRD, steps=1)
    assert float(whole) == pytest.approx(8.5, abs=0.05)
    assert posterior_after(Fraction(1, 2), whole) > 0.9997


def test_exchanging_a_person_takes_two_steps() -> None:
    """With add/remove neighbours the first term is halved, up to rounding down."""
    once, halved = singling_out_epsilon(10_000, THIRD, steps=1), singling_out_epsilon(10_000, THIRD)
    assert 0 <= once - 2 * halved <= Fraction(1, 10_000)


def test_small_populations_are_bound_by_the_first_term() -> None:
    """Four pupils and a third: ln(1.5)/2."""
    assert total_epsilon(4, THIRD, MEMBERSHIP) == Fraction("0.2027")


@given(st.integers(2, 10**9), st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.fractions(0, 1))
def test_budget_never_exceeds_the_rule(population: int, risk: Fraction, membership: Fraction) -> None:
    """Rounded down: both beliefs stay within what was asked for."""
    try:
        total = total_epsilon(population, risk, membership)
    except BadInput:
        return
    after = belief_after(total, population)
    assert after.singled_out <= float(risk) * (1 + 1e-12)
    assert after.membership <= float(membership) * (1 + 1e-12)
    assert total.denominator <= 10_000


@pytest.mark.parametrize(
    ("population", "risk", "membership", "message"),
    [
        (1, THIRD, MEMBERSHIP, "too small"),
        (3, THIRD, MEMBERSHIP, "blind guess"),
        (10, Fraction(0), MEMBERSHIP, "between 0 and 1"),
        (10, Fraction(1), MEMBERSHIP, "between 0 and 1"),
        (10, THIRD, Fraction(1, 2), "blind guess"),
        (10, THIRD, Fraction(3, 2), "between 0 and 1"),
        (10, THIRD, Fraction(500_001, 1_000_000), "four decimals"),
    ],
)
def test_impossible_wishes_are_refused(population: int, risk: Fraction, membership: Fraction, message: str) -> None:
    """The message says which number and why."""
    with pytest.raises(BadInput, match=message):
        total_epsilon(population, risk, membership)


@given(st.integers(4, 10**6), st.fractions(Fraction(1, 3), Fraction(99, 100)))
def test_configuration_follows_the_same_rule(population: int, risk: Fraction) -> None:
    """`disclosure_risk` in a configuration gives the ε that the command line prints."""
    assert epsilon_for(risk, population) == total_epsilon(population, risk, MEMBERSHIP)


@given(st.fractions(Fraction(1, 10**6), 10**6), st.integers(1, 6))
def test_rounding_goes_down(value: Fraction, digits: int) -> None:
    """By less than one unit of the last digit that is kept."""
    kept = down_to_digits(value, digits)
    assert value * (1 - Fraction(10) ** (1 - digits)) < kept <= value
    assert down_to_step(value, Fraction(1, 7)) <= value


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.999955, "99.9955 %"),
        (1.0, "> 99.9999 %"),
        (0.75, "75 %"),
        (1 / 3, "33.33 %"),
        (9e-5, "0.009 %"),
        (0.0, "0 %"),
    ],
)
def test_no_probability_is_called_certain(share: float, shown: str) -> None:
    """What is nearly sure is not said to be sure."""
    assert percent(share) == shown
