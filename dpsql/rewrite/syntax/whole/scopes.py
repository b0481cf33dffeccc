"""Find, in the tree of a query, every SELECT that aggregates private rows: only there is anything measured.

Bottom-up, each query is of one kind: ROWS (its rows are private rows), ANSWER (it holds released rows only) or PUBLIC.
A construct that would let private rows pass in a way not known here is refused.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from dpsql.errors import AccessDenied, InternalError, Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.model import Policy, Table
from dpsql.question import TemporaryTable
from dpsql.rewrite.ir.literal import literal, quoted_name
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.decorrelate import decorrelate, without_laterals
from dpsql.rewrite.syntax.forms.distinct_on import put_places_below
from dpsql.rewrite.syntax.forms.group_windows import (
    ask_for_groups,
    put_groups_below,
    put_groups_in_place,
    put_levels_apart,
    say_by_other_windows,
)
from dpsql.rewrite.syntax.forms.inner import InnerAnswer, with_all_public
from dpsql.rewrite.syntax.forms.listed_values import list_values
from dpsql.rewrite.syntax.forms.outer_joins import (
    as_answers,
    as_two_parts,
    determined_columns,
    flatten_left_joins,
    inner_joins_for_partners,
    is_full_join,
    lead_with_private_rows,
)
from dpsql.rewrite.syntax.forms.quantified import (
    ask_for_any,
    asks_for_one,
    compare_extremes,
    exist_instead,
    tie_compared,
)
from dpsql.rewrite.syntax.forms.running_totals import add_periods_up
from dpsql.rewrite.syntax.forms.set_operations import make_distinct, rows_of_units
from dpsql.rewrite.syntax.forms.simplify import number_by_key
from dpsql.rewrite.syntax.forms.unpivot import join_constants_instead
from dpsql.rewrite.syntax.named.aggregate_names import (
    aggregates_of,
    function_name,
    put_windows_in_place,
    queries_among_rows,
    queries_below,
    queries_inside,
)
from dpsql.rewrite.syntax.named.columns import Ctes, fold, fresh, from_items, outer_columns, tables_in_from
from dpsql.rewrite.syntax.named.existence import calls_listed, tested_queries
from dpsql.rewrite.syntax.named.grouping import Grouping, grouping_in
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.syntax.read.trees import every, holds, kinds_below

# Queries in other words that mean the same, made before their aggregates are looked for.
#
# No rule is decided here: the new words are followed, and refused, as if a client had written them.


@dataclass(frozen=True, slots=True)
class Form:
    """One form that is written in other words, and the kinds of nodes of which no SELECT has it without one."""

    reword: Callable[[exp.Select, Ctes, Policy], None]
    made_of: tuple[type[exp.Expr], ...]


def _put_below(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Write joins in brackets with a name as a subquery: FROM (a JOIN b …) AS j  →  FROM (SELECT * FROM a JOIN b …) AS j."""
    _ = ctes, policy
    for item in list(from_items(select)):
        if isinstance(item, exp.Subquery) and isinstance(item.this, exp.Table) and item.args.get("alias"):
            table, joins = item.this, item.this.args.get("joins")
            table.set("joins", None)
            item.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=table), joins=joins))


# How to see what a statement becomes: call `find` on its tree and `render` the tree afterwards, or ask EXPLAIN
# (VERBOSE), which shows the engine's SQL. To find out which form has changed it, take the forms away one by one.
FORMS = (
    Form(_put_below, (exp.Subquery,)),
    Form(list_values, (exp.Distinct,)),
    Form(number_by_key, (exp.Anonymous,)),
    Form(flatten_left_joins, (exp.Join,)),
    Form(exist_instead, (exp.Query, exp.Values)),
    Form(compare_extremes, (exp.Exists,)),
    Form(ask_for_any, (exp.Exists, exp.Limit)),
    Form(join_constants_instead, (exp.Join,)),
    Form(put_levels_apart, (exp.Rollup, exp.Cube, exp.GroupingSets)),
    Form(say_by_other_windows, (exp.Window,)),
    Form(ask_for_groups, (exp.Window,)),
    Form(without_laterals, (exp.Lateral,)),
    Form(inner_joins_for_partners, (exp.Join,)),
    Form(lead_with_private_rows, (exp.Join,)),
    Form(as_answers, (exp.Join, exp.Query)),
    Form(add_periods_up, (exp.Join,)),
    Form(tie_compared, (exp.Query,)),
)
"""In the order in which they are looked for: each sees the words of those before it."""


def reword(query: exp.Expr, ctes: Ctes, policy: Policy) -> None:
    """Change one query, not those in it, to words that are followed."""
    match query:
        case exp.SetOperation():
            make_distinct(query, ctes, policy)
        case exp.Select():
            kinds = kinds_below(query)
            for form in FORMS:
                if any(issubclass(kind, form.made_of) for kind in kinds):
                    form.reword(query, ctes, policy)
                    kinds = kinds_below(query)
        case _:
            pass


