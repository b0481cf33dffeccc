"""Losses add up exactly, and parts of a whole compose to it."""

from fractions import Fraction

import pytest

from dpsql.accounting.privacy_loss import compose, equal_share, remaining
from dpsql.policy.model import Privacy


def test_amounts_add_up_exactly() -> None:
    """Ten tenths are one."""
    assert compose([Privacy(Fraction("0.1"), Fraction("1e-7"))] * 10) == Privacy(Fraction(1), Fraction("1e-6"))


def test_lowered_budget_leaves_nothing() -> None:
    """A budget below what was spent leaves zero, not less."""
    assert remaining(Privacy(Fraction(1)), Privacy(Fraction(2), Fraction("1e-6"))) == Privacy(Fraction(0))


@pytest.mark.parametrize("number", [1, 3, 7, 400])
def test_shares_compose_to_the_whole(number: int) -> None:
    """Whatever the number, nothing is lost and nothing is won."""
    whole = Fraction("0.1")
    assert compose([Privacy(equal_share(whole, number))] * number) == Privacy(whole)


def test_the_share_of_nobody_is_the_whole() -> None:
    """A statement without measurements divides nothing."""
    assert equal_share(Fraction(2), 0) == 2
    assert compose(()) == Privacy(Fraction(0))
