"""Views of the policy: read once, and put into statements where they name them.

SELECT avg(fare) FROM by_card AS c  →  SELECT avg(fare) FROM (SELECT fare FROM trips WHERE payment_type = 'card') AS c

Claim: what is measured for a statement that reads a view is what is measured for the statement in which the view's query
stands, since each later stage sees that statement only. So nothing about sensitivity, owners or bounds has to be said anew.
The tables of a view are written with their schema: no CTE of a client's is read in their place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from dpsql.errors import ConfigError, DpsqlError, InternalError, Unsupported
from dpsql.policy.model import Policy, Table
from dpsql.policy.view import View
from dpsql.rewrite.ir.spelled import quoted_name
from dpsql.rewrite.syntax.named.identifiers import fold, position
from dpsql.rewrite.syntax.named.origins import origins
from dpsql.rewrite.syntax.named.qualified import qualify
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.read.gaps import not_understood
from dpsql.rewrite.syntax.read.parse import ReadQuery, parsed
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.read.trees import nodes as nodes_of
from dpsql.rewrite.syntax.read.view_nodes import ViewedTable, ViewRead

_PLAIN = frozenset({"this", "db", "catalog", "alias"})
"""What a view may have in FROM."""


def expand_views(tree: exp.Expr, policy: Policy) -> list[exp.Expr]:
    """Put the queries of views into a tree, in the places of their names; return the nodes that it has then.

    Raises:
        Unsupported: a view is read with more than a name.
    """
    found = every(tree, exp.Expr)
    if not policy.views or not any(isinstance(one, exp.Table) and named(one, policy) for one in found):
        return found
    for table in list(tables_in(tree)):
        view = named(table, policy)
        if view is not None:
            table.replace(_read(view, table))
    return every(tree, exp.Expr)


def named(table: exp.Table, policy: Policy) -> View | None:
    """Return the view that a name in FROM means, which is no CTE's."""
    if fold(table.args.get("db")) not in {"", "public"} or fold(table.args.get("catalog")) not in {"", policy.dataset}:
        return None
    return policy.views.get(fold(table.this))


def tables_in(tree: exp.Expr, ctes: frozenset[str] = frozenset()) -> Iterator[exp.Table]:
    """Yield what is read by name, and is neither a CTE nor a function."""
    with_ = tree.args.get("with_")
    if with_ is not None:
        names = [fold(cte.args["alias"].this) for cte in with_.expressions]
        known = ctes | frozenset(names if with_.args.get("recursive") else ())
        for cte, name in zip(with_.expressions, names, strict=True):
            yield from tables_in(cte.this, known)
            known |= {name}
        ctes = known
    if isinstance(tree, exp.Table) and _is_named(tree, ctes):
        yield tree
    for key, value in tree.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr) and key != "with_":
                yield from tables_in(child, ctes)


def _is_named(table: exp.Table, ctes: frozenset[str]) -> bool:
    return isinstance(table.this, exp.Identifier) and bool(table.args.get("db") or fold(table.this) not in ctes)


def _read(view: View, table: exp.Table) -> ViewRead:
    """Return what stands for a view; errors about what is in it are placed where it is named."""
    more = [key for key, value in table.args.items() if value and key not in _PLAIN]
    if more:
        raise Unsupported(
            f"{more[0].upper()} of a view is not supported",
            because="clause-on-view",
            hint=f'Write FROM "{view.name}" AS v alone, and what is to be done with its rows around it.',
            position=position(table),
        )
    body = _tree(view).copy()
    for name in body.find_all(exp.Identifier):
        name._meta = table.this._meta  # noqa: SLF001  # the property would make a dictionary for each
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(view.name, quoted=True))
    return ViewRead(this=body, alias=alias.copy(), view=view.name, public=view.public)


def in_words(nodes: Iterable[exp.Expr]) -> None:
    """Let the answers in views that are no rows stand as subqueries: what is in them is released and no view any more.

    `nodes` are those of a query.
    """
    for one in nodes:
        if isinstance(one, ViewRead) and not one.args["public"]:
            one.replace(exp.Subquery(this=one.this, alias=one.args["alias"]))


def _tree(view: View) -> exp.Query:
    if not isinstance(view.tree, exp.Query):
        raise InternalError  # the policy's views were not read
    return view.tree


def with_views(policy: Policy) -> Policy:
    """Return the policy with the queries of its views read.

    Raises:
        ConfigError: with one line for each that can't be: file, line, view and reason.
    """
    if not policy.views:
        return policy
    reader = _Reader(replace(policy, views={}))
    for view in policy.views.values():
        reader.read(view, policy.views, ())
    if reader.wrong:
        lines = [f"{view.file}:{view.line}: view: {text}" for view, text in reader.wrong.values()]
        raise ConfigError("\n".join(sorted(lines)), hint="docs/configuration.md says what a view may be.")
    return replace(policy, views=reader.read_views)