# The contents of a query's tree: the SELECTs that aggregate private rows, and the rows of the query itself.

Copies = Mapping[int, exp.Expr]
"""The copies of a tree's nodes, by the `id` of each."""


class Kind(Enum):
    """The kind of a query's rows."""

    PUBLIC = "public"
    ROWS = "rows"
    ANSWER = "answer"


@quickly_made
@dataclass(frozen=True, slots=True)
class Scope:
    """One SELECT over private rows that aggregates: its group keys and its aggregate calls, as nodes of the tree."""

    select: exp.Select
    grouping: Grouping
    aggregates: tuple[exp.Expr, ...]
    ctes: Mapping[str, exp.CTE]
    """The CTEs that it can see."""
    alone: bool = False
    """Whether it is known that no other query stands in it."""

    @property
    def keys(self) -> tuple[exp.Expr, ...]:
        """Return the group keys."""
        return self.grouping.keys

    def among(self, copies: Copies) -> "Scope":
        """Return the same scope of a copy.

        Raises:
            KeyError: not all of it stands in the tree.
        """
        keys, calls = ([copies[id(node)] for node in part] for part in (self.keys, self.aggregates))
        select = copies[id(self.select)]
        assert isinstance(select, exp.Select)
        return Scope(
            select, Grouping(tuple(keys), self.grouping.sets), tuple(calls), _among(self.ctes, copies), self.alone
        )


@quickly_made
@dataclass(frozen=True, slots=True)
class FoundScopes:
    """All scopes of a query, and what the whole query is."""

    kind: Kind
    scopes: tuple[Scope, ...]
    inner: tuple[InnerAnswer, ...] = ()
    """The inner queries that are answered before its rows are measured, but for those within one another."""
    alone: tuple[exp.Expr, ...] = field(default=(), compare=False, repr=False)
    """The nodes of a query with no other in it, where they are known."""

    @property
    def own(self) -> tuple[Scope, ...]:
        """Return the scopes that stand in none of the inner queries."""
        if not self.inner:
            return self.scopes
        within = {id(node) for answer in self.inner for node in answer.node.walk()}
        return tuple(scope for scope in self.scopes if id(scope.select) not in within)

    def among(self, copies: Copies) -> "FoundScopes | None":
        """Return the same of a copy of the query; None where it is to be looked for again."""
        try:
            scopes = tuple(scope.among(copies) for scope in self.scopes)
            inner = tuple(InnerAnswer(copies[id(answer.node)], _among(answer.ctes, copies)) for answer in self.inner)
        except KeyError:
            return None
        return FoundScopes(self.kind, scopes, inner)


def _among(ctes: Mapping[str, exp.CTE], copies: Copies) -> Mapping[str, exp.CTE]:
    copied = {name: copies[id(cte)] for name, cte in ctes.items()}
    return {name: cte for name, cte in copied.items() if isinstance(cte, exp.CTE)}


# A session's own temporary tables among private rows, as the constants that they are at that moment.
#
# FROM trips t JOIN mine m ON m.zone = t.zone  →  FROM trips t JOIN (VALUES (7, 'north'), (8, 'south')) AS m (zone, part) ON …
#
# Claim: these are the rows that the session sees in the table, which it has written itself or was answered: nothing comes to
# planning that its client does not know. A statement is planned anew when they change, for they are part of it.

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
    tree = parse_query(text)
    if tree is None:
        raise InternalError
    made: exp.Expr = tree.args["from_"].this.pop()
    made.args["alias"].set("this", (table.args["alias"].this if table.args.get("alias") else table.this).copy())
    return made


def _cell(text: str | None, type_: str) -> str:
    return f"CAST({'NULL' if text is None else literal(text)} AS {type_})"


# Groups of as many rows each, over everybody: cut at quantiles that are released first.
#
# SELECT fare, ntile(4) OVER (ORDER BY fare) AS q FROM trips
# →  SELECT fare, CASE WHEN fare <= cuts."1" THEN 1 WHEN fare <= cuts."2" THEN 2 WHEN fare <= cuts."3" THEN 3 ELSE 4 END AS q
#    FROM trips CROSS JOIN (
#      SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY fare) AS "1", percentile_disc(0.5) …, … FROM trips) AS cuts
#
# It does not mean quite the same: rows with one value are in one group, where PostgreSQL puts some of them into the next one,
# and quantiles have noise. A place among everybody's rows is anybody's; whether a value is above a released one is its own.

_ROWS = ("from_", "joins", "where")
_CLAUSES = frozenset({*_ROWS, "expressions", "with_", "windows", "kind", "distinct"})
# Each cut is a quantile that has its share of ε.
_MOST = 100
"""Groups that one statement is cut into."""


