"""Aggregate calls, translated: the statistic, and the rows that it is about.

avg(fare) FILTER (WHERE seats > 2)                      →  Moment('avg', (fare,), where=gt(seats, 2))
percentile_cont(0.9) WITHIN GROUP (ORDER BY fare DESC)  →  Quantile(fare, (1/10,), discrete=False)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.frozen import quickly_made
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.functions.table import without_double
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, Ref, both, refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.named.aggregate_names import (
    LOGICAL,
    OF_AGGREGATES,
    OF_SINGLE_ROWS,
    OF_TWO,
    STATISTICS,
    StatisticName,
    function_name,
    is_aggregate,
)
from dpsql.rewrite.syntax.read.dialect import excerpt, render, written_type
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.splice import Match
from dpsql.rewrite.translate.rows.computed_statistics import (
    Formula,
    StatisticRef,
    formula,
    is_computed,
    refused_margin,
    require_size,
)
from dpsql.rewrite.translate.values.comparisons import as_whole, row_condition
from dpsql.rewrite.translate.values.context import ElapsedTime, IntervalTimes, Translator
from dpsql.rewrite.translate.values.durations import in_micros, in_span, micros_of
from dpsql.rewrite.translate.values.texts import in_order, labels_of
from dpsql.rewrite.translate.values.value_map import MAX_VALUES

# Aggregates that are not answered over private rows: what each is, and what is near to it.
#
# string_agg(x, ',')  →  it shows values of single rows: SELECT string_agg(x, ',') FROM (SELECT DISTINCT x FROM …) AS v

PLACES = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
"""Where a value would stand among the rows."""


def of_single_rows(name: str) -> Unsupported:
    """Return the refusal of an aggregate that has single rows' values in it."""
    return Unsupported(
        f"{name}() shows values of single rows, which no noise can hide",
        because="aggregate-of-single-rows",
        hint=OF_SINGLE_ROWS[name],
    )


def of_a_place(name: str) -> Unsupported:
    """Return the refusal of `rank(5) WITHIN GROUP (ORDER BY x)` and its like."""
    return Unsupported(
        f"{name}() would place a value among single rows",
        because="place-among-rows",
        hint="Count the rows before it, and all of them: count(*) FILTER (WHERE x < 5), count(*)",
    )


def of_distinct(name: str) -> Unsupported:
    """Return the refusal of what has no DISTINCT."""
    return Unsupported(
        f"{name}(DISTINCT …) would count what many rows have once, which is done for one value by count, sum, avg and "
        "variances alone",
        because="distinct-aggregate",
        hint="Leave DISTINCT out, or aggregate an answer: SELECT … FROM (SELECT DISTINCT x, y FROM …) AS v",
    )


def not_known(node: exp.Expr) -> Unsupported:
    """Return the refusal of anything else."""
    name = function_name(node.this if isinstance(node, exp.WithinGroup) else node)
    return Unsupported(
        f"{f'{name}(…)' if name else excerpt(node)} is not supported over private rows",
        because="aggregate-not-known",
        hint="docs/sql.md lists the supported aggregates.",
    )


_QUANTILE_LIMIT = 1000


VoteName = Literal["bool_and", "bool_or", "mode", "max", "min", "count"]


@quickly_made
@dataclass(frozen=True, slots=True)
class Moment:
    """A statistic that is read off noisy sums; COUNT(*) has no arguments."""

    name: StatisticName
    args: tuple[Expr, ...]
    where: Expr = TRUE


