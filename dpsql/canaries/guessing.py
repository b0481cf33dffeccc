"""Guesses whether somebody was there, and what so many right ones prove.

Under ε-DP the odds of a person being there change by no more than e^ε, for any answer: at even odds a guess is right
with probability e^ε/(1 + e^ε) at most, also if only some answers are guessed from. So a lower bound of that
probability, by Clopper and Pearson (1934), is one of ε: ln(p/(1 − p)). How answers look with the person and without is
learnt on others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

AnswerNumbers = NDArray[np.float64]
"""A row for each round, a column for each number that was answered."""
_NOTICED = 0.2
"""Numbers that the person moves by less, in typical errors, are noise to the guess."""
_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""Of the answers the share that is not guessed from, one of these."""
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Guesser:
    """How answers look with a person and without."""

    without: AnswerNumbers
    with_: AnswerNumbers
    width: AnswerNumbers
    least: float
    """Scores that are smaller in size are not guessed from."""

    @classmethod
    def learnt(cls, without: AnswerNumbers, with_: AnswerNumbers) -> Self:
        """Learn from rounds of which it is known whether the person was there."""
        middles = np.median(without, axis=0), np.median(with_, axis=0)
        errors = (np.abs(some - middle).mean(axis=0) for some, middle in zip((without, with_), middles, strict=True))
        width = np.maximum(*errors)
        width[np.abs(middles[1] - middles[0]) <= _NOTICED * width] = np.inf
        width[width == 0] = 1e-9
        own = cls(*middles, width, 0.0)
        scores = own.scores(without), own.scores(with_)
        sizes = np.abs(np.concatenate(scores))
        tried = ((least, _bound_of(scores, least)) for least in np.quantile(sizes, _SHARES))
        return cls(*middles, width, float(max(tried, key=lambda pair: pair[1])[0]))

    def scores(self, answers: AnswerNumbers) -> AnswerNumbers:
        """Return for each round how much more it looks like one with the person: of Laplace noise the likelihood ratio."""
        far: AnswerNumbers = (np.abs(answers - self.without) - np.abs(answers - self.with_)) / self.width
        total: AnswerNumbers = far.sum(axis=1)
        return total

    def guessed(self, answers: AnswerNumbers, there: NDArray[np.bool_]) -> "Guesses":
        """Guess of rounds whether the person was there."""
        scores = self.scores(answers)
        sure = (np.abs(scores) >= self.least) & (scores != 0)
        return Guesses(int(sure.sum()), int(((scores > 0) == there)[sure].sum()))


def _bound_of(scores: Sequence[AnswerNumbers], least: float) -> float:
    """Return what guesses from scores that are so large would prove of rounds without and with the person."""
    sure = [some[np.abs(some) >= least] for some in scores]
    right = int((sure[0] < 0).sum() + (sure[1] > 0).sum())
    return Guesses(sum(map(len, sure)), right).epsilon(0.8)


@dataclass(frozen=True, slots=True)
class Guesses:
    """How many guesses were made, and how many were right."""

    number: int
    right: int

    def epsilon(self, confidence: float) -> float:
        """Return the ε that answers have at least, with so much confidence; 0 where nothing is proved."""
        low, high = 0.0, 1.0
        if not self.right:
            return 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self.chance(middle) < 1 - confidence:
                low = middle
            else:
                high = middle
        return max(math.log(low / (1 - low)), 0.0) if 0.0 < low < 1.0 else 0.0

    def chance(self, probability: float) -> float:
        """Return how likely so many right guesses or more are where each is right with this probability."""
        if probability in (0.0, 1.0):
            return probability if self.right else 1.0
        n, k = self.number, np.arange(self.right, self.number + 1)
        logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
        terms = logs[n] - logs[k] - logs[n - k] + k * math.log(probability) + (n - k) * math.log1p(-probability)
        return float(min(np.exp(terms).sum(), 1.0))

    def breaks(self, epsilon: float) -> float:
        """Return the chance of so many right guesses if ε is what was paid."""
        return self.chance(1 / (1 + math.exp(-epsilon))) if self.number else 1.0
