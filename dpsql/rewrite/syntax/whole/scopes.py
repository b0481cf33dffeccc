"""Find, in the tree of a query, every SELECT that aggregates private rows: only there is anything measured.

Bottom-up, each query is of one kind: ROWS (its rows are private rows), ANSWER (it holds released rows only) or PUBLIC.
A construct that would let private rows pass in a way not known here is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import AccessDenied, Unsupported
from dpsql.policy.model import Policy, Table
from dpsql.question import TemporaryTable
from dpsql.rewrite.syntax.forms.any_rows import asks_for_one
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.decorrelate import decorrelated
from dpsql.rewrite.syntax.forms.determined import determined
from dpsql.rewrite.syntax.forms.distinct_on import put_places_below
from dpsql.rewrite.syntax.forms.full_joins import as_two_parts, is_full_join
from dpsql.rewrite.syntax.forms.group_windows import put_groups_below, put_groups_in_place
from dpsql.rewrite.syntax.forms.inner import InnerAnswer, with_all_public
from dpsql.rewrite.syntax.forms.nested import aggregates_of, queries_among_rows, queries_below, queries_inside
from dpsql.rewrite.syntax.forms.reworded import reword
from dpsql.rewrite.syntax.forms.set_operations import rows_of_units
from dpsql.rewrite.syntax.named.clauses import ROW_CLAUSES, SCOPE_CLAUSES, TABLE_CLAUSES, UNIT_CLAUSES, refuse_clauses
from dpsql.rewrite.syntax.named.columns import from_items, outer_columns
from dpsql.rewrite.syntax.named.existence import calls_listed, queried
from dpsql.rewrite.syntax.named.grouping import grouping_in
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.found_scopes import FoundScopes, Kind, Scope
from dpsql.rewrite.syntax.whole.own_lists import put_lists
from dpsql.rewrite.syntax.whole.quantile_groups import cut_at_quantiles


def tables_read(tree: exp.Expr, policy: Policy) -> frozenset[str]:
    """Return the names of the protected tables and views that occur anywhere; CTEs of the same name count too."""
    names = (fold(table.this) for table in every(tree, exp.Table))
    return frozenset(name for name in names if policy.protects(name))


def declared(table: exp.Table, policy: Policy) -> Table | None:
    """Return the policy's table that a name in FROM means, unless it names something else."""
    if fold(table.args.get("db")) not in {"", "public"} or fold(table.args.get("catalog")) not in {"", policy.dataset}:
        return None
    return policy.tables.get(fold(table.this))


def find(
    tree: exp.Query, policy: Policy, nodes: Sequence[exp.Expr] = (), lists: Sequence[TemporaryTable] = ()
) -> FoundScopes:
    """Return the scopes of the query; `nodes` are all of its tree, if they are known, `lists` the session's own tables.

    Raises:
        Unsupported: private rows stand where they can't be followed.
    """
    scopes: list[Scope] = []
    inner: list[InnerAnswer] = []
    single = sum(1 for node in nodes if isinstance(node, exp.Query)) == 1
    alone = () if not single or (isinstance(tree, exp.Select) and asks_for_one(tree)) else tuple(nodes)
    kind = _Finder(policy, scopes, inner, tree, alone, lists).query(tree, {})
    if not inner:
        return FoundScopes(kind, tuple(scopes), alone=alone)
    within = {id(node) for answer in inner for node in answer.inside()}
    outer = {id(answer.node): answer for answer in inner if id(answer.node) not in within}
    return FoundScopes(kind, tuple(scopes), tuple(outer.values()))


