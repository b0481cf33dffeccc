"""The rule for a role's total budget, which looks at no data: what it promises to people, and what that means for them.

ε ≤ min( ln((n − 1)ρ/(1 − ρ))/d, logit ρ₂, logit(ρ₃)/d ). The first term: one of n people is singled out with
probability at most ρ by an adversary who knows all the others (Lee & Clifton 2011; d = 2, because exchanging one
person is one removal and one addition). The second: somebody who thought 50 to 50 whether a person is in the data
can't become surer than ρ₂. The third: somebody who knows that a person is in the data, and thought 50 to 50 which of
two values theirs is, can't become surer than ρ₃. For a large n the first alone would allow an ε at which the other two
are nearly certain.

Proof of the third. Let D₁ and D₂ differ in that person's value only, and D₀ lack the person. Any event has P(D₁) ≤ e^ε·P(D₀)
≤ e^2ε·P(D₂), so by Bayes' rule, from even odds, D₁ is believed with at most e^2ε/(1 + e^2ε). It is attained: of the sum of a
column within [−1, 1], where the values are −1 and 1 and a missing person counts 0, Laplace noise of scale 1/ε makes just
these odds. With v equally likely values it is the first term's formula, with v for n.

The result is a budget: an exact fraction, never above the bound.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from dpsql.epsilon.numbers import BadInput
from dpsql.epsilon.risks.study import inverse_logit, logit
from dpsql.policy import model
from dpsql.policy.disclosure import EXCHANGE, MEMBERSHIP_RISK, largest_epsilon
from dpsql.policy.model import DatasetBudget, Period, Role

MEMBERSHIP = MEMBERSHIP_RISK
"""The largest acceptable answer to a 50/50 membership question, where the owner names none: ε ≤ ln 3."""

VALUE = Fraction(9, 10)
"""The largest acceptable answer to "which of two values has this member?", where the owner names none: ε ≤ ln 3 as well."""


def total_epsilon(population: int, risk: Fraction, membership: Fraction, value: Fraction = VALUE) -> Fraction:
    """Return the largest total ε for a role, or for all roles together that may collude.

    Raises:
        BadInput: a probability out of range, or a risk that a blind guess already exceeds.
    """
    return min(singling_out_epsilon(population, risk), membership_epsilon(membership), value_epsilon(value))


def singling_out_epsilon(population: int, risk: Fraction, steps: int = EXCHANGE) -> Fraction:
    """Return the largest ε at which one of `population` people is singled out with probability at most `risk`."""
    if population < 2:
        raise BadInput(f"a population of {population} is too small: at least 2 people are needed")
    _require_probability("risk", risk)
    if risk * population <= 1:
        raise BadInput(f"a risk of {float(risk):g} is not above 1/{population}: that is a blind guess")
    return _largest(Fraction(1, population), risk, steps)


def membership_epsilon(membership: Fraction) -> Fraction:
    """Return the largest ε at which a 50/50 membership question is answered with at most this certainty."""
    return _even_odds("membership", membership, 1)


def value_epsilon(value: Fraction, steps: int = EXCHANGE) -> Fraction:
    """Return the largest ε at which a 50/50 guess between two values of a member gets at most this certainty."""
    return _even_odds("value", value, steps)


def _even_odds(name: str, probability: Fraction, steps: int) -> Fraction:
    _require_probability(f"{name} risk", probability)
    if probability * 2 <= 1:
        raise BadInput(f"a {name} risk of {float(probability):g} is not above 1/2: that is a blind guess")
    return _largest(Fraction(1, 2), probability, steps)


def _largest(prior: Fraction, posterior: Fraction, steps: int) -> Fraction:
    epsilon = largest_epsilon(prior, posterior, steps)
    if epsilon <= 0:
        raise BadInput("the risk is so near a blind guess that no ε of four decimals meets it")
    return epsilon


def _require_probability(name: str, probability: Fraction) -> None:
    if not 0 < probability < 1:
        raise BadInput(f"a {name} of {float(probability):g} is not between 0 and 1")


# The three promises that a total ε keeps to each person, and which of them binds.


class Promise(StrEnum):
    """The promises to each person; see `rule` for the proofs."""

    NAMING = "naming"
    """Somebody who has the data of all others names the last one with no more than this probability."""
    MEMBERSHIP = "membership"
    """Somebody who thought 50 to 50 whether they are in the data becomes no surer than this."""
    VALUE = "value"
    """Somebody who is sure that they are in the data, and thought 50 to 50 which of two values theirs is, becomes no
    surer."""

    @property
    def risk(self) -> str:
        """What it limits, in the field's words."""
        match self:
            case Promise.NAMING:
                return "re-identification"
            case Promise.MEMBERSHIP:
                return "membership inference"
            case Promise.VALUE:
                return "attribute inference"


