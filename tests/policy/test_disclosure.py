"""The data-independent rule from a disclosure risk to ε."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpsql.policy.load.roles import epsilon_for

risks = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000)


@pytest.mark.parametrize(
    ("risk", "population", "membership", "epsilon"),
    [
        ("0.33", 10_000, "0.75", "1.0986"),
        ("0.33", 10_000, "0.9999", "4.2510"),
        ("1/3", 4, "0.99", "0.2027"),
        ("0.5", 3, "0.75", "0.3465"),
    ],
)
def test_values(risk: str, population: int, membership: str, epsilon: str) -> None:
    """The smaller of ln((n−1)ρ/(1−ρ))/2 and logit ρ₂, to four decimals, never rounded up."""
    assert epsilon_for(Fraction(risk), population, Fraction(membership)) == Fraction(epsilon)


@given(risk=risks, population=st.integers(2, 10**9), membership=st.fractions(Fraction(501, 1000), Fraction(999, 1000)))
def test_the_risks_hold(risk: Fraction, population: int, membership: Fraction) -> None:
    """Both posteriors at the returned ε stay within what was accepted."""
    assume(risk * population > Fraction(101, 100))
    epsilon = float(epsilon_for(risk, population, membership))
    assert 1 / (1 + (population - 1) * math.exp(-2 * epsilon)) <= float(risk)
    assert 1 / (1 + math.exp(-epsilon)) <= float(membership)


@pytest.mark.parametrize(("risk", "population"), [("0.5", 2), ("0.01", 100), ("0.3", 1), ("0.50001", 2)])
def test_a_risk_that_allows_nothing(risk: str, population: int) -> None:
    """A guess is right as often, or nearly: no ε will do."""
    with pytest.raises(ValueError, match=r"blind guess|no ε"):
        epsilon_for(Fraction(risk), population)


def test_a_membership_risk_of_a_coin() -> None:
    """Nobody can do better than even odds."""
    with pytest.raises(ValueError, match="blind guess"):
        epsilon_for(Fraction(1, 3), 100, Fraction(1, 2))
