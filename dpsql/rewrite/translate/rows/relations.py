"""From the nodes of one scope to its relation: what is scanned and joined, and which rows stay.

SELECT avg(f) FROM (SELECT fare AS f FROM trips WHERE tip > 0) AS t JOIN zones ON zone = zones.id
→  sources trips, zones ON trips.zone = zones.id; where trips.tip > 0; columns f = trips.fare, id = zones.id
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from sqlglot import exp

from dpsql.errors import AccessDenied, DpsqlError, InternalError, Unsupported
from dpsql.policy.model import Policy, Role, RowCondition, SqlType, Table, TableName, Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate, facts, keeps
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts, equal_values
from dpsql.rewrite.analysis.owners import Unique
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.logical import compared_ways, equation
from dpsql.rewrite.ir.calendar import shift
from dpsql.rewrite.ir.constant_table import AnswerForm, ConstantTable, DeferredTable
from dpsql.rewrite.ir.expr import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Expr,
    Facts,
    IntervalValue,
    Ref,
    both,
    conjuncts,
    factor_out,
    refs,
    with_refs,
)
from dpsql.rewrite.ir.relation import (
    Join,
    Relation,
    Source,
    filter_rows,
    inner_join,
    left_join,
    ref,
    scan,
    semi_join,
    shift_sources,
)
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of
from dpsql.rewrite.syntax.named.columns import fold, item_name, output_name
from dpsql.rewrite.syntax.named.existence import Existence, conjuncts_of, existences
from dpsql.rewrite.syntax.named.recursion import names_itself
from dpsql.rewrite.syntax.named.units import output_columns
from dpsql.rewrite.syntax.read.dialect import ViewedTable, ViewRead
from dpsql.rewrite.syntax.whole.scopes import declared_table
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.public.public_queries import (
    constants_of,
    function_named,
    inline_ctes,
    is_plain,
    not_beside,
    recursion_beside,
)
from dpsql.rewrite.translate.rows.per_unit import Around, is_grouped, per_unit
from dpsql.rewrite.translate.rows.unions import union_all
from dpsql.rewrite.translate.rows.windows import windows_of, with_windows
from dpsql.rewrite.translate.values.comparisons import compare, row_condition
from dpsql.rewrite.translate.values.context import Names, Translator, rename_columns
from dpsql.rewrite.translate.values.json_paths import not_as_a_whole, pull_up_output
from dpsql.rewrite.translate.values.translator import translator

# The rights of a role to tables and views, by name; a view that is granted may read tables that are not.
#
# FROM by_card, with tables: [by_card]          →  allowed, though the view reads trips
# FROM by_card, trips                           →  permission denied for table "trips"
# avg(tip), with columns: {trips: [fare]}       →  permission denied for column "tip" of table "trips"
# FROM trips, with where: {trips: seats > 1}    →  as if (SELECT * FROM trips WHERE seats > 1) AS trips stood there
#
# Claim: a role is told of rows for which its condition holds, and of no others. Proof: each place that names a table
# becomes a relation with the condition in it, in views, too, before any other rule sees it. So the condition is in the
# measurement and in the identity under which its release is stored. A stored release is read only if the same identity
# follows from the question. Columns are checked where names become columns, and every name passes there.


def require_table(role: Role, table: Table, item: exp.Table) -> None:
    """Check that a role may use a table, or reads it in a view.

    Raises:
        AccessDenied: it may not.
    """
    if not (table.public or isinstance(item, ViewedTable)):
        _require(role, "table", table.name)


def require_views(role: Role, nodes: Iterable[exp.Expr]) -> None:
    """Check that a role may use every view that is among the nodes of a query.

    Raises:
        AccessDenied: it may not.
    """
    for read in nodes:
        if isinstance(read, ViewRead) and not read.args["public"]:
            _require(role, "view", read.view)


def require_column(role: Role, ref: Ref) -> None:
    """Check that a role may name a column.

    Raises:
        AccessDenied: it may not.
    """
    require_columns(role, ref.table, (ref.column.stored_name,))


def require_columns(role: Role, table: str, names: Iterable[str]) -> None:
    """Check that a role may name columns of a table.

    Raises:
        AccessDenied: it may not.
    """
    for name in names:
        if not role.may_name(table, name):
            raise AccessDenied(
                f'permission denied for column "{name}" of table "{table}"',
                because="column-not-granted",
                hint=f'Of it the role "{role.name}" may name: {", ".join(sorted(role.columns[table]))}.',
            )


def require_probed(role: Role, trees: Iterable[exp.Expr]) -> None:
    """Check that a role may name the columns of queries that are asked for their columns alone; PostgreSQL does so, too.

    Raises:
        AccessDenied: it may not name one, of which PostgreSQL would not say what may be named instead.
    """
    for tree in trees:
        named = {item_name(item): fold(item.this) for item in tree.find_all(exp.Table)}
        for column in tree.find_all(exp.Column):
            table = fold(column.args.get("table"))
            for of in {named[table]} if table in named else set(named.values()) if not table else ():
                require_columns(role, of, (fold(column.this),))


def bound_tree(condition: RowCondition) -> exp.Expr:
    """Return the condition that rows have to satisfy, as PostgreSQL reads it."""
    if not isinstance(condition.tree, exp.Expr):
        raise InternalError  # the policy's conditions were not read
    return condition.tree


def _require(role: Role, what: str, name: str) -> None:
    if not role.may_use(name):
        raise AccessDenied(
            f'permission denied for {what} "{name}"',
            because="table-not-granted",
            hint=f'The role "{role.name}" may use: {", ".join(sorted(role.tables or ())) or "no table"}.',
        )


# Inner queries over released rows, among private rows: their answers are awaited, as sources of the relation.
#
# fare > (SELECT avg(fare) FROM trips)                  →  s1 is the answer, one row of one value; fare > s1.avg
# WHERE zone IN (SELECT zone FROM … ORDER BY … LIMIT 3) →  s1 is the answer, each value once, ON zone = s1.zone

_BOOL = SqlType.BOOLEAN


def with_inner_answers(
    relation: Relation, select: exp.Select, tables: Mapping[int, DeferredTable], t: Translator
) -> tuple[Relation, Translator]:
    """Return the relation with the answers that the expressions of a SELECT wait for, and the translator that knows them.

    `tables` has the answers by the nodes that ask for them.
    """
    if not tables:
        return relation, t
    where, waiting = select.args.get("where"), _Waiting(relation, t)
    # Under NOT or OR, or in an output, `x IN (…)` has to be computed in three values; as a conjunct of WHERE it only
    # leaves rows out.
    certain = set() if where is None else {id(conjunct) for conjunct in conjuncts_of(where.this)}
    answers: dict[int, Expr] = {}
    for node in _own(select):
        if isinstance(node, exp.In) and id(node.args.get("query")) in tables:
            table = tables[id(node.args["query"])]
            answers[id(node)] = waiting.among(table, node, certain=id(node) in certain)
        elif id(node) in tables and not isinstance(node.parent, (exp.From, exp.Join, exp.In)):
            table = tables[id(node)].as_form(AnswerForm.SCALAR)
            if table.several:
                raise value_of_several_rows()
            answers[id(node)] = waiting.joined(table, Join.INNER, TRUE, table.column().name)
    return waiting.relation, replace(t, inner=answers)


def value_of_several_rows() -> Unsupported:
    """Return the refusal of a query that stands for one value and may have several rows, for all that anybody knows."""
    return Unsupported(
        "a subquery that stands for one value may have several rows",
        because="value-of-several-rows",
        hint="Add ORDER BY and LIMIT 1, aggregate it, name its one row in its WHERE, or write IN.",
    )


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the nodes of a SELECT that stand in no query below it; of those the first one."""
    for node in select.walk(prune=lambda child: isinstance(child, exp.Query) and child is not select):
        if node is not select:
            yield node


