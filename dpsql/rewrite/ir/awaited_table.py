"""The answer to an inner query as a table: its columns are known when a statement is planned, its rows only after a release.

Plans and prices over it must hold for all rows that it may have: it has no bounds but those said here.
"""

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from dpsql.errors import InternalError, TooManyRows
from dpsql.policy.model import Column, SqlType, Table, Value
from dpsql.rewrite.ir.constant_table import ConstantTable, TableRows

_NAME = "(answer)"
"""Its name in messages and EXPLAIN."""


class AnswerForm(Enum):
    """The use of the answer's rows."""

    ROWS = "rows"
    """They are joined as they are."""
    SCALAR = "scalar"
    """One row, of one value: NULL where there is no row."""
    VALUES = "values"
    """The different values of one column, without NULL."""
    FACTS = "facts"
    """One row: whether there are values at all, and whether one is NULL."""


@dataclass(frozen=True, slots=True)
class AwaitedTable(Table):
    """See the module."""

    place: int = 0
    """The place of its query among the statement's inner queries."""
    token: str = ""
    """It tells this from every other inner query: two measurements that wait for different answers are two."""
    form: AnswerForm = AnswerForm.ROWS
    several: bool = True
    """Whether it may have more than one row."""

    @property
    def is_single(self) -> bool:
        """Return whether it always has one row."""
        return self.form in {AnswerForm.SCALAR, AnswerForm.FACTS}

    def column(self) -> Column:
        """Return the one column that a list or a scalar has."""
        (column,) = self.columns.values()
        return column

    def as_form(self, form: AnswerForm) -> "AwaitedTable":
        """Return another form of the same answer."""
        columns = _FACTS if form is AnswerForm.FACTS else self.columns
        return replace(self, form=form, columns=columns)

    def answered(self, rows: TableRows) -> ConstantTable:
        """Return the table with its rows.

        Raises:
            TooManyRows: a scalar has several.
        """
        return replace(self.empty(), rows=tuple(self._made(rows)))

    def _made(self, rows: TableRows) -> TableRows:
        match self.form:
            case AnswerForm.ROWS:
                return rows
            case AnswerForm.SCALAR:
                if len(rows) > 1:
                    raise TooManyRows(
                        "more than one row returned by a subquery used as an expression",
                        hint="The released answer is kept. Add LIMIT 1, or write IN.",
                    )
                return rows or ((None,),)
            case AnswerForm.VALUES:
                distinct = {_as_compared(value, self.column().type): value for (value,) in rows if value is not None}
                return tuple((value,) for value in distinct.values())
            case AnswerForm.FACTS:
                return ((bool(rows), any(value is None for (value,) in rows)),)

    def empty(self) -> ConstantTable:
        """Return the table as engines are shown it before its rows are known, to see whether they take the statement."""
        return ConstantTable(self.name, self.columns, {}, public=True, awaited=True, single=self.is_single)


_FACTS = {name: Column(name, SqlType.BOOLEAN, "boolean") for name in ("some", "nulls")}


def awaited_table(
    place: int, token: str, names: tuple[str, ...], types: tuple[SqlType, ...], *, several: bool
) -> AwaitedTable:
    """Return the answer to an inner query with these columns, which may have `several` rows."""
    if len(names) != len(types):
        raise InternalError
    columns = {
        name: Column(name, type_, _DECLARED.get(type_, type_.value), nullable=True)
        for name, type_ in zip(names, types, strict=True)
    }
    return AwaitedTable(_NAME, columns, {}, public=True, place=place, token=token, several=several)


_DECLARED = {SqlType.NUMERIC: "numeric(38,18)"}


def _as_compared(value: Value, type_: SqlType) -> Value | float:
    """Return a value such that those which an engine finds equal are one."""
    if isinstance(value, (int, Fraction)) and not type_.is_integer and type_.is_number:
        return float(value)
    return value