@dataclass(frozen=True, slots=True)
class _Finder:
    policy: Policy
    scopes: list[Scope]
    inner: list[InnerAnswer]
    root: exp.Query
    alone: Sequence[exp.Expr]
    """The nodes of the root, if it is known that it has no other query in it."""
    lists: Sequence[TemporaryTable]

    def query(self, node: exp.Expr, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self._with(with_, ctes)
        visible = {name: cte for name, (_, cte) in ctes.items()}
        if isinstance(node, exp.Select) and not self.alone:
            self._refuse_calls_listed(node, visible)
        reword(node, visible, self.policy)
        match node:
            case exp.Select():
                return self._select(node, ctes)
            case exp.Subquery():
                return self._subquery(node, ctes)
            case exp.SetOperation():
                return self._set_operation(node, ctes)
            case _:
                return self._other(node)

    def _refuse_calls_listed(self, node: exp.Select, ctes: Mapping[str, exp.CTE]) -> None:
        call = next(calls_listed(node), None)
        if call is not None and reads_rows(node, ctes, self.policy):
            raise Unsupported(
                f"{render(call)[:60]} is not supported over private rows among what EXISTS selects",
                because="call-in-exists",
                hint="Write EXISTS (SELECT 1 FROM …).",
            )

    def _with(self, with_: exp.Expr, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Mapping[str, tuple[Kind, exp.CTE]]:
        visible = dict(ctes)
        for cte in with_.expressions:
            name = fold(cte.args["alias"].this)
            itself = names_itself(cte)
            if itself is not False and tables_read(cte.this if itself else with_, self.policy):
                raise Unsupported(
                    "WITH RECURSIVE over a protected table is not supported",
                    because="recursion-over-rows",
                    hint="Aggregate first; a query of the answer may be recursive.",
                )
            kind = self.query(cte.this, visible)
            if kind is Kind.ROWS:
                _name_columns_below(cte)
            visible[name] = (kind, cte)
        return visible

    def _subquery(self, node: exp.Subquery, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        kind = self.query(node.this, ctes)
        if kind is Kind.ROWS:
            refuse_clauses(node, ("limit", "offset", "order", "pivots", "sample", "joins"))
        return kind

    def _set_operation(self, node: exp.SetOperation, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        kinds = {self.query(node.this, ctes), self.query(node.expression, ctes)}
        modified = any(node.args.get(k) for k in ("limit", "offset", "order", "locks"))
        all_rows = isinstance(node, exp.Union) and not node.args.get("distinct") and node is not self.root
        if kinds == {Kind.ROWS} and all_rows and not modified:
            return Kind.ROWS
        if kinds == {Kind.ROWS} and not modified and node is not self.root:
            visible = {name: cte for name, (_, cte) in ctes.items()}
            if (made := rows_of_units(node, visible, self.policy)) is not None:
                node.replace(made)
                return Kind.ROWS
        if Kind.ROWS in kinds:
            if node is not self.root:
                refuse_clauses(node, ("limit", "offset", "order", "locks"))
            raise Unsupported(
                f"{type(node).__name__.upper()} of private rows is not supported",
                because="set-operation-of-rows",
                hint="Aggregate each side first, and put the answers together; UNION ALL of rows may stand in a subquery.",
            )
        return Kind.ANSWER if Kind.ANSWER in kinds else Kind.PUBLIC

    def _other(self, node: exp.Expr) -> Kind:
        read = tables_read(node, self.policy)
        if read and isinstance(node, exp.Lateral):
            refuse_clauses(exp.Select(laterals=[node.copy()]), ("laterals",))
        if read:
            raise Unsupported(
                f'"{render(node)[:60]}" over the protected table "{min(read)}" is not supported',
                because="construct-over-rows",
                hint="Write it without brackets, or as a subquery: FROM (SELECT … FROM … JOIN … ON …) AS t.",
            )
        return Kind.PUBLIC

    def _select(self, node: exp.Select, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        visible = {name: cte for name, (_, cte) in ctes.items()}
        if node is not self.root:
            put_groups_below(node, visible, self.policy)
            put_places_below(node, visible, self.policy)
            cut_at_quantiles(node, visible, self.policy)
        items = self._items(node, ctes)
        of_rows = any(kind is Kind.ROWS for _, kind in items)
        answers = set[int]()
        if not self.alone and next(queries_inside(node), None) is not None:
            come_in = decorrelated(node, visible, self.policy, of_rows=of_rows)
            items += [(item, self._item(item, ctes)) for item in come_in]
            tested = queried(node) if any(kind is Kind.ROWS for _, kind in items) else frozenset[int]()
            nested = [(query, self._nested(query, ctes, tested)) for query in queries_inside(node)]
            answers = {id(query) for query, kind in nested if kind is Kind.ANSWER}
        kinds = [kind for _, kind in items]
        if Kind.ROWS not in kinds:
            return Kind.ANSWER if answers or Kind.ANSWER in kinds else Kind.PUBLIC
        if self.lists:
            items = self._with_lists(node, items, ctes)
        put_groups_in_place(node)
        aggregates = aggregates_of(node)
        below = queries_among_rows(node, aggregates) if answers else ()
        among = [with_all_public(query) for query in below if id(query) in answers]
        among += [item for item, kind in items if kind is Kind.ANSWER]
        self.inner.extend(InnerAnswer(query, visible) for query in among)
        if not (aggregates or node.args.get("group") or node.args.get("distinct")):
            if node is not self.root:  # rows are refused there, for any other words of it
                put_windows_in_place(node)
                refuse_clauses(node, ROW_CLAUSES)
            return Kind.ROWS
        return self._grouped(node, aggregates, answers, visible)

    def _items(self, node: exp.Select, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> list[tuple[exp.Expr, Kind]]:
        """Return what stands in FROM with its kind, once each is followed."""
        before = len(self.scopes), len(self.inner)
        items = [(item, self._item(item, ctes)) for item in from_items(node)]
        rows = [kind for _, kind in items[:2]] == [Kind.ROWS, Kind.ROWS] and before == (
            len(self.scopes),
            len(self.inner),
        )
        if rows and is_full_join(node) and as_two_parts(node, {name: cte for name, (_, cte) in ctes.items()}):
            items = [(item, self._item(item, ctes)) for item in from_items(node)]
        return items

    def _with_lists(
        self, node: exp.Select, items: Sequence[tuple[exp.Expr, Kind]], ctes: Mapping[str, tuple[Kind, exp.CTE]]
    ) -> list[tuple[exp.Expr, Kind]]:
        """Put the session's own tables that stand among private rows there as constants; return what FROM has then."""
        public = [cte for kind, cte in ctes.values() if kind is Kind.PUBLIC]
        beside = [item for item, kind in items if kind is Kind.PUBLIC]
        put_lists([*public, *beside, *queries_inside(node)], self.lists, frozenset(ctes))
        kinds = {id(item): kind for item, kind in items}
        return [(item, kinds.get(id(item), Kind.PUBLIC)) for item in from_items(node)]

    def _grouped(
        self, node: exp.Select, aggregates: tuple[exp.Expr, ...], answers: set[int], visible: Mapping[str, exp.CTE]
    ) -> Kind:
        """Return what a SELECT is that aggregates private rows, groups them, or tells which are distinct."""
        _refuse_distinct_on(node, aggregates)
        grouping = grouping_in(node, aggregates)
        if further := determined(node, grouping, visible, self.policy):
            node.args["group"].set(
                "expressions", [*node.args["group"].expressions, *(element.copy() for element in further)]
            )
            grouping = grouping_in(node, aggregates)
        keys = grouping.keys if answers else ()
        of_keys = (query for key in keys for query in key.find_all(exp.Query) if id(query) in answers)
        self.inner.extend(InnerAnswer(with_all_public(query), visible) for query in of_keys)
        if node is not self.root and groups_by_unit(node, grouping.keys, visible, self.policy):
            grouped = bool(aggregates or node.args.get("group"))  # else it is DISTINCT that groups
            refuse_clauses(node, (*UNIT_CLAUSES, "distinct") if grouped else UNIT_CLAUSES)
            return Kind.ROWS  # of which each is one unit's
        refuse_clauses(node, SCOPE_CLAUSES)
        _refuse_outer_columns(node)
        self.scopes.append(Scope(node, grouping, aggregates, visible, bool(self.alone)))
        return Kind.ANSWER

    def _nested(self, query: exp.Expr, ctes: Mapping[str, tuple[Kind, exp.CTE]], tested: frozenset[int]) -> Kind:
        kind = self.query(query, ctes)
        if kind is Kind.ROWS and id(query) not in tested:
            raise AccessDenied(
                "rows of a protected table can't be read by a subquery",
                because="rows-in-subquery",
                hint="Aggregate them: count, sum, avg …",
            )
        return kind

    def _item(self, item: exp.Expr, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        match item:
            case exp.Table(this=exp.Identifier()):
                return self._table(item, ctes)
            case exp.Table():  # a function
                kinds = {self._nested(query, ctes, frozenset()) for query in queries_below(item)}
                return Kind.ANSWER if Kind.ANSWER in kinds else Kind.PUBLIC
            case exp.Subquery():
                return self._subquery(item, ctes)
            case _:
                return self._other(item)

    def _table(self, item: exp.Table, ctes: Mapping[str, tuple[Kind, exp.CTE]]) -> Kind:
        name = fold(item.this)
        if not item.args.get("db") and name in ctes:
            return ctes[name][0]
        table = declared(item, self.policy)
        if table is None or table.public:
            return Kind.PUBLIC
        refuse_clauses(item, TABLE_CLAUSES)
        return Kind.ROWS


def _name_columns_below(cte: exp.CTE) -> None:
    """Write `WITH t (a, b) AS (…)` as `WITH t AS (SELECT * FROM (…) AS t (a, b))`: of rows, names are followed in FROM."""
    if cte.args["alias"].args.get("columns"):
        alias = cte.args["alias"].copy()
        cte.args["alias"].set("columns", None)
        source = exp.Subquery(this=cte.this, alias=alias)
        cte.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=source)))


def _refuse_distinct_on(node: exp.Select, aggregates: tuple[exp.Expr, ...]) -> None:
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") and not aggregates and not node.args.get("group"):
        raise AccessDenied(
            "DISTINCT ON shows rows of a protected table",
            because="distinct-on-rows",
            hint="Aggregate with GROUP BY: max(x), min(x), avg(x) … of each group; below an aggregate, add the unit.",
        )


def _refuse_outer_columns(node: exp.Select) -> None:
    """Refuse columns of a query around this one: PostgreSQL would say that there is no such table, or column."""
    for column in outer_columns(node):
        raise Unsupported(
            f"{column.sql('postgres')} belongs to a query around this one, which private rows can't refer to",
            because="outer-column",
            hint="Aggregate by that column here, and join the answer.",
        )