@dataclass(frozen=True, slots=True)
class Quantile:
    """Order statistics of one expression; `points` are in (0, 1), `array` says whether they come back as one array."""

    arg: Expr
    points: tuple[Fraction, ...]
    discrete: bool
    where: Expr = TRUE
    array: bool = False
    ordered: tuple[Value, ...] | None = None
    """Of texts: the values that there can be, in their order; `arg` is then the place of one."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """MIN or MAX of one expression."""

    name: Literal["min", "max"]
    arg: Expr
    where: Expr = TRUE
    ordered: tuple[Value, ...] | None = None
    """Of texts: the values that there can be, in their order; `arg` is then the place of one."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """COUNT(DISTINCT x)."""

    arg: Expr
    where: Expr = TRUE

    @property
    def args(self) -> tuple[Expr, ...]:
        """Return what is counted, alone."""
        return (self.arg,)


@dataclass(frozen=True, slots=True)
class DistinctTuples:
    """COUNT(DISTINCT (x, y)): of tuples, in which NULL is a value like any other."""

    args: tuple[Expr, ...]
    where: Expr = TRUE


@dataclass(frozen=True, slots=True)
class OfDistinct:
    """A statistic of the distinct values of one expression: SUM, AVG and variances of DISTINCT x."""

    name: StatisticName
    arg: Expr
    where: Expr = TRUE


@dataclass(frozen=True, slots=True)
class Margin:
    """The half-width of the 95 % interval of another aggregate."""

    of: "Moment | Quantile | Extreme | Distinct | DistinctTuples | OfDistinct | Vote | ComputedStatistic | Shrunk"
    cut: bool = False
    """Whether the question is about the share of a count or a sum that its C takes off, and not about the aggregate."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The average of each group, drawn towards that of all groups as far as noise hides how they differ."""

    of: Moment


@dataclass(frozen=True, slots=True)
class ComputedStatistic:
    """What is computed of statistics, whose margin is asked."""

    formula: Formula
    of: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class GroupingCall:
    """GROUPING(key, …): which keys the row is not grouped by."""

    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Vote:
    """BOOL_AND, BOOL_OR and MODE, and of few values MAX, MIN and COUNT(DISTINCT x): decided by the noisy counts of each."""

    name: VoteName
    arg: Expr
    where: Expr = TRUE


Measured = Moment | Quantile | Extreme | Distinct | DistinctTuples | OfDistinct | GroupingCall | Vote
"""What is asked of rows themselves."""
Aggregate = Measured | Margin | Shrunk


def aggregate(t: Translator, node: exp.Expr) -> Aggregate:
    """Return what an aggregate call asks.

    Raises:
        Unsupported: the function, or the way it is called, is not known.
    """
    if isinstance(node, exp.Filter):
        condition = row_condition(t, node.expression.this)
        inner = aggregate(t, node.this)
        if isinstance(inner, (Margin, Shrunk, GroupingCall)):
            raise not_known(node)
        return replace(inner, where=both(inner.where, condition))
    if isinstance(node, exp.WithinGroup):
        return _within_group(t, node)
    name = function_name(node)
    call = node.expression if isinstance(node, exp.Dot) else node
    if name == "dpsql.shrunk":
        return _shrunk(t, call)
    if name in OF_AGGREGATES:
        return _margin(t, call, cut=name == "dpsql.cut")
    return _call(t, name, call)


def _call(t: Translator, name: str, node: exp.Expr) -> Aggregate:
    # The order in which rows are added up is nothing to any aggregate that is answered.
    args = [arg.this if isinstance(arg, exp.Order) else arg for arg in node.expressions]
    if name in OF_SINGLE_ROWS:
        raise of_single_rows(name)
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        return _distinct(t, name, args[0])
    if name == "count" and len(args) == 1 and isinstance(args[0], exp.Star):
        return Moment("count", ())
    if name == "count" and len(args) == 1 and isinstance(args[0], exp.Column) and isinstance(args[0].this, exp.Star):
        return Moment("count", _of_rows(t, args[0]))
    exprs = tuple(_argument(t, arg) for arg in args)
    if name == "grouping":
        return GroupingCall(exprs)
    if len(exprs) != (2 if name in OF_TWO else 1):
        raise not_known(node)
    return _of_values(t, name, exprs)


def _of_rows(t: Translator, whole: exp.Column) -> tuple[Expr, ...]:
    """Return what tells whether there is a row of a table, `count(t)`: nothing where there always is one.

    A row is not NULL even where all its columns are. PostgreSQL lets count whole rows who may name all their columns.
    """
    columns = t.names.row(whole)
    if not any(ref.optional for column in columns for ref in refs(column)):
        return ()
    always = (column for column in columns if isinstance(column, Ref) and not column.column.nullable)
    there = next(always, None)
    if there is None:
        raise Unsupported(
            "count() of whole rows that a join may not find needs a column that is never NULL",
            because="count-of-rows",
            hint="Write count(x), with the column x by which the tables are joined.",
        )
    return (there,)


def _argument(t: Translator, node: exp.Expr) -> Expr:
    """Return what an aggregate is of; an interval as its microseconds, of which the answer is made again."""
    value = t.operand(node)
    return in_micros(in_span(micros_of(value)) if isinstance(value, (ElapsedTime, IntervalTimes)) else t.value(value))


