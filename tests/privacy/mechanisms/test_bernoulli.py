"""exp(−x) in integers: the bounds enclose it and the coins have exactly that probability."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.privacy.mechanisms import entropy as mechanisms_entropy
from dpsql.privacy.mechanisms.entropy import coin, coins, exp_bounds
from tests.support.laws import as_far

rates = st.fractions(min_value=Fraction(1, 10**9), max_value=20, max_denominator=10**9)


class Scripted:
    """An entropy source that gives the words it was told to give."""

    def __init__(self, *given_words: int) -> None:
        self.rest = b"".join(word.to_bytes(8, "little") for word in given_words)

    def __call__(self, size: int) -> bytes:
        """Return the next bytes of the script."""
        given_bytes, self.rest = self.rest[:size], self.rest[size:]
        assert len(given_bytes) == size, "more entropy was drawn than the test expects"
        return given_bytes


def _series(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose exp(−x) between two sums of its alternating series."""
    term = total = Fraction(1)
    k = 0
    while abs(term) > Fraction(1, 10**60) or k <= x:
        k += 1
        term *= -x / k
        total += term
    return min(total, total - term), max(total, total - term)


@pytest.mark.parametrize("x", [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)])
@pytest.mark.parametrize("bits", [64, 128, 160])
def test_bounds_enclose_the_series(x: Fraction, bits: int) -> None:
    """The integers enclose an independent rational enclosure of 2^bits · exp(−x), and are close together."""
    low, high = exp_bounds(x, bits)
    least, most = _series(x)
    assert low <= least * 2**bits
    assert most * 2**bits <= high
    assert high - low <= 3


def test_bounds_of_the_ends() -> None:
    """exp(0) is exact; what is below one unit lies between zero and one."""
    assert exp_bounds(Fraction(0), 64) == (2**64, 2**64)
    assert exp_bounds(Fraction(10**30), 64) == (0, 1)


@given(rate=rates, offset=st.integers(-(2**30), 2**30), count=st.integers(1, 3))
def test_floats_never_contradict_the_integers(rate: Fraction, offset: int, count: int) -> None:
    """Words next to the probability are decided as exact arithmetic decides them."""
    low, high = exp_bounds(count * rate, 64)
    word = min(max(low + offset, 0), 2**64 - 1)
    if low <= word < high:
        return
    heads = coins(Scripted(word), np.array([count], dtype=np.uint64), rate)
    assert heads.tolist() == [word < low]


def test_an_undecided_word_is_continued() -> None:
    """A word that the probability cuts through is decided by further words."""
    x = Fraction(7, 10)
    cut = exp_bounds(x, 64)[0] + 1
    below = next(word for word in range(cut - 3, cut + 3) if exp_bounds(x, 128)[0] >> 64 == word)
    counts = np.array([7], dtype=np.uint64)
    assert coins(Scripted(below, 0), counts, Fraction(1, 10)).tolist() == [True]
    assert coins(Scripted(below, 2**64 - 1), counts, Fraction(1, 10)).tolist() == [False]


def test_certain_coin_is_heads() -> None:
    """exp(0) = 1: even the largest word is below it."""
    assert coins(Scripted(2**64 - 1), np.zeros(1, dtype=np.uint64), Fraction(1)).tolist() == [True]
    assert coin(Scripted(2**64 - 1), 0, 1)


@pytest.mark.parametrize("rate", [Fraction(1, 2**2000), Fraction(2**2000)])
def test_rates_beyond_floats_are_exact(rate: Fraction) -> None:
    """A rate that a float would round to zero or infinity takes the integer path."""
    counts = np.array([1], dtype=np.uint64)
    assert coins(Scripted(2**63), counts, rate).tolist() == [rate < 1]


@given(rate=rates, offset=st.integers(-(2**30), 2**30), bits=st.integers(64, 400))
def test_floats_never_contradict_the_integers_of_large_counts(rate: Fraction, offset: int, bits: int) -> None:
    """Counts beyond 64 bits are decided alike, next to the probability and however long they are."""
    count = 2**bits + 1
    low, high = exp_bounds(count * rate / 2**bits, 64)
    word = min(max(low + offset, 0), 2**64 - 1)
    if low <= word < high:
        return
    assert coins(Scripted(word), np.array([count], dtype=object), rate / 2**bits).tolist() == [word < low]


@given(rate=rates, offset=st.integers(-(2**30), 2**30), bits=st.integers(0, 4000))
def test_floats_never_contradict_the_integers_of_one_coin(rate: Fraction, offset: int, bits: int) -> None:
    """One coin is decided as its probability says, next to that and however long the numbers of its fraction are."""
    low, high = exp_bounds(rate, 64)
    word = min(max(low + offset, 0), 2**64 - 1)
    if not low <= word < high:
        assert coin(Scripted(word), rate.numerator << bits, rate.denominator << bits) == (word < low)


@given(bits=st.integers(66, 4000))
def test_one_coin_of_a_rate_beyond_floats(bits: int) -> None:
    """A fraction that a float would take for 0 falls on heads unless the word is the last, and for infinite on tails."""
    assert coin(Scripted(2**64 - 2), 1, 2**bits)
    assert not coin(Scripted(1), 2**bits, 1)


def test_counts_beyond_floats_are_exact() -> None:
    """What a float would take for infinite takes the integer path."""
    counts = np.array([2**1100], dtype=object)
    assert coins(Scripted(2**64 - 1), counts, Fraction(1, 2**500)).tolist() == [False]


def test_frequency_of_heads() -> None:
    """Heads come as often as exp(−x) says, by both ways of flipping; false alarms: 1e-6 each."""
    entropy = np.random.default_rng(11).bytes
    chance = float(np.exp(-0.7))
    quick = coins(entropy, np.full(200_000, 7, dtype=np.uint64), Fraction(1, 10))
    slow = [coin(entropy, 7, 10) for _ in range(20_000)]
    assert as_far(int(quick.sum()), quick.size, chance) > 1e-6
    assert as_far(sum(slow), len(slow), chance) > 1e-6


def test_slack_covers_the_float_error() -> None:
    """The float probability is nearer to the true one than the slack, by a factor of 2^8 at least."""
    for count in (1, 5, 100, 12_345, 10**6):
        for rate in (Fraction(1, 3), Fraction(1, 10**5), Fraction(1, 2**44 - 1)):
            low, high = exp_bounds(count * rate, 200)
            chance = Fraction(float(np.exp(-np.float64(count) * float(rate))))
            error = max(abs(chance - Fraction(low, 2**200)), abs(chance - Fraction(high, 2**200)))
            assert error * 2**8 <= chance * Fraction(mechanisms_entropy._SLACK) + Fraction(mechanisms_entropy._FLOOR)
