"""How far answers are from the truth, and whose are nearer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.asked import Run
from benchmarks.peers.questions import Question

Key = tuple[object, ...]
Values = Mapping[Key, float | None]
WRONG = 0.02
"""An answer that is further off than that where there is plenty of ε is no answer to this question."""
_NOTHING = 1.0
"""An error that tells nothing: of 0, or of a group that is not shown."""
_FEW = 8
"""Runs with which nothing is certain."""
_MARGIN = 0.9
_DRAWS = 2000
_TAILS = (5, 95)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times larger one error is than another, and within what bounds that is known (90 %)."""

    least: float
    middle: float
    most: float

    @property
    def beaten(self) -> bool:
        """Return whether it is certainly smaller, by over a tenth."""
        return self.most < _MARGIN

    @property
    def doubtful(self) -> bool:
        """Return whether it may be smaller by over a tenth."""
        return self.middle < _MARGIN and not self.beaten


def columns_of(question: Question, exact: Run) -> list[str]:
    """Return the columns that are measured."""
    return [name for name in exact.columns if name not in question.keys and name != question.rest]


def errors(question: Question, exact: Run, runs: Sequence[Run], column: str) -> list[float]:
    """Return each run's typical relative error: the median over the exact answer's groups, of which none may be missing."""
    truth = _truth(question, exact, column)
    return [median(_off(truth, _values(question, run, column))) for run in runs if truth]


def wrongness(question: Question, exact: Run, runs: Sequence[Run], column: str) -> float:
    """Return how far answers without noise are off, all groups together that they show."""
    truth = _truth(question, exact, column)
    said = (_values(question, run, column) for run in runs)
    found = [(truth[key], value) for one in said for key, value in one.items() if key in truth and value is not None]
    if not found:
        return 1.0 if truth else 0.0
    return sum(abs(value - true) for true, value in found) / sum(abs(true) for true, _ in found)


def shown(question: Question, exact: Run, runs: Sequence[Run]) -> float:
    """Return what part of the exact answer's groups is shown."""
    keys = set(_keys(question, exact))
    return float(np.mean([len(keys & set(_keys(question, run))) / len(keys) for run in runs])) if keys and runs else 1.0


def telling(*samples: Sequence[float]) -> bool:
    """Return whether errors can be compared: one of them is smaller than that of an answer that tells nothing."""
    return min(median(sample) for sample in samples) < _NOTHING


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Return how much larger the median of their errors is than ours (bootstrap over the runs).

    With few runs nothing is certain.
    """
    draw = np.random.default_rng(1)
    drawn = _medians(draw, theirs) / np.maximum(_medians(draw, ours), 1e-12)
    least, most = np.percentile(drawn, _TAILS)
    few = min(len(theirs), len(ours)) < _FEW
    return Ratio(float(least), median(theirs) / max(median(ours), 1e-12), max(float(most), 1.0) if few else float(most))


def _medians(draw: np.random.Generator, sample: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray(sample, dtype=np.float64)
    drawn: NDArray[np.float64] = np.median(values[draw.integers(0, len(values), (_DRAWS, len(values)))], axis=1)
    return drawn


def _off(truth: Mapping[Key, float], said: Values) -> Iterator[float]:
    for key, true in truth.items():
        value = said.get(key)
        yield 1.0 if value is None else abs(value - true) / abs(true)


def _truth(question: Question, exact: Run, column: str) -> dict[Key, float]:
    return {key: value for key, value in _values(question, exact, column).items() if value}


def _values(question: Question, run: Run, column: str) -> dict[Key, float | None]:
    names = [name.lower() for name in run.columns]
    if column not in names:
        return {}
    at = names.index(column)
    return {key: _number(row[at]) for key, row in zip(_keys(question, run), run.rows, strict=True)}


def _keys(question: Question, run: Run) -> list[Key]:
    at = [index for index, name in enumerate(run.columns) if name.lower() in question.keys]
    return [tuple(_plain(row[index]) for index in at) for row in run.rows]


def _plain(value: Any) -> object:
    """Return a key as it compares equal to another system's: 3 may come as 3.0 or as '3'."""
    number = _number(value)
    return str(value) if number is None else number


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None
