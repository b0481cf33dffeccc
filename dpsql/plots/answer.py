"""An answer to be drawn, from wherever it comes: a cursor, rows with column names, or a data frame."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, Self, TypedDict, TypeGuard, Unpack, runtime_checkable


@runtime_checkable
class AnswerCursor(Protocol):
    """The part that is needed of a DB-API cursor that has run a query."""

    @property
    def description(self) -> Sequence[Sequence[object]] | None:
        """One entry a column, the name first."""

    def fetchall(self) -> Iterable[Sequence[object]]:
        """Return the remaining rows."""


@runtime_checkable
class PandasFrame(Protocol):
    """The part that is needed of a pandas data frame."""

    @property
    def columns(self) -> Iterable[object]:
        """The columns' names."""

    def itertuples(self, *, index: bool, name: str | None) -> Iterable[Sequence[object]]:
        """Return the rows."""


@runtime_checkable
class PolarsFrame(Protocol):
    """The part that is needed of a polars data frame."""

    @property
    def columns(self) -> Iterable[object]:
        """The columns' names."""

    def iter_rows(self) -> Iterable[Sequence[object]]:
        """Return the rows."""


@dataclass(frozen=True, slots=True)
class PlottedAnswer:
    """Column names and rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"every row must have {len(self.columns)} values")

    @classmethod
    def of(cls, source: "AnswerSource") -> Self:
        """Read an answer; a cursor is read to its end.

        Raises:
            ValueError: the cursor has no result, or the rows do not fit the columns.
        """
        # A runtime_checkable protocol looks for names alone: pandas' frames have itertuples, polars' iter_rows, a cursor
        # description and fetchall. So neither library need be there.
        match source:
            case PlottedAnswer():
                return cls(source.columns, source.rows)
            case PandasFrame():
                return cls._of(source.columns, source.itertuples(index=False, name=None))
            case PolarsFrame():
                return cls._of(source.columns, source.iter_rows())
            case AnswerCursor():
                if source.description is None:
                    raise ValueError("the cursor has no result to draw")
                return cls._of((column[0] for column in source.description), source.fetchall())
            case _:
                columns, rows = source
                return cls._of(columns, rows)

    @classmethod
    def _of(cls, columns: Iterable[object], rows: Iterable[Sequence[object]]) -> Self:
        return cls(tuple(map(str, columns)), tuple(map(tuple, rows)))

    def column(self, name: str) -> tuple[object, ...]:
        """Return one column's values.

        Raises:
            ValueError: no such column.
        """
        if name not in self.columns:
            raise ValueError(f'the answer has no column "{name}"; it has {", ".join(self.columns)}')
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def numbers(self, name: str) -> tuple[float | None, ...]:
        """Return one column as floats; NULL stays None.

        Raises:
            ValueError: no such column, or it does not hold numbers.
        """
        values = self.column(name)
        if not is_numeric(values):
            raise ValueError(f'column "{name}" does not hold numbers')
        return tuple(None if value is None else float(value) for value in values)


AnswerSource = (
    PlottedAnswer | AnswerCursor | PandasFrame | PolarsFrame | tuple[Iterable[object], Iterable[Sequence[object]]]
)


def is_numeric(values: Iterable[object]) -> TypeGuard[Iterable[int | float | Decimal | Fraction | None]]:
    """Return whether all values are numbers or NULL."""
    return all(
        # A bool is an int to Python, and a label in a picture.
        value is None or (isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool))
        for value in values
    )


# The columns of an answer, and where each is drawn.


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
        # Each raises if it is not there, before anything is guessed.
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


# The rows of `width_bucket(x, low, high, n)`: bucket 0 is below the range, n + 1 above it, and NULL nowhere.


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """Equal buckets of [low, high), as `width_bucket` numbers them from 1."""

    low: float
    high: float
    number: int

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.number >= 1):
            raise ValueError("buckets need a range and a number of at least 1")

    @property
    def width(self) -> float:
        """Return the width of one."""
        return (self.high - self.low) / self.number

    def centre(self, bucket: int) -> float:
        """Return the middle of a bucket."""
        return self.low + (bucket - 0.5) * self.width

    def outside(self) -> Mapping[int | None, str]:
        """Return what stands outside the range, by its number; None is NULL."""
        return {0: f"below {self.low:g}", self.number + 1: f"from {self.high:g} on", None: "NULL"}

    def beside(self) -> Mapping[str, float]:
        """Return where on the axis a bar of what stands outside has its middle: not within the range, nor next to it."""
        places = (self.low - 1.5 * self.width, self.high + 1.5 * self.width, self.high + 3.5 * self.width)
        return dict(zip(self.outside().values(), places, strict=True))

    def edges(self, most: int = 6) -> Sequence[float]:
        """Return some edges of buckets, evenly spaced, both ends among them where that is possible."""
        step = -(-self.number // most)
        return [self.low + self.width * place for place in range(0, self.number + 1, step)]

    def split(self, answer: PlottedAnswer, x: str) -> tuple[PlottedAnswer, Mapping[str, PlottedAnswer]]:
        """Return the rows within the range in order of their buckets, and those outside by what they are called.

        Raises:
            ValueError: the column does not hold numbers of buckets.
        """
        place, names = answer.columns.index(x), self.outside()
        numbers = [None if number is None else int(number) for number in answer.numbers(x)]
        if any(number is not None and not 0 <= number <= self.number + 1 for number in numbers):
            raise ValueError(f'column "{x}" has other numbers than those of {self.number} buckets')
        within: dict[int, list[tuple[object, ...]]] = {}
        outside: dict[str, list[tuple[object, ...]]] = {}
        for number, row in zip(numbers, answer.rows, strict=True):
            if number is None or number in (0, self.number + 1):
                outside.setdefault(names[number], []).append(row)
            else:
                # A bucket has a row for each series.
                within.setdefault(number, []).append((*row[:place], self.centre(number), *row[place + 1 :]))
        inside = PlottedAnswer(answer.columns, tuple(row for number in sorted(within) for row in within[number]))
        return inside, {name: PlottedAnswer(answer.columns, tuple(rows)) for name, rows in outside.items()}

    def counts(self, answer: PlottedAnswer, x: str, y: str) -> list[float]:
        """Return y of each bucket within the range; 0 where it has no row."""
        inside, _ = self.split(answer, x)
        # The keys are floats, found again because `split` and this compute them by the same line (`centre`).
        heights = dict(zip(inside.numbers(x), inside.numbers(y), strict=True))
        return [heights.get(self.centre(number)) or 0.0 for number in range(1, self.number + 1)]
