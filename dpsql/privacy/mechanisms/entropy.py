"""Uniform integers without bias from a source of random bytes.

The source is passed in; production passes `os.urandom`. Nothing here takes a seed.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Entropy = Callable[[int], bytes]
"""Returns that many independent uniform bytes."""

_LARGEST = np.uint64(2**64 - 1)


def uniform_words(entropy: Entropy, n: int) -> NDArray[np.uint64]:
    """Return `n` uniform 64-bit words."""
    return np.frombuffer(entropy(8 * n), dtype="<u8")


def signs(entropy: Entropy, n: int) -> NDArray[np.bool_]:
    """Return `n` fair coins."""
    return (np.frombuffer(entropy(n), dtype=np.uint8) & 1).astype(np.bool_)


def below_each(entropy: Entropy, limits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return for every limit (1 … 2^63) a uniform integer below it."""
    drawn = np.zeros_like(limits)
    todo = np.arange(limits.size)
    while todo.size:
        limit = limits[todo]
        word = uniform_words(entropy, todo.size)
        # A word past the last whole multiple of the limit would favour small remainders.
        fair = word < (_LARGEST // limit) * limit
        drawn[todo[fair]] = word[fair] % limit[fair]
        todo = todo[~fair]
    return drawn


def below(entropy: Entropy, limit: int) -> int:
    """Return a uniform integer below `limit`, however large."""
    # How long this takes depends on what is drawn, never on what the noise is added to.
    bits = (limit - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(entropy(size), "little") >> (8 * size - bits)
        if drawn < limit:
            return drawn


# exp(−x) in integers: rigorous bounds, and coins that fall on heads with exactly that probability.

_WORD = 64
_SLACK, _FLOOR = 2.0**-39, 2.0**-59
_TINY, _HUGE = Fraction(1, 2**512), Fraction(2**512)
_LARGEST_COUNT = 2**512
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
    if numerator <= denominator * _LARGEST_COUNT:
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
    too_large = counts.dtype == np.object_ and max(counts, default=0) >= _LARGEST_COUNT
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
        # The interval [drawn, drawn + 1) / 2^bits has the uniform number in it. Below `low` all of it is below exp(−x),
        # from `high` on none is; between them 64 more bits are drawn, and the bounds are computed finer.
        low, high = exp_bounds(x, bits)
        if drawn < low:
            return True
        if drawn >= high:
            return False
        drawn = drawn << _WORD | int.from_bytes(entropy(_WORD // 8), "little")
        bits += _WORD
