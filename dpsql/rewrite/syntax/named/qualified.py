"""Columns by the names that they keep wherever they are put: first of all, before anything in a statement is moved.

SELECT d, (SELECT count(*) FROM trips s WHERE s.fare > d) FROM days   →  … WHERE s.fare > days.d
SELECT public.trips.fare FROM public.trips                           →  SELECT trips.fare FROM public.trips

A column of a query around is written with the name of its table, if no table in between has that name. What can't be told,
or not be written, stays as it is: no bare name of a column around is ever moved (`correlation.py`, `compared.py`).
Claim: PostgreSQL means the same by both. A name is looked for in the innermost FROM first, then in those around it; a
schema's table is meant by nothing but that table without an alias.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import from_items
from dpsql.rewrite.syntax.named.identifiers import fold, position
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.named.sources import Ctes, FoundColumns, OfferedTable, sources, sources_of

Levels = tuple[tuple[OfferedTable, ...], ...]
"""What the FROM of each query offers, the innermost first."""
_BY_OUTPUTS = ("group", "order", "distinct")


def qualify(tree: exp.Query, policy: Policy, nodes: Sequence[exp.Expr]) -> None:
    """Change the columns of a query; `nodes` are all of its tree.

    Raises:
        Unsupported: what a column with a schema means is hidden by another table of the same name.
    """
    several = sum(1 for one in nodes if isinstance(one, exp.Query)) > 1
    if several or any(isinstance(one, exp.Column) and one.args.get("db") for one in nodes):
        _Walk(policy, partial(_qualify, policy)).query(tree, (), {})


def outer_columns(select: exp.Select, names: Collection[str], ctes: Ctes, policy: Policy) -> list[exp.Column]:
    """Return the columns in a SELECT that belong to queries around it, whose columns have these names."""
    found: list[exp.Column] = []

    def visit(column: exp.Column, around: Levels, outputs: frozenset[str]) -> None:
        table, name = fold(column.args.get("table")), fold(column.this)
        offered = (source for level in around for source in level)
        if table:
            inside = any(source.name == table for source in offered)
        else:
            inside = name not in names or name in outputs or any(source.may_have(name) for source in offered)
        if not inside:
            found.append(column)

    _Walk(policy, visit).query(select, (), ctes)
    return found


@dataclass(frozen=True, slots=True)
class _Walk:
    """Goes through a query, and shows each column what the queries offer that it stands in."""

    policy: Policy
    visit: "Looked"
    known: FoundColumns = field(default_factory=dict)

    def query(self, node: exp.Expr, around: Levels, ctes: Ctes) -> None:
        """Show the columns of a query."""
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self._with(with_, around, ctes)
        match node:
            case exp.Select():
                self._select(node, around, ctes)
            case exp.Subquery():
                self.query(node.this, around, ctes)
            case exp.SetOperation():
                self.query(node.this, around, ctes)
                self.query(node.expression, around, ctes)
            case _:
                self._parts(node, ((), *around), ctes)

    def _with(self, with_: exp.Expr, around: Levels, ctes: Ctes) -> Ctes:
        for cte in with_.expressions:
            known = {**ctes, fold(cte.args["alias"].this): cte}
            self.query(cte.this, around, known if with_.args.get("recursive") else ctes)
            ctes = known
        return ctes

    def _select(self, select: exp.Select, around: Levels, ctes: Ctes) -> None:
        before: tuple[OfferedTable, ...] = ()
        for item in from_items(select):
            self._item(item, before, around, ctes)
            before += sources_of(item, ctes, self.policy, self.known)
        inside = (sources(select, ctes, self.policy, self.known), *around)
        named = frozenset(map(output_name, select.expressions))
        for key, value in select.args.items():
            if key in {"with_", "from_", "laterals"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                part = child.args.get("on") if isinstance(child, exp.Join) else child
                if isinstance(part, exp.Expr):
                    self._expression(part, inside, ctes, named if key in _BY_OUTPUTS else frozenset())
        from_ = select.args.get("from_")
        for join in (from_.this.args.get("joins") if from_ is not None else None) or ():
            if isinstance(join.args.get("on"), exp.Expr):
                self._expression(join.args["on"], inside, ctes, frozenset())

    def _item(self, item: exp.Expr, before: tuple[OfferedTable, ...], around: Levels, ctes: Ctes) -> None:
        """Go through an element of FROM; what is LATERAL, as functions are, sees the elements before it."""
        match item:
            case exp.Subquery(this=exp.Table()):
                self._parts(item, ((), before, *around), ctes)
            case exp.Subquery():
                self.query(item.this, around, ctes)
            case exp.Lateral(this=exp.Query()):
                self.query(item.this, (before, *around), ctes)
            case _:
                self._parts(item, ((), before, *around), ctes)

    def _parts(self, node: exp.Expr, around: Levels, ctes: Ctes) -> None:
        for child in list(node.iter_expressions()):
            self._expression(child, around, ctes, frozenset())

    def _expression(self, node: exp.Expr, around: Levels, ctes: Ctes, named: frozenset[str]) -> None:
        pending = [node]
        while pending:
            one = pending.pop()
            if isinstance(one, exp.Query):
                self.query(one, around, ctes)
            elif isinstance(one, exp.Column):
                self.visit(one, around, named)
            else:
                pending += one.iter_expressions()


Looked = Callable[[exp.Column, Levels, frozenset[str]], None]
"""What is done with a column; the names are those of outputs that it may stand for."""


def _qualify(policy: Policy, column: exp.Column, around: Levels, outputs: frozenset[str]) -> None:
    if column.args.get("db"):
        _without_schema(policy, column, around)
    elif not column.args.get("table") and isinstance(column.this, exp.Identifier) and fold(column.this) not in outputs:
        source = _found(fold(column.this), around)
        if source is not None:
            column.set("table", exp.to_identifier(source.name, quoted=source.quoted))


def _without_schema(policy: Policy, column: exp.Column, around: Levels) -> None:
    table = fold(column.args["table"])
    if fold(column.args["db"]) != "public" or fold(column.args.get("catalog")) not in {"", policy.dataset}:
        return
    found = next((one for level in around for one in level if one.name == table), None)
    if found is not None and (found.aliased or not found.stored):
        raise Unsupported(
            f'"{column.sql("postgres")}" is not the table that is called "{table}" here',
            because="hidden-table",
            hint="Give one of the two another name: FROM … AS t.",
            position=position(column),
        )
    column.set("db", None)
    column.set("catalog", None)


def _found(name: str, around: Levels) -> OfferedTable | None:
    """Return the table by whose name a bare name can be written that is a column of a query around; None else."""
    hidden: set[str] = set()
    for depth, level in enumerate(around):
        having = [one for one in level if one.may_have(name)]
        if having:
            (first, *more) = having
            sure = depth > 0 and not more and first.has(name)
            return first if sure and first.name and first.name not in hidden else None
        hidden |= {one.name for one in level}
    return None
