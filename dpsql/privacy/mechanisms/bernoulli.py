"""exp(−x) in integers: rigorous bounds, and coins that fall on heads with exactly that probability."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.mechanisms.entropy import Entropy, uniform_words

_WORD = 64
_SLACK, _FLOOR = 2.0**-39, 2.0**-59
_TINY, _HUGE = Fraction(1, 2**512), Fraction(2**512)
_LARGEST = 2**512
"""Counts below, of any number of bits, are floats with an error of one rounding, and no product with a rate overflows."""


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers low ≤ 2^bits · exp(−x) ≤ high, a few apart at most.

    `Decimal.exp` rounds correctly, so its neighbours on both sides enclose the true value.
    """
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits:
        return 0, 1
    digits = bits // 3 + 20
    down, up = Context(digits, ROUND_FLOOR), Context(digits, ROUND_CEILING)
    numerator, denominator, unit = Decimal(x.numerator), Decimal(x.denominator), Decimal(1 << bits)
    least = down.next_minus(down.exp(up.divide(numerator, denominator).copy_negate()))
    most = up.next_plus(up.exp(down.divide(numerator, denominator).copy_negate()))
    return (
        int(down.multiply(least, unit).to_integral_value(ROUND_FLOOR)),
        int(up.multiply(most, unit).to_integral_value(ROUND_CEILING)),
    )


def coin(entropy: Entropy, numerator: int, denominator: int) -> bool:
    """Return true with probability exactly exp(−numerator/denominator), which is at most 1; see `coins`."""
    drawn = int.from_bytes(entropy(_WORD // 8), "little")
    if numerator <= denominator * _LARGEST:
        uniform, chance = drawn * 2.0**-_WORD, math.exp(-(numerator / denominator))
        if uniform < chance * (1 - _SLACK) - _FLOOR:
            return True
        if uniform > chance * (1 + _SLACK) + _FLOOR:
            return False
    return _decide(entropy, drawn, Fraction(numerator, denominator))


def coins(entropy: Entropy, counts: NDArray[np.uint64] | NDArray[np.object_], rate: Fraction) -> NDArray[np.bool_]:
    """Return for every count independently true with probability exactly exp(−count · rate).

    A coin compares a uniform real number, of which 64 bits are drawn first, with the probability. Floating point
    decides only where the two differ by more than its error, which is below 2^-40 of the probability plus 2^-60
    (the product is off by three roundings; past 64 the probability itself is below 2^-92). About one coin in 2^38
    is nearer, and is decided in integers with as many further bits as it takes.
    """
    too_large = counts.dtype == np.object_ and max(counts, default=0) >= _LARGEST
    if too_large or not _TINY < rate < _HUGE:
        falls = [coin(entropy, int(count) * rate.numerator, rate.denominator) for count in counts]
        return np.array(falls, dtype=np.bool_)
    drawn = uniform_words(entropy, counts.size)
    uniform = drawn.astype(np.float64) * 2.0**-_WORD
    chance = np.exp(-counts.astype(np.float64) * float(rate))
    heads = uniform < chance * (1 - _SLACK) - _FLOOR
    tails = uniform > chance * (1 + _SLACK) + _FLOOR
    for i in np.flatnonzero(~(heads | tails)):
        heads[i] = _decide(entropy, int(drawn[i]), int(counts[i]) * rate)
    return heads


def _decide(entropy: Entropy, drawn: int, x: Fraction) -> bool:
    """Return whether the uniform number that begins with the word `drawn` is below exp(−x)."""
    bits = _WORD
    while True:
        low, high = exp_bounds(x, bits)
        if drawn < low:
            return True
        if drawn >= high:
            return False
        drawn = drawn << _WORD | int.from_bytes(entropy(_WORD // 8), "little")
        bits += _WORD
