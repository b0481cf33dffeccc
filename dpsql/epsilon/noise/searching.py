"""The final cost of an answer at a noise level: the first look that public numbers suggest, and all that follows it.

The gateway looks first, at the ε of `level_epsilon`, and then measures again until what was released says that the error is
small beside the value (`privacy.release.target`). Here the same steps are taken with the errors that are expected, for values
that are spread evenly from 0 to twice their mean. How large answers are nobody knows beforehand: an average that lies at a
tenth of the largest value takes about ten times as much as one at the largest.

With b = C/ε and n rows, the mean at a share m of the largest value U, and V = m²/3 and q = 4m²/3 the variance and the mean of
squares in units of U²: a sum errs by b·U beside n·m·U; a mean by (z₁ − μ·z₀)·U/2n of a cube with μ = 2m − 1, so (3 + μ²)/4m;
a variance by a sum over three cells with the weights 2m² − q, 2m² − q − m and 2m² − q − 2m + 1. A quantile that is chosen
with its width errs by about 1.6·b rows, which is 3.2·b/n of the median; from 56·b rows on a width can be told.
"""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dpsql.epsilon.noise.outputs import TARGETS, OutputKind, level_epsilon, median_epsilon
from dpsql.epsilon.numbers import BadInput
from dpsql.policy.model import NoiseLevel

USUAL_MEAN = Fraction(1, 2)
"""Where values lie unless the owner says otherwise: evenly from 0 to the largest."""
_STEPS, _DECADES = 16, 3
"""The price goes up by factors of 10^(1/16), from a thousandth of the most."""
_NOISE = tuple(sign * -math.log((place + 0.5) / 8) for place in range(8) for sign in (1, -1))
"""Laplace noise of scale 1, as likely one as another: it makes values look larger or smaller, and so what they take."""
_NEARLY, _DOUBT, _WORTH, _FURTHER, _WIDTH, _TOLD_FROM, _CELLS = 0.9, 2, 4, 3, 72, 56, 0.79
"""As the gateway's own (`privacy.release.target`); and of three cells' Laplace noise, its mean beside its deviation."""
_MORE_DOUBT, _LOCATED = 3, frozenset({OutputKind.AVG, OutputKind.VARIANCE})
"""Of these the noise's size is noisy, too."""
_TOLD, _OF_WIDTHS = 1.4, 0.15
"""A median's error as widths say it, over its real one, and the noise of these widths as a part of their own size."""


@dataclass(frozen=True, slots=True)
class SoughtAnswer:
    """A question for one statistic: public numbers, and a guess of where values lie."""

    output: OutputKind
    contribution: int
    rows: Fraction
    mean: Fraction = USUAL_MEAN
    """The mean value as a share of the largest; others are spread evenly around it."""

    def __post_init__(self) -> None:
        if not 0 < self.mean <= USUAL_MEAN:
            raise BadInput(
                f"a typical value of {float(self.mean):g} of the largest: it must be above 0 and at most 1/2"
            )

    def is_answered(self, epsilon: Fraction) -> bool:
        """Return whether an answer at one ε says anything: a median of too few rows is mostly NULL, others are only noise."""
        if self.output is OutputKind.MEDIAN:
            return epsilon >= median_epsilon(contribution=self.contribution, rows=self.rows)
        return self.error(float(epsilon)) <= 1

    def error(self, epsilon: float) -> float:
        """Return the expected error at an ε, relative to the answer."""
        return _relative(self.output, float(self.mean)) * self.contribution / (epsilon * float(self.rows))


@dataclass(frozen=True, slots=True)
class Served:
    """The whole price of one question, and the error of its answer."""

    epsilon: Fraction
    error: float
    """Relative to the answer."""
    answered: bool
    """Whether it says anything."""


