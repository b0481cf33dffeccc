"""From an acceptable disclosure risk to ε, by a rule that does not look at the data."""

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

MEMBERSHIP_RISK = Fraction(3, 4)
"""How certain of somebody's membership an answer to a 50/50 question may make, unless the owner says otherwise."""

_STEP = Decimal("0.0001")


def epsilon_for(risk: Fraction, population: int, membership: Fraction = MEMBERSHIP_RISK) -> Fraction:
    """Return the largest ε of four decimals under which both risks hold, for neighbours by adding or removing a unit.

    The largest posterior among n possible people is at most 1/(1 + (n−1)·exp(−2ε)) (Lee & Clifton 2011, upper bound
    with Δv = 2Δf), and the posterior of membership from even odds at most 1/(1 + exp(−ε)).

    Raises:
        ValueError: if the risk is that of a guess or lower, so that no ε will do.
    """
    if population < 2 or risk * population <= 1:
        raise ValueError(f"must be above 1/population = 1/{population}, the chance of a blind guess")
    if membership <= Fraction(1, 2):
        raise ValueError("must be above 0.5, the chance of a blind guess")
    with localcontext() as context:
        context.prec = 50
        naming = _log((population - 1) * risk / (1 - risk)) / 2
        telling = _log(membership / (1 - membership))
        # 50 digits are far more exact than one step, and the floor is taken a little lower: never above the rule.
        epsilon = (min(naming, telling) - Decimal("1e-40")).quantize(_STEP, rounding=ROUND_FLOOR)
    if epsilon <= 0:
        raise ValueError("is so small that no ε of four decimals satisfies it")
    return Fraction(epsilon)


def _log(odds: Fraction) -> Decimal:
    return (Decimal(odds.numerator) / Decimal(odds.denominator)).ln()