@dataclass(slots=True)
class _Waiting:
    """A relation to which answers are joined."""

    relation: Relation
    t: Translator

    def joined(self, table: DeferredTable, join: Join, on: Expr, name: str) -> Ref:
        """Join an answer, and return one of its columns."""
        place = len(self.relation.sources)
        self.relation = replace(self.relation, sources=(*self.relation.sources, Source(table, join, on)))
        return ref(place, table, name, optional=join is Join.LEFT)

    def among(self, table: DeferredTable, node: exp.In, *, certain: bool) -> Expr:
        """Return `x IN (query)`, in SQL's three values: without values it is false, with NULL among them never.

        Where it is `certain` that each row is to be among the values, the join sees to it.
        """
        x, values = self.t.expression(node.this), table.as_form(AnswerForm.VALUES)
        join, name = Join.INNER if certain else Join.LEFT, table.column().name
        value = ref(len(self.relation.sources), values, name, optional=not certain)
        condition = compare(self.t, "eq", x, value, node)
        self.t.facts_of(condition)  # refuses what could overflow on some row
        self.joined(values, join, condition, name)
        if certain:
            return TRUE
        facts = table.as_form(AnswerForm.FACTS)
        some = self.joined(facts, Join.INNER, TRUE, "some")
        nulls = replace(some, name="nulls", column=facts.columns["nulls"])
        is_found = Apply("not", (Apply("is_null", (value,), _BOOL),), _BOOL)
        is_unknown = Apply("or", (Apply("is_null", (x,), _BOOL), nulls), _BOOL)
        # SQL's IN, case by case: among the values, true; of no values, false, even for NULL; NULL, or not among values
        # of which one is NULL: unknown; else false.
        cases = (is_found, TRUE, Apply("not", (some,), _BOOL), FALSE, is_unknown, Const(None, _BOOL), FALSE)
        return Apply("case", cases, _BOOL)


# The side of a join whose rows stay without a partner: private rows do, of one table, and public ones never by themselves.
#
# FROM rides LEFT JOIN zones ON …  →  Join.LEFT        FROM zones RIGHT JOIN rides ON …  →  the same from its right side

_EITHER = "FULL JOIN joins two protected tables on their unit. Else use LEFT JOIN with the protected table on the left."


def join_side(join: exp.Join) -> Join:
    """Return how a join is made.

    Raises:
        Unsupported: rows of the right side would stay that find none.
    """
    side, kind = (str(join.args.get(k) or "").upper() for k in ("side", "kind"))
    if kind not in {"", "INNER", "OUTER", "CROSS"} or side not in {"", "LEFT"}:
        raise Unsupported(
            f"{' '.join(filter(None, (side, kind)))} JOIN of private rows is not supported",
            because="join-inner-or-left",
            hint=_EITHER if side == "FULL" else "Use JOIN or LEFT JOIN with the protected table on the left.",
        )
    return Join.LEFT if side == "LEFT" else Join.INNER


