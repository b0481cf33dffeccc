"""Public rows that stand in the engine's statement itself: what VALUES, a series or a query over public tables makes.

The engine reads them as written there, so that no table of its own is looked up, and nothing about them depends on records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from dpsql.errors import InternalError, TooManyRows
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Table, Value

TableRows = tuple[tuple[Value | None, ...], ...]
_CONSTANTS = "(constants)"
"""Their name in messages and EXPLAIN."""
_DECLARED = {SqlType.NUMERIC: "numeric(38,18)"}
"""Decimals are written in double precision, which has room for all of them."""


@dataclass(frozen=True, slots=True)
class ConstantTable(Table):
    """A public table whose rows are known to planning and written into the statement."""

    rows: TableRows = ()
    awaited: bool = False
    """Whether it is the answer to an inner query, which nobody knew when the statement was planned."""
    single: bool = False
    """Whether that answer always has one row."""

    @property
    def by_column(self) -> Mapping[str, Sequence[Value | None]]:
        """Return the rows by column."""
        return {name: tuple(row[place] for row in self.rows) for place, name in enumerate(self.columns)}


def constant_table(
    names: Sequence[str], types: Sequence[SqlType], rows: Sequence[tuple[Value | None, ...]]
) -> ConstantTable:
    """Return a table of constants; its key is the first column of whole numbers or texts that tells all rows apart."""
    columns = {
        name: _column(name, type_, [row[place] for row in rows])
        for place, (name, type_) in enumerate(zip(names, types, strict=True))
    }
    # By its key a row of private ones finds one of these at most.
    keys = [
        name
        for place, (name, column) in enumerate(columns.items())
        if (column.type.is_integer or column.type.is_text)
        and not column.nullable
        and len({row[place] for row in rows}) == len(rows)
    ]
    return ConstantTable(_CONSTANTS, columns, {}, public=True, key=next(iter(keys), None), rows=tuple(rows))


def _column(name: str, type_: SqlType, cells: Sequence[Value | None]) -> Column:
    values = {cell for cell in cells if cell is not None}
    return Column(
        name,
        type_,
        _DECLARED.get(type_, type_.value),
        values=tuple(sorted(values)),
        step=Fraction(1) if type_.is_integer else None,
        nullable=len(values) < len(set(cells)) or not cells,
    )


# The answer to an inner query as a table: its columns are known when a statement is planned, its rows only after a release.
#
# Plans and prices over it must hold for all rows that it may have: it has no bounds but those said here. A column with bounds
# is clamped to them, when its values are known, before anything is computed of them.

_ANSWER = "(answer)"
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
class DeferredTable(Table):
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

    def as_form(self, form: AnswerForm) -> "DeferredTable":
        """Return another form of the same answer."""
        columns = _FACTS if form is AnswerForm.FACTS else self.columns
        return replace(self, form=form, columns=columns)

    def answered(self, rows: TableRows) -> ConstantTable:
        """Return the table with its rows.

        Raises:
            TooManyRows: a scalar has several.
        """
        return replace(self.empty(), rows=tuple(self._made(self._clamped(rows))))

    def _clamped(self, rows: TableRows) -> TableRows:
        """Return the rows with each value within the bounds of its column."""
        bounds = [column.bounds for column in self.columns.values()]
        if self.form is AnswerForm.FACTS or not any(bounds):
            return rows
        return tuple(tuple(map(_within, row, bounds)) for row in rows)

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
                # x NOT IN (…) is true where there are no values, and never where one of them is NULL.
                return ((bool(rows), any(value is None for (value,) in rows)),)

    def empty(self) -> ConstantTable:
        """Return the table as engines are shown it before its rows are known, to see whether they take the statement."""
        return ConstantTable(self.name, self.columns, {}, public=True, awaited=True, single=self.is_single)


_FACTS = {name: Column(name, SqlType.BOOLEAN, "boolean") for name in ("some", "nulls")}


def _within(value: Value | None, bounds: Interval | None) -> Value | None:
    """Return the nearest value within the bounds."""
    if bounds is None or not isinstance(value, (int, Fraction)) or isinstance(value, bool):
        return value
    nearest = min(max(Fraction(value), bounds.low), bounds.high)
    return value if nearest == value else int(nearest) if isinstance(value, int) else nearest


def deferred_table(
    place: int,
    token: str,
    names: tuple[str, ...],
    types: tuple[SqlType, ...],
    *,
    several: bool,
    bounds: Mapping[str, Interval] | None = None,
) -> DeferredTable:
    """Return the answer to an inner query with these columns, which may have `several` rows; some are within `bounds`."""
    if len(names) != len(types):
        raise InternalError
    columns = {
        name: Column(name, type_, _DECLARED.get(type_, type_.value), bounds=(bounds or {}).get(name), nullable=True)
        for name, type_ in zip(names, types, strict=True)
    }
    return DeferredTable(_ANSWER, columns, {}, public=True, place=place, token=token, several=several)


def _as_compared(value: Value, type_: SqlType) -> Value | float:
    """Return a value such that those which an engine finds equal are one."""
    if isinstance(value, (int, Fraction)) and not type_.is_integer and type_.is_number:
        return float(value)
    return value
