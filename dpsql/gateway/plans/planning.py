"""From a statement to its measurements: the stages resolve, track and measure.

Nothing here reads a record: it all depends on the statement, the policy and public rows only.
"""

import hashlib
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from sqlglot import exp

from dpsql.errors import InternalError, MissingBounds, Unsupported
from dpsql.gateway.plans.tracked_scopes import (
    AnswerBounds,
    ScopePlan,
    StatementPlan,
    TrackedScope,
    in_pieces,
    placeholder,
    tracked_scope,
)
from dpsql.policy.model import Column, EmptyGroups, Policy, SqlType
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.planner import PlanningContext, measure
from dpsql.question import Argument, ColumnDescription
from dpsql.rewrite.analysis.declared_facts import PublicRows
from dpsql.rewrite.analysis.keys import are_not_listed
from dpsql.rewrite.bind.bound_reader import Binder, KnownForms, PlanningShadow
from dpsql.rewrite.functions.table import describe
from dpsql.rewrite.ir.constant_table import DeferredTable, deferred_table
from dpsql.rewrite.ir.literal import TYPES, PublicAnswer, SpelledSql, quoted_name
from dpsql.rewrite.ir.relation import awaited_tables
from dpsql.rewrite.syntax.forms.inner import InnerAnswer
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name
from dpsql.rewrite.syntax.named.columns import fold, from_items, output_name
from dpsql.rewrite.syntax.named.grouping import Grouping
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Query, Statement, Wrap
from dpsql.rewrite.syntax.read.trees import copy_tree, every, holds
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, answer_views_as_subqueries
from dpsql.rewrite.syntax.whole.constant_probes import without_failing
from dpsql.rewrite.syntax.whole.scopes import Scope, find, tables_read
from dpsql.rewrite.syntax.whole.single_row import (
    Released,
    ReleasedRows,
    depends_on_nothing,
    has_more_rows,
    has_values,
    is_written_value,
    several_rows,
    values_of_several_rows,
)
from dpsql.rewrite.syntax.whole.splice import (
    drop_private_ctes,
    is_counted,
    leave_out_hidden,
    probe,
    ranked_rows,
    replace_scope,
)
from dpsql.rewrite.translate.public.constants import Constants, require_known_type
from dpsql.rewrite.translate.public.public_queries import require_names, spelled_public, with_ctes_in_place
from dpsql.rewrite.translate.rows.aggregates import DistinctTuples
from dpsql.rewrite.translate.rows.relations import Tracker, require_views, value_of_several_rows

# See that what stands for one value in a planned statement has one row at most: PostgreSQL would fail when it is paid.


def known_rows(released: Released, policy: Policy, rows: PublicRows) -> Released:
    """Return the facts about the rows of answers, and of public tables."""
    public = {
        name: ReleasedRows(
            len(next(iter(columns.values()), ())),
            None if policy.tables[name].key is None else frozenset({policy.tables[name].key or ""}),
            tuple(columns),
            columns,
        )
        for name, columns in rows.items()
        if name in policy.tables
    }
    return {**public, **released}


def trials_of_values(tree: exp.Query, policy: Policy) -> Iterator[str]:
    """Yield what fails if something that stands for one value in a query has several rows, and depends on no answer."""
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), {}):
        if not tables_read(subquery, policy) and depends_on_nothing(subquery, tree):
            # IS NULL has PostgreSQL read the value: with several rows it fails, in its own words, and sends nothing of them.
            yield f"SELECT {render(subquery)} IS NULL"


def trials_beside(statement: Statement, policy: Policy) -> Iterator[str]:
    """Yield the same of the queries that a statement has beside those that are answered."""
    for beside in statement.beside:
        tree = beside.query.tree
        yield from trials_of_values(tree, policy)
        flat = with_ctes_in_place(tree, {})
        if (
            not is_written_value(beside.before, beside.behind)
            or tables_read(flat, policy)
            or not several_rows(flat, {})
        ):
            continue
        if depends_on_nothing(exp.Subquery(this=flat), tree) and not beside.reads_row:
            yield f"SELECT ({render(tree)}) IS NULL"