def is_right(join: exp.Join) -> bool:
    """Return whether all rows of the right side stay."""
    return str(join.args.get("side") or "").upper() == "RIGHT"


def require_left(left: Relation, right: Relation) -> None:
    """Refuse public rows that stay without private ones."""
    if right.private and not left.private:
        raise protected_left()


def protected_left() -> Unsupported:
    """Return the error for a public table on the left."""
    return Unsupported(
        "an outer join that keeps all public rows is for groups of theirs, with aggregates of the protected table's columns",
        because="protected-table-left",
        hint="GROUP BY columns of the public table, and count a column of the protected one: count(*) is of both; "
        "or write JOIN: groups of a public key are shown even where they are empty.",
    )


def require_plain(right: Relation) -> None:
    """Refuse what can't be missing as a whole: of a row that is not there every column is NULL."""
    if len(right.sources) > 1 or not all(isinstance(e, Ref) for e in right.columns.values()):
        raise Unsupported(
            "LEFT JOIN takes a table, or some columns of one table's rows",
            because="join-plain-table",
            hint="Join each table by itself, and compute outside.",
        )


# How many public rows one private row can meet in a join, which are so many joined rows: noise is to be made for these.
#
# JOIN days ON trips.day < days.d                            →  all of them
# JOIN days ON trips.at >= days.d AND trips.at < days.d + 1  →  one, if no two of these stretches overlap
# JOIN zones ON zones.borough = trips.borough                →  as many zones as one borough has
#
# Claim: the numbers here are a choice and prove nothing. For all such numbers, a unit's joined rows are weighed so that
# it has no more than its bound times these (`owners`); where they are too small counts are too low, where they are too
# large there is more noise than need be. They are made of public rows and of the statement, so that they tell nothing.

Row = Mapping[Ref, Value | None]
"""The facts about a public row."""
_FAR = math.inf
"""Beyond all numbers that are compared."""
_Number = int | Fraction
_Place = tuple[_Number | float, bool]
"""A number, or what comes right behind it."""


@dataclass(slots=True)
class _Stretches:
    """From where to where each row's partners are, by one expression of these."""

    starts: list[_Place]
    ends: list[_Place]
    never: set[int] = field(default_factory=set)


def join_fan_out(conditions: Sequence[Expr], index: int, rows: Sequence[Row]) -> int:
    """Return the most of the rows of a source that one row of those before it can meet, at least 1.

    `conditions` hold of every joined row; those that are about sources behind this one are no help.
    """
    own = [
        condition for condition in conditions if all(ref.source == index for ref in refs(condition)) and refs(condition)
    ]
    rows = [row for row in rows if all(keeps(condition, row) for condition in own)]
    # Each of these is an upper bound of its own, so that the least of them counts.
    counts = [len(rows), *_rows_of_equal(conditions, index, rows)]
    counts += [_deepest(stretches) for stretches in _stretches(conditions, index, rows).values()]
    return max(min(counts), 1)


def _sides(conditions: Sequence[Expr], index: int) -> Iterator[tuple[str, Expr, Expr]]:
    """Yield comparisons of something of the source's rows alone with something of rows before it, in this order."""
    for condition in conditions:
        for op, mine, other in compared_ways(condition):
            inside, outside = {ref.source for ref in refs(mine)}, {ref.source for ref in refs(other)}
            if inside == {index} and outside and max(outside) < index:
                yield op, mine, other


def _rows_of_equal(conditions: Sequence[Expr], index: int, rows: Sequence[Row]) -> Iterator[int]:
    """Yield of each equation how many rows have the value that most have."""
    for op, mine, _ in _sides(conditions, index):
        if op == "eq" and evaluable(mine) and all(set(refs(mine)) <= set(row) for row in rows):
            values = Counter(evaluate(mine, row) for row in rows)
            values.pop(None, None)
            yield max(values.values(), default=0)


def _stretches(
    conditions: Sequence[Expr], index: int, rows: Sequence[Row]
) -> Mapping[tuple[Expr, SqlType | None], _Stretches]:
    """Return where each row's partners are, by what they are compared by: with numbers of any type, or with times of one."""
    by_expr: dict[tuple[Expr, SqlType | None], _Stretches] = {}
    for op, mine, other in _sides(conditions, index):
        if op == "eq" or not (mine.type.is_number or mine.type.is_temporal):
            continue
        new = _Stretches([(-_FAR, False)] * len(rows), [(_FAR, False)] * len(rows))
        stretches = by_expr.setdefault((other, None if mine.type.is_number else mine.type), new)
        read = refs(mine)
        for place, row in enumerate(rows):
            if any(ref not in row for ref in read):
                continue
            if any(row[ref] is None for ref in read):
                stretches.never.add(place)  # no comparison with NULL holds
            else:
                _narrow(stretches, place, op, mine, row)
    return by_expr


def _narrow(stretches: _Stretches, place: int, op: str, mine: Expr, row: Row) -> None:
    low, high = _value(mine, row)
    if op in ("lt", "le") and low is not None:
        stretches.starts[place] = max(stretches.starts[place], (low, op == "lt" and low == high))
    if op in ("gt", "ge") and high is not None:
        stretches.ends[place] = min(stretches.ends[place], (high, op == "ge" or low != high))


