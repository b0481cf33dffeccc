"""The keys that SELECT DISTINCT shows, when no count is: the most that (ε, δ) allows at every number of units.

Desfontaines, Voss, Gipson, Mandayam, "Differentially Private Partition Selection" (2020).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from dpsql.privacy.mechanisms.entropy import Entropy, below, exp_bounds
from dpsql.privacy.mechanisms.threshold import per_key

_BITS = 128
_ONE = 1 << _BITS
_WIDTH = _BITS // 8 + 1
"""Bytes of one chance: 1 itself has one bit more."""
_MOST = 2**13
"""Chances of one table; ε/C of 0.003 needs about as many."""


def chances(epsilon: Fraction, delta: Fraction, keys: int) -> bytes:
    """Return the chance of a key that n = 0, 1 … units have, packed; nothing if the table would be too long.

    A unit has at most `keys` keys; each is chosen with ε/keys and δ₁ = 1 − (1 − δ)^(1/keys), which compose to (ε, δ)
    (Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy", 2015).
    """
    if epsilon <= 0 or keys < 1 or not 0 < delta < 1:
        raise ValueError("a choice of keys needs a positive ε and number of keys, and 0 < δ < 1")
    return b"".join(chance.to_bytes(_WIDTH, "big") for chance in _chances(epsilon / keys, per_key(delta, keys)))


def select_keys(entropy: Entropy, units: Sequence[int], table: bytes) -> list[bool]:
    """Return for each key whether it is shown; `units` has the number of distinct units that have it."""
    last = len(table) // _WIDTH - 1
    return [below(entropy, _ONE) < _at(table, max(0, min(n, last))) for n in units]


def units_for_even_chance(table: bytes) -> int:
    """Return the least number of units that have a key shown as often as not."""
    return next(n for n in range(len(table) // _WIDTH) if 2 * _at(table, n) >= _ONE)


def _at(table: bytes, n: int) -> int:
    return int.from_bytes(table[_WIDTH * n : _WIDTH * (n + 1)], "big")


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return, in units of 2^-128, the chance of a key that n = 0, 1 … units have, up to the first that is certain.

    With π(0) = 0, (ε, δ) allows π(n+1) ≤ e^ε·π(n) + δ and 1 − π(n) ≤ e^ε·(1 − π(n+1)) + δ. Taken with a rational
    number below e^ε and rounded down, both still hold, and nothing irrational is left to be sampled. Nothing is returned
    where the first that is certain is too far off, or none is.
    """
    _, shrink = exp_bounds(epsilon, _BITS)
    spare = int(delta * _ONE)
    chances = [0]
    while chances[-1] < _ONE and len(chances) < _MOST and spare:
        grown = chances[-1] * _ONE // shrink + spare
        hidden = max(_ONE - chances[-1] - spare, 0)
        chances.append(min(grown, _ONE + (-hidden * shrink) // _ONE, _ONE))
    return tuple(chances) if chances[-1] == _ONE else ()
