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

Promise: τ and σ rest on upper bounds of probabilities alone (`gaussian_profile`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpsql.privacy.mechanisms.discrete_gaussian import discrete_gaussian
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian_profile import least_sigma, tail_at_most
from dpsql.privacy.mechanisms.threshold import per_key

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