def _of_values(t: Translator, name: str, exprs: tuple[Expr, ...]) -> Aggregate:
    # count(1) counts all rows, and count(NULL) none.
    if name == "count" and isinstance(exprs[0], Const):
        return Moment("count", (), TRUE if exprs[0].value is not None else Const(False, SqlType.BOOLEAN))
    if name in {"min", "max"}:
        return _extreme(t, name, exprs[0])
    if name in LOGICAL:
        return Vote("bool_or" if name == "bool_or" else "bool_and", exprs[0])
    if name != "count" and not all(e.type.is_number for e in exprs):
        raise _no_number(name)
    if name == "median":
        return Quantile(as_whole(exprs[0]), (Fraction(1, 2),), discrete=False)
    return Moment(STATISTICS[name], tuple(map(as_whole, exprs)) if name in OF_TWO else exprs)


def _extreme(t: Translator, name: str, arg: Expr) -> Extreme:
    place, ordered = _placed(t, name, arg)
    return Extreme("min" if name == "min" else "max", place, ordered=ordered)


def _placed(t: Translator, name: str, arg: Expr) -> tuple[Expr, tuple[Value, ...] | None]:
    """Return what is ordered: a number or a time, or of a text its place among the values that there can be.

    Texts are ordered by their bytes, as the shadow orders them; labels as they are declared.
    """
    if arg.type.is_number or arg.type.is_temporal:
        return arg, None
    values = t.facts_of(arg).values if arg.type.is_text else None
    if not values or len(values) > MAX_VALUES:
        raise Unsupported(
            f"{name} takes numbers, times, and texts with few declared values here",
            because="extreme-of-ordered",
            hint="The owner of the data can declare `values` for the column in the table's schema file.",
        )
    ordered = labels_of(arg) if arg.type is SqlType.ENUM else tuple(sorted(map(str, values)))
    # The values of a char(5) are shown with the blanks at their end, as PostgreSQL shows them.
    length = (arg.column.characters or 0) if isinstance(arg, Ref) else 0
    return in_order(arg, ordered), tuple(str(value).ljust(length) for value in ordered)


def _distinct(t: Translator, name: str, node: exp.Distinct) -> Aggregate:
    # max(DISTINCT x) is max(x), and so are min, bool_and and bool_or.
    if (name in {"min", "max"} or name in LOGICAL) and len(node.expressions) == 1:
        return _of_values(t, name, (_argument(t, node.expressions[0]),))  # as of all rows
    if name == "count" and (values := _tuple_of(node)):
        return DistinctTuples(tuple(_argument(t, value) for value in values))
    if name not in STATISTICS or name in OF_TWO or len(node.expressions) != 1 or _tuple_of(node):
        raise of_distinct(name)
    arg = _argument(t, node.expressions[0])
    if name == "count":
        return Distinct(arg)
    if not arg.type.is_number:
        raise _no_number(name)
    return OfDistinct(STATISTICS[name], arg)


def _tuple_of(node: exp.Distinct) -> list[exp.Expr]:
    """Return the values of the tuple that DISTINCT is of: (a, b) or ROW(a); nothing for anything else."""
    values = node.expressions[0].unnest() if len(node.expressions) == 1 else None
    return values.expressions if isinstance(values, exp.Tuple) or (values and function_name(values) == "row") else []


_ADDED_UP = frozenset({"count", "sum", "regr_count"})
"""Aggregates that lose something with each row that does not count."""


def _no_number(name: str) -> Unsupported:
    return Unsupported(f"{name}() takes numbers here", because="aggregate-of-numbers")


def _margin(t: Translator, node: exp.Expr, *, cut: bool) -> Margin:
    if len(node.expressions) != 1:
        raise not_known(node)
    of = node.expressions[0].unnest()
    if not cut and is_computed(of):
        return Margin(_computed(t, of))
    inner = aggregate(t, of)
    if cut and not (isinstance(inner, Moment) and inner.name in _ADDED_UP):
        raise Unsupported(
            "dpsql.cut() takes a count or a sum: of other aggregates no share is missing",
            because="cut-of-sum",
            hint="dpsql.cut(count(*)) is the share of the rows that do not count.",
        )
    several = isinstance(inner, Quantile) and inner.array
    of_text = isinstance(inner, (Quantile, Extreme)) and inner.ordered is not None
    if several or of_text or isinstance(inner, (Margin, GroupingCall, Vote)):
        raise Unsupported(
            "dpsql.margin() takes one number that an aggregate estimates: no array, text, mode or boolean",
            because="margin-of-number",
            hint="Ask for the margin of each percentile by itself." if several else None,
        )
    return Margin(inner, cut)


