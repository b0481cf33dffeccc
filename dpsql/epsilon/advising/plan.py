"""From promises about people to a budget that renews: divided so that no stay in the data ever sees more than the total."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.belief import Belief, belief_after
from dpsql.epsilon.advising.promises import Promises
from dpsql.epsilon.advising.stay import periods_of_stay
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_digits
from dpsql.policy.model import Period

DAYS = {period: period.days for period in Period if period.days is not None}
"""The most days that a period has."""

_DIGITS = 5
_FIRST = (1, 2, 3, 6, 12)


@dataclass(frozen=True, slots=True)
class EpsilonPlan:
    """A total for each person's stay, and the share of it that a role's budget gets every period."""

    promises: Promises
    period: Period
    days: int | None
    """How long a person stays in the data; None is for good."""
    total: Fraction
    """The most that all answers may cost while one person is there."""
    periods: int
    """In how many periods one person is there, at the most."""
    each: Fraction
    """The role's budget for one period: all of them together never cost more than the total."""

    @classmethod
    def of(cls, promises: Promises, period: Period, days: int | None, total: Fraction | None = None) -> "EpsilonPlan":
        """Divide a total, the largest that keeps the promises unless given, among the periods of a stay.

        Raises:
            BadInput: numbers out of range, or a renewing budget for people who stay for good.
        """
        periods = periods_of_stay(period, days)
        chosen = promises.largest() if total is None else total
        if chosen <= 0:
            raise BadInput(f"a total ε of {float(chosen):g}: it must be positive")
        return cls(promises, period, days, chosen, periods, down_to_digits(chosen / periods, _DIGITS))

    @property
    def keeps(self) -> bool:
        """Return whether all three promises hold after the longest stay."""
        return self.total <= self.promises.largest()

    def after(self, periods: int) -> Belief:
        """Return what can be believed at worst once so many periods are spent."""
        return belief_after(self.each * periods, self.promises.people)

    def milestones(self) -> tuple[tuple[int, Belief], ...]:
        """Return the beliefs after some numbers of periods: the first few, the stay's, and twice that."""
        if self.period is Period.NEVER:
            return ((1, self.after(1)),)
        early = (count for count in _FIRST if count < self.periods)
        return tuple((count, self.after(count)) for count in _unique((*early, self.periods, 2 * self.periods)))


def _unique(counts: Iterable[int]) -> list[int]:
    return sorted(set(counts))