@dataclass(slots=True)
class _Reader:
    policy: Policy
    read_views: dict[str, View] = field(default_factory=dict)
    wrong: dict[str, tuple[View, str]] = field(default_factory=dict)

    def read(self, view: View, every_view: Mapping[str, View], within: tuple[str, ...]) -> None:
        """Read a view behind those that it reads; note what is wrong."""
        if view.name in self.read_views or view.name in self.wrong:
            return
        if view.name in within:
            circle = " → ".join((*within[within.index(view.name) :], view.name))
            self.wrong[view.name] = view, f'"{view.name}" reads itself: {circle}'
            return
        tree = self._parsed(view)
        if tree is None:
            return
        for table in tables_in(tree):
            other = every_view.get(fold(table.this))
            if other is not None:
                self.read(other, every_view, (*within, view.name))
                if other.name in self.wrong:
                    self.wrong.setdefault(view.name, (view, f'reads the view "{other.name}", which can\'t be read'))
        self._finish(view, tree)

    def _parsed(self, view: View) -> exp.Query | None:
        tree, reason = parsed(view.query), "is not one SELECT"
        if tree is not None and tree.find(exp.Placeholder, exp.Parameter) is None:
            return tree
        if tree is None:
            try:
                reason = str(not_understood(view.query).message)
            except DpsqlError as failed:
                reason = failed.message
        else:
            reason = "has a parameter, which nobody fills in"
        self.wrong[view.name] = view, f'"{view.name}" can\'t be read: {reason}'
        return None

    def _finish(self, view: View, tree: exp.Query) -> None:
        """Put tables and views in their places."""
        if view.name in self.wrong:
            return
        public = True
        try:
            qualify(tree, self.policy, every(tree, exp.Expr))
        except Unsupported as refused:
            self.wrong[view.name] = view, f'"{view.name}" can\'t be read: {refused.message}'
            return
        for table in list(tables_in(tree)):
            found = self._found(table)
            if found is None:
                known = ", ".join(sorted((*self.policy.tables, *self.read_views)))
                self.wrong[view.name] = view, f'reads "{_written(table)}", which is no declared table; allowed: {known}'
                return
            public = public and found.public
            table.replace(_viewed(table, found))
        _forget_places(tree)
        typed = self._typed(view, tree)
        if typed is not None:
            of = {
                n: o
                for n, o in origins(tree, self.policy).items()
                if n not in view.columns or not view.columns[n].declared
            }
            self.read_views[view.name] = replace(view, public=public, origins=of, tree=typed[0], query=typed[1])

    def _found(self, table: exp.Table) -> Table | View | None:
        if fold(table.args.get("db")) not in {"", "public"} or table.args.get("catalog"):
            return None
        name = fold(table.this)
        return self.policy.tables.get(name) or self.read_views.get(name)

    def _typed(self, view: View, tree: exp.Query) -> tuple[exp.Query, str] | None:
        """Return the query with the casts that the file asks for, and its text; None where they are of no column."""
        names = [name for name, _ in output_columns(tree, {}, self.policy)]
        unknown = [name for name in view.columns if name not in names]
        twice = [name for name in names if names.count(name) > 1]
        if unknown or twice:
            what = f'has no column "{unknown[0]}"' if unknown else f'has two columns named "{twice[0]}"'
            self.wrong[view.name] = view, f'"{view.name}" {what}; its columns: {", ".join(names)}'
            return None
        casts = {name: column.declared for name, column in view.columns.items() if column.declared}
        if not casts:
            return tree, view.query
        columns = ", ".join(
            f"CAST({quoted_name(n)} AS {casts[n]}) AS {quoted_name(n)}" if n in casts else quoted_name(n) for n in names
        )
        around = parsed(f'SELECT {columns} FROM (SELECT 1) AS "uncast"')
        if around is None:
            raise InternalError
        around.args["from_"].this.set("this", tree)
        return around, f'SELECT {columns} FROM (\n{view.query}\n) AS "uncast"'


def _written(table: exp.Table) -> str:
    return ".".join(part.name for part in (table.args.get("db"), table.this) if part is not None)


def _viewed(table: exp.Table, found: Table | View) -> exp.Expr:
    """Return a table or a view as it stands in the query of a view."""
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(found.name, quoted=True))
    if isinstance(found, View):
        return exp.Subquery(this=_tree(found).copy(), alias=alias.copy())
    table.set("db", exp.to_identifier("public", quoted=True))
    table.set("alias", alias.copy())
    if found.public:
        return table.copy()
    columns = (f"CAST(NULL AS {c.declared}) AS {quoted_name(c.name)}" for c in found.columns.values())
    return ViewedTable(**dict(table.copy().args), typed=f"(SELECT {', '.join(columns)})")


def bound_views(policy: Policy, read: ReadQuery) -> Policy:
    """Return the policy with the queries of its views as PostgreSQL has bound them, which has made the views already.

    Raises:
        ConfigError: our reading of one is not PostgreSQL's.
    """
    bound: dict[str, View] = {}
    for view in policy.views.values():  # each behind those that it reads
        tree = read(view.query)
        if tree is None:
            raise ConfigError(
                f'{view.file}:{view.line}: view: "{view.name}" can\'t be read', hint="Write it more plainly."
            )
        for table in list(tables_in(tree)):
            name = fold(table.this)
            found = policy.tables.get(name) or bound.get(name)
            if found is None:
                raise InternalError  # what is no declared table was refused when the policy was read
            table.replace(_viewed(table, found))
        _forget_places(tree)
        bound[view.name] = replace(view, tree=tree)
    return replace(policy, views=bound) if bound else policy


def _forget_places(tree: exp.Query) -> None:
    """Forget where nodes stand: that is in another text."""
    for node in nodes_of(tree):
        node.comments = node._meta = None  # noqa: SLF001  # the property would make a dictionary for each


def columns_of(view: View, policy: Policy) -> tuple[str, ...]:
    """Return the names of a view's columns, in order."""
    return tuple(name for name, _ in output_columns(_tree(view), {}, policy))
