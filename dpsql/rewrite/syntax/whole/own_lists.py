"""A session's own temporary tables among private rows, as the constants that they are at that moment.

FROM trips t JOIN mine m ON m.zone = t.zone  →  FROM trips t JOIN (VALUES (7, 'north'), (8, 'south')) AS m (zone, part) ON …

Claim: these are the rows that the session sees in the table, which it has written itself or was answered: nothing comes to
planning that its client does not know. A statement is planned anew when they change, for they are part of it.
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from dpsql.errors import InternalError
from dpsql.question import TemporaryTable
from dpsql.rewrite.ir.spelled import literal, quoted_name
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.dialect import parsed
from dpsql.rewrite.syntax.read.trees import every

_TEMPORARY = "pg_temp"


def put_lists(nodes: Iterable[exp.Expr], tables: Sequence[TemporaryTable], ctes: frozenset[str]) -> None:
    """Put those of a session's tables whose rows are known into the places of their names, in some parts of a statement.

    A table whose columns of PostgreSQL's own are read stays. `ctes` are names that stand for something else.
    """
    lists = {table.name: table for table in tables if table.rows is not None}
    for node in nodes:
        for table in tuple(every(node, exp.Table)):
            own = lists.get(fold(table.this)) if isinstance(table.this, exp.Identifier) else None
            if own is not None and _is_temporary(table, ctes) and _are_its_own(table, own):
                table.replace(_as_constants(table, own))


def _is_temporary(table: exp.Table, ctes: frozenset[str]) -> bool:
    schema = fold(table.args.get("db"))
    return schema == _TEMPORARY or (not schema and fold(table.this) not in ctes)


def _are_its_own(table: exp.Table, own: TemporaryTable) -> bool:
    """Return whether all that is read of a table are columns that were made with it, by their own names."""
    select, alias = table.find_ancestor(exp.Select), table.args.get("alias")
    name = fold(table.this if alias is None else alias.this)
    columns = {column for column, _ in own.columns}
    read = (column for column in every(select, exp.Column) if fold(column.args.get("table")) == name) if select else ()
    renamed = alias is not None and alias.args.get("columns")
    return not renamed and all(isinstance(c.this, exp.Star) or fold(c.this) in columns for c in read)


def _as_constants(table: exp.Table, own: TemporaryTable) -> exp.Expr:
    """Return the rows of a table under its name in the statement."""
    names = ", ".join(quoted_name(column) for column, _ in own.columns)
    types = [type_ for _, type_ in own.columns]
    if own.rows:
        rows = ", ".join(f"({', '.join(map(_cell, row, types))})" for row in own.rows)
        text = f"SELECT * FROM (VALUES {rows}) AS t ({names})"
    else:
        none = ", ".join(f"{_cell(None, type_)} AS {quoted_name(column)}" for column, type_ in own.columns)
        text = f"SELECT * FROM (SELECT {none} WHERE FALSE) AS t ({names})"
    tree = parsed(text)
    if tree is None:
        raise InternalError
    made: exp.Expr = tree.args["from_"].this.pop()
    made.args["alias"].set("this", (table.args["alias"].this if table.args.get("alias") else table.this).copy())
    return made


def _cell(text: str | None, type_: str) -> str:
    return f"CAST({'NULL' if text is None else literal(text)} AS {type_})"
