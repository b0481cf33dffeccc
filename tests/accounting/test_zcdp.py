"""What a charge costs in ρ, and what ρ comes to in ε: against definitions, and against Google's dp-accounting."""

import math
from fractions import Fraction

import pytest
from dp_accounting import ZCDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.zcdp import epsilon_of, epsilon_paid_by, rho_of, rho_within

_EPSILONS = st.fractions(Fraction(1, 10**6), 200, max_denominator=10**6)
_DELTAS = st.integers(1, 12).map(lambda digits: Fraction(1, 10**digits))


def _divergence(epsilon: float, order: float) -> float:
    """Return the Rényi divergence of randomized response, of which no ε-DP mechanism has more."""
    likely = 1 / (1 + math.exp(-epsilon))
    pairs = ((likely, 1 - likely), (1 - likely, likely))
    return math.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


@given(st.floats(0.01, 20), st.floats(1.001, 200))
def test_no_divergence_of_an_answer_is_above_its_rho(epsilon: float, order: float) -> None:
    """Of whatever order; at orders near one it is that, so that less would not do."""
    rho = float(rho_of(Fraction(epsilon)))
    assert _divergence(epsilon, min(order, 600 / epsilon)) <= rho * order * (1 + 1e-9)
    assert _divergence(epsilon, 1 + 1e-6) == pytest.approx(rho, rel=1e-3)


@given(_EPSILONS)
def test_rho_is_rounded_up_and_at_most_half_the_square(epsilon: Fraction) -> None:
    """Its grain is the same for all."""
    rho = rho_of(epsilon)
    assert 10**30 % rho.denominator == 0
    assert float(epsilon) * math.tanh(float(epsilon) / 2) <= float(rho) * (1 + 1e-12)
    assert rho <= epsilon**2 / 2 + Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("epsilon", "total", "delta", "questions"),
    [("0.1", "5", "1e-6", 92), ("0.01", "5", "1e-6", 9261), ("0.1", "1", "1e-6", 4)],
)
def test_how_many_questions_there_are(epsilon: str, total: str, delta: str, questions: int) -> None:
    """Where ε adds up there are 50, 500 and 10: nothing is won at a total of 1."""
    assert rho_within(Fraction(total), Fraction(delta)) // rho_of(Fraction(epsilon)) == questions


@given(st.fractions(Fraction(1, 1000), 20, max_denominator=10**6), _DELTAS)
def test_what_is_within_a_budget_comes_to_no_more(epsilon: Fraction, delta: Fraction) -> None:
    """But for what the search for the best order errs by; nor to less."""
    back = epsilon_of(rho_within(epsilon, delta), delta)
    assert float(back) == pytest.approx(float(epsilon), rel=1e-9)


@given(st.floats(1e-4, 4), _DELTAS)
def test_epsilon_is_that_of_dp_accounting(rho: float, delta: Fraction) -> None:
    """Which has a list of orders: what it finds is a little more, and never less."""
    accountant = RdpAccountant()
    accountant.compose(ZCDpEvent(rho))
    theirs = accountant.get_epsilon(float(delta))
    ours = float(epsilon_of(Fraction(rho), delta))
    assert ours <= theirs * (1 + 1e-9)
    assert ours >= theirs * 0.9 - 0.01


@given(_EPSILONS)
def test_what_is_left_pays_for_it(epsilon: Fraction) -> None:
    """The largest ε that a ρ pays for; a readable one where that is paid for."""
    rho = rho_of(epsilon)
    paid = epsilon_paid_by(rho)
    assert rho_of(paid) <= rho
    assert float(paid) == pytest.approx(float(epsilon), rel=1e-9)
    assert epsilon_paid_by(rho_of(Fraction("0.1"))) == Fraction("0.1")