def _value(expr: Expr, row: Row) -> tuple[_Number | None, _Number | None]:
    """Return between which numbers the value of an expression is, as far as is known; no column of it is NULL."""
    if isinstance(expr, Ref) or evaluable(expr):
        value = row[expr] if isinstance(expr, Ref) else evaluate(expr, row)
        number = None if value is None or isinstance(value, str) else value
        return number, number
    if isinstance(expr, Apply) and isinstance(expr.option, IntervalValue) and len(expr.args) == 1:
        low, high = _value(expr.args[0], row)
        return _moved(low, expr.option), _moved(high, expr.option)
    env: dict[Expr, Facts] = {
        ref: Facts.of_values((value,), nullable=False) for ref, value in row.items() if value is not None
    }
    interval = facts(expr, env).interval
    return (None, None) if interval is None else (Fraction(interval.low), Fraction(interval.high))


def _moved(moment: _Number | None, span: IntervalValue) -> _Number | None:
    """Return a time moved by a span; None where that is beyond the calendar, or nothing is known."""
    try:
        return None if moment is None else shift(int(moment), span)
    except (OverflowError, ValueError):
        return None


def _deepest(stretches: _Stretches) -> int:
    """Return how many stretches have a place in common."""
    pairs = enumerate(zip(stretches.starts, stretches.ends, strict=True))
    there = [pair for place, pair in pairs if place not in stretches.never and pair[0] < pair[1]]
    # A sweep from left to right. At the same place an end sorts before a beginning, since stretches are half open.
    steps = sorted([(end, -1) for _, end in there] + [(start, 1) for start, _ in there])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


# Joins that make several rows of one: what a unit may have is weighed after the join, but engines would never end.
#
# JOIN zones ON zones.borough = paid   →  unchanged: several zones a row
# JOIN days ON at >= d AND at < d + 7  →  unchanged: seven days a row, of however many there are
# CROSS JOIN zones                     →  unchanged, where the policy's table has few rows; else it is refused
#
# A row can meet as many rows of the joined table as the conditions let it (`join_fan_out`), and a unit may have as many rows
# more: else it would lose all but one of them, and the answer would be wrong by that factor.
#
# Claim: a unit moves the sums by no more than the bound that `owners` makes of these numbers, for all numbers. It counts
# no row of the table as found once, so that a unit's rows are weighed after the join, however many they are.

# Nested loops: each private row with each of these, so that a million rows are a billion comparisons.
_MOST_COMPARED = 1_000
"""Rows of one table that each private row may be compared with, one by one."""
_MOST_TOGETHER = 1_000_000
"""Those of several such tables, multiplied."""
_MANY = 100
"""From so many constant rows on those are left out that no row can meet."""
_MOST_LOOKED_AT = 10_000
"""Rows of a public table that are gone through for each new statement."""


def with_fan_out(relation: Relation, declared: DeclaredFacts) -> Relation:
    """Return the relation with the facts about the rows that each of its rows has of joined public tables.

    One of many rows has to have a column that is equal to something of the rows before it.

    Raises:
        Unsupported: each private row would be compared with each of the table's.
    """
    every, together = dict[int, int | None](), 1
    for index, source in enumerate(relation.sources):
        if source.table.public and not source.only_tested and index > 0:
            every[index] = met = _met(relation, index, declared)
            if not equal_values(relation, index):
                together *= (_rows_of(source, index, declared) or 1) if met is None else _few(met)
    _require_few(together, _MOST_TOGETHER)
    if not every:
        return relation
    sources = (
        replace(source, table=_kept(relation, i, source), every=every.get(i))
        if i in every
        else replace(source, every=None)
        for i, source in enumerate(relation.sources)
    )
    return replace(relation, sources=tuple(sources))


def _kept(relation: Relation, index: int, source: Source) -> Table:
    """Return a joined table without the constant rows that its own conditions leave out: they would all be written out.

    Rows that LEFT JOIN finds none for stay, so that there WHERE decides nothing.
    """
    table = source.table
    if type(table) is not ConstantTable or len(table.rows) < _MANY or not (source.holds or source.join is Join.LEFT):
        return table
    conditions = conjuncts(source.on if source.join is Join.LEFT else both(relation.where, source.on))
    own = [part for part in conditions if refs(part) and all(each.source == index for each in refs(part))]
    columns = {name: ref(index, table, name) for name in table.columns}
    rows = [row for row in table.rows if all(keeps(c, dict(zip(columns.values(), row, strict=True))) for c in own)]
    return replace(table, rows=tuple(rows))


def _met(relation: Relation, index: int, declared: DeclaredFacts) -> int | None:
    """Return how many rows of a joined table a row before it can meet; None where its rows are not known.

    Of the table's key there is one of each value. LEFT JOIN of another table keeps all rows.
    """
    on = [source.on for i, source in enumerate(relation.sources) if i == index or source.join is not Join.LEFT]
    conditions = conjuncts(both(relation.where, *on))
    table = relation.sources[index].table
    if any(isinstance(side, Ref) and side.source == index and side.name == table.key for side in _equal(conditions)):
        return None
    columns = table.by_column if isinstance(table, ConstantTable) else declared.rows.get(table.name)
    number = len(next(iter(columns.values()))) if columns else 0
    if isinstance(table, DeferredTable) or not columns or number > _MOST_LOOKED_AT:
        return None
    mentioned = {ref for ref in refs(*conditions) if ref.source == index and ref.name in columns}
    rows = [{ref: columns[ref.name][place] for ref in mentioned} for place in range(number)]
    return join_fan_out(conditions, index, rows)


