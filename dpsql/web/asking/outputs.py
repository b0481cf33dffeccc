"""The columns of an answer, as a table and a chart need them: keys, numbers with their margins, and margins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from dpsql.web.curves import Json

_KINDS = {
    **dict.fromkeys((20, 21, 23), "whole"),
    **dict.fromkeys((700, 701, 1700), "number"),
    **dict.fromkeys((1082, 1114, 1184), "time"),
    16: "truth",
}
"""Kinds of values by PostgreSQL's number of their type; all others are texts."""
_NUMBERS = ("whole", "number")
_COUNTS = (exp.Count, exp.Sum, exp.CountIf)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column: its name, the kind of its values, and what it is for."""

    name: str
    kind: str
    role: str
    """`key`, `number`, or `margin`."""
    of: int | None = None
    """For a margin the column whose it is."""
    counts: bool = False
    """Whether 0 is nothing: of counts and sums."""

    def as_json(self) -> Json:
        """Return it for the page."""
        return {"name": self.name, "kind": self.kind, "role": self.role, "of": self.of, "counts": self.counts}


def output_columns(statement: str, names: Sequence[str], types: Sequence[int]) -> list[OutputColumn]:
    """Return what each column is, by the statement where that can be read, and else by its type."""
    plain = [OutputColumn(name, _KINDS.get(oid, "text"), "key") for name, oid in zip(names, types, strict=True)]
    items = _selected(statement)
    if items is None or len(items) != len(plain):
        return _by_type(plain)
    columns = []
    for place, (column, item) in enumerate(zip(plain, items, strict=True)):
        argument = _margin_of(item)
        if argument is not None:
            of = next((i for i, other in enumerate(items) if i != place and other == argument), None)
            columns.append(replace(column, role="margin", of=of))
        elif column.kind in _NUMBERS and item.find(exp.AggFunc, exp.Anonymous, exp.Window):
            columns.append(replace(column, role="number", counts=isinstance(_bare(item), _COUNTS)))
        else:
            columns.append(column)
    return columns if any(column.role != "key" for column in columns) else _by_type(plain)


def _selected(statement: str) -> list[exp.Expr] | None:
    try:
        trees = sqlglot.parse(statement, read="postgres")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    match trees:
        case [exp.Select() as tree] if not tree.is_star:
            return [item.unalias() for item in tree.selects]
        case _:
            return None


def _margin_of(item: exp.Expr) -> exp.Expr | None:
    """Return what a call of `dpsql.margin` is about."""
    match item:
        case exp.Dot(this=exp.Identifier(this="dpsql"), expression=exp.Anonymous(this=name, expressions=[argument])):
            return argument if str(name).lower() == "margin" else None
        case _:
            return None


def _bare(item: exp.Expr) -> exp.Expr:
    return _bare(item.this) if isinstance(item, (exp.Filter, exp.Paren, exp.Cast, exp.Round)) else item


def _by_type(columns: Sequence[OutputColumn]) -> list[OutputColumn]:
    """Return numbers as numbers, but for the first column where there are others."""
    return [
        replace(column, role="number") if column.kind in _NUMBERS and (place or len(columns) == 1) else column
        for place, column in enumerate(columns)
    ]