def _shrunk(t: Translator, node: exp.Expr) -> Shrunk:
    if len(node.expressions) != 1:
        raise not_known(node)
    of = node.expressions[0].unnest()
    inner = aggregate(t, of) if is_aggregate(of) else None
    if not isinstance(inner, Moment) or inner.name != "avg":
        raise Unsupported(
            "dpsql.shrunk() takes an average: only means of groups are drawn towards a common one",
            because="shrunk-of-average",
            hint="Write dpsql.shrunk(avg(x)) in a statement with GROUP BY.",
        )
    return Shrunk(inner)


def told_of(aggregate: Aggregate) -> Measured | ComputedStatistic:
    """Return what is asked of rows: of a margin, or of means that are drawn together, what it is told of."""
    while isinstance(aggregate, (Margin, Shrunk)):
        of = aggregate.of
        if isinstance(of, ComputedStatistic):
            return of
        aggregate = of
    return aggregate


def _computed(t: Translator, node: exp.Expr) -> ComputedStatistic:
    moments: list[Moment] = []

    def place_of(call: exp.Expr) -> StatisticRef:
        of = aggregate(t, call)
        if not isinstance(of, Moment):
            raise refused_margin("dpsql.margin() computes with counts, sums, averages and spreads alone")
        if of not in moments:
            moments.append(of)
        return StatisticRef(moments.index(of), _is_whole(of))

    require_size(node)
    return ComputedStatistic(formula(t, node, place_of), tuple(moments))


def _is_whole(moment: Moment) -> bool:
    """Return whether a statistic is a bigint, or may be: what is computed of an integer may be one, or be larger."""
    if moment.name in {"count", "regr_count"}:
        return True
    (arg, *_) = moment.args
    return moment.name == "sum" and arg.type.is_integer and (arg.type is not SqlType.BIGINT or isinstance(arg, Apply))


def _within_group(t: Translator, node: exp.WithinGroup) -> Quantile | Vote:
    name, order = function_name(node.this), node.expression
    args = node.this.expressions
    if name == "mode" and not args and len(order.expressions) == 1:
        return Vote("mode", t.expression(order.expressions[0].this))
    if name in PLACES:
        raise of_a_place(name)
    if name not in {"percentile_cont", "percentile_disc"} or len(args) != 1 or len(order.expressions) != 1:
        raise not_known(node)
    key = order.expressions[0]
    descending = isinstance(key, exp.Ordered) and bool(key.args.get("desc"))
    arg = _argument(t, key.this if isinstance(key, exp.Ordered) else key)
    array = t.constants.items(args[0]) if _is_array(t, args[0]) else None
    points = array if array is not None else (t.expression(args[0]),)
    quantiles = tuple(_point(p, descending=descending) for p in points)
    discrete = name == "percentile_disc"
    if not (arg.type.is_number or discrete):
        raise Unsupported(f"{name} takes numbers here", because="aggregate-of-numbers")
    place, ordered = _placed(t, name, as_whole(arg) if name == "percentile_cont" else arg)
    return Quantile(place, quantiles, discrete, array=array is not None, ordered=ordered)


def _is_array(t: Translator, node: exp.Expr) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Parameter):
        return t.constants.argument(node).type.endswith("[]")
    return isinstance(node, exp.Array) or (isinstance(node, exp.Cast) and "[]" in written_type(node.to))


def _point(point: Expr, *, descending: bool) -> Fraction:
    value = point.value if isinstance(point, Const) else None
    if value is None or isinstance(value, (str, bool)) or not 0 <= value <= 1:
        hint = "Write it as a number: percentile_cont(0.9) WITHIN GROUP (ORDER BY x)."
        raise Unsupported("a percentile is a constant from 0 to 1", because="percentile-constant", hint=hint)
    # The tenth part from above is the ninth from below: 0.1 … ORDER BY x DESC is 0.9 … ORDER BY x.
    q = Fraction(value).limit_denominator(_QUANTILE_LIMIT)
    return 1 - q if descending else q