def _equal(conditions: Sequence[Expr]) -> Iterator[Expr]:
    """Yield what must be equal to something that is not constant."""
    for condition in conditions:
        sides = equation(condition)
        if sides is not None and all(map(refs, sides)):
            yield from sides


def _rows_of(source: Source, index: int, declared: DeclaredFacts) -> int | None:
    """Return how many rows there are, None where that is not known before there are answers.

    Raises:
        Unsupported: there are too many.
    """
    match source.table:
        case DeferredTable():
            return None
        case ConstantTable(rows=rows):
            _require_few(len(rows), _MOST_COMPARED)
            return len(rows)
        case Table(key=key) as table:
            values = None if key is None else declared.facts_of(ref(index, table, key)).values
            if values is None or len(values) > _MOST_COMPARED:
                raise _without_equation(source)
            return len(values)


def _few(met: int) -> int:
    """Return how many rows of a joined table a row meets.

    Raises:
        Unsupported: they are too many.
    """
    _require_few(met, _MOST_COMPARED)
    return met


def _require_few(rows: int, most: int) -> None:
    if rows > most:
        raise Unsupported(
            f"{rows:,} rows are joined to each without an equation, the limit is {most:,}",
            because="join-without-equation",
            hint="Write ON … = …, or leave fewer of them by WHERE.",
        )


def _without_equation(source: Source) -> Unsupported:
    name, key = source.table.name, source.table.key or next(iter(source.table.columns))
    return Unsupported(
        f'the join with "{name}" must be on its key, or on another of its columns',
        because="join-on-key",
        hint=f"Write … JOIN {name} ON … = {name}.{key}.",
    )


# EXISTS, IN and their kin in WHERE: rows stay by whether others are there, of public tables or of the same unit.
#
# customer NOT IN (SELECT buyer FROM orders WHERE total > 5)
# →  not exists: source orders with orders.total > 5 AND customers.customer = orders.buyer

Inside = Callable[[exp.Select], tuple[Relation, Names]]
"""Returns what stands in a query's FROM."""
_CLAUSES = ("group", "having", "limit", "offset", "with_", "windows", "qualify", "laterals", "sample")
_NAMES: Mapping[str, str] = {"group": "GROUP BY", "with_": "WITH"}
_JOINED = "Write unit IN (SELECT unit … GROUP BY unit HAVING …), or JOIN (SELECT unit, … GROUP BY unit) AS g ON …"
_INSTEAD: Mapping[str, str] = {"group": _JOINED, "having": _JOINED}


def nothing_in_from() -> Unsupported:
    """Return the error for a query of private rows that names no table."""
    return Unsupported("nothing stands in FROM", because="from-missing", hint="Name the protected table there.")


def where_of(relation: Relation, t: Translator, where: exp.Expr, inside: Inside, behind: int = 0) -> Relation:
    """Return the rows that satisfy a WHERE; `behind` so many other sources stands the relation itself."""
    plain, tests = existences(where)
    followed: list[tuple[Existence, Relation, Expr]] = []
    at = behind + len(relation.sources)
    for test in tests:  # each once: one in another, followed twice, would be followed four times, and so on
        rows = _followed(t, test, inside, at)
        if rows is None:
            plain.append(test.node)
        else:
            followed.append((test, *rows))
            at += len(rows[0].sources)
    if not followed:
        return filter_rows(relation, _shared_first(relation, t, row_condition(t, where)))
    for node in plain:
        relation = filter_rows(relation, row_condition(t, node))
    for existence in followed:
        relation = _tested(relation, *existence)
    return relation


def _shared_first(relation: Relation, t: Translator, condition: Expr) -> Expr:
    """Return a condition of joined rows with what all sides of an OR share in front, where joins are looked for."""
    if len(relation.sources) == 1:
        return condition
    shared = factor_out(condition)
    t.facts_of(shared)  # as it now is
    return shared


def _tested(relation: Relation, test: Existence, inside: Relation, condition: Expr) -> Relation:
    rows = semi_join(relation, inside, condition, negated=test.negated)
    if rows is None:
        raise _refused("LEFT JOIN and NOT EXISTS can't stand in a test for rows of another table")
    return rows


def _followed(t: Translator, test: Existence, inside: Inside, behind: int) -> tuple[Relation, Expr] | None:
    """Return the rows that are looked for, and what they have to satisfy; None where the shadow can answer by itself."""
    select = test.query
    if any(id(node) in t.inner for node in test.node.walk()):
        return None  # it is about released values
    public = t.public(select) is not None
    if public and (select.args.get("from_") is None or aggregates_of(select) or select.args.get("group")):
        return None
    try:
        read = _read(t, test, inside, behind, public=public)
    except DpsqlError as failed:
        if test.left is not None and (public or failed.because == nothing_in_from().because):
            return None  # the shadow may know better
        raise
    if read is None or test.left is None:
        return None if read is None else (read[0], TRUE)
    return read[0], _is_in(t, t.expression(test.left), read[1], test)


