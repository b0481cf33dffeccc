"""The cost to a person of a role that exists, measured by the same rule as one that is planned."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.stay import periods_of_stay
from dpsql.policy.model import DatasetBudget, Period, Role

_ENDLESS = Fraction(10**6)


@dataclass(frozen=True, slots=True)
class Standing:
    """The most that a role can spend while one person is in the data."""

    total: Fraction
    """In ε; its δ is not in it. Where nothing ends it, so much that every guess is certain."""
    periods: int | None
    """In how many of the role's periods the person may be there; None is without end."""
    by_dataset: bool
    """Whether the data set's own budget is what ends it."""


def standing(role: Role, dataset: DatasetBudget, stay: int | None) -> Standing:
    """Return what a role can spend within a stay of so many days, or for good (None).

    No role, nor all together, spend more than the data set's budget: ever, or in each window that the stay touches.

    Raises:
        BadInput: a stay out of range.
    """
    each, period = role.budget.total.epsilon, role.budget.period
    whole = _together(dataset, stay)
    if stay is None and period is not Period.NEVER:
        return Standing(whole, None, by_dataset=dataset.window is None)
    periods = periods_of_stay(period, stay)
    return Standing(min(each * periods, whole), periods, by_dataset=each * periods > whole)


def _together(dataset: DatasetBudget, stay: int | None) -> Fraction:
    """Return what all roles can spend within a stay: once, or in each of the windows that cover it."""
    if dataset.window is None:
        return dataset.total.epsilon
    return _ENDLESS if stay is None else dataset.total.epsilon * max(1, math.ceil(Fraction(stay, dataset.window)))
