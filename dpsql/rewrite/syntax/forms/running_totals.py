"""Running totals by a calendar: the periods are measured once, each row in its own, and PostgreSQL adds them up.

SELECT c.day, sum(t.fare) FROM calendar c JOIN trips t ON date_trunc('day', t.at) <= c.day GROUP BY c.day
→  SELECT c.day, sum(p.v) FROM calendar c JOIN (
     SELECT date_trunc('day', t.at) AS k, sum(t.fare) AS v FROM trips t GROUP BY 1) AS p ON p.k <= c.day GROUP BY c.day

Joined row by row, a trip counts on each later day, and noise has to hide all of them; here it counts once. Noise adds up as
the square root of the periods does, and totals are consistent: none is lower than what it begins with, but for noise.

Claim: the same rows of the calendar find the same rows of the table, since the condition asks of a row only what its period
is; counts and sums of rows are sums of those of their periods. Only sums and counts, of time cut into days or longer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpsql.policy.model import Column, Policy, SqlType
from dpsql.rewrite.syntax.forms.correlation import OfferedTables, reads_rows
from dpsql.rewrite.syntax.forms.decorrelate import with_values
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name, is_count, queries_inside
from dpsql.rewrite.syntax.named.columns import Ctes, fold, fresh, from_items, item_name, output_name, tables_in_from
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.grouping import grouping_of
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_CLAUSES = frozenset(
    {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "kind"}
)
_PERIODS = frozenset({"day", "week", "month", "quarter", "year"})
# Of these PostgreSQL's sum is a bigint; of a bigint it is a numeric.
_INTEGERS = frozenset({SqlType.SMALLINT, SqlType.INTEGER})
_DAY = 86_400_000_000
"""Microseconds."""
# As many groups, where the periods are days: 27 years.
_MOST_DAYS = 10_000


def add_periods_up(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Let a SELECT that joins public rows with private ones by a range of their time read the totals of periods."""
    calls = aggregates_of(select)
    plain = not any(value and key not in _CLAUSES for key, value in select.args.items())
    if not plain or not calls or select.args.get("group") is None or next(queries_inside(select), None) is not None:
        return
    joins = select.args.get("joins") or []
    if not joins or not all(_is_inner(join) for join in joins) or select.args["from_"].this.args.get("joins"):
        return
    items = list(from_items(select))
    private = [item for item in items if _reads_rows(item, ctes, policy)]
    # One private table and public ones alone: with two, a period's total would depend on the rows beside each row.
    if len(private) != 1 or not item_name(private[0]):
        return
    rows = _Rows(private[0], OfferedTables(frozenset({item_name(private[0])})), ctes, policy)
    where = select.args.get("where")
    conditions = [
        *([where.this] if where is not None else []),
        *(join.args["on"] for join in joins if join.args.get("on")),
    ]
    parts = [part for condition in conditions for part in conjuncts_of(condition)]
    period = _period(parts, rows)
    if period is None or (isinstance(rows.written_out(period), Column) and not _has_table(items, ctes, policy)):
        return  # what constants are compared with is measured in the stretches between them
    if not grouping_of(select).plain or not all(rows.adds_up(call) for call in calls):
        return
    # A key of the private rows, such as t.zone, would need totals by period and zone, which are not made.
    if any(rows.any_of(key) for key in grouping_of(select).keys) or not _only_in_calls(select, calls, rows):
        return
    _read_periods(select, rows, parts, period, calls)


def _has_table(items: Sequence[exp.Expr], ctes: Ctes, policy: Policy) -> bool:
    """Return whether a public table is read, and not constants alone."""
    tables = [
        item for item in items if isinstance(item, exp.Table) and (item.args.get("db") or fold(item.this) not in ctes)
    ]
    return any((table := policy.tables.get(fold(item.this))) is not None and table.public for item in tables)


def _is_inner(join: exp.Join) -> bool:
    kind = str(join.args.get("kind") or "").upper()
    return kind in {"", "INNER", "CROSS"} and not join.args.get("side") and not join.args.get("using")


