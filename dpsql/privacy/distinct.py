"""Which keys of SELECT DISTINCT are shown, when no count is: the most that (ε, δ) allows at every number of units.

Desfontaines, Voss, Gipson, Mandayam, "Differentially Private Partition Selection" (2020).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dpsql.privacy.entropy import Entropy, below
from dpsql.privacy.exponential import exp_bounds
from dpsql.privacy.threshold import per_key

_BITS = 128
_ONE = 1 << _BITS


def shown(entropy: Entropy, units: Sequence[int], epsilon: Fraction, delta: Fraction, keys: int) -> list[bool]:
    """Say for each key whether it is shown; `units` has the number of distinct units that have it.

    A unit has at most `keys` keys; each is chosen with ε/keys and δ₁ = 1 − (1 − δ)^(1/keys), which compose to (ε, δ)
    (Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", 2015).
    """
    if epsilon <= 0 or keys < 1 or not 0 < delta < 1:
        raise ValueError("a choice of keys needs a positive ε and number of keys, and 0 < δ < 1")
    chances = _chances(epsilon / keys, per_key(delta, keys))
    return [below(entropy, _ONE) < chances[max(0, min(n, len(chances) - 1))] for n in units]


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return, in units of 2^-128, the chance of a key that n = 0, 1 … units have, up to the first that is certain.

    With π(0) = 0, (ε, δ) allows π(n+1) ≤ e^ε·π(n) + δ and 1 − π(n) ≤ e^ε·(1 − π(n+1)) + δ. Taken with a rational
    number below e^ε and rounded down, both still hold, and nothing irrational is left to be sampled.
    """
    _, shrink = exp_bounds(epsilon, _BITS)
    spare = int(delta * _ONE)
    if not spare:
        raise ValueError("δ is too small to show anything")
    chances = [0]
    while chances[-1] < _ONE:
        grown = chances[-1] * _ONE // shrink + spare
        hidden = max(_ONE - chances[-1] - spare, 0)
        chances.append(min(grown, _ONE + (-hidden * shrink) // _ONE, _ONE))
    return tuple(chances)
