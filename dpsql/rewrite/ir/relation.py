"""A relation of private rows: what is scanned and joined, which rows stay, and what each column means.

Pass-through subqueries and CTEs disappear in it: their columns become expressions over the scanned tables, their
conditions join the others. So a question has one form, however deep a tool has wrapped it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from dpsql.errors import AccessDenied
from dpsql.policy.model import Table
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, both


class Join(Enum):
    """How a source comes into a relation."""

    FROM = "from"
    INNER = "inner"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Source:
    """One scanned table."""

    table: Table
    join: Join = Join.FROM
    on: Expr = TRUE


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of one protected table, perhaps with columns of public ones; the first source is the protected one."""

    sources: tuple[Source, ...]
    where: Expr
    columns: Mapping[str, Expr]
    """What each visible column is, in order."""
    needed: tuple[Ref, ...] = ()
    """The columns that the question names: a row without a value in one stays out, unless it is declared nullable."""

    @property
    def protected(self) -> Table:
        """Return the table whose rows these are."""
        return self.sources[0].table

    def unit(self, kind: str) -> Ref:
        """Return the column that says whose row it is, for a unit kind.

        Raises:
            AccessDenied: the table has no unit of that kind, so nothing can be said privately.
        """
        bound = self.protected.units.get(kind)
        if bound is None:
            raise AccessDenied(
                f'table "{self.protected.name}" has no privacy unit of kind "{kind}", which your role protects',
                because="table-without-unit",
                hint=f"The owner can declare it under `privacy_units` in {self.protected.file or 'its schema file'}.",
            )
        return ref(0, self.protected, bound.column)


def ref(source: int, table: Table, name: str, *, optional: bool = False) -> Ref:
    """Return the reference to a column of a table."""
    return Ref(source, table.name, name, table.columns[name], optional)


def scan(table: Table) -> Relation:
    """Return all rows of one table."""
    return Relation((Source(table),), TRUE, {name: ref(0, table, name) for name in table.columns})


def filtered(relation: Relation, condition: Expr) -> Relation:
    """Return the rows for which the condition holds."""
    return replace(relation, where=both(relation.where, condition))
