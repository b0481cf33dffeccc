"""How losses of privacy add up: the one place that another kind of composition would change.

Basic composition: ε and δ add up, also where questions are chosen after earlier answers were seen, so that refusing what
passes a budget is a valid filter (Rogers, Roth, Ullman, Vadhan, "Privacy Odometers and Filters", 2016).
"""

from collections.abc import Iterable
from fractions import Fraction

from dpsql.policy.model import Privacy


def compose(losses: Iterable[Privacy]) -> Privacy:
    """Return the loss of all of them together."""
    epsilon = delta = rho = Fraction(0)
    for loss in losses:
        epsilon += loss.epsilon
        delta += loss.delta
        rho += loss.rho
    return Privacy(epsilon, delta, rho)


def equal_share(whole: Fraction, number: int) -> Fraction:
    """Return the equal part of ε, or of δ, of which so many compose to the whole."""
    return whole / number if number > 1 else whole


def covers(budget: Privacy, loss: Privacy) -> bool:
    """Return whether a budget, all of it, can pay for a loss; of ε and δ none pays for what has no ε."""
    return not loss.rho and loss.epsilon <= budget.epsilon and loss.delta <= budget.delta


def left_of(budget: Privacy, spent: Privacy) -> Privacy:
    """Return what may still be spent; never less than nothing, though a budget may have been lowered."""
    return Privacy(max(budget.epsilon - spent.epsilon, Fraction(0)), max(budget.delta - spent.delta, Fraction(0)))