def _read(t: Translator, test: Existence, inside: Inside, behind: int, *, public: bool) -> tuple[Relation, Expr] | None:
    """Return the rows that are looked for, and their value; None for public rows that are the same for all rows outside."""
    select = test.query
    for clause in _CLAUSES:
        if select.args.get(clause):
            name = _NAMES.get(clause, clause.rstrip("_").upper())
            raise _refused(f"{name} in a test for rows is not supported", _INSTEAD.get(clause))
    relation, names = inside(select)
    relation, names = shift_sources(relation, behind), names.behind(behind, t.names)
    within = replace(t, names=names)
    where = select.args.get("where")
    if where is not None:
        relation = where_of(relation, within, where.this, inside, behind)
    if test.left is None:
        return relation, TRUE
    if len(select.expressions) != 1:
        raise _refused("a subquery of IN has one column")
    value = within.expression(select.expressions[0].unalias())
    read = refs(relation.where, value, *(source.on for source in relation.sources))
    return None if public and all(ref.source >= behind for ref in read) else (relation, value)


def _is_in(t: Translator, left: Expr, right: Expr, test: Existence) -> Expr:
    """Return the condition of IN that a row has the value on the left; among values that may be NULL, NOT IN is another."""
    if test.negated and (t.facts_of(left).nullable or t.facts_of(right).nullable):
        raise Unsupported(
            "NOT IN among values that may be NULL is not supported",
            because="existence-form",
            hint="Write NOT EXISTS (SELECT … FROM … WHERE …) for it.",
        )
    condition = compare(t, "eq", left, right, test.node)
    t.facts_of(condition)  # refuses what could overflow on some row
    return condition


def _refused(message: str, hint: str | None = None) -> Unsupported:
    return Unsupported(
        message,
        because="existence-form",
        hint=hint or "Write EXISTS or NOT EXISTS (SELECT … FROM … WHERE …), for each table by itself.",
    )


# Joined sources in an order in which each public one stands behind what it is equal to.
#
# FROM sales, demographics d, customer c WHERE c.id = sales.customer AND d.id = c.demographics
# →  FROM sales, customer c, demographics d WHERE …
#
# Claim: inner joins, written with any commas and conditions, have the same rows in any order of their elements.

ChangeExpr = Callable[[Expr], Expr]
"""Returns the expression over the sources once these have changed places."""


def with_joins_moved(relation: Relation) -> tuple[Relation, ChangeExpr] | None:
    """Return the rows with their sources in such an order, and what that makes of expressions; None if they are in one."""
    inner = [i for i, source in enumerate(relation.sources) if source.holds]
    if len(inner) < 3 or any(source.join is Join.LEFT for source in relation.sources):
        return None
    condition = both(relation.where, *(relation.sources[i].on for i in inner))
    order = _order(relation, inner, condition)
    if order == inner:
        return None
    others = [i for i, _ in enumerate(relation.sources) if i not in inner]
    places = {old: new for new, old in enumerate([*order, *others])}

    def change(expr: Expr) -> Expr:
        return with_refs(expr, lambda ref: replace(ref, source=places[ref.source]))

    sources = [replace(relation.sources[i], on=TRUE, join=Join.INNER) for i in order]
    tests = [replace(relation.sources[i], on=change(relation.sources[i].on)) for i in others]
    columns = {name: change(expr) for name, expr in relation.columns.items()}
    first, *rest = sources
    moved = replace(
        relation, sources=(replace(first, join=Join.FROM), *rest, *tests), where=change(condition), columns=columns
    )
    return moved, change


def _order(relation: Relation, inner: Sequence[int], condition: Expr) -> Sequence[int]:
    """Return the places of inner joined sources in the order in which each is led to, if anything leads to it."""
    led = _leading(condition)
    (first, *left), order = inner, [inner[0]]
    while left:
        chosen = next((i for i in left if _is_led(relation, i, order, led)), left[0])
        left.remove(chosen)
        order.append(chosen)
    return order if first == order[0] else inner


def _is_led(relation: Relation, place: int, order: Sequence[int], led: Mapping[int, Sequence[frozenset[int]]]) -> bool:
    private = not relation.sources[place].table.public
    return private or any(others <= set(order) for others in led.get(place, ()))


def _leading(condition: Expr) -> Mapping[int, Sequence[frozenset[int]]]:
    """Return, for each source with a column that is equal to something, the sources that this is of."""
    leaders: dict[int, list[frozenset[int]]] = {}
    for part in conjuncts(condition):
        sides = equation(part)
        for side, other in (sides, sides[::-1]) if sides is not None else ():
            of = frozenset(ref.source for ref in refs(other))
            if isinstance(side, Ref) and of and side.source not in of:
                leaders.setdefault(side.source, []).append(of)
    return leaders


def _name_alike(part: exp.Expr, names: Sequence[str]) -> None:
    """Give the outputs of a part of a UNION the names of the first part's, as PostgreSQL has them, where two have one name.

    SELECT 'paid' AS what, fare AS x … UNION ALL SELECT 'back', -fare …  →  … UNION ALL SELECT 'back' AS what, -fare AS x …
    """
    select = part.unnest()
    outputs = select.expressions if isinstance(select, exp.Select) else []
    if len({output_name(output) for output in outputs}) == len(outputs) or len(outputs) != len(names):
        return
    if select.args.get("order") is None and not any(output.is_star for output in outputs):
        named = [
            exp.Alias(this=output.unalias(), alias=exp.to_identifier(name, quoted=True))
            for output, name in zip(outputs, names, strict=True)
        ]
        select.set("expressions", named)


