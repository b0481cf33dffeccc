"""The noisy count that a group must reach before its key, which may itself be a secret, is shown.

Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing Search Queries and Clicks Privately" (2009); Wilson et al.,
"Differentially Private SQL with Bounded User Contribution" (2020).

Promise: every rounding is against ourselves. The probabilities compared are rational bounds on the safe side, so a
threshold is never too small.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from dpsql.privacy.mechanisms.entropy import exp_bounds

_DIGITS = 120
_SECANTS = 50
"""Far more than are needed: a search that crosses sooner stops."""


@lru_cache(maxsize=1024)
def threshold(t: int, d: int, step: int, keys: int, delta: Fraction) -> int:
    """Return the least integer τ at which a group may be shown, in units of the lattice.

    A unit adds at most `keys` rows, so it touches at most that many groups, and each of its rows adds `step` to the
    count coordinate. That carries the marginal noise of a cube in `d` dimensions with P(z) ∝ exp(−max|zᵢ|/t); for
    d = 1 this is the discrete Laplace. A group that exists through one unit alone has a count of keys·step at most,
    so all of its at most `keys` groups stay hidden with probability 1 − δ if each is shown with δ₁ at most:
    τ = keys·step + m with the least m such that P(z ≥ m) ≤ δ₁ = 1 − (1 − δ)^(1/keys).
    """
    if min(t, d, step, keys) < 1 or not 0 < delta < 1:
        raise ValueError("a threshold needs a positive scale, dimension, step and number of keys, and 0 < δ < 1")
    return keys * step + _least_excess(t, d, per_key(delta, keys))


def per_key(delta: Fraction, keys: int) -> Fraction:
    """Return at most 1 − (1 − δ)^(1/keys): that probability for each of `keys` independent events keeps all below δ."""
    up = Context(_DIGITS, ROUND_CEILING)
    kept = up.divide(Decimal((1 - delta).numerator), Decimal((1 - delta).denominator))
    # ln and exp round to nearest, so the next number above is an upper bound of each.
    root = up.next_plus(up.exp(up.divide(up.next_plus(up.ln(kept)), Decimal(keys))))
    # By Bernoulli's inequality δ/keys is always small enough, and is better where the digits do not suffice.
    return max(1 - Fraction(root), delta / keys)


def _least_excess(t: int, d: int, delta: Fraction) -> int:
    """Return the least m ≥ 1 whose tail is proven to be at most `delta`."""
    # Below δ and below 1/t², with room for the polynomials' growth and for the rounding of the bounds.
    bits = 128 + math.ceil(1 / delta).bit_length() + 2 * t.bit_length() + 16 * d
    tail = _Tail.of(t, d, bits)
    high = _crossing(lambda m: tail.excess(delta, m), t)
    low, gap = high - 1, 1
    while low > 0 and tail.is_at_most(delta, low):
        low, high, gap = max(low - gap, 0), low, 2 * gap
    while not tail.is_at_most(delta, high):
        low, high, gap = high, high + gap, 2 * gap
    while high - low > 1:
        middle = (low + high) // 2
        if tail.is_at_most(delta, middle):
            high = middle
        else:
            low = middle
    return high


def _crossing(excess: Callable[[int], float], t: int) -> int:
    """Return about where a falling function of integers crosses zero, by its secants from t and 2t on.

    It is only where a search begins: a logarithm of tails is concave, and found in a tenth of the steps of halving.
    """
    before, here = t, 2 * t
    above, now = excess(before), excess(here)
    for _ in range(_SECANTS):
        if above == now or before == here:
            break
        step = int(Fraction(now / (above - now)) * (here - before))
        before, above, here = here, now, max(here + step, 1)
        now = excess(here)
    return here


@dataclass(frozen=True, slots=True)
class _Tail:
    """P(z ≥ m) of one coordinate of the cube's law, m ≥ 1, as an upper bound.

    The radius M has P(M) ∝ (2M+1)^d·p^M with p = exp(−1/t), and the coordinate is uniform on {−M … M}. So the tail is
    p^m · Σ (2(m+j)+1)^(d−1)·(j+1)·p^j / Σ (2j+1)^d·p^j over j ≥ 0. Both sums are of polynomials of degree d with
    non-negative differences Δⁱ at 0, and Σ C(j, i)·p^j = p^i / (1−p)^(i+1). Multiplied by (1−p)^(d+1) they are
    Σ Δⁱ·p^i·(1−p)^(d−i): positive terms only, in which p and 1 − p may be replaced by bounds.
    """

    t: int
    d: int
    bits: int
    ratio: tuple[int, int]
    """Bounds of 2^bits·p."""
    mass: int
    """A lower bound of the sum that makes the probabilities add up to one, in units of 2^(−bits·d)."""

    @classmethod
    def of(cls, t: int, d: int, bits: int) -> "_Tail":
        """Prepare what does not depend on m."""
        low, high = exp_bounds(Fraction(1, t), bits)
        differences = _differences([(2 * j + 1) ** d for j in range(d + 1)])
        return cls(t, d, bits, (low, high), _homogeneous(differences, low, (1 << bits) - high))

    def is_at_most(self, delta: Fraction, m: int) -> bool:
        """Return whether the tail from `m` on is proven to be at most `delta`."""
        bound, most = self._compared(delta, m)
        return bound <= most

    def excess(self, delta: Fraction, m: int) -> float:
        """Return the logarithm of the bound as a share of `delta`, about."""
        bound, most = self._compared(delta, m)
        over = bound - most
        return math.log1p(over / most) if 2 * abs(over) < most else math.log(bound) - math.log(most)

    def _compared(self, delta: Fraction, m: int) -> tuple[int, int]:
        """Return the bound of the tail from `m` on and `delta`, both in the same units."""
        low, high = self.ratio
        differences = _differences([(2 * (m + j) + 1) ** (self.d - 1) * (j + 1) for j in range(self.d + 1)])
        above = _homogeneous(differences, high, (1 << self.bits) - low)
        _, power = exp_bounds(Fraction(m, self.t), self.bits)
        return power * above * delta.denominator, delta.numerator * self.mass << self.bits


def _differences(values: list[int]) -> list[int]:
    """Return the forward differences Δ⁰, Δ¹ … at the first of `values`."""
    first = []
    while values:
        first.append(values[0])
        values = [b - a for a, b in pairwise(values)]
    return first


def _homogeneous(coefficients: list[int], p: int, q: int) -> int:
    """Return Σ cᵢ·p^i·q^(n−i), n the last index."""
    total, power = 0, 1
    for coefficient in reversed(coefficients):
        total, power = total * p + coefficient * power, power * q
    return total
