"""What an answer of a noise level costs in the end: the first look that public numbers suggest, and what follows it.

The gateway looks first, at the ε of `level_epsilon`, and then measures again until what was released says that the error is
small beside the value (`privacy.release.target`). Here the same steps are taken with the errors that are expected, for values
that are spread evenly from 0 to twice their mean. How large answers are nobody knows beforehand: an average that lies at a
tenth of the largest value takes about ten times as much as one at the largest.

With b = C/ε and n rows, the mean at a share m of the largest value U, and V = m²/3 and q = 4m²/3 the variance and the mean of
squares in units of U²: a sum errs by b·U beside n·m·U; a mean by (z₁ − μ·z₀)·U/2n of a cube with μ = 2m − 1, so (3 + μ²)/4m;
a variance by a sum over three cells with the weights 2m² − q, 2m² − q − m and 2m² − q − 2m + 1. A choice of a quantile errs
by about b rows, which is 2b/n of the median.
"""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from dpsql.epsilon.noise.levels import TARGETS, level_epsilon
from dpsql.epsilon.noise.outputs import OutputKind, median_epsilon
from dpsql.epsilon.refusal import BadInput
from dpsql.policy.model import NoiseLevel

USUAL_MEAN = Fraction(1, 2)
"""Where values lie unless the owner says otherwise: evenly from 0 to the largest."""
_STEPS, _DECADES = 16, 3
"""What is paid goes up by factors of 10^(1/16), from a thousandth of the most."""
_NOISE = tuple(sign * -math.log((place + 0.5) / 8) for place in range(8) for sign in (1, -1))
"""Laplace noise of scale 1, as likely one as another: it makes values look larger or smaller, and so what they take."""
_NEARLY, _DOUBT, _WORTH, _FURTHER, _CELLS = 0.9, 2, 4, 3, 0.79
"""As the gateway's own (`privacy.release.target`); and of three cells' Laplace noise, its mean beside its deviation."""


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
        """Return whether an answer at an ε says anything: a median of too few rows is mostly NULL, others are only noise."""
        if self.output is OutputKind.MEDIAN:
            return epsilon >= median_epsilon(contribution=self.contribution, rows=self.rows)
        return self.error(float(epsilon)) <= 1

    def error(self, epsilon: float) -> float:
        """Return the expected error at an ε, relative to the answer."""
        return _relative(self.output, float(self.mean)) * self.contribution / (epsilon * float(self.rows))


@dataclass(frozen=True, slots=True)
class Served:
    """What one question pays in all, and how far its answer is off."""

    epsilon: Fraction
    error: float
    """Relative to the answer."""
    answered: bool
    """Whether it says anything; of medians, from the first look on: where that is NULL nobody knows what follows."""


def served(asked: SoughtAnswer, level: NoiseLevel, cap: Fraction) -> Served:
    """Return what a role of a noise level pays for a question, within `cap` for a statement, and what it gets."""
    target = float(TARGETS[level])
    first = level_epsilon(level, [asked.output], contribution=asked.contribution, rows=asked.rows, cap=cap)
    follows, worth = (_chosen, max) if asked.output is OutputKind.MEDIAN else (_summed, _worth)
    ladder = _ladder(float(cap))
    ways = [follows(asked, target, [float(first)], ladder, noise) for noise in _NOISE]
    paid = Fraction(sum(map(sum, ways)) / len(ways)).limit_denominator(10**12)
    error = sum(asked.error(worth(way)) for way in ways) / len(ways)
    answered = asked.is_answered(first) if asked.output is OutputKind.MEDIAN else error <= 1
    return Served(max(first, paid), error, answered)


def _summed(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay until the error is small beside the value less twice its noise; all releases are read together."""
    while True:
        now = _worth(paid)
        error = asked.error(now)
        found = abs(1 + noise * error)
        if error * _NEARLY <= (found - _DOUBT * error) * target:
            return paid
        allowed = found * target / (1 + _DOUBT * target)
        place = bisect_left(ladder, 1, key=lambda epsilon: int(asked.error(epsilon) <= allowed))
        step = ladder[min(place, len(ladder) - 1)]
        wanted = ladder[-1] if place == len(ladder) else math.sqrt(step**2 - now**2) if step > now else now
        if not _pay(paid, wanted, now, ladder):
            return paid


def _chosen(asked: SoughtAnswer, target: float, paid: list[float], ladder: list[float], noise: float) -> list[float]:
    """Pay three times as much for a second choice, and until two choices lie near enough."""
    _pay(paid, paid[0] * _FURTHER, paid[0], ladder)
    while len(paid) > 1:
        errs = abs(noise) * asked.error(sorted(paid)[-2]) * sorted(paid)[-2] / max(paid)
        if errs <= target or not _pay(paid, max(paid) * min(errs / target, _FURTHER**2), max(paid), ladder):
            break
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
            beside = 2 * mean**2 - 4 * mean**2 / 3
            weights = (beside, beside - mean, beside - 2 * mean + 1)
            return _CELLS * math.sqrt(2 * sum(weight**2 for weight in weights)) / (mean**2 / 3)
        case OutputKind.MEDIAN:
            return 2.0
        case _:
            assert_never(output)
