"""The place of the shadow that planning asks, for statements in PostgreSQL's own words whose literals are plain."""

from collections.abc import Sequence
from typing import NoReturn

from dpsql.question import ColumnDescription


class NoShadow:
    """A `PlanningShadow` that takes each query for one in PostgreSQL's words, and evaluates nothing."""

    volatile: bool = False
    time_zone: str = "UTC"
    dates_in_iso: bool = True

    def __init__(self, column: ColumnDescription) -> None:
        """`column` is what is said of every column."""
        self._column = column

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return the query as it is."""
        _ = types, again
        return query

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Say the same of the columns of every query: as many as it has outputs with a name."""
        _ = types
        return tuple(
            (self._column,) * query.count(" AS a") + (self._column,) * query.count(" AS g") for query in queries
        )

    def constant(self, *asked: object) -> NoReturn:
        """Refuse."""
        raise NotImplementedError(asked)

    column = rows = over = constant