def _reads_rows(item: exp.Expr, ctes: Ctes, policy: Policy) -> bool:
    return reads_rows(exp.Select(from_=exp.From(this=item.copy())), ctes, policy)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The private rows that are joined."""

    item: exp.Expr
    offered: OfferedTables
    ctes: Ctes
    policy: Policy

    def any_of(self, expr: exp.Expr) -> bool:
        """Return whether an expression has a column of theirs."""
        return any(map(self.offered.has, every(expr, exp.Column)))

    def all_of(self, expr: exp.Expr) -> bool:
        """Return whether an expression has no other columns."""
        return all(map(self.offered.has, every(expr, exp.Column)))

    def adds_up(self, call: exp.Expr) -> bool:
        """Return whether an aggregate of rows is the sum of those of their periods, of a type that is known."""
        bare = call.this if isinstance(call, exp.Filter) else call
        if (
            not isinstance(bare, exp.Anonymous)
            or not self.all_of(call)
            or holds(call, exp.Distinct, exp.Order, exp.Query)
        ):
            return False
        if is_count(call):
            return True
        return (
            function_name(bare) == "sum"
            and len(bare.expressions) == 1
            and self.is_integer(bare.expressions[0]) is not None
        )

    def is_integer(self, expr: exp.Expr) -> bool | None:
        """Return whether the sum of an expression is a bigint; None where that is not known."""
        match self.written_out(expr):
            case Column(type=type_):
                return type_ in _INTEGERS if type_.is_number else None
            case exp.Literal(is_string=False) as literal:
                return str(literal.this).isdigit()
            case exp.Case() as case:
                values = [branch.args["true"] for branch in case.args["ifs"]]
                values += [case.args["default"]] if case.args.get("default") is not None else []
                known = {self.is_integer(value) for value in values if not isinstance(value, exp.Null)}
                return known.pop() if len(known) == 1 else None
            case _:
                return None

    def written_out(self, expr: exp.Expr) -> exp.Expr | Column | None:
        """Return what an expression is below subqueries: the policy's column, where it is no more than one."""
        while isinstance(expr, exp.Paren):
            expr = expr.this
        return _of_item(self.item, expr, self.ctes, self.policy) if isinstance(expr, exp.Column) else expr

    def is_period(self, expr: exp.Expr) -> bool:
        """Return whether an expression is a time of theirs that is cut into days or longer, within declared bounds."""
        match self.written_out(expr):
            case Column(type=SqlType.DATE) as column:
                return _is_bounded(column)
            case exp.Anonymous(expressions=[unit, time]) as call if function_name(call) == "date_trunc":
                while isinstance(unit, (exp.Cast, exp.Paren)):
                    unit = unit.this
                named = isinstance(unit, exp.Literal) and unit.name.lower() in _PERIODS
                return named and self._is_time(call, time)
            case exp.Cast(this=time, to=kind) as cast if kind.this is exp.DType.DATE:
                return self._is_time(cast, time)
            case _:
                return False

    def _is_time(self, within: exp.Expr, time: exp.Expr) -> bool:
        """Return whether a time is a column that has bounds; it stands in the statement, or in a subquery that is read."""
        owner = within.find_ancestor(exp.Select)
        items = [self.item] if self.all_of(time) else list(from_items(owner)) if owner is not None else []
        while isinstance(time, exp.Cast):
            time = time.this
        found = (_of_item(item, time, self.ctes, self.policy) for item in items if isinstance(time, exp.Column))
        return any(isinstance(column, Column) and _is_bounded(column) for column in found)


def _is_bounded(column: Column) -> bool:
    """Return whether there are few enough days between the bounds of a time."""
    day = 1 if column.type is SqlType.DATE else _DAY if column.type.is_moment else None
    return day is not None and column.bounds is not None and column.bounds.high - column.bounds.low <= _MOST_DAYS * day


def _of_item(item: exp.Expr, column: exp.Column, ctes: Ctes, policy: Policy) -> exp.Expr | Column | None:
    """Return what a column of an element of FROM is, followed through subqueries."""
    if item_name(item) != fold(column.args.get("table")):
        return None
    alias = item.args.get("alias")
    # AS t (a, b) gives columns other names, by which nothing is looked up here.
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        return None
    name = fold(item.this) if isinstance(item, exp.Table) else ""
    query = item.this if isinstance(item, exp.Subquery) else None
    if isinstance(item, exp.Table) and not item.args.get("db") and name in ctes:
        query = ctes[name].this
    if query is None:
        table = policy.tables.get(name)
        return None if table is None else table.columns.get(fold(column.this))
    outputs = query.expressions if isinstance(query, exp.Select) else []
    value = next((output.unalias() for output in outputs if output_name(output) == fold(column.this)), None)
    if isinstance(value, exp.Column):
        found = (_of_item(inner, value, ctes, policy) for inner in from_items(query))
        return next((known for known in found if known is not None), None)
    return value


