"""One name for each CTE of a statement: what is called alike in two WITHs is two.

WITH a AS (…) SELECT … FROM (WITH a AS (SELECT … FROM a) SELECT … FROM a) x
→  WITH a AS (…) SELECT … FROM (WITH a_1 AS (SELECT … FROM a) SELECT … FROM a_1 a) x

A table has its schema before its name in PostgreSQL's words, and a CTE has none; columns have the names of what they are of.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.read.trees import every

Visible = Mapping[str, str]
"""The names that CTEs have now, by those that they had."""


def with_own_names(tree: exp.Query) -> None:
    """Change a query in PostgreSQL's words, in place."""
    names = [fold(cte.args["alias"].this) for cte in every(tree, exp.CTE)]
    if len(set(names)) < len(names):
        _Names(set(names)).walk(tree, {})


@dataclass(slots=True)
class _Names:
    taken: set[str]
    given: set[str] = field(default_factory=set)

    def walk(self, node: exp.Expr, visible: Visible) -> None:
        """Rename what is in a node, that sees these CTEs."""
        with_ = node.args.get("with_")
        if with_ is not None:
            visible = self._with(with_, visible)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db"):
            self._read(node, visible)
        for key, value in node.args.items():
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, exp.Expr) and key != "with_":
                    self.walk(child, visible)

    def _with(self, with_: exp.Expr, visible: Visible) -> Visible:
        if with_.args.get("recursive"):  # each sees itself, and those behind it, too
            visible = {**visible, **dict(map(self._renamed, with_.expressions))}
            for cte in with_.expressions:
                self.walk(cte.this, visible)
            return visible
        for cte in with_.expressions:
            self.walk(cte.this, visible)
            visible = {**visible, **dict([self._renamed(cte)])}
        return visible

    def _renamed(self, cte: exp.Expr) -> tuple[str, str]:
        """Return the name that a CTE had, and the one that it has now."""
        name = new = fold(cte.args["alias"].this)
        if name in self.given:
            new = next(one for n in itertools.count(1) if (one := f"{name}_{n}") not in self.taken)
            self.taken.add(new)
            cte.args["alias"].set("this", exp.to_identifier(new, quoted=True))
        self.given.add(new)
        return name, new

    def _read(self, table: exp.Table, visible: Visible) -> None:
        name = fold(table.this)
        new = visible.get(name, name)
        if new == name:
            return
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=table.this))
        table.set("this", exp.to_identifier(new, quoted=True))
