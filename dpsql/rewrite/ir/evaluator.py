"""The questions of planning to the shadow: the value of constants, and of functions over public values.

PostgreSQL itself decides what `now()`, `'3 days'::interval` or `lower(x)` mean, on every engine. Only public values ever
go into such a question: literals of the statement, declared domains, rows of public tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dpsql.policy.model import TYPE_NAMES, SqlType, Value
from dpsql.rewrite.ir.spelled import Spelled


@dataclass(frozen=True, slots=True)
class PublicAnswer:
    """The shadow's answer to a query: the columns' names and types, and the rows as text."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


class ConstantEvaluator(Protocol):
    """A session in the shadow that evaluates expressions of allowed functions."""

    volatile: bool
    """Whether anything that was asked changes by itself, as `now()` does: then the plan serves once."""

    @property
    def time_zone(self) -> str:
        """Return the session's TimeZone."""

    @property
    def dates_in_iso(self) -> bool:
        """Return whether the session writes dates as 2019-03-01."""

    def constant(self, expression: Spelled) -> tuple[str | None, str]:
        """Return the value (as text) and the type's name of an expression without columns."""

    def column(self, query: Spelled) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values of the one column of a query over public tables, and its type's name."""

    def rows(self, query: Spelled) -> "PublicAnswer":
        """Return the rows of a query over public tables and constants.

        Raises:
            DpsqlError: there are too many, or PostgreSQL can't compute them.
        """

    def over(
        self, expression: Spelled, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the text values of an expression in the column `x` for every value of `x`, and its type's name."""


_NO_VALUES = frozenset({SqlType.ENUM, SqlType.JSON})
TYPES: Mapping[str, SqlType] = {
    **{name: type_ for name, type_ in TYPE_NAMES.items() if not (type_ in _NO_VALUES or type_.is_span)},
    **dict.fromkeys(("name", "unknown"), SqlType.TEXT),
}
"""The names of the types that row-level expressions may have; a time with a zone is what UTC's clock shows."""