def served(asked: SoughtAnswer, level: NoiseLevel, cap: Fraction) -> Served:
    """Return what a role of a noise level pays for a question, within `cap` for a statement, and what it gets."""
    target = float(TARGETS[level])
    first = level_epsilon(level, [asked.output], contribution=asked.contribution, rows=asked.rows, cap=cap)
    follows, worth = (_chosen, max) if asked.output is OutputKind.MEDIAN else (_summed, _worth)
    ladder = _ladder(float(cap))
    ways = [follows(asked, target, [float(first)], ladder, noise) for noise in _NOISE]
    paid = Fraction(sum(map(sum, ways)) / len(ways)).limit_denominator(10**12)
    error = sum(asked.error(worth(way)) for way in ways) / len(ways)
    median = asked.output is OutputKind.MEDIAN  # of which fewer rows tell next to nothing
    told = _TOLD_FROM * asked.contribution / float(asked.rows)
    answered = all(max(way) >= told for way in ways) if median else error <= 1
    return Served(max(first, paid), error, answered)


def _summed(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay until the error is small beside the value less twice its noise; all releases are read together."""
    doubt = _MORE_DOUBT if asked.output in _LOCATED else _DOUBT
    while True:
        now = _worth(paid)
        error = asked.error(now)
        noisy = abs(1 + noise * error)
        if error * _NEARLY <= (noisy - doubt * error) * target:
            return paid
        allowed = max(noisy, _DOUBT * error) * target / (1 + doubt * target)
        place = bisect_left(ladder, 1, key=lambda epsilon: int(asked.error(epsilon) <= allowed))
        step = ladder[min(place, len(ladder) - 1)]
        wanted = ladder[-1] if place == len(ladder) else math.sqrt(step**2 - now**2) if step > now else now
        if not _pay(paid, wanted, now, ladder):
            return paid


def _chosen(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay what it takes to tell a width, and until that is small beside the value."""
    enough = _WIDTH * asked.contribution / float(asked.rows)
    while True:
        now = max(paid)
        errs = _TOLD * asked.error(now) * max(1 + _OF_WIDTHS * noise, 1 / _FURTHER)
        allowed = (1 - _DOUBT * errs) * target
        more = max(enough / now, _FURTHER) if now < enough else errs / max(allowed, errs / _FURTHER)
        if more <= 1 or not _pay(paid, now * more, now, ladder):
            return paid


def _pay(paid: list[float], wanted: float, now: float, ladder: list[float]) -> bool:
    """Pay the step of the ladder that is wanted, or the largest that is left; return False where none is worth it."""
    left = ladder[-1] - sum(paid)
    free = [epsilon for epsilon in ladder[: bisect_right(ladder, left * (1 + 1e-9))] if epsilon not in paid]
    if not free:
        return False
    step = free[min(bisect_left(free, max(wanted, now)), len(free) - 1)]
    if step < now / _WORTH:
        return False
    paid.append(step)
    return True


def _worth(paid: list[float]) -> float:
    """Return the ε at which one release has as much noise as all together."""
    return math.sqrt(sum(epsilon**2 for epsilon in paid))


def _ladder(cap: float) -> list[float]:
    last = math.floor(_STEPS * math.log10(cap))
    steps = (float(f"{10 ** (step / _STEPS):.5e}") for step in range(last - _STEPS * _DECADES, last + 1))
    return [*(epsilon for epsilon in steps if epsilon < cap), cap]


def cell_weights(mean: float) -> tuple[float, float, float]:
    """Return how much each cell's noise moves a variance, of n times the square of the largest value."""
    beside = 2 * mean**2 - 4 * mean**2 / 3
    return beside, beside - mean, beside - 2 * mean + 1


def _relative(output: OutputKind, mean: float) -> float:
    """Return the expected error in units of b/n, relative to the answer."""
    match output:
        case OutputKind.COUNT:
            return 1.0
        case OutputKind.SUM:
            return 1 / mean
        case OutputKind.AVG:
            return (3 + (2 * mean - 1) ** 2) / (4 * mean)
        case OutputKind.VARIANCE:
            return _CELLS * math.sqrt(2) * math.hypot(*cell_weights(mean)) / (mean**2 / 3)
        case OutputKind.MEDIAN:
            return 3.2
        case _:
            assert_never(output)