@dataclass(frozen=True, slots=True)
class Tracker:
    """Follows private rows through a query by the policy, the role, constants, and facts about columns."""

    policy: Policy
    role: Role
    constants: Constants
    declared: DeclaredFacts
    unique: Unique
    answers: Mapping[int, DeferredTable] = field(default_factory=dict)
    """The answers to inner queries, by their nodes."""
    wide: bool = False
    """Whether numbers of a unit are within the bounds for the most rows that may be chosen."""
    _facts: dict[Expr, Facts] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Facts about expressions: they are asked again and again."""

    def scope(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Translator]:
        """Return the rows that a SELECT aggregates, and the translator of its expressions."""
        relation, t = self._of_select(select, ctes)
        return with_fan_out(relation, self.declared), t

    def _of_select(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Translator]:
        """Return the rows of a SELECT, before it is known how many of a public table each of them meets."""
        relation, names = self._from(select, ctes)
        t = translator(names, self.constants, self.facts_of, partial(self._public, ctes))
        relation, t = with_inner_answers(relation, select, self.answers, t)
        where = select.args.get("where")
        if where is not None:
            relation = where_of(relation, t, where.this, partial(self._from, ctes=ctes))
        if (moved := with_joins_moved(relation)) is not None:
            relation, change = moved
            inner = {node: change(expr) for node, expr in t.inner.items()}
            t = replace(t, names=t.names.changed(change), inner=inner)
        if relation.condition != TRUE:
            t = replace(t, facts_in_rows=partial(self._facts_in, relation))
        return relation, t

    def _facts_in(self, relation: Relation, expr: Expr) -> Facts:
        """Return the facts about an expression in the rows of a relation."""
        env = refine_by_predicate(refs(expr), relation.condition, self.declared)
        return self.facts_of(expr) if env is None else facts(expr, env)

    def facts_of(self, expr: Expr) -> Facts:
        """Return the facts about an expression by the declarations alone; rows without a unit are not there."""
        expr_facts = self._facts.get(expr)
        if expr_facts is None:
            env = self.declared.env(refs(expr))
            own_env = {
                ref: replace(ref_facts, nullable=False) if self._names_unit(ref) else ref_facts
                for ref, ref_facts in env.items()
            }
            expr_facts = self._facts[expr] = facts(expr, own_env)
        return expr_facts

    def _names_unit(self, ref: Expr) -> bool:
        table = self.policy.tables.get(ref.table) if isinstance(ref, Ref) and not ref.optional else None
        unit = None if table is None else table.units.get(self.role.protects)
        return isinstance(ref, Ref) and unit is not None and ref.name in unit.naming

    def _public(self, ctes: Mapping[str, exp.CTE], query: exp.Expr) -> exp.Expr | None:
        """Return a query with its CTEs in their places; None if it reads anything but public tables."""
        return inline_ctes(query, ctes, self.policy)

    def _from(self, select: exp.Select, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, Names]:
        from_ = select.args.get("from_")
        if from_ is None:
            raise nothing_in_from()
        first = from_.this
        joins = [*(first.args.get("joins") or ()), *(select.args.get("joins") or ())]
        relation, alias = self._item(first, ctes)
        names = self._names({alias: relation.columns})
        before = next((i for i, join in enumerate(joins) if not self._is_public(join.this, ctes)), 0)
        if before and not relation.private:
            relation, names = self._publics_first((relation, alias), joins[: before + 1], ctes)
            joins = joins[before + 1 :]
        elif joins and (is_right(joins[0]) or (relation.protected.public and join_side(joins[0]) is Join.INNER)):
            relation, names = self._turned_round((relation, alias), joins[0], ctes)
            joins = joins[1:]
        for join in joins:
            relation, names = self._join(relation, names, join, ctes)
        return relation, names

    def _is_public(self, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> bool:
        return id(item) in self.answers or inline_ctes(item, ctes, self.policy) is not None

    def _publics_first(
        self, first: tuple[Relation, str], joins: Sequence[exp.Join], ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        """Follow inner joins of which only the last is with private rows, which come first.

        FROM a JOIN b ON … JOIN protected ON …  →  FROM protected JOIN a JOIN b WHERE … AND …
        """
        *publics, (relation, last) = [first, *(self._item(join.this, ctes) for join in joins)]
        tables = {last: relation.columns}
        for public, alias in publics:
            public = shift_sources(public, len(relation.sources))  # noqa: PLW2901  # where it stands
            relation, tables[alias] = inner_join(relation, public, TRUE), public.columns
        names = self._names({first[1]: tables[first[1]]})
        for join, alias in zip(joins, [*(alias for _, alias in publics[1:]), last], strict=True):
            if join_side(join) is not Join.INNER:
                raise protected_left()
            both_sides = self._names({**names.tables, alias: tables[alias]})
            t = translator(both_sides, self.constants, self.facts_of, partial(self._public, ctes))
            relation, names = filter_rows(relation, _condition(t, join, names, tables[alias])), both_sides
        return relation, names

    def _turned_round(
        self, first: tuple[Relation, str], join: exp.Join, ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        """Follow a join from its right side.

        FROM public JOIN protected ON …  →  FROM protected JOIN public ON …
        FROM public RIGHT JOIN protected ON …  →  FROM protected LEFT JOIN public ON …
        """
        right, alias = self._item(join.this, ctes)
        if right.protected.public:
            join_side(join)  # which refuses RIGHT JOIN
        relation, names = self._attach(right, self._names({alias: right.columns}), first, join, ctes)
        return relation, self._names({name: names.tables[name] for name in (first[1], alias)})

    def _item(self, item: exp.Expr, ctes: Mapping[str, exp.CTE]) -> tuple[Relation, str]:
        """Return one element of FROM with its alias."""
        alias = item.args.get("alias")
        name = fold(alias.this) if isinstance(alias, exp.TableAlias) and alias.this else ""
        name = name or (fold(item.this) if isinstance(item, exp.Table) else "")
        if id(item) in self.answers:
            return scan(self.answers[id(item)]), name
        public = None if is_plain(item, ctes, self.policy) else inline_ctes(item, ctes, self.policy)
        if public is not None:
            return scan(constants_of(public, self.constants)), name or function_named(item)
        if isinstance(item, exp.Subquery):
            relation = self._query(item.this, ctes)
        elif isinstance(item, exp.Table):
            relation = self._table(item, ctes)
        else:
            raise not_beside(item)
        return rename_columns(relation, alias), name

    def _table(self, item: exp.Table, ctes: Mapping[str, exp.CTE]) -> Relation:
        name = fold(item.this)
        if not item.args.get("db") and name in ctes:
            if names_itself(ctes[name]) is not False:
                raise recursion_beside(item)
            inner = {k: v for k, v in ctes.items() if k != name}
            return self._query(ctes[name].this, inner)
        table = declared_table(item, self.policy)
        if table is None:
            raise not_beside(item)
        require_table(self.role, table, item)
        return self._rows(table)

    def _rows(self, table: Table) -> Relation:
        """Return the rows of a table that the role may read: no other are in anything that is made of it."""
        relation, condition = scan(table), self.role.where.get(table.name)
        if condition is None:
            return relation
        called = TableName.of(table.name).name
        t = translator(Names({called: relation.columns}), self.constants, self.facts_of, lambda _: None)
        return filter_rows(relation, row_condition(t, bound_tree(condition)))

    def _names(self, tables: Mapping[str, Mapping[str, Expr]]) -> Names:
        return Names(tables, require=partial(require_column, self.role))

    def _query(self, query: exp.Expr, ctes: Mapping[str, exp.CTE]) -> Relation:
        """Return a pass-through query as a relation; one that reads it knows all conditions of what each row meets."""
        while isinstance(query, exp.Subquery):
            query = query.this
        own = query.args.get("with_")
        visible = {**ctes, **{fold(c.args["alias"].this): c for c in (own.expressions if own else ())}}
        around = Around(self.policy, self.role.protects, self.declared, self.unique, self.wide)
        if isinstance(query, exp.Union) and not query.args.get("distinct"):
            parts = (query.this, query.expression)
            _name_alike(query.expression, [name for name, _ in output_columns(query.this, visible, self.policy)])
            widths = [len(list(output_columns(part, visible, self.policy))) for part in parts]
            return union_all(
                [with_fan_out(self._query(part, visible), self.declared) for part in parts], widths, around
            )
        if not isinstance(query, exp.Select):
            raise Unsupported(
                "private rows can only pass through SELECT … FROM … WHERE …",
                because="rows-pass-through",
                hint="Aggregate each query by itself, and put the answers together.",
            )
        relation, t = self._of_select(query, visible)
        if is_grouped(query):
            return per_unit(with_fan_out(relation, self.declared), t, query, around)
        if windows_of(query):
            return with_windows(with_fan_out(relation, self.declared), t, query, around)
        return replace(relation, columns=_outputs(query, t))

    def _join(
        self, relation: Relation, names: Names, join: exp.Join, ctes: Mapping[str, exp.CTE]
    ) -> tuple[Relation, Names]:
        return self._attach(relation, names, self._item(join.this, ctes), join, ctes)

    def _attach(
        self,
        relation: Relation,
        names: Names,
        other: tuple[Relation, str],
        join: exp.Join,
        ctes: Mapping[str, exp.CTE],
    ) -> tuple[Relation, Names]:
        """Return the relation joined with another one, and what names then mean."""
        right, alias = other
        side = Join.LEFT if is_right(join) else join_side(join)
        if side is Join.LEFT:
            require_left(relation, right)
            require_plain(right)
        right = shift_sources(right, len(relation.sources), optional=side is Join.LEFT)
        both_sides = self._names({**names.tables, alias: right.columns})
        t = translator(both_sides, self.constants, self.facts_of, partial(self._public, ctes))
        on = _condition(t, join, names, right.columns)
        return (left_join if side is Join.LEFT else inner_join)(relation, right, on), both_sides


def _condition(t: Translator, join: exp.Join, left: Names, right: Mapping[str, Expr]) -> Expr:
    """Return the condition of a join; USING takes the one column of each side that has a name."""
    on, using = join.args.get("on"), join.args.get("using")
    if not using:
        return TRUE if on is None else row_condition(t, on)
    pairs = {fold(c if isinstance(c, exp.Identifier) else c.this): c for c in using}
    before = left.all()
    named = {name: (t.names.named(before[name]), t.names.named(right[name])) for name in pairs}
    for name, (own, _) in named.items():
        if own.type is SqlType.JSON:
            raise not_as_a_whole(own, exp.column(name))
    return both(*(compare(t, "eq", *named[name], node) for name, node in pairs.items()))


def _outputs(query: exp.Select, t: Translator) -> Mapping[str, Expr]:
    """Return the output columns of a pass-through SELECT; one that can't be translated is left out until it is used."""
    columns: dict[str, Expr] = {}
    for output in query.expressions:
        if isinstance(output, exp.Star):
            columns |= t.names.all()
        else:
            columns[output_name(output)] = pull_up_output(t, output.unalias())
    return columns