def require_values_beside(statement: Statement, released: Released, policy: Policy) -> None:
    """See that what reads an answer beside it, by the name of a CTE, has one row at most where it stands for one value.

    Raises:
        Unsupported: it may have several rows.
    """
    for beside in statement.beside:
        flat = with_ctes_in_place(beside.query.tree, {})
        values = [value for value in values_of_several_rows(flat, released) if tables_read(value, policy)]
        if (
            is_written_value(beside.before, beside.behind)
            and tables_read(flat, policy)
            and several_rows(flat, released)
        ):
            values.append(exp.Subquery(this=flat))
        if values:
            raise value_of_several_rows()


def require_values(tree: exp.Query, asked: exp.Query, released: Released, answers: Mapping[str, object]) -> None:
    """See that what stands for one value in a query over `answers` has one row at most; `asked` is it as it was asked.

    Of what depends on no answer the session has tried whether it has.

    Raises:
        Unsupported: one of them may have several rows.
    """
    if not has_values(tree):
        return
    for subquery in values_of_several_rows(with_ctes_in_place(tree, {}), released):
        read = {table.name for table in every(subquery, exp.Table)}
        if read & answers.keys() or not depends_on_nothing(subquery, asked):
            raise value_of_several_rows()


def in_parentheses(statement: Statement) -> bool:
    """Return whether a query of a statement stands in parentheses that are not the query's."""
    return any("(" in text for text in statement.around[:-1])


def require_written_value(statement: Statement, place: int, tree: exp.Query, released: Released) -> None:
    """See that the query in one place of a statement has one row at most, if what is written around it wants one value.

    Raises:
        Unsupported: it may have several rows.
    """
    around = statement.around[place : place + 2]
    if statement.wrap is Wrap.COPY or not is_written_value(*around):
        return
    if several_rows(with_ctes_in_place(tree, {}), released):
        raise value_of_several_rows()


# Counts of groups that are selected by noise: those that there are, and not those that are shown.
#
# SELECT count(*) FROM (SELECT DISTINCT code, total FROM …) AS v  →  SELECT count(DISTINCT (code, total)) FROM …
#
# Where the groups of a list are declared, their number follows from the policy, and nothing is changed.

_NUMBER = ColumnDescription("a0", 20, -1, "bigint")
_COUNTS = frozenset({"count", "regr_count"})
_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not)
_LIST_ALONE = ("having", "limit", "offset", "fetch", "windows", "qualify")
_COUNT_ALONE = ("where", "group", "joins", "laterals", "windows", "distinct")


@dataclass(frozen=True, slots=True)
class GroupCount:
    """A SELECT that says how many groups another one has, and nothing else of them."""

    scope: Scope

    def match(self, node: exp.Expr) -> str | None:
        """Return the column of the answer that a node is: every count is the one number."""
        return "a0" if function_name(node) == "count" else None

    @property
    def columns(self) -> tuple[ColumnDescription, ...]:
        """Return the columns of the answer."""
        return (_NUMBER,)


def group_count(scope: Scope) -> GroupCount | None:
    """Return the SELECT that counts a scope's groups, if nobody else reads them and it does nothing else."""
    listed, query = scope.select, next(_in_from(scope.select), None)
    alone = query is not None and next(from_items(query), None) is not None and len(list(_in_from(listed))) == 1
    if query is None or not alone or not _is_plain(scope):
        return None
    calls = aggregates_of(query)
    if not calls or any(query.args.get(clause) for clause in _COUNT_ALONE) or not all(map(_is_of_rows, calls)):
        return None
    if any(holds(output, exp.Window) for output in query.expressions):
        return None
    return GroupCount(Scope(query, Grouping((), ((),)), calls[:1], scope.ctes))


def refuse_to_count(select: exp.Select) -> None:
    """See that nothing counts the groups of a SELECT, which are selected.

    Raises:
        Unsupported: something does.
    """
    if any(map(_counts, _readers(select))) or any(map(_is_count_window, select.find_all(exp.Window))):
        raise Unsupported(
            "count() over groups that are selected by noise would count those that are shown, not those that there are",
            because="count-of-selected-groups",
            hint="count(DISTINCT (a, b)) counts the values that there are. CREATE TEMP TABLE shown AS SELECT … keeps the "
            "groups that are shown, and their number is that of its rows.",
        )


