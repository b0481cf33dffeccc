"""One name for each CTE of a statement: two CTEs of one name become two names, and so does a temporary table.

WITH a AS (…) SELECT … FROM (WITH a AS (SELECT … FROM a) SELECT … FROM a) x
→  WITH a AS (…) SELECT … FROM (WITH a_1 AS (SELECT … FROM a) SELECT … FROM a_1 a) x
SELECT … FROM kept, (WITH kept AS (…) SELECT … FROM kept) x
→  SELECT … FROM kept, (WITH kept_1 AS (…) SELECT … FROM kept_1 kept) x

A table has its schema before its name in PostgreSQL's words, and CTEs and temporary tables have none; columns have the names
of what they are of.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import holds

_Readers = list[exp.Table]
Visible = Mapping[str, _Readers]
"""Where CTEs are read, by the names that they have."""


def with_own_names(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    if not holds(tree, exp.CTE):
        return
    seen = _Found()
    seen.walk(tree, {})
    taken = {fold(cte.args["alias"].this) for cte, _ in seen.ctes} | seen.tables
    given = set(seen.tables)
    for cte, readers in seen.ctes:
        name = new = fold(cte.args["alias"].this)
        if name in given:
            new = next(free for n in itertools.count(1) if (free := f"{name}_{n}") not in taken)
            taken.add(new)
            cte.args["alias"].set("this", exp.to_identifier(new, quoted=True))
            for table in readers:
                _rename(table, new)
        given.add(new)


def _rename(table: exp.Table, name: str) -> None:
    """Have a table read by another name, and its columns by the one that they have."""
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=table.this))
    table.set("this", exp.to_identifier(name, quoted=True))


@dataclass(slots=True)
class _Found:
    ctes: list[tuple[exp.Expr, _Readers]] = field(default_factory=list)
    tables: set[str] = field(default_factory=set)
    """Tables that are read by a name without a schema, and are no CTEs: a client's temporary tables."""

    def walk(self, node: exp.Expr, visible: Visible) -> None:
        """Look through a node, that sees these CTEs."""
        with_ = node.args.get("with_")
        if with_ is not None:
            visible = self._with(with_, visible)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db"):
            name = fold(node.this)
            if name in visible:
                visible[name].append(node)
            else:
                self.tables.add(name)
        for key, value in node.args.items():
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr) and key != "with_":
                    self.walk(child, visible)

    def _with(self, with_: exp.Expr, visible: Visible) -> Visible:
        if with_.args.get("recursive"):  # each sees itself, and those behind it, too
            visible = {**visible, **dict(map(self._named, with_.expressions))}
            for cte in with_.expressions:
                self.walk(cte.this, visible)
            return visible
        for cte in with_.expressions:
            self.walk(cte.this, visible)
            visible = {**visible, **dict([self._named(cte)])}
        return visible

    def _named(self, cte: exp.Expr) -> tuple[str, _Readers]:
        """Return the name that a CTE has, and the list of where it is read."""
        readers: _Readers = []
        self.ctes.append((cte, readers))
        return fold(cte.args["alias"].this), readers