@dataclass(frozen=True, slots=True)
class Promises:
    """The largest acceptable probability of each kind, and how many people could be named."""

    people: int
    naming: Fraction
    membership: Fraction
    value: Fraction

    def limits(self) -> Mapping[Promise, Fraction]:
        """Return the largest total ε that keeps each promise, rounded down.

        Raises:
            BadInput: a probability out of range, or one that a blind guess already exceeds.
        """
        return _limits(self)

    def largest(self) -> Fraction:
        """Return the largest total ε that keeps all three; see `limits`."""
        return min(self.limits().values())

    def binding(self) -> tuple[Promise, ...]:
        """Return the promises that allow no more than that: a larger ε would break them."""
        limits = self.limits()
        return tuple(promise for promise, limit in limits.items() if limit == min(limits.values()))


@lru_cache(maxsize=256)
def _limits(promises: Promises) -> Mapping[Promise, Fraction]:
    return {
        Promise.NAMING: singling_out_epsilon(promises.people, promises.naming),
        Promise.MEMBERSHIP: membership_epsilon(promises.membership),
        Promise.VALUE: value_epsilon(promises.value),
    }


# The meaning of a total ε in words that need no theory: how far a belief can move.


@dataclass(frozen=True, slots=True)
class Belief:
    """The most that beliefs can become once `epsilon` has been spent."""

    epsilon: Fraction
    singled_out: float
    """Probability of naming one of n people, knowing all others."""
    membership: float
    """Answer to "is this person in the data?" for somebody who thought 50 to 50."""
    value: float
    """Answer to "which of two values has this member?" for somebody who thought 50 to 50."""


def belief_after(epsilon: Fraction, population: int) -> Belief:
    """Return what can be believed after `epsilon` in total."""
    return Belief(
        epsilon,
        singled_out=posterior_after(Fraction(1, population), EXCHANGE * epsilon),
        membership=posterior_after(Fraction(1, 2), epsilon),
        value=posterior_after(Fraction(1, 2), EXCHANGE * epsilon),
    )


def posterior_after(prior: Fraction, epsilon: Fraction) -> float:
    """Return the largest posterior of a yes-or-no question after ε: p·e^ε / (1 − p + p·e^ε)."""
    if not 0 < prior < 1:
        raise BadInput(f"a prior of {float(prior):g} is not between 0 and 1")
    return inverse_logit(logit(prior) + float(epsilon))


# The periods of a stay (`dpsql.policy.model`), for questions about them without a policy.


def periods_of_stay(period: Period, days: int | None) -> int:
    """Return in how many periods, at the most, somebody is there who stays for `days`, or for good (None).

    Raises:
        BadInput: less than a day, too many, or for good while the budget renews.
    """
    try:
        return model.periods_touched(period, days)
    except ValueError as error:
        raise BadInput(str(error)) from None


# The cost to a person of a role that exists, measured by the same rule as one that is planned.

_ENDLESS = Fraction(10**6)


@dataclass(frozen=True, slots=True)
class StaySpending:
    """The most that a role can spend while one person is in the data."""

    total: Fraction
    """In ε; its δ is not in it. Where nothing ends it, so much that every guess is certain."""
    periods: int | None
    """In how many of the role's periods the person may be there; None is without end."""
    by_dataset: bool
    """Whether the data set's own budget is what ends it."""


def stay_spending(role: Role, dataset: DatasetBudget, stay: int | None) -> StaySpending:
    """Return what a role can spend within a stay of so many days, or for good (None).

    No role, nor all together, spend more than the data set's budget: ever, or in each window that the stay touches.

    Raises:
        BadInput: a stay out of range.
    """
    each, period = role.budget.total.epsilon, role.budget.period
    whole = _together(dataset, stay)
    # A role's budget that renews for ever has no end for who stays for good. The data set's has one, if it never
    # renews.
    if stay is None and period is not Period.NEVER:
        return StaySpending(whole, None, by_dataset=dataset.window is None)
    periods = periods_of_stay(period, stay)
    return StaySpending(min(each * periods, whole), periods, by_dataset=each * periods > whole)


def _together(dataset: DatasetBudget, stay: int | None) -> Fraction:
    """Return what all roles can spend within a stay: once, or in each of the windows that cover it."""
    if dataset.window is None:
        return dataset.total.epsilon
    return _ENDLESS if stay is None else dataset.total.epsilon * max(1, math.ceil(Fraction(stay, dataset.window)))
