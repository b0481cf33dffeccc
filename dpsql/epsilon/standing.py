"""What a role that there is could cost a person, measured by the same rule as one that is planned."""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.stay import periods_touched
from dpsql.policy.model import Period, Privacy, Role


@dataclass(frozen=True, slots=True)
class Standing:
    """The most that a role can spend while one person is in the data."""

    total: Fraction
    """In ε; its δ is not in it."""
    periods: int | None
    """In how many of the role's periods the person may be there; None is without end."""
    by_dataset: bool
    """Whether the data set's own budget is what ends it."""


def standing(role: Role, dataset: Privacy, stay: int | None) -> Standing:
    """Return what a role can spend within a stay of so many days, or for good (None).

    The data set's budget never renews, so that no role, nor all together, spend more than that.

    Raises:
        BadInput: a stay out of range.
    """
    each, period = role.budget.total.epsilon, role.budget.period
    if stay is None and period is not Period.NEVER:
        return Standing(dataset.epsilon, None, by_dataset=True)
    periods = periods_touched(period, stay)
    return Standing(min(each * periods, dataset.epsilon), periods, by_dataset=each * periods > dataset.epsilon)
