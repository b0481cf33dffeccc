"""The meaning of a total ε in words that need no theory: how far a belief can move."""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.epsilon.advising.rule import EXCHANGE
from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.risks.risk import inverse_logit, logit


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
        singled_out=grown(Fraction(1, population), EXCHANGE * epsilon),
        membership=grown(Fraction(1, 2), epsilon),
        value=grown(Fraction(1, 2), EXCHANGE * epsilon),
    )


def grown(prior: Fraction, epsilon: Fraction) -> float:
    """Return the largest posterior of a yes-or-no question after ε: p·e^ε / (1 − p + p·e^ε)."""
    if not 0 < prior < 1:
        raise BadInput(f"a prior of {float(prior):g} is not between 0 and 1")
    return inverse_logit(logit(prior) + float(epsilon))