def condition_of(moment: Moment) -> Expr:
    """Return which rows a statistic counts: FILTER holds and no argument is NULL."""
    present = (Apply("not", (Apply("is_null", (arg,), SqlType.BOOLEAN),), SqlType.BOOLEAN) for arg in moment.args)
    return both(moment.where, *present)


# The columns that aggregates read and compute with, and those without bounds for which tools ask a profile.
#
# SELECT count(*), min(id), max(id), avg(id), avg(fare) FROM trips     →  id is profiled, and has no bounds

_OF_ZEROS = frozenset({"count", "sum", "avg"})
_OF_A_PROFILE = 3
"""So many things, both extremes among them, are computed of a column at once only by a client that wants none of them
in particular."""


def profiled_without_bounds(aggregates: Sequence[Aggregate]) -> list[str | None]:
    """Return for each aggregate the column that it computes with, if that has no bounds and is profiled: else None."""
    computed = [_computed_of(aggregate) for aggregate in aggregates]
    profiled = {column for column in computed if column is not None and _is_profiled(column, aggregates)}
    return [column.name if column is not None and column in profiled else None for column in computed]


def _is_profiled(column: Ref, aggregates: Sequence[Aggregate]) -> bool:
    of_it = [aggregate for aggregate in aggregates if _computed_of(aggregate) == column]
    extremes = {aggregate.name for aggregate in of_it if isinstance(aggregate, Extreme)}
    return len(of_it) > _OF_A_PROFILE or (extremes == {"min", "max"} and len(of_it) == _OF_A_PROFILE)


def _computed_of(aggregate: Aggregate) -> Ref | None:
    """Return the column without bounds and values that an aggregate computes with."""
    arguments = inputs(aggregate)[1:] if computes(aggregate) else ()
    columns = [argument for argument in map(without_double, arguments) if isinstance(argument, Ref)]
    return next((column for column in columns if column.column.bounds is None and column.column.values is None), None)


def computes(aggregate: Aggregate) -> bool:
    """Return whether an aggregate computes with its arguments' values, and does not only count."""
    match aggregate:
        case Moment(name=name):
            return name != "count"
        case Quantile() | Extreme() | OfDistinct() | Shrunk():
            return True
        case Margin() | Distinct() | DistinctTuples() | Vote() | GroupingCall():
            return False


def inputs(aggregate: Aggregate) -> tuple[Expr, ...]:
    """Return the row-level expressions that an aggregate reads."""
    match aggregate:
        case Moment():
            return (aggregate.where, *aggregate.args)
        case Margin(of=ComputedStatistic() as computed):
            return tuple(expr for moment in computed.of for expr in inputs(moment))
        case Shrunk(of=moment):
            return inputs(moment)
        case Margin(of=of):
            assert not isinstance(of, ComputedStatistic)
            return inputs(of)
        case Quantile() | Extreme() | Distinct() | OfDistinct() | Vote():
            return (aggregate.where, aggregate.arg)
        case DistinctTuples():
            return (aggregate.where, *aggregate.args)
        case GroupingCall():
            return aggregate.keys


def as_counted(aggregate: Aggregate, relation: Relation, declared: DeclaredFacts) -> Aggregate:
    """Return what says no more than a count of rows as that, since the policy says so; others as they are.

    sum(CASE WHEN id IS NULL THEN 1 ELSE 0 END)  →  count(*) FILTER (WHERE FALSE), where id can't be NULL
    count(DISTINCT id)                           →  count(*), where id is a key
    """
    of = aggregate.of if isinstance(aggregate, Margin) else aggregate
    match of:
        case Moment() if _is_of_zeros(of, relation, declared):
            count = Moment("count", (), FALSE)
        case Distinct(arg=Ref() as key) if _is_key(key, relation):
            count = Moment("count", (), of.where)
        case _:
            return aggregate
    return replace(aggregate, of=count) if isinstance(aggregate, Margin) else count


def _is_key(column: Ref, relation: Relation) -> bool:
    """Return whether no two rows have the same value of a column, and each has one."""
    (first, *others), source = relation.joined.values(), relation.sources[column.source]
    alone = not others and first is source and source.made is None and not column.column.nullable
    return alone and frozenset({column.name}) in source.table.keys


