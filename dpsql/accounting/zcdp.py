"""Zero-concentrated differential privacy: what a charge of ε costs in ρ, and what a sum of ρ comes to in ε at a δ.

An ε-DP answer is ρ-zCDP with ρ = ε·tanh(ε/2), and with no less (Harrison, Manurangsi, "Exact zCDP characterizations for
fundamental differentially private mechanisms", 2025; ε²/2 of Bun, Steinke, "Concentrated Differential Privacy", 2016,
Prop. 3.3, is a little more). One that is (ε, δ)-DP is the same but for an event of probability δ (Bun, Steinke, sect. 8).
ρ-zCDP is (ε, δ)-DP if for some α > 1

    (α − 1)(α·ρ − ε) − ln(α − 1) + α·ln(1 − 1/α) ≤ ln δ

(Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020, Prop. 12). Each α is a proof, so that the
search for the best one may be careless, and what it finds is evaluated with 50 digits and rounded against ourselves.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

_EXACT = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
_GRAIN = 10**30
"""Amounts of ρ are whole numbers of this part, so that sums of many stay short."""
_SLACK = Fraction(1, 10**25)
"""More than fifty digits err by, where ε is what budgets have."""
_FLAT = 100
"""From which ε on tanh(ε/2) is 1 but for what rounding takes."""
_STEPS = 200


@lru_cache(maxsize=4096)
def rho_of(epsilon: Fraction) -> Fraction:
    """Return the ρ of an ε-DP answer, rounded up."""
    if epsilon >= _FLAT:
        return _up(epsilon)
    grown = _EXACT.exp(_decimal(epsilon))
    unit = Decimal(1)
    slope = Fraction(_EXACT.divide(_EXACT.subtract(grown, unit), _EXACT.add(grown, unit))) + _SLACK
    return _up(min(epsilon * slope, epsilon * epsilon / 2))


@lru_cache(maxsize=1024)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ that is (ε, δ)-DP, rounded down; δ is above 0."""
    log, target = _log(delta), float(epsilon)

    def allowed(alpha: float) -> float:
        return (target + (log - _rest(alpha)) / (alpha - 1)) / alpha

    order = _decimal(_best(lambda alpha: -allowed(alpha)))
    slope = _EXACT.divide(
        _EXACT.subtract(_log_exactly(delta), _rest_exactly(order)), _EXACT.subtract(order, Decimal(1))
    )
    return _down(max((epsilon + Fraction(slope)) / Fraction(order) - _SLACK, Fraction(0)))


@lru_cache(maxsize=4096)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least ε for which what is ρ-zCDP is (ε, δ)-DP, rounded up; δ is above 0."""
    if not rho:
        return Fraction(0)
    log, amount = _log(delta), float(rho)
    order = _decimal(_best(lambda alpha: alpha * amount + (_rest(alpha) - log) / (alpha - 1)))
    slope = _EXACT.divide(
        _EXACT.subtract(_rest_exactly(order), _log_exactly(delta)), _EXACT.subtract(order, Decimal(1))
    )
    return max(Fraction(order) * rho + Fraction(slope) + _SLACK, Fraction(0))


@lru_cache(maxsize=1024)
def epsilon_paid_by(rho: Fraction) -> Fraction:
    """Return the largest ε of which one answer costs no more than ρ, rounded down."""
    least, most = Fraction(0), max(2 * rho, Fraction(2))
    while rho_of(most) < rho:
        most *= 2
    for _ in range(60):
        middle = Fraction(round((least + most) / 2 * _GRAIN), _GRAIN)
        least, most = (middle, most) if rho_of(middle) <= rho else (least, middle)
    readable = Fraction(round(least * 10**12), 10**12)
    return readable if rho_of(readable) <= rho else least


def _best(cost: Callable[[float], float]) -> float:
    """Return the α > 1 that costs least, by golden sections of ln(α − 1)."""
    ratio, low, high = (math.sqrt(5) - 1) / 2, -15.0, 30.0

    def at(place: float) -> float:
        return cost(1 + math.exp(place))

    for _ in range(_STEPS):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return 1 + math.exp((low + high) / 2)


def _rest(alpha: float) -> float:
    return -math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)


def _rest_exactly(alpha: Decimal) -> Decimal:
    less = _EXACT.subtract(alpha, Decimal(1))
    return _EXACT.subtract(_EXACT.multiply(alpha, _EXACT.ln(_EXACT.divide(less, alpha))), _EXACT.ln(less))


def _log(delta: Fraction) -> float:
    return math.log(delta.numerator) - math.log(delta.denominator)


def _log_exactly(delta: Fraction) -> Decimal:
    return _EXACT.subtract(_EXACT.ln(Decimal(delta.numerator)), _EXACT.ln(Decimal(delta.denominator)))


def _decimal(amount: Fraction | float) -> Decimal:
    exact = Fraction(amount)
    return _EXACT.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _up(amount: Fraction) -> Fraction:
    return Fraction(math.ceil(amount * _GRAIN), _GRAIN)


def _down(amount: Fraction) -> Fraction:
    return Fraction(math.floor(amount * _GRAIN), _GRAIN)
