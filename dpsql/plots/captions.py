"""The text under a picture: which data, which statistic, which ε, whose role; and what the picture leaves out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpsql.plots.answer import PlottedAnswer
from dpsql.plots.density import SMOOTHING
from dpsql.plots.errors import unanswered
from dpsql.plots.layout import Layout
from dpsql.plots.value_grid import ValueGrid


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a picture's numbers are from."""

    dataset: str
    tables: Sequence[str]
    statistic: str
    epsilon: str
    """As `ε = 0.5`; empty for public tables."""
    role: str
    statement: str = ""


def caption(source: Provenance, notes: Iterable[str] = ()) -> str:
    """Return one paragraph: data, statistic, ε and role, then what is to be noted, then the statement."""
    table = f", table {' and '.join(source.tables)}" if source.tables else ""
    parts = [
        f"Data: {source.dataset}{table}",
        f"statistic: {source.statistic}",
        f"{source.epsilon or 'ε = 0, public tables'}",
        f"role: {source.role}",
    ]
    lines = ["; ".join(parts) + ".", *(f"{note[0].upper()}{note[1:]}." for note in notes)]
    return " ".join([*lines, source.statement]) if source.statement else " ".join(lines)


def notes(answer: PlottedAnswer, layout: Layout, grid: ValueGrid | None) -> list[str]:
    """Return what a reader of a picture has to know of its rows."""
    lines = []
    if layout.margin is not None:
        lines.append("error bars are 95 % confidence intervals, cut off at the statistic's range")
    if missing := unanswered(answer, layout):
        lines.append(f"{missing:,} of {len(answer.rows):,} groups have no answer (NULL) and are not drawn")
    if None in answer.column(layout.x):
        lines.append("NULL is a group of its own")
    if grid is not None:
        for name, part in grid.split(answer, layout.x)[1].items():
            shown = ", ".join("NULL" if value is None else f"{value:,.6g}" for value in part.numbers(layout.y))
            lines.append(f"outside the range, {name}: {shown}")
    return lines


def box_notes(answer: PlottedAnswer) -> list[str]:
    """Return what a reader of box plots has to know."""
    missing = sum(None in row[1:] for row in answer.rows)
    lines = ["whisker, quartile, median, quartile and whisker are the five columns of the answer"]
    return [*lines, f"{missing:,} categories lack a quantile (NULL)"] if missing else lines


def smoothing_note(share: float = SMOOTHING) -> str:
    """Return how a curve was smoothed."""
    return f"smoothed by a Gaussian kernel, bandwidth {100 * share:g} % of the range and at least half a bucket"
