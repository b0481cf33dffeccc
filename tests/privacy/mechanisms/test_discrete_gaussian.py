"""The law of the discrete Gaussian's sampler, against exact probabilities."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import QueryCanceled
from dpsql.interrupt import interruptible
from dpsql.privacy.mechanisms import entropy as mechanisms_entropy
from dpsql.privacy.mechanisms import gaussian as module
from dpsql.privacy.mechanisms.entropy import Entropy
from dpsql.privacy.mechanisms.gaussian import discrete_gaussian
from dpsql.question import Cancellation
from tests.support.laws import chisquare

FALSE_ALARM = 1e-6
"""Of each statistical test here, if its fixed seed were changed."""


def _entropy(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def _p_value(drawn: Sequence[int], sigma: float) -> float:
    """Return the chi-square p-value; cells that expect fewer than 8 are pooled."""
    support = range(-int(9 * sigma) - 9, int(9 * sigma) + 10)
    law = np.exp([-(z**2) / (2 * sigma**2) for z in support])
    counts, expected = Counter(drawn), len(drawn) * law / law.sum()
    cells = [(counts[z], e) for z, e in zip(support, expected, strict=True) if e >= 8]
    observed, wanted = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    rest = len(drawn) - wanted.sum()
    if rest > 1:
        observed, wanted = np.append(observed, len(drawn) - observed.sum()), np.append(wanted, rest)
    return chisquare(observed, wanted * observed.sum() / wanted.sum())


@pytest.mark.parametrize("sigma", [1, 2, 7, 40])
def test_gaussian_law(sigma: int) -> None:
    """Chi-square against the exact probabilities, and none of a σ a tenth smaller or larger."""
    drawn = discrete_gaussian(_entropy(1), sigma, 100_000)
    assert _p_value(drawn, sigma) > FALSE_ALARM
    assert _p_value(drawn, sigma * 0.9) < 1e-12
    assert _p_value(drawn, sigma * 1.1) < 1e-12


@pytest.mark.parametrize("sigma", [1, 3, 50])
def test_what_is_kept_has_the_law(sigma: int) -> None:
    """The proposal's probability times that of keeping it is exp(−z²/2σ²) up to one constant, everywhere."""
    for z in range(-9 * sigma, 9 * sigma + 1):
        kept = math.exp(-abs(z) / sigma) * math.exp(-((abs(z) - sigma) ** 2) / (2 * sigma**2))
        assert kept == pytest.approx(math.exp(-(z**2) / (2 * sigma**2) - 0.5), rel=1e-12)


def test_wide_draws_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """So have those whose chances are computed in unbounded integers."""
    monkeypatch.setattr(module, "_NARROW", 0)
    assert _p_value(discrete_gaussian(_entropy(2), 7, 3_000), 7) > FALSE_ALARM


@pytest.mark.parametrize("sigma", [2**21, 2**21 + 1, 2**45, 2**70])
def test_large_scales_do_not_overflow(sigma: int) -> None:
    """The standard deviation follows σ on both sides of every word size; of 300 draws it is off by a quarter at most."""
    drawn = discrete_gaussian(_entropy(3), sigma, 300)
    assert math.sqrt(sum((z / sigma) ** 2 for z in drawn) / 300) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize("sigma", [2**21, 2**21 + 1, 2**61, 2**70])
def test_wide_scales_take_as_few_exact_decisions(sigma: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of coins only those are decided in integers that floats can't decide, and those of the last few draws."""
    right = mechanisms_entropy._decide
    exact: list[Fraction] = []

    def decided(entropy: Entropy, drawn: int, x: Fraction) -> bool:
        exact.append(x)
        return right(entropy, drawn, x)

    monkeypatch.setattr(mechanisms_entropy, "_decide", decided)
    assert len(discrete_gaussian(_entropy(6), sigma, 2_000)) == 2_000
    assert len(exact) < 200


def test_draws_are_independent_of_how_many_are_asked() -> None:
    """As many come as are asked for, none among them."""
    assert [len(discrete_gaussian(_entropy(4), 3, n)) for n in (0, 1, 2, 1000)] == [0, 1, 2, 1000]


def test_it_is_cancelled_between_draws() -> None:
    """Drawing ends when somebody cancels, as for any other noise."""
    cancellation = Cancellation()
    drawn: list[int] = []

    def bytes_(count: int) -> bytes:
        drawn.append(count)
        if len(drawn) == 20:
            cancellation.cancel()
        return _entropy(len(drawn))(count)

    with pytest.raises(QueryCanceled):
        discrete_gaussian(interruptible(bytes_, cancellation), 5, 10_000)
    assert len(drawn) == 20


def test_no_scale_is_refused() -> None:
    """There is no law of σ = 0."""
    with pytest.raises(ValueError, match="σ"):
        discrete_gaussian(_entropy(5), 0, 1)
