"""The keys that are shown, by how many units have them: noise in ℓ2, whose thresholds grow with the root of a unit's keys.

A unit with g keys, at most `keys` of them, adds ⌊W/√g⌋ to each, and a key is shown if what is added up, with discrete
Gaussian noise, reaches τ: the *weighted Gaussian* of Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially
Private Set Union" (ICML 2020), as in Swanberg, Desfontaines and Haney, "DP-SIPS: A Simpler, More Scalable Mechanism for
Differentially Private Partition Selection" (PoPETs 2023). Only keys are released.

Claim: that is (ε, δ)-private for any unit, δ = 1 − (1 − δ₁)·(1 − δ₂) for the δ₁ of the noise at ε and ℓ2-sensitivity W, and
δ₂ = max over g of 1 − (1 − P(z ≥ τ − ⌊W/√g⌋))^g.

Proof. Let D' be D and one unit more, with g keys, `a` of which others have too and b of which nobody else has, a + b = g.
Let M'' be what is shown of D' but for those b. They are apart: their noise is their own, each is shown with
P(z ≥ τ − ⌊W/√g⌋), so none is with probability 1 − q ≥ 1 − δ₂, independently of M''. M'' and M(D) show keys of one fixed
set by numbers of which the unit moves `a` by ⌊W/√g⌋ each, a·⌊W/√g⌋² ≤ W², so they are (ε, δ₁)-close in both directions. Thus
for every event E
  P(M(D') ∈ E) ≤ (1 − q)·P(M'' ∈ E) + q ≤ (1 − q)·(e^ε·P(M(D) ∈ E) + δ₁) + q ≤ e^ε·P(M(D) ∈ E) + δ,
  P(M(D) ∈ E) − e^ε·P(M(D') ∈ E) ≤ min(1, e^ε·p + δ₁) − e^ε·(1 − q)·p ≤ δ₁ + q·(1 − δ₁) ≤ δ, p being P(M'' ∈ E);
the second is largest where e^ε·p = 1 − δ₁.

Promise: τ and σ rest on upper bounds of probabilities alone, by the profile below.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian import discrete_gaussian
from dpsql.privacy.mechanisms.threshold import per_key

# The loss through discrete Gaussian noise, as upper bounds that hold: no asymptotics, no floating point.
#
# The noise is that of `gaussian`, of one σ in every coordinate. Canonne, Kamath and Steinke, "The Discrete Gaussian
# for Differential Privacy" (2020), bound its loss by that of a continuous one; here it is bounded for vectors that a unit
# moves by the same amount in each of its coordinates, which is tighter.
#
# Claim: let noise z, independent and discrete Gaussian, be added to an integer vector, and let one unit move `a` of its
# coordinates by w each, a·w² ≤ Δ². Then what comes out is (ε, δ)-private, δ = (1 + κ)·φ(α)·(R(α) − R(β) + 1/σ), if α ≥ 0.
# Here α, β = εσ/Δ ∓ Δ/2σ, φ is the density of the normal law, R(x) = P(N > x)/φ(x), and κ is 2^-1000.
#
# Proof. 1. The loss at the point v + z is (2w·s + a·w²)/2σ² with s = Σz over the a coordinates. It passes ε where s passes s*
# = σ²ε/w − aw/2, and δ = E[(1 − e^(ε − loss))₊] = Σ P(s)·f(s), with f(s) = 1 − exp(−(s − s*)·w/σ²) above s* and else 0. Both
# directions are the same, as the noise is symmetric. 2. P(s) ≤ P(0)·exp(−s²/2aσ²): the points of Z^a with Σz = s lie at (s/a,
# …, s/a) and on a shifted copy of the lattice Σz = 0 around it, and no shifted lattice has a larger Gaussian sum than the
# lattice itself (Poisson's summation formula: the transform is positive). 3. P(0) ≤ (1 + κ)/(σ·√(2πa)). It is the mean of
# χ(t)^a over |t| ≤ π, χ being the noise's characteristic function, and by Poisson's formula χ(t) ≤ Σ_k exp(−σ²(t + 2πk)²/2).
# For |t| ≤ π/2 that is at most exp(−σ²t²/2)·(1 + 3e^(−π²σ²)), beyond it 3e^(−π²σ²/8). For σ ≥ 1,000 and any a below 2^1000
# the first product's excess and the second's part are far below κ. 4. With α' = s*/(σ√a) = εσ/Δ' − Δ'/2σ for Δ' = w√a the
# integral of the bound over s is Balle's and Wang's Q(α') − e^ε·Q(β') ("Improving the Gaussian Mechanism for Differential
# Privacy", 2018) = φ(α')·(R(α') − R(β')), since β'² − α'² = 2ε. The bound is log-concave on its support, so it has one peak,
# and a sum over the integers is at most the integral and the peak; that is at most exp(−α'²/2) as α' ≥ 0, which P(0) makes
# φ(α')/σ√a. 5. Both parts grow with Δ' (the first by φ(α'), its derivative; α' falls, and φ grows towards 0), so Δ' ≤ Δ and a
# ≥ 1 give the claim.

_DOWN, _UP = Context(50, ROUND_FLOOR), Context(50, ROUND_CEILING)
_STEPS = 128
"""Steps of the continued fraction; too few make a bound wider, never wrong."""
_MOST_AT_ZERO = Decimal("1.2533141373155003")
"""Above R(0) = √(π/2)."""
_LEAST_ROOT = Decimal("2.506628274631")
"""Below √(2π)."""
_KAPPA = Decimal(2) ** -1000
LEAST_SIGMA = 1_000
"""From where on κ is as small as claimed."""


def delta_at_most(epsilon: Fraction, sensitivity: int, sigma: int) -> Decimal:
    """Return an upper bound of δ for noise of this σ, `sensitivity` being Δ; see above.

    It may be as small as 10^-1000000, which is compared with a fraction at once, and takes long to make one of.
    """
    ratio = Fraction(sensitivity, sigma)
    alpha, beta = epsilon / ratio - ratio / 2, epsilon / ratio + ratio / 2
    if alpha < 0 or sigma < LEAST_SIGMA:
        raise ValueError("the bound needs a larger σ")
    apart = _UP.subtract(_mills(alpha).high, _mills(beta).low)
    lattice = _UP.divide(Decimal(1), Decimal(sigma))
    inside = _UP.multiply(_UP.add(Decimal(1), _KAPPA), _UP.add(apart, lattice))
    return min(_UP.multiply(_density(alpha), inside), Decimal(1))


def tail_at_most(sigma: int, m: int) -> Decimal:
    """Return an upper bound of P(z ≥ m), m ≥ 1.

    Σ exp(−z²/2σ²) over all z is at least σ√(2π), by Poisson's formula, and from m on at most the integral from m − 1.
    """
    x = Fraction(m - 1, sigma)
    return min(_UP.multiply(_density(x), _mills(x).high), Decimal(1))


@lru_cache(maxsize=256)
def least_sigma(epsilon: Fraction, delta: Fraction, sensitivity: int) -> int:
    """Return a σ, about the least, at which the noise is proven to be (ε, δ)-private."""
    # α ≥ 0 means 2εσ² ≥ Δ².
    low = max(LEAST_SIGMA, _root_up(Fraction(sensitivity**2) / (2 * epsilon)))
    if delta_at_most(epsilon, sensitivity, low) <= delta:
        return low
    high = 2 * low
    while delta_at_most(epsilon, sensitivity, high) > delta:
        low, high = high, 2 * high
    while high - low > max(low >> 12, 1):  # to a part in 4,096; what is proven is `high`
        middle = (low + high) // 2
        low, high = (low, middle) if delta_at_most(epsilon, sensitivity, middle) <= delta else (middle, high)
    return high


def _root_up(square: Fraction) -> int:
    """Return a whole number whose square is at least `square`."""
    return int(_UP.sqrt(_decimal(square, _UP)).next_plus(_UP).to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: Decimal
    high: Decimal


def _mills(x: Fraction) -> _Bounds:
    """Return bounds of R(x) = P(N > x)/φ(x), x ≥ 0.

    With Iₙ(x) = ∫ (t − x)ⁿ/n!·φ(t) dt over t ≥ x, and I₋₁ = φ, integration by parts gives Kₙ = x + n/Kₙ₊₁ for
    Kₙ = Iₙ₋₂/Iₙ₋₁, and R = 1/K₁ (Laplace's continued fraction). All Kₙ are above x, which bounds the last.
    """
    least, most = _decimal(x, _DOWN), _decimal(x, _UP)
    low, high = least, None
    for n in range(_STEPS, 0, -1):
        # A bound of the one below is the other bound of the one above; there is none from above before the first step.
        lower = least if high is None else _DOWN.add(least, _DOWN.divide(Decimal(n), high))
        high = _UP.add(most, _UP.divide(Decimal(n), low)) if low else None
        low = lower
    from_above = min(_UP.divide(Decimal(1), low), _MOST_AT_ZERO) if low else _MOST_AT_ZERO
    return _Bounds(Decimal(0) if high is None else _DOWN.divide(Decimal(1), high), from_above)


def _density(x: Fraction) -> Decimal:
    """Return an upper bound of φ(x); `exp` rounds to nearest, so the next number above is one of it."""
    exponent = _decimal(x * x / 2, _DOWN)
    return _UP.divide(_UP.next_plus(_UP.exp(exponent.copy_negate())), _LEAST_ROOT)


def _decimal(x: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(x.numerator), Decimal(x.denominator))


_FINE = 2**10
"""The least that a unit adds to a key, about: what rounding down takes of it is below a thousandth."""
_EACH = 64
"""Up to so many keys each number has a weight of its own, beyond it one for a sixteenth more."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The amount that a unit adds to each of its keys, where it has at most so many."""

    keys: int
    weight: int


@dataclass(frozen=True, slots=True)
class GaussianSelection:
    """Noise and threshold for keys of which a unit has at most `keys`."""

    keys: int
    sigma: int
    least: int
    """τ."""

    @property
    def units(self) -> Fraction:
        """Return how many units reach τ with a key, if each has as many keys as it may."""
        return Fraction(self.least, weights(self.keys)[-1].weight)

    def units_alone(self) -> Fraction:
        """Return how many units reach τ with a key, if each has no other."""
        return Fraction(self.least, full_weight(self.keys))

    def shown(self, entropy: Entropy, sums: list[int]) -> list[bool]:
        """Return for each key whether it is shown; `sums` has what its units have added."""
        noise = discrete_gaussian(entropy, self.sigma, len(sums))
        return [n + z >= self.least for n, z in zip(sums, noise, strict=True)]


def full_weight(keys: int) -> int:
    """Return W, what a unit adds to its only key."""
    return _FINE << (math.isqrt(keys - 1)).bit_length()


@lru_cache(maxsize=64)
def weights(keys: int) -> tuple[Weight, ...]:
    """Return what units add that have up to so many keys, in ascending order; the last has `keys`.

    g·⌊√(W²/g)⌋² ≤ W² for every g, and a unit with fewer keys than a weight is made for moves less.
    """
    square, made, most = full_weight(keys) ** 2, list[Weight](), 0
    while most < keys:
        most = min(most + max(most // 16 if most >= _EACH else 1, 1), keys)
        made.append(Weight(most, math.isqrt(square // most)))
    return tuple(made)


@lru_cache(maxsize=256)
def selection(epsilon: Fraction, delta: Fraction, keys: int) -> GaussianSelection:
    """Return the noise and the threshold at which finding keys is (ε, δ)-private: half of δ is the noise's."""
    if epsilon <= 0 or keys < 1 or not 0 < delta < 1:
        raise ValueError("a choice of keys needs a positive ε and number of keys, and 0 < δ < 1")
    half, steps = delta / 2, weights(keys)
    sigma, least = least_sigma(epsilon, half, full_weight(keys)), 1
    for step in (steps[-1], *steps[:-1]):
        hidden = per_key(half, step.keys)

        def safe(tau: int, step: Weight = step, hidden: Fraction = hidden) -> bool:
            return tau > step.weight and tail_at_most(sigma, tau - step.weight) <= hidden

        if not safe(least):
            least = _least(safe, least)
    return GaussianSelection(keys, sigma, least)


def _least(safe: Callable[[int], bool], low: int) -> int:
    """Return the least number above `low`, which is not safe, that is."""
    high = 2 * low
    while not safe(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if safe(middle) else (middle, high)
    return high
