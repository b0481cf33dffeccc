"""The substitute for an aggregate of a subquery where its groups are joined: the column of a group, and of none.

(SELECT count(*) FROM trips s WHERE s.rider = t.rider) + 1  →  coalesce(c.v, 0) + 1
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import is_count
from dpsql.rewrite.syntax.named.made_names import column_of_subquery
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every

STRICT = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Cast)
"""Expressions that are NULL if a part of them is."""


def is_null_of_nothing(output: exp.Expr, calls: Sequence[exp.Expr]) -> bool:
    """Return whether an output is NULL where its aggregates are of no rows, of which none is a count."""
    texts = {render(call) for call in calls if not is_count(call)}
    pending = [output]
    while pending:
        node = pending.pop()
        if render(node) in texts or isinstance(node, exp.Literal):
            continue
        if not isinstance(node, STRICT):
            return False
        pending += [child for child in (node.this, node.args.get("expression")) if isinstance(child, exp.Expr)]
    return True


def has_columns_outside(output: exp.Expr, calls: Sequence[exp.Expr]) -> bool:
    """Return whether an output has columns beside its aggregates."""
    inside = {id(column) for call in calls for column in every(call, exp.Column)}
    texts = {render(call) for call in calls}
    left = [column for column in every(output, exp.Column) if id(column) not in inside]
    return any(not any(render(above) in texts for above in _above(column, output)) for column in left)


def _above(node: exp.Expr, root: exp.Expr) -> Iterator[exp.Expr]:
    here: exp.Expr | None = node
    while here is not None:
        yield here
        here = None if here is root else here.parent


def value_of(column: exp.Expr, call: exp.Expr) -> exp.Expr:
    """Return an aggregate of a group, which is not there where no row is: a count is then 0."""
    return exp.Anonymous(this="coalesce", expressions=[column, exp.Literal.number(0)]) if is_count(call) else column


def with_values(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Change a tree so that other nodes stand in it for those with these texts."""
    if (value := values.get(render(node))) is not None:
        return value.copy()
    for child in list(node.iter_expressions()):
        child.replace(with_values(child, values))
    return node


def present(column: exp.Expr) -> exp.Expr:
    """Return the condition that a column has a value: where groups are joined, that there is one."""
    return exp.Paren(this=exp.Not(this=exp.Is(this=column, expression=exp.Null())))


@dataclass(frozen=True, slots=True)
class Joined:
    """A subquery in FROM, and the names of its columns by their text."""

    item: exp.Expr
    names: dict[str, str] = field(default_factory=dict)

    def column(self, node: exp.Expr) -> exp.Column:
        """Return the column that has an expression, which the subquery puts out from now on.

        (SELECT rider AS k FROM trips GROUP BY rider) AS c   →  c.v of (SELECT rider AS k, avg(fare) AS v FROM …) AS c
        """
        text = render(node)
        if text not in self.names:
            self.names[text] = column_of_subquery(text, self.names.values())
            self.item.this.append("expressions", exp.alias_(node.copy(), self.names[text], quoted=True))
        return exp.column(self.names[text], self.item.alias, quoted=True)
