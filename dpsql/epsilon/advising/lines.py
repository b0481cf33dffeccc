"""The lines of `config.yaml` that a plan comes to: the data set's own budget, and a role that stays within it."""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.plan import EpsilonPlan
from dpsql.epsilon.refusal import BadInput
from dpsql.policy.model import NoiseLevel, Period, yaml_name

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