def _period(parts: Sequence[exp.Expr], rows: _Rows) -> exp.Expr | None:
    """Return the one expression of private rows that conditions compare with public ones, if it is a period of theirs."""
    mixed = [part for part in parts if rows.any_of(part) and not rows.all_of(part)]
    # date_trunc('day', t.at) <= c.day AND date_trunc('day', t.at) > c.day - 7  →  date_trunc('day', t.at), once. An equation
    # with it is an ordinary join, which is followed by its key.
    own = {render(expr): expr for part in mixed for expr in _own(part, rows)}
    if len(own) != 1 or any(isinstance(part, exp.EQ) for part in mixed):
        return None
    period = next(iter(own.values()))
    return period if rows.is_period(period) else None


def _own(node: exp.Expr, rows: _Rows) -> Iterator[exp.Expr]:
    """Yield the largest expressions of private rows alone."""
    if not rows.any_of(node):
        return
    if rows.all_of(node):
        yield node
        return
    for child in node.iter_expressions():
        yield from _own(child, rows)


def _only_in_calls(select: exp.Select, calls: Sequence[exp.Expr], rows: _Rows) -> bool:
    """Return whether private columns are shown and ordered by in aggregates alone."""
    inside = {id(column) for call in calls for column in every(call, exp.Column)}
    # The same call may stand in ORDER BY and in HAVING as another node: it is told by its text.
    texts = {render(call) for call in calls}
    places = [*select.expressions, *(select.args[key] for key in ("having", "order") if select.args.get(key))]
    pending = list(places)
    while pending:
        node = pending.pop()
        if render(node) in texts:
            continue
        if isinstance(node, exp.Column) and rows.offered.has(node) and id(node) not in inside:
            return False
        pending += node.iter_expressions()
    return True


def _read_periods(
    select: exp.Select, rows: _Rows, parts: Sequence[exp.Expr], period: exp.Expr, calls: Sequence[exp.Expr]
) -> None:
    """Put the totals of periods in the place of the rows."""
    alias = fresh("periods", tables_in_from(select))
    # What asks of the private rows alone is asked of them before they are added up; all else is asked of the periods:
    #   WHERE t.late AND date_trunc('day', t.at) <= c.day
    #   →  (SELECT …, sum(t.fare) AS "total 1" FROM trips AS t WHERE t.late GROUP BY …) AS periods … periods.period <= c.day
    own = [part.copy() for part in parts if rows.any_of(part) and rows.all_of(part)]
    distinct = {render(call): call for call in calls}
    names = {text: f"total {place}" for place, text in enumerate(distinct, start=1)}
    totals = exp.Select(
        expressions=[
            exp.alias_(period.copy(), "period", quoted=True),
            *(exp.alias_(call.copy(), names[text], quoted=True) for text, call in distinct.items()),
        ],
        from_=exp.From(this=rows.item.copy()),
        group=exp.Group(expressions=[period.copy()]),
    )
    if own:
        totals.set("where", exp.Where(this=exp.and_(*own, copy=False)))
    values = {render(period): exp.column("period", alias, quoted=True)}
    others = [with_values(part.copy(), values) for part in parts if not (rows.any_of(part) and rows.all_of(part))]
    sums = {text: _added_up(rows, call, exp.column(names[text], alias, quoted=True)) for text, call in distinct.items()}
    named = [output_name(output) for output in select.expressions]
    select.set(
        "expressions",
        [
            exp.alias_(with_values(output.unalias(), sums), name, quoted=True, copy=False)
            for output, name in zip(select.expressions, named, strict=True)
        ],
    )
    for key in ("having", "order"):
        if (clause := select.args.get(key)) is not None:
            with_values(clause, sums)
    # All joins are inner, so that their conditions may as well stand in WHERE, where all of them are put together below.
    for join in select.args["joins"]:
        join.set("on", None)
        join.set("kind", "CROSS")
    table = exp.Subquery(this=totals, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    rows.item.replace(table)
    select.set("where", exp.Where(this=exp.and_(*others, copy=False)))


def _added_up(rows: _Rows, call: exp.Expr, total: exp.Expr) -> exp.Expr:
    """Return the sum of periods' totals, of the type that the aggregate has."""
    # PostgreSQL's sum of counts is a numeric, where a count is a bigint: clients would see another type.
    added = exp.Anonymous(this="sum", expressions=[total])
    bare = call.this if isinstance(call, exp.Filter) else call
    whole = is_count(call) or rows.is_integer(bare.expressions[0])
    return exp.cast(added, "bigint") if whole else added
