"""An answer to be drawn, from wherever it comes: a cursor, rows with column names, or a data frame."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, Self, TypeGuard, runtime_checkable


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
        value is None or (isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool))
        for value in values
    )
