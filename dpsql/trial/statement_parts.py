"""Parts of an engine's statement, as they are read again."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpsql.trial.column_bounds import ColumnBounds, NotProvedError, without_parens
from dpsql.trial.summed import is_text

FULL_WEIGHT = 2**16
"""W: the weight of a row of a unit that keeps to its bound."""

ONE_ROW = "one row a unit"
"""Stands among the conditions of rows of which each unit has one."""


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Rows with their unit `u`: a SELECT, what it is of, and what its columns can be."""

    text: str
    """FROM, with its joins."""
    conditions: frozenset[str]
    unit: str
    columns: Mapping[str, ColumnBounds]
    definitions: Mapping[str, str]
    """By the name of a column how it is computed, all the way down."""
    named: str = "u"
    """How the unit is called in what is around them."""
    once: bool = False
    """Whether each row of the table that names the unit is one of them at most."""

    def same_rows(self, other: "RowsRead") -> bool:
        """Return whether another SELECT has the same rows, of the same units."""
        return (self.text, self.conditions - {"TRUE"}, self.unit) == (
            other.text,
            other.conditions - {"TRUE"},
            other.unit,
        )


def weight_of(text: exp.Expr) -> tuple[int, int, exp.Expr]:
    """Return M, C and the number of rows of `CAST(M // greatest(number, C) AS …)`."""
    quotient = without_parens(text.this if isinstance(text, exp.Cast) else text)
    if not isinstance(quotient, (exp.IntDiv, exp.Div)) or not isinstance(quotient.expression, exp.Greatest):
        raise NotProvedError
    least = quotient.expression.expressions
    if len(least) != 1 or not quotient.this.is_int or not least[0].is_int:
        raise NotProvedError
    return int(quotient.this.name), int(least[0].name), quotient.expression.this


def listed_above(heavy: exp.Select) -> int:
    """Return k of HAVING count(*) > k."""
    having = heavy.args.get("having")
    if having is None or not isinstance(having.this, exp.GT) or not is_text(having.this.this, "count(*)"):
        raise NotProvedError
    return int(having.this.expression.name)


def projected(select: exp.Select) -> dict[str, exp.Expr]:
    """Return what a SELECT's columns are, by their names."""
    return {one.alias_or_name: one.unalias() for one in select.expressions}


def every_condition(select: exp.Expr) -> list[exp.Expr]:
    """Return what WHERE asks, of a SELECT and of those that it is made of."""
    found = [
        one for where in select.find_all(exp.Where) for one in where.this.flatten() if isinstance(where.this, exp.And)
    ]
    return found or [where.this for where in select.find_all(exp.Where)]


def conditions_of(select: exp.Select) -> frozenset[str]:
    """Return what a SELECT's own WHERE asks, each part as a text."""
    where = select.args.get("where")
    if where is None:
        return frozenset()
    parts = where.this.flatten() if isinstance(where.this, exp.And) else (where.this,)
    return frozenset(without_parens(one).sql() for one in parts)


def names_in(tree: exp.Expr) -> set[str]:
    """Return the names of the columns in an expression."""
    return {one.name for one in tree.find_all(exp.Column)}


def is_by_first(select: exp.Select) -> bool:
    """Return whether rows are grouped by the first column alone."""
    group = select.args.get("group")
    return group is not None and [one.sql() for one in group.expressions] == ["1"]


def without_group(select: exp.Select) -> exp.Select:
    """Return a SELECT without its GROUP BY."""
    plain = select.copy()
    plain.set("group", None)
    return plain


def is_column(tree: exp.Expr | None, name: str) -> bool:
    """Return whether an expression is a column of this name, and nothing else."""
    return isinstance(tree, exp.Column) and tree.name == name and not tree.table


def grouped_by(select: exp.Select) -> list[exp.Expr]:
    """Return what rows are grouped by."""
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def see_that_it_is_plain(select: exp.Select, *, joins: bool = False, having: bool = False) -> None:
    """See that a SELECT leaves out no row of what it reads, and reads nothing beside that.

    Raises:
        NotProvedError: it does.
    """
    parts = ("where", "distinct", "qualify", "limit", "offset", "laterals", "sample", *(() if having else ("having",)))
    if any(select.args.get(part) for part in (*parts, *(() if joins else ("joins",)))):
        raise NotProvedError


def summed_column(output: exp.Expr) -> str:
    """Return the name of the column that an output adds up, and does nothing else with.

    Raises:
        NotProvedError: it is none.
    """
    inner = without_parens(output.unalias())
    while isinstance(inner, exp.Cast):
        inner = without_parens(inner.this)
    if not isinstance(inner, exp.Sum) or not isinstance(inner.this, exp.Column):
        raise NotProvedError
    return inner.this.name