def cut_at_quantiles(select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Change the `ntile(n) OVER (ORDER BY x)` of a SELECT of private rows; any other SELECT stays."""
    if any(value and key not in _CLAUSES for key, value in select.args.items()) or aggregates_of(select):
        return
    if not any(holds(output, exp.Window) for output in select.expressions) or not reads_rows(select, ctes, policy):
        return
    put_windows_in_place(select)
    windows = [window for output in select.expressions for window in every(output, exp.Window)]
    rows = exp.Select(**{key: select.args.get(key) for key in _ROWS}).copy()
    for window in windows:
        number, term = _groups(window), _ordered(window)
        if number is None or term is None or holds(term, exp.Query):
            continue
        alias = fresh(f"quantiles of {render(term.this)}"[:50], tables_in_from(select))
        cuts = _cuts(rows, term.this, number)
        name = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        select.append("joins", exp.Join(this=exp.Subquery(this=cuts, alias=name), kind="CROSS"))
        window.replace(_group(term, number, alias))


def _groups(window: exp.Window) -> int | None:
    """Return into how many groups everybody's rows are cut; None where they are not, or it is another window."""
    args = getattr(window.this, "expressions", [])
    others = any(window.args.get(key) for key in ("partition_by", "spec", "alias", "first"))
    if function_name(window.this) != "ntile" or others or len(args) != 1 or not isinstance(args[0], exp.Literal):
        return None
    number = int(args[0].name) if args[0].name.isdecimal() else 0
    return number if 1 < number <= _MOST else None


def _ordered(window: exp.Window) -> exp.Ordered | None:
    """Return the one key by which the rows are ordered, with NULL where PostgreSQL has it by itself."""
    order = window.args.get("order")
    terms = order.expressions if order is not None else []
    if len(terms) != 1 or not isinstance(terms[0], exp.Ordered):
        return None
    first = bool(terms[0].args.get("nulls_first"))
    return terms[0] if first == bool(terms[0].args.get("desc")) else None


def _cuts(rows: exp.Select, by: exp.Expr, number: int) -> exp.Select:
    """Return the query for the values at which the groups of rows end."""
    query, outputs = rows.copy(), []
    for place in range(1, number):
        share = exp.Div(this=exp.cast(exp.Literal.number(place), "double"), expression=exp.Literal.number(number))
        call = exp.Anonymous(this="percentile_disc", expressions=[share])
        within = exp.WithinGroup(this=call, expression=exp.Order(expressions=[exp.Ordered(this=by.copy())]))
        outputs.append(exp.alias_(within, f"{place}", quoted=True))
    query.set("expressions", outputs)
    return query


def _group(term: exp.Ordered, number: int, cuts: str) -> exp.Expr:
    """Return in which group a row is; one without a value is in the last one, or in the first where order falls."""
    case, down = exp.Case(), bool(term.args.get("desc"))
    for place in range(1, number):
        cut = exp.column(f"{place}", cuts, quoted=True)
        within = (exp.LT if down else exp.LTE)(this=term.this.copy(), expression=cut)
        case = case.when(within, exp.Literal.number(number + 1 - place if down else place), copy=False)
    return exp.Paren(this=case.else_(exp.Literal.number(1 if down else number), copy=False))


# Clauses that can't stand on private rows, each with what is answered instead.
#
# SELECT count(*) FROM trips TABLESAMPLE SYSTEM (1)  →  "TABLESAMPLE on private rows is not supported", and: leave it out

ROW_CLAUSES = (
    "limit", "offset", "distinct", "windows", "locks", "having", "qualify", "into", "laterals", "sample", "connect", "match",
)  # fmt: skip
UNIT_CLAUSES = tuple(clause for clause in ROW_CLAUSES if clause not in {"distinct", "having"})
SCOPE_CLAUSES = (
    "locks", "qualify", "laterals", "sample", "connect", "match", "hint", "exclude", "operation_modifiers",
)  # fmt: skip
TABLE_CLAUSES = (
    "sample", "pivots", "laterals", "version", "hints", "ordinality", "when", "partition", "changes", "rows_from",
)  # fmt: skip

_NAMES: Mapping[str, str] = {
    "sample": "TABLESAMPLE", "pivots": "PIVOT", "locks": "FOR UPDATE or FOR SHARE", "laterals": "LATERAL",
    "windows": "WINDOW", "order": "ORDER BY",
}  # fmt: skip
_ON_AN_ANSWER = "It may stand on an answer: SELECT … FROM (SELECT x, count(*) … GROUP BY x) AS a ORDER BY … LIMIT 10."
_INSTEAD: Mapping[str, str] = {
    "limit": f"Choose rows by a condition, such as WHERE t >= '2019-03-08'. {_ON_AN_ANSWER}",
    "offset": f"Choose rows by a condition, such as WHERE t >= '2019-03-08'. {_ON_AN_ANSWER}",
    "sample": "Leave it out: all rows are counted with no more noise than a part of them.",
    "pivots": "Ask for each column by itself: count(*) FILTER (WHERE x = 'a'), count(*) FILTER (WHERE x = 'b').",
    "locks": "Leave it out: an answer locks nothing.",
    "qualify": "Write it around the answer: SELECT * FROM (SELECT …, rank() OVER (…) AS r … GROUP BY …) AS a WHERE r <= 3.",
    "laterals": "Write what it computes in a subquery: SELECT … FROM (SELECT fare * 2 AS d FROM trips) AS t.",
    "order": _ON_AN_ANSWER,
}
_ERRORS: Mapping[str, type[Unsupported | AccessDenied]] = {"limit": AccessDenied, "offset": AccessDenied}


def refuse_clauses(node: exp.Expr, clauses: tuple[str, ...]) -> None:
    """Refuse a query, or an element of FROM, of private rows that has one of these.

    Raises:
        AccessDenied: it would choose rows one by one.
        Unsupported: it has another.
    """
    for clause in clauses:
        if node.args.get(clause):
            raise _ERRORS.get(clause, Unsupported)(
                f"{_NAMES.get(clause, clause.rstrip('_').upper())} on private rows is not supported",
                because="clause-on-rows",
                hint=_INSTEAD.get(clause, "Aggregate first: count, sum, avg … with GROUP BY."),
            )


def tables_read(tree: exp.Expr, policy: Policy) -> frozenset[str]:
    """Return the names of the protected tables and views that occur anywhere; CTEs of the same name count too."""
    names = (fold(table.this) for table in every(tree, exp.Table))
    return frozenset(name for name in names if policy.protects(name))


def declared_table(table: exp.Table, policy: Policy) -> Table | None:
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
    # An inner query within another one is asked as a part of that: only the outermost wait for releases of their own.
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
        # UNION ALL of rows keeps each row and its owner. UNION without ALL takes away a row that somebody else has,
        # too: what one unit has would depend on others, so it is rows only where the unit is one of the columns.
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
            # The root is what the client gets: rows at the root are refused whatever their words are, so there is
            # nothing to reword. Below it rows are read by an aggregate.
            put_groups_below(node, visible, self.policy)
            put_places_below(node, visible, self.policy)
            cut_at_quantiles(node, visible, self.policy)
        items = self._items(node, ctes)
        of_rows = any(kind is Kind.ROWS for _, kind in items)
        answers = set[int]()
        if not self.alone and next(queries_inside(node), None) is not None:
            come_in = decorrelate(node, visible, self.policy, of_rows=of_rows)
            items += [(item, self._item(item, ctes)) for item in come_in]
            tested = tested_queries(node) if any(kind is Kind.ROWS for _, kind in items) else frozenset[int]()
            # What a subquery may be beside private rows: public (planning asks for it once), a test of the WHERE
            # (EXISTS, IN), which is a semi-join of rows, or an answer, which is released first. Anything else would be
            # rows.
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
            # A SELECT of rows in FROM: a relation, of which the SELECT around it aggregates.
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
        if further := determined_columns(node, grouping, visible, self.policy):
            node.args["group"].set(
                "expressions", [*node.args["group"].expressions, *(element.copy() for element in further)]
            )
            grouping = grouping_in(node, aggregates)
        keys = grouping.keys if answers else ()
        of_keys = (query for key in keys for query in key.find_all(exp.Query) if id(query) in answers)
        self.inner.extend(InnerAnswer(with_all_public(query), visible) for query in of_keys)
        # GROUP BY the unit makes one row of each unit's rows: these are private rows again, of which each unit has one.
        # They are no answer, and have no noise: what is around them aggregates them.
        if node is not self.root and groups_by_unit(node, grouping.keys, visible, self.policy):
            grouped = bool(aggregates or node.args.get("group"))  # else it is DISTINCT that groups
            refuse_clauses(node, (*UNIT_CLAUSES, "distinct") if grouped else UNIT_CLAUSES)
            return Kind.ROWS  # of which each is one unit's
        refuse_clauses(node, SCOPE_CLAUSES)
        _refuse_outer_columns(node)
        # Here is what the whole of `find` is for: from here on the SELECT is a measurement with keys and aggregates,
        # and what is around it reads released values.
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
        # PostgreSQL looks for a CTE first, but only where no schema is written.
        if not item.args.get("db") and name in ctes:
            return ctes[name][0]
        table = declared_table(item, self.policy)
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
            f"{render(column)} belongs to a query around this one, which private rows can't refer to",
            because="outer-column",
            hint="Aggregate by that column here, and join the answer.",
        )
