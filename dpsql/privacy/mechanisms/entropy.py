"""Uniform integers without bias from a source of random bytes.

The source is passed in; production passes `os.urandom`. Nothing here takes a seed.
"""

from collections.abc import Callable

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
    bits = (limit - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(entropy(size), "little") >> (8 * size - bits)
        if drawn < limit:
            return drawn
