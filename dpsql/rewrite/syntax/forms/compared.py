"""Subqueries that compare private rows with public ones around them, tied to these by equations instead.

SELECT d, (SELECT count(*) FROM stays s WHERE s.came <= days.d AND s.went > days.d) FROM days
→  SELECT d, (SELECT count(*) FROM (SELECT DISTINCT days.d AS d FROM days) AS c CROSS JOIN stays s
              WHERE s.came <= c.d AND s.went > c.d AND c.d = days.d) FROM days

Claim: both queries count the same rows. A row whose d is NULL matches nothing in either, and every other d is one row of c.
The measurement is that of a join with constants, and a unit's rows are weighed after the join.
"""

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.nested import aggregates_of, queries_below
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import Ctes, from_items
from dpsql.rewrite.syntax.named.existence import conjuncts_of
from dpsql.rewrite.syntax.named.identifiers import fold
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.read.trees import every

_CLAUSES = frozenset({"expressions", "from_", "joins", "where"})
_COMPARING = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)
_STRICT = (exp.Paren, exp.Cast, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div)
"""What is NULL where anything in it is."""
_STRICT_CALLS = frozenset({"date_trunc", "date_bin", "abs", "floor", "ceil", "lower", "upper"})


def tie_compared(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Tie the subqueries among the outputs of a SELECT that is of public rows alone."""
    items = list(from_items(select))
    if len(items) != 1 or select.args.get("group") or select.args.get("distinct") or aggregates_of(select):
        return
    queries = [query for output in select.expressions for query in queries_below(output)]
    if not queries or reads_rows(exp.Select(from_=exp.From(this=items[0].copy())), ctes, policy):
        return
    for query in queries:
        inner = query
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        plain = isinstance(inner, exp.Select) and {key for key, value in inner.args.items() if value} <= _CLAUSES
        if isinstance(inner, exp.Select) and plain and aggregates_of(inner) and reads_rows(inner, ctes, policy):
            _tie(inner, select, items[0])


def _tie(inner: exp.Select, select: exp.Select, item: exp.Expr) -> None:
    ours, around, where = Offered.of(inner), Offered.of(select), inner.args.get("where")
    outside = [column for column in every(inner, exp.Column) if not ours.has(column)]
    parts = list(conjuncts_of(where.this)) if where is not None else []
    names = {fold(column.this) for column in outside}
    strict = {fold(column.this) for part in parts for column in _deciding(part) if any(column is o for o in outside)}
    if _is_series(item):
        strict = names
    inside = {id(column) for part in parts for column in every(part, exp.Column)}
    if not names or names != strict or not all(around.has(o) and id(o) in inside for o in outside):
        return
    if not any(ours.outer(part) and ours.pair(part) is None for part in parts):
        return  # equations alone tie it already
    alias = fresh("compared", ours.tables | around.tables)
    firsts = {fold(column.this): column.copy() for column in reversed(outside)}
    listed = [
        exp.Alias(this=first_column.copy(), alias=exp.to_identifier(name, quoted=True))
        for name, first_column in firsts.items()
    ]
    table = exp.Select(expressions=listed, from_=exp.From(this=item.copy()), distinct=exp.Distinct())
    ties = [
        exp.EQ(this=exp.column(name, alias, quoted=True), expression=first_column.copy())
        for name, first_column in firsts.items()
    ]
    for column in outside:
        column.replace(exp.column(fold(column.this), alias, quoted=True))
    assert where is not None
    where.set("this", exp.and_(where.this, *ties, copy=False))
    first = inner.args["from_"].this
    named = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    inner.set("joins", [exp.Join(this=first, kind="CROSS"), *(inner.args.get("joins") or ())])
    inner.set("from_", exp.From(this=exp.Subquery(this=table, alias=named)))


def _is_series(item: exp.Expr) -> bool:
    """Return whether an element of FROM is a series, whose values are never NULL."""
    return isinstance(item, exp.Table) and function_name(item.this) == "generate_series"


def _deciding(condition: exp.Expr) -> list[exp.Column]:
    """Return columns of which each, where it is NULL, lets a condition not hold, whatever the others are."""
    match condition:
        case exp.Paren():
            return _deciding(condition.this)
        case exp.And():
            return [*_deciding(condition.this), *_deciding(condition.expression)]
        case exp.Or():
            left, right = (_deciding(side) for side in (condition.this, condition.expression))
            both = {*map(_named, left)} & {*map(_named, right)}
            return [column for column in (*left, *right) if _named(column) in both]
        case exp.Not() if isinstance(condition.this.unnest(), _COMPARING):
            return _deciding(condition.this)
        case exp.Between():
            return [column for part in ("this", "low", "high") for column in _kept(condition.args[part])]
        case _ if isinstance(condition, _COMPARING):
            return [*_kept(condition.this), *_kept(condition.expression)]
        case _:
            return []


def _kept(value: exp.Expr) -> list[exp.Column]:
    """Return columns of which each, where it is NULL, makes a value NULL."""
    match value:
        case exp.Column():
            return [value]
        case exp.Anonymous() if function_name(value) in _STRICT_CALLS:
            return [column for argument in value.expressions for column in _kept(argument)]
        case _ if isinstance(value, _STRICT):
            return [column for side in (value.this, value.args.get("expression")) if side for column in _kept(side)]
        case _:
            return []


def _named(column: exp.Column) -> tuple[str, str]:
    return fold(column.args.get("table")), fold(column.this)