def _is_plain(scope: Scope) -> bool:
    """Return whether each group of a scope is one row of its SELECT."""
    select = scope.select
    if not scope.grouping.plain or not scope.keys or any(select.args.get(clause) for clause in _LIST_ALONE):
        return False
    if select.args.get("distinct") is not None and (select.args.get("group") or scope.aggregates):
        return False
    return not has_more_rows(select) and not any(holds(output, exp.Query, exp.Window) for output in select.expressions)


def _is_of_rows(call: exp.Expr) -> bool:
    """Return whether an aggregate is count(*), or of a constant."""
    return function_name(call) == "count" and all(
        isinstance(part, (exp.Star, exp.Literal, exp.Boolean)) for part in call.expressions
    )


def _in_from(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs in whose FROM a query stands alone, as itself or by its name."""
    parent = query.parent
    match parent:
        case exp.Subquery():
            above = parent.parent
            if isinstance(above, exp.From) and isinstance(above.parent, exp.Select):
                yield above.parent
        case exp.CTE():
            for place in _names(parent):
                above = place.parent
                if isinstance(above, exp.From) and isinstance(above.parent, exp.Select):
                    yield above.parent
                else:
                    yield exp.Select()  # something else, which counts nothing alone
        case _:
            pass


def _readers(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs that have a query's rows in FROM, alone or among others, and those that have theirs, each once."""
    seen, waiting = set[int](), [query]
    while waiting:
        node = waiting.pop()
        parent = node.parent
        match parent:
            case exp.Subquery() | exp.SetOperation() | exp.From() | exp.Join() | exp.Lateral():
                waiting.append(parent)
            case exp.CTE() if id(parent) not in seen:
                seen.add(id(parent))
                waiting += _names(parent)
            case exp.Select() if id(parent) not in seen and not isinstance(node, exp.Query):
                seen.add(id(parent))
                yield parent
                waiting.append(parent)
            case _:
                pass


def _names(cte: exp.CTE) -> list[exp.Table]:
    """Return where a CTE's rows are read by its name."""
    name = fold(cte.args["alias"].this)
    places = every(cte.root(), exp.Table)
    return [place for place in places if fold(place.this) == name and not place.args.get("db")]


def _counts(query: exp.Select) -> bool:
    of_windows = (window for output in query.expressions for window in output.find_all(exp.Window))
    return any(map(_is_count, aggregates_of(query))) or any(map(_is_count_window, of_windows))


def _is_count_window(window: exp.Window) -> bool:
    return _is_count(window.this)


def _is_count(call: exp.Expr) -> bool:
    """Return whether an aggregate says how many rows there are, or how many of some kind: count(x), or sum(1)."""
    call = call.this if isinstance(call, exp.Filter) else call
    name = function_name(call)
    return name in _COUNTS or (name == "sum" and all(map(_is_written, call.expressions)))


def _is_written(value: exp.Expr | None) -> bool:
    """Return whether a value stands in the statement, or is one of several that do."""
    match value:
        case exp.Case():
            return all(_is_written(part.args.get("true")) for part in value.args["ifs"]) and _is_written(
                value.args.get("default")
            )
        case exp.Cast(this=of) if isinstance(of.unnest(), _CONDITIONS):
            return True
        case exp.Cast() | exp.Paren() | exp.Neg():
            return _is_written(value.this)
        case _:
            return value is None or isinstance(value, (exp.Literal, exp.Null, exp.Boolean))


# EXCEPT and INTERSECT of lists with all declared values: they would say nothing about the rows in the table.
#
# SELECT zone_id FROM zones EXCEPT SELECT zone FROM trips
# →  refused: every declared zone is in the second list, with rows or without, so that the answer would be empty for any table


def follows_from_the_policy(scope: ScopePlan) -> bool:
    """Return whether the rows of a scope are declared groups, of which nothing is measured."""
    groups = scope.plan.groups
    return bool(groups.keys and not scope.plan.parts and groups.shown)


def refuse_to_compare(tree: exp.Query, declared: Collection[int]) -> None:
    """See that no part of EXCEPT or INTERSECT is a list of declared groups; `declared` are their SELECTs' ids.

    Raises:
        Unsupported: one is.
    """
    if not declared:
        return
    ctes = {fold(cte.args["alias"].this): cte for cte in every(tree, exp.CTE)}
    for node in every(tree, exp.SetOperation):
        if isinstance(node, exp.Union):
            continue
        for part in (node.this, node.expression):
            declared_list = next((each for each in _lists(part, ctes) if id(each) in declared), None)
            if declared_list is not None:
                word = type(node).__name__.upper()
                raise Unsupported(
                    f"{word} of a list that has every declared value, also those without rows, would say nothing",
                    because="list-of-declared-values",
                    hint="SET dpsql.empty_groups = 'hide' lists values that have rows; or choose them by their number: "
                    "SELECT zone FROM trips GROUP BY zone HAVING count(*) > 20.",
                )


def _lists(query: exp.Expr | None, ctes: Mapping[str, exp.CTE]) -> Iterator[exp.Select]:
    """Yield the SELECTs whose rows a query passes on as they are."""
    match query:
        case exp.Select():
            yield query
            if not (query.args.get("group") or aggregates_of(query)):
                for item in from_items(query):
                    yield from _lists(item, ctes)
        case exp.Subquery():
            yield from _lists(query.this, ctes)
        case exp.SetOperation():
            yield from _lists(query.this, ctes)
            yield from _lists(query.expression, ctes)
        case exp.Table(this=exp.Identifier()) if not query.args.get("db") and fold(query.this) in ctes:
            name = fold(query.this)
            # Without itself, so that a name that a CTE reads within itself does not lead in a circle.
            yield from _lists(ctes[name].this, {other: cte for other, cte in ctes.items() if other != name})
        case _:
            pass


# Inner queries over released rows, as the shadow that planning asks is asked them.


def released(name: str) -> str:
    """Return what stands in a spelled text for the released rows that have this name."""
    return f'"public".{quoted_name(name)}'


def asked(tree: exp.Expr, constants: Constants) -> SpelledSql:
    """Return a query over released rows, its CTEs in their places, as the shadow is asked it.

    Raises:
        Unsupported: it has something that this shadow is not asked.
    """
    spelled = spelled_public(tree, constants)
    if spelled is None or spelled.volatile:  # what moves would be another question each time
        raise Unsupported(
            "an answer that decides which private rows count can't be computed like this",
            because="answer-among-rows",
            hint="Ask for the inner answer first and write its values into this statement.",
        )
    return spelled


def awaited(
    place: int, text: str, fields: PublicAnswer, *, several: bool, columns: Mapping[str, Column]
) -> DeferredTable:
    """Return the table that the answer to an inner query will be, of which it is known whether it may have `several` rows.

    Those of `columns` are within bounds.

    Raises:
        Unsupported: a column has no name of its own, or a type that can't stand beside private rows.
    """
    require_names(fields.names)
    for type_ in fields.types:
        require_known_type(type_)
    token = hashlib.sha256(text.encode()).hexdigest()
    types = tuple(TYPES[type_] for type_ in fields.types)
    bounds = {
        name: within
        for name, type_ in zip(fields.names, types, strict=True)
        if name in columns and columns[name].type.is_temporal == type_.is_temporal
        if (within := columns[name].bounds) is not None
    }
    return deferred_table(place, token, fields.names, types, several=several, bounds=bounds)


@dataclass(frozen=True, slots=True)
class Described:
    """The shadow's words about the columns of probes."""

    binder: Binder
    types: Sequence[str]
    known: KnownForms
    tables: Hashable
    """The tables that the session has of its own."""
    descriptions: dict[str, Sequence[ColumnDescription]] = field(default_factory=dict)

    def ask(self, probes: Sequence[str]) -> None:
        """Ask for some at once."""
        given = tuple(self.types), self.tables
        for text in set(probes) - self.descriptions.keys():
            if (columns := self.known.columns(text, given)) is not None:
                self.descriptions[text] = columns
        # All that are missing in one round trip.
        missing = [text for text in dict.fromkeys(probes) if text not in self.descriptions]
        for text, columns in zip(missing, self.binder.describe(missing, self.types) if missing else (), strict=True):
            self.descriptions[text] = columns
            self.known.keep_columns(text, given, columns)

    def of(self, text: str) -> Sequence[ColumnDescription]:
        """Return the columns of one."""
        self.ask([text])
        return self.descriptions[text]


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """One query with its scopes, and the columns that the shadow has described for each."""

    query: Query
    tree: exp.Query
    """A copy of the query's, which `measure` changes."""
    scopes: tuple[tuple[Scope, Sequence[ColumnDescription]], ...]
    inner: tuple[InnerAnswer, ...]
    """The inner queries that its scopes wait for."""
    nodes: Sequence[exp.Expr]
    """All nodes of the tree before it is changed, each behind the nodes in it."""


@dataclass(frozen=True, slots=True)
class ResolvedStatement:
    """A statement whose names and types are PostgreSQL's own."""

    statement: Statement
    queries: tuple[ResolvedQuery, ...]
    described: Described


@dataclass(frozen=True, slots=True)
class TrackedStatement:
    """A statement whose columns have their tables and ranges: the scopes query by query."""

    statement: Statement
    queries: tuple[tuple[ResolvedQuery, tuple[TrackedScope, ...]], ...]
    inner: tuple[StatementPlan, ...]
    """The plans of its inner queries."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans statements of one role; each stage takes what the one before it returns.

    Raises:
        DpsqlError: at any stage, where the statement can't be answered.
    """

    policy: Policy
    context: PlanningContext
    evaluator: PlanningShadow
    known: KnownForms = field(default_factory=KnownForms)
    """What the shadow said of texts of the same form."""
    tables: Hashable = ()
    """The tables that the session has of its own."""

    def resolve(self, analyzed: AnalyzedStatement, arguments: Sequence[Argument]) -> ResolvedStatement:
        """Return the statement with what the shadow says of the columns of its scopes."""
        if analyzed.statement is None:
            raise InternalError
        described = Described(self.evaluator, [argument.type for argument in arguments], self.known, self.tables)
        probes = [list(map(probe, of_query.scopes)) for of_query in analyzed.found_scopes]
        described.ask(list(chain.from_iterable(probes)))
        queries = []
        for query, of_query, texts in zip(analyzed.statement.queries, analyzed.found_scopes, probes, strict=True):
            copies: dict[int, exp.Expr] = {}
            # A copy: answers are put into it, and the analyzed statement is remembered for the next who asks.
            tree = copy_tree(query.tree, copies)
            found_scopes = of_query.among(copies) or find(tree, self.policy)
            text_of = dict(zip(map(id, found_scopes.scopes), texts, strict=True))
            scopes = tuple((scope, described.of(text_of[id(scope)])) for scope in found_scopes.own)
            queries.append(ResolvedQuery(query, tree, scopes, found_scopes.inner, tuple(reversed(copies.values()))))
        return ResolvedStatement(analyzed.statement, tuple(queries), described)

    def track(self, resolved: ResolvedStatement, arguments: Sequence[Argument]) -> TrackedStatement:
        """Return the statement with the facts about its rows, scope by scope."""
        constants = Constants(arguments, self.evaluator)
        queries, inner = [], list[StatementPlan]()
        for query in resolved.queries:
            require_views(self.context.role, query.nodes)
            answers: dict[int, DeferredTable] = {}
            for answer in query.inner:
                plan, table = self._inner(answer, resolved.described, constants, len(inner))
                answers[id(answer.node)] = table
                inner.append(plan)
            tracker = self._tracker(constants, answers)
            queries.append((query, tuple(tracked_scope(scope, fields, tracker) for scope, fields in query.scopes)))
        return TrackedStatement(resolved.statement, tuple(queries), tuple(inner))

    def _tracker(self, constants: Constants, answers: Mapping[int, DeferredTable]) -> Tracker:
        context = self.context
        return Tracker(self.policy, context.role, constants, context.declared, context.unique, answers)

    def _inner(
        self, answer: InnerAnswer, described: Described, constants: Constants, place: int
    ) -> tuple[StatementPlan, DeferredTable]:
        """Return the plan of an inner query, and the table that its answer will be."""
        tree = answer.query
        text = render(tree)
        query, inside = Query(text, tree, 0), find(tree, self.policy)
        scopes = tuple((scope, described.of(probe(scope))) for scope in inside.own)
        resolved = ResolvedQuery(query, tree, scopes, inside.inner, every(tree, exp.Expr)[::-1])
        statement = ResolvedStatement(Statement(Wrap.NOTHING, ("", ""), (query,)), (resolved,), described)
        tracked = self.track(statement, constants.arguments)
        every_scope = [scope for _, of_query in tracked.queries for scope in of_query]
        columns = AnswerBounds.of(every_scope, constants, self.context.declared).outputs(tree)
        named_plans, _ = self._answered(tracked)
        rows = known_rows({name: scope.rows for name, scope in named_plans}, self.policy, self.context.rows)
        flat = with_ctes_in_place(tree, {})
        plan = in_pieces(
            [(released(name), scope) for name, scope in named_plans], asked(flat, constants).text, tracked.inner
        )
        if any(True for _ in values_of_several_rows(flat, rows)):
            raise value_of_several_rows()
        # Over no rows: names and types are known by this, before anything is measured.
        fields = self.evaluator.rows(SpelledSql(plan.over([] for _ in plan.scopes)))
        return plan, awaited(place, text, fields, several=several_rows(flat, rows), columns=columns)

    def measure(self, tracked: TrackedStatement) -> StatementPlan:
        """Return what has to be measured for the statement, and its text without the private rows."""
        named_plans, trees = self._answered(tracked)
        self._require_values(tracked, trees, named_plans)
        text = tracked.statement.text([render(tree) for tree in trees])
        return in_pieces([(f'"{name}"', scope) for name, scope in named_plans], text, tracked.inner)

    def _require_values(
        self, tracked: TrackedStatement, trees: Sequence[exp.Query], named_plans: Sequence[tuple[str, ScopePlan]]
    ) -> None:
        """See that PostgreSQL will find one row at most wherever it is to find a value."""
        nested = any(_has_subquery(resolved) for resolved, _ in tracked.queries)
        if not (nested or tracked.statement.beside or in_parentheses(tracked.statement)):
            return
        answers = {name: scope.rows for name, scope in named_plans}
        released_rows = known_rows(answers, self.policy, self.context.rows)
        require_values_beside(tracked.statement, released_rows, self.policy)
        for place, ((resolved, _), tree) in enumerate(zip(tracked.queries, trees, strict=True)):
            require_values(tree, resolved.query.tree, released_rows, answers)
            require_written_value(tracked.statement, place, tree, released_rows)

    def _answered(self, tracked: TrackedStatement) -> tuple[list[tuple[str, ScopePlan]], list[exp.Query]]:
        """Return the scopes by the names that stand in their places, and the queries over these."""
        named_plans: list[tuple[str, ScopePlan]] = []
        trees, context = [], self.context
        for resolved, scopes in tracked.queries:
            places = [placeholder(resolved.query, index) for index, _ in enumerate(scopes)]
            pairs = [_planned(scope, context) for scope in scopes]
            declared = {
                id(tracked_scope.scope.select) for tracked_scope, plan in pairs if follows_from_the_policy(plan)
            }
            # Before answers stand in the places of these SELECTs, by which declared lists are told.
            refuse_to_compare(resolved.tree, declared)
            for (scope, scope_plan), place in zip(pairs, places, strict=True):
                if scope_plan.plan.hides_empty or scope_plan.plan.units is not None:
                    leave_out_hidden(scope.scope.select)
                names = [output_name(output) for output in scope.scope.select.expressions]
                # Quotients are changed around their aggregates, which `replace_scope` then takes away.
                for quotient in scope.quotients():
                    quotient.keep_possible(context.declared)
                replace_scope(scope.scope, scope.match, names, place)
            answer_views_as_subqueries(resolved.nodes)
            drop_private_ctes(resolved.tree, self.policy)
            without_failing(resolved.tree)
            named_plans += zip(places, (plan for _, plan in pairs), strict=True)
            trees.append(resolved.tree)
        return named_plans, trees


def _has_subquery(resolved: ResolvedQuery) -> bool:
    """Return whether there was any query in a query that may stand for a value; nothing that is made later does."""
    return any(isinstance(node, exp.Subquery) for node in resolved.nodes)


def _of_scope(context: PlanningContext, tracked: TrackedScope) -> PlanningContext:
    """Return what is public with what a scope decides: what becomes of groups that may be empty, and what is divided."""
    select = tracked.scope.select
    context = replace(context, alike=any(quotient.of_sum_by_count for quotient in tracked.quotients()))
    if context.empty is not EmptyGroups.AUTO or not tracked.keys:
        return context  # without keys there is one group, whatever reads it: nothing around it is looked at
    if not aggregates_of(select) and is_counted(select):  # a list of which nothing would be measured
        return replace(context, empty=EmptyGroups.HIDE)
    return replace(context, ranked=ranked_rows(select))


def _planned(tracked: TrackedScope, context: PlanningContext) -> tuple[TrackedScope, ScopePlan]:
    """Return the plan of a scope: where that can be, with numbers of units in bounds that are wide, or chosen."""
    if tracked.wide is not None:
        try:
            wide, scope_plan = _bounded(tracked.wide, context)
        except (MissingBounds, Unsupported):
            return _bounded(tracked, context)
        plan = scope_plan.plan.with_chosen_ends()
        if plan is not None:
            return wide, replace(scope_plan, plan=plan)
    return _bounded(tracked, context)


def _bounded(tracked: TrackedScope, context: PlanningContext) -> tuple[TrackedScope, ScopePlan]:
    """Return the plan of a scope, or of what counts its groups, where they are selected or can't be listed.

    Raises:
        Unsupported: groups that are selected are counted otherwise.
    """
    counted = group_count(tracked.scope) if tracked.keys else None
    try:
        plan = _scope_plan(tracked, context)
    except (MissingBounds, Unsupported) as refusal:
        if counted is None or not are_not_listed(refusal):
            raise
    else:
        if counted is None and plan.plan.finder is not None:
            refuse_to_count(tracked.scope.select)
        if counted is None or plan.plan.finder is None:
            return tracked, plan
    of = (DistinctTuples(tracked.keys),)
    tracked = TrackedScope(counted.scope, counted.columns, tracked.relation, (), of, counted.match)
    return tracked, _scope_plan(tracked, context)


def _require_room(plan: MeasurementPlan, types: Sequence[str]) -> None:
    """See that PostgreSQL's types have room for all groups: with the answer in its hands it would fail, which is paid then.

    Raises:
        MissingBounds: one may be beyond its type, where PostgreSQL fails at the row.
    """
    for place, (key, type_) in enumerate(zip(plan.groups.keys, types, strict=False)):
        if type_ not in _WHOLE:
            continue
        values = {row[place] for row in plan.groups.shown}
        if not all(value is None or isinstance(value, str) or SqlType(type_).has_room(value) for value in values):
            raise MissingBounds(
                f"{describe(key.expr)} may be more than {type_} has room for",
                because="key-without-room",
                hint="Make what it is computed of a bigint, or a numeric: n::bigint * 1000000.",
            )


_WHOLE = frozenset(type_.value for type_ in SqlType if type_.is_integer)


def _scope_plan(tracked: TrackedScope, context: PlanningContext) -> ScopePlan:
    scope, fields = tracked.scope, tracked.columns
    sets = None if scope.grouping.plain else scope.grouping.sets
    plan = measure(tracked.relation, tracked.keys, sets, tracked.aggregates, _of_scope(context, tracked))
    places = {aggregate: place for place, aggregate in enumerate(tracked.aggregates)}
    divided = ((places[quotient.numerator], places[quotient.divisor]) for quotient in tracked.quotients())
    plan = replace(plan, quotients=tuple(dict.fromkeys(divided)))
    columns = [f"g{i}" for i in range(len(scope.keys))] + [f"a{i}" for i in range(len(scope.aggregates))]
    if columns and len(fields) != len(columns):
        raise InternalError
    types = [field.type for field in fields] if columns else []  # GROUP BY () has neither keys nor aggregates
    _require_room(plan, types)
    waiting = tracked.relation if awaited_tables(tracked.relation) else None
    return ScopePlan(plan, tuple(columns), tuple(types), waiting)
