"""Error bars that stay within what an answer can be, and labels for NULL."""

from collections.abc import Iterable
from dataclasses import dataclass

from dpsql.plots.answer import PlottedAnswer
from dpsql.plots.layout import Layout

MARGIN = "#8a8f98"
NULL_LABEL = "NULL"


@dataclass(frozen=True, slots=True)
class Possible:
    """The least and the greatest value that a statistic can have; None where there is no such limit."""

    low: float | None = None
    high: float | None = None

    def reach(self, value: float, margin: float) -> tuple[float, float]:
        """Return how far a bar reaches down and up from a value: not beyond what is possible."""
        down = margin if self.low is None else min(margin, max(value - self.low, 0.0))
        up = margin if self.high is None else min(margin, max(self.high - value, 0.0))
        return down, up


ANYTHING = Possible()


def error_bars(answer: PlottedAnswer, layout: Layout, column: str, possible: Possible) -> dict[str, object] | None:
    """Return the error bars of a column, or None without margins."""
    if layout.margin is None:
        return None
    pairs = zip(answer.numbers(column), answer.numbers(layout.margin), strict=True)
    reached = [(None, None) if v is None or m is None else possible.reach(v, m) for v, m in pairs]
    down, up = [pair[0] for pair in reached], [pair[1] for pair in reached]
    bars = {"type": "data", "array": up, "color": MARGIN, "thickness": 1.2, "width": 3}
    return bars if down == up else {**bars, "arrayminus": down, "symmetric": False}


def labelled(values: Iterable[object]) -> tuple[object, ...]:
    """Return values of an axis: with a NULL among them all are labels, since no number stands for it."""
    listed = tuple(values)
    return tuple(NULL_LABEL if value is None else str(value) for value in listed) if None in listed else listed


def unanswered(answer: PlottedAnswer, layout: Layout) -> int:
    """Return how many rows have no value to draw."""
    return sum(value is None for value in answer.column(layout.y))
