"""The rule for a role's total budget, which looks at no data: population size, acceptable risks, nothing else.

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

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dpsql.epsilon.refusal import BadInput
from dpsql.epsilon.rounding import down_to_step

MEMBERSHIP = Fraction(3, 4)
"""The largest acceptable answer to a 50/50 membership question, where the owner names none: ε ≤ ln 3."""

VALUE = Fraction(9, 10)
"""The largest acceptable answer to "which of two values has this member?", where the owner names none: ε ≤ ln 3 as well."""

EXCHANGE = 2
"""How many steps between neighbours (add or remove one person) exchanging one person takes."""

_STEP = Fraction(1, 10_000)
_EXACT = Context(prec=60, rounding=ROUND_FLOOR)


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
    _check_probability("risk", risk)
    if risk * population <= 1:
        raise BadInput(f"a risk of {float(risk):g} is not above 1/{population}: that is a blind guess")
    return _log_below((population - 1) * risk / (1 - risk), steps)


def membership_epsilon(membership: Fraction) -> Fraction:
    """Return the largest ε at which a 50/50 membership question is answered with at most this certainty."""
    return _even_odds("membership", membership, 1)


def value_epsilon(value: Fraction, steps: int = EXCHANGE) -> Fraction:
    """Return the largest ε at which a 50/50 guess between two values of a member gets at most this certainty."""
    return _even_odds("value", value, steps)


def _even_odds(name: str, probability: Fraction, steps: int) -> Fraction:
    _check_probability(f"{name} risk", probability)
    if probability * 2 <= 1:
        raise BadInput(f"a {name} risk of {float(probability):g} is not above 1/2: that is a blind guess")
    return _log_below(probability / (1 - probability), steps)


def _log_below(number: Fraction, divisor: int) -> Fraction:
    """Return ln(number)/divisor, rounded down.

    `Decimal.ln` is correctly rounded to 60 digits; two units in its last place are given away before
    rounding to four places.
    """
    quotient = _EXACT.divide(Decimal(number.numerator), Decimal(number.denominator))
    below = _EXACT.next_minus(_EXACT.next_minus(_EXACT.ln(quotient)))
    epsilon = down_to_step(Fraction(below) / divisor, _STEP)
    if epsilon <= 0:
        raise BadInput("the risk is so near a blind guess that no ε of four decimals meets it")
    return epsilon


def _check_probability(name: str, probability: Fraction) -> None:
    if not 0 < probability < 1:
        raise BadInput(f"a {name} of {float(probability):g} is not between 0 and 1")