def _is_of_zeros(moment: Moment, relation: Relation, declared: DeclaredFacts) -> bool:
    if moment.name not in _OF_ZEROS or len(moment.args) != 1:
        return False
    branch = only_branch(without_double(moment.args[0]))
    condition, other = (FALSE, moment.args[0]) if branch is None else (branch[0], branch[2])
    if not isinstance(other, Const) or other.value != (None if moment.name == "count" else 0):
        return False
    rows = both(relation.condition, moment.where, condition)
    return condition == FALSE or refine_by_predicate(refs(moment.where, condition), rows, declared) is None


def filter_of(aggregate: Aggregate) -> Expr:
    """Return the condition of an aggregate's FILTER; that of what is computed of several is in each of these."""
    of = told_of(aggregate)
    return TRUE if isinstance(of, (GroupingCall, ComputedStatistic)) else of.where


def is_possible(aggregate: Aggregate, relation: Relation, declared: DeclaredFacts) -> bool:
    """Return whether any row can be among those that an aggregate is of: FILTER (WHERE trip_id IS NULL) has none."""
    of = told_of(aggregate)
    if isinstance(of, ComputedStatistic):
        return all(is_possible(moment, relation, declared) for moment in of.of)
    where = filter_of(aggregate)
    return where == TRUE or refine_by_predicate(refs(where), both(relation.condition, where), declared) is not None


# The column of grouped rows that a node of their SELECT is: a key or an aggregate call.
#
# SELECT floor(fare), count(*) … GROUP BY floor(fare)  →  floor(fare) is g0, count(*) is a0

_LARGER = 16
"""How many times as many nodes as the largest key has may mean the same."""


def matcher(keys: Sequence[exp.Expr], exprs: Sequence[Expr], aggregates: Sequence[exp.Expr], t: Translator) -> Match:
    """Return which column a node is: by its text, or because it means what a key means, one of `exprs`.

    What can be computed from keys that stand in it is no key, whatever it means: x::bigint is of another type than x.
    """
    named = [(node, f"g{i}") for i, node in enumerate(keys)]
    named += [(node, f"a{i}") for i, node in enumerate(aggregates)]
    ours: Mapping[int, str] = {id(node): name for node, name in named}
    kinds = {type(node) for node, _ in named}
    texts: dict[type[exp.Expr], dict[str, str]] = {}  # by kind: where each is the very node, nothing is written
    sizes: dict[int, tuple[exp.Expr, int]] = {}
    largest = _LARGER * max((len(every(key, exp.Expr)) for key in keys), default=0)

    def by_text(node: exp.Expr) -> str | None:
        if id(node) in ours:
            return ours[id(node)]
        kind = type(node)
        if kind in kinds and kind not in texts:
            texts[kind] = {render(shown): name for shown, name in named if type(shown) is kind}
        return texts[kind].get(render(node)) if kind in kinds else None

    def is_made_of_keys(node: exp.Expr) -> bool:
        parts = node.iter_expressions()
        return by_text(node) is not None or (not isinstance(node, exp.Column) and all(map(is_made_of_keys, parts)))

    def match(node: exp.Expr) -> str | None:
        matched = by_text(node)
        if matched is not None or not exprs or isinstance(node, exp.Query):
            return matched
        if id(node) not in sizes:
            sizes.update(_sizes(node))
        if not 0 < sizes[id(node)][1] <= largest:
            return None
        try:
            expr = t.expression(node)
        except DpsqlError:
            return None
        name = next((f"g{i}" for i, key in enumerate(exprs) if key == expr), None)
        return None if name is None or is_made_of_keys(node) else name

    return match


def _sizes(tree: exp.Expr) -> dict[int, tuple[exp.Expr, int]]:
    """Return how many nodes there are in each node of a tree, by its `id`; 0 where it can be no key."""
    nodes = every(tree, exp.Expr)
    size, columns, others = dict.fromkeys(map(id, nodes), 1), set[int](), set[int]()
    for node in reversed(nodes):  # what is in a node comes before it
        me, above = id(node), id(node.parent)
        size[above] = size.get(above, 1) + size[me]
        if me in columns or isinstance(node, exp.Column):
            columns |= {me, above}
        if me in others or isinstance(node, (exp.Window, exp.Query)) or is_aggregate(node):
            others |= {me, above}
    possible = columns - others
    return {id(node): (node, size[id(node)] if id(node) in possible else 0) for node in nodes}
