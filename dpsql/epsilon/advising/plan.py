"""From promises about people to a budget that renews: divided so that no stay in the data ever sees more than the total."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.rule import Belief, Promises, belief_after, periods_of_stay
from dpsql.epsilon.numbers import BadInput, down_to_digits
from dpsql.policy.model import NoiseLevel, Period, yaml_name

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


# The lines of `config.yaml` that a plan comes to: the data set's own budget, and a role that stays within it.

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Holder:
    """The role that the lines are for."""

    name: str
    protects: str
    per_query: Fraction
    noise: NoiseLevel | None = None

    def __post_init__(self) -> None:
        for what, name in (("role", self.name), ("privacy unit", self.protects)):
            if not (name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME):
                raise BadInput(f"{what} must be a name of letters, digits and underscores")
            if yaml_name(name) != name:
                raise BadInput(
                    f'{what} can\'t be "{name}": YAML reads that as true, false or nothing; choose another name'
                )


def policy_lines(plan: EpsilonPlan, holder: Holder) -> str:
    """Return the lines, for a plan that keeps its promises.

    The data set's budget is the total of one stay, in any time as long as a stay, so that roles which put their answers
    together do not learn more of anybody than one may; for people who stay for good it never renews.

    Raises:
        BadInput: the plan breaks a promise, so there is nothing to be copied.
    """
    if not plan.keeps:
        raise BadInput(f"ε = {decimal(plan.total)} breaks a promise: at most {decimal(plan.promises.largest())} fits")
    renewing = "" if plan.period is Period.NEVER else f", period: {plan.period}"
    window = "" if plan.days is None else f", window: {plan.days} day{'s' if plan.days > 1 else ''}"
    level = "" if holder.noise is None else f"noise: {holder.noise}, "
    return (
        f"budget:\n  {holder.protects}: {{epsilon: {decimal(plan.total)}{window}}}\n"
        f"roles:\n  {holder.name}:\n    protects: {holder.protects}\n"
        f"    budget: {{epsilon: {decimal(plan.each)}{renewing}}}\n"
        f"    per_query: {{{level}epsilon: {decimal(min(holder.per_query, plan.each))}}}\n"
    )


def decimal(value: Fraction, digits: int = 6) -> str:
    """Return a positive amount in decimals, cut off and never rounded up; so many significant digits of it are kept."""
    places = digits
    while 0 < value * 10**places < 10 ** (digits - 1):
        places += 1
    whole, part = divmod(value.numerator * 10**places // value.denominator, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0").rstrip(".")
