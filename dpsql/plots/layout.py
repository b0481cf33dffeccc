"""The columns of an answer, and where each is drawn."""

from dataclasses import dataclass
from typing import Self, TypedDict, Unpack

from dpsql.plots.answer import PlottedAnswer, is_numeric


class PlotColumns(TypedDict, total=False):
    """The columns that the caller names; the others are guessed."""

    x: str | None
    y: str | None
    margin: str | None
    series: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns for both axes, for the half-width of y's interval, and for the series."""

    x: str
    y: str
    margin: str | None = None
    series: str | None = None

    @classmethod
    def of(cls, answer: PlottedAnswer, **columns: Unpack[PlotColumns]) -> Self:
        """Fill in what was not named.

        A column called `margin`, or `y_margin` for a column y, has the margins. y is the last numeric column of the
        others, x the first, and a third one that holds no numbers is the series.

        Raises:
            ValueError: there is nothing to draw, or a named column is missing.
        """
        named = {role: column for role, column in columns.items() if isinstance(column, str)}
        for column in named.values():
            answer.column(column)
        free = [column for column in answer.columns if column not in named.values() and not _is_margin(column)]
        y = named.get("y") or _last_numeric(answer, free)
        free = [column for column in free if column != y]
        if "x" not in named and not free:
            raise ValueError("a plot needs two columns: the key and the answer")
        x = named.get("x") or free.pop(0)
        others = [column for column in free if not is_numeric(answer.column(column))]
        series = named.get("series") or next(iter(others), None)
        return cls(x, y, named.get("margin") or _margin_of(answer, y), series)


def _last_numeric(answer: PlottedAnswer, columns: list[str]) -> str:
    numeric = [column for column in columns if is_numeric(answer.column(column))]
    if not numeric:
        raise ValueError("a plot needs a column with numbers")
    return numeric[-1]


def _margin_of(answer: PlottedAnswer, y: str) -> str | None:
    return next((column for column in (f"{y}_margin", "margin") if column in answer.columns), None)


def _is_margin(column: str) -> bool:
    return column == "margin" or column.endswith("_margin")
