"""From what somebody may come to believe to the largest ε: the one formula of every promise to a person.

Who believes with probability p that something holds, and sees answers that differ by a factor of e^ε at most for each of d
steps between neighbours, believes it afterwards with p·e^(dε) / (1 − p + p·e^(dε)) at most, by Bayes' rule. So a belief stays
within q where ε ≤ ln( q(1 − p) / (p(1 − q)) ) / d.
"""

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import floor

MEMBERSHIP_RISK = Fraction(3, 4)
"""How certain of somebody's membership an answer to a 50/50 question may make, unless the owner says otherwise: ε ≤ ln 3."""

EXCHANGE = 2
"""How many steps between neighbours (add or remove one person) exchanging one person takes."""

_STEPS_OF_ONE = 10_000
_EXACT = Context(prec=60, rounding=ROUND_FLOOR)


def largest_epsilon(prior: Fraction, posterior: Fraction, steps: int) -> Fraction:
    """Return the largest ε of four decimals at which a belief of `prior` becomes no more than `posterior`, in `steps`.

    Both lie between 0 and 1, and `posterior` is the larger. It is 0 where no ε of four decimals is small enough.

    `Decimal.ln` is correctly rounded to 60 digits; two units in its last place are given away before it is rounded down to
    four places.
    """
    odds = posterior * (1 - prior) / (prior * (1 - posterior))
    quotient = _EXACT.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    below = _EXACT.next_minus(_EXACT.next_minus(_EXACT.ln(quotient)))
    return Fraction(max(floor(Fraction(below) / steps * _STEPS_OF_ONE), 0), _STEPS_OF_ONE)
