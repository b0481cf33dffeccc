"""Comparisons with some or all rows of a query, and rows IN a query, as EXISTS, where it only matters if they are true.

WHERE fare > ANY (SELECT s.fare FROM rides s WHERE s.rider = r.rider)
→  WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND r.fare > s.fare)
WHERE fare > ALL (SELECT s.fare …)           →  WHERE NOT EXISTS (SELECT 1 … AND (r.fare > s.fare) IS NOT TRUE)
WHERE (rider, day) NOT IN (SELECT x, y …)
→  WHERE NOT EXISTS (SELECT 1 … AND (rider = x) IS NOT FALSE AND (day = y) IS NOT FALSE)

Claim, by SQL's three truths: `x θ ANY (q)` is true where it is for a row of q, and false where it is false for each; `x θ ALL
(q)` is true where it is for each, and false where it is false for a row. A condition is true or is not; what is said under an
odd number of NOTs is false or is not. Only chains of AND, OR and NOT are followed, in which nothing else of a value matters.
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import OfferedTables, reads_rows
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of, function_name, queries_below
from dpsql.rewrite.syntax.named.columns import Ctes, fold, fresh, from_items
from dpsql.rewrite.syntax.named.existence import conjuncts_of, existences
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.trees import every, holds

_COMPARING = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_Reads = Callable[[exp.Select], bool]
"""Whether a query reads private rows."""
_PLAIN = frozenset({"expressions", "from_", "joins", "where", "distinct"})


def exist_instead(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the conditions of one SELECT: those of WHERE, of joins, of FILTER and of CASE."""
    if not every(select, exp.Query)[1:] and not select.find(exp.Values):
        return
    for condition in list(_conditions(select)):
        _follow(condition, lambda query: reads_rows(query, ctes, policy), negated=False)


def _conditions(select: exp.Select) -> Iterator[exp.Expr]:
    where = select.args.get("where")
    joins = (join.args.get("on") for join in select.args.get("joins") or ())
    yield from (condition for condition in (where and where.this, *joins) if condition is not None)
    for node in select.walk(prune=lambda node: isinstance(node, exp.Query) and node is not select):
        if isinstance(node, exp.Filter):
            yield node.expression.this
        elif isinstance(node, exp.Case) and node.this is None:
            yield from (branch.this for branch in node.args["ifs"])


def _follow(node: exp.Expr, private: _Reads, *, negated: bool) -> None:
    match node:
        case exp.Paren():
            _follow(node.this, private, negated=negated)
        case exp.Not():
            _follow(node.this, private, negated=not negated)
        case exp.And() | exp.Or():
            _follow(node.this, private, negated=negated)
            _follow(node.expression, private, negated=negated)
        case _:
            made = _made(node, private, negated=negated)
            if made is not None:
                node.replace(made)


def _made(node: exp.Expr, private: _Reads, *, negated: bool) -> exp.Expr | None:
    """Return the EXISTS for a comparison, if it is with a query of rows."""
    lefts, query, all_rows = _compared(node)
    if isinstance(query, exp.Values):
        query = _of_values(query)
    if len(lefts) == 1 and isinstance(query, exp.Select):
        rows = private(query)
        if (rows and isinstance(node, exp.NEQ)) or (not rows and not OfferedTables.of(query).outer(query)):
            return None  # NOT IN; and what public queries say by themselves, which are values
    if not isinstance(query, exp.Select) or len(lefts) != len(query.expressions) or not _is_plain(query):
        return None
    ours = OfferedTables.of(query)
    own = [column for left in lefts for column in every(left, exp.Column)]
    if any(not column.args.get("table") or ours.has(column) for column in own):
        return None  # it would mean another column there
    kind = exp.EQ if isinstance(node, exp.In) else type(node)
    rights = [output.unalias() for output in query.expressions]
    parts = [kind(this=left.copy(), expression=right.copy()) for left, right in zip(lefts, rights, strict=True)]
    truth = exp.Paren(this=exp.and_(*parts, copy=False))
    match all_rows, negated:
        case False, False:
            wanted: exp.Expr = truth
        case True, False:
            wanted = exp.Not(this=exp.Is(this=truth, expression=exp.true()))
        case False, True:
            wanted = exp.and_(*map(_is_not_false, parts), copy=False)  # as AND is false where one of its sides is
        case _:
            wanted = exp.Not(this=truth)
    inner = query.copy()
    inner.set("distinct", None)
    inner.set("expressions", [exp.Literal.number(1)])
    exists = exp.Exists(this=inner.where(wanted, copy=False))
    return exp.Not(this=exists) if all_rows else exists


def _is_not_false(condition: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=exp.Paren(this=condition), expression=exp.false()))


def _compared(node: exp.Expr) -> tuple[list[exp.Expr], exp.Expr | None, bool]:
    """Return the values, the query that they are compared with, and whether with all of its rows."""
    if isinstance(node, exp.In) and isinstance(node.this, exp.Tuple):
        query = node.args.get("query") or node.expressions[0]  # the parser takes VALUES for the only value of a list
        return node.this.expressions, query.unnest(), False
    quantified = node.expression if isinstance(node, _COMPARING) else None
    if not isinstance(quantified, (exp.Any, exp.All)):
        return [], None, False
    every_row = isinstance(quantified, exp.All)
    lefts = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    if (isinstance(node, exp.EQ) and not every_row and len(lefts) == 1) or (
        len(lefts) > 1 and not isinstance(node, exp.EQ)
    ):
        return [], None, False  # IN, which has a value by itself; and rows that differ, or come before others
    return lefts, quantified.this.unnest(), every_row


def _of_values(values: exp.Values) -> exp.Select:
    """Return the query of a list of rows."""
    width = len(values.expressions[0].expressions)
    names = [exp.to_identifier(f"value {n + 1}", quoted=True) for n in range(width)]
    listed, table = values.copy(), exp.to_identifier("values", quoted=True)
    listed.set("alias", exp.TableAlias(this=table, columns=names))
    columns = [exp.column(name.copy(), table.copy()) for name in names]
    return exp.Select(expressions=columns, from_=exp.From(this=listed))


def _is_plain(query: exp.Select) -> bool:
    """Return whether each row of a query is one of its FROM."""
    clauses = {name for name, value in query.args.items() if value}
    distinct = query.args.get("distinct")
    return (
        clauses <= _PLAIN
        and query.args.get("from_") is not None
        and not (distinct is not None and distinct.args.get("on"))
        and not aggregates_of(query)
        and not query.find(exp.Window)
    )


# Subqueries that compare private rows with public ones around them, tied to these by equations instead.
#
# SELECT d, (SELECT count(*) FROM stays s WHERE s.came <= days.d AND s.went > days.d) FROM days
# →  SELECT d, (SELECT count(*) FROM (SELECT DISTINCT days.d AS d FROM days) AS c CROSS JOIN stays s
#               WHERE s.came <= c.d AND s.went > c.d AND c.d = days.d) FROM days
#
# Claim: both queries count the same rows. A row whose d is NULL matches nothing in either, and every other d is one row of c.
# The measurement is that of a join with constants, and a unit's rows are weighed after the join.

_CLAUSES = frozenset({"expressions", "from_", "joins", "where"})
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
        if not isinstance(inner, exp.Select) or not {key for key, value in inner.args.items() if value} <= _CLAUSES:
            continue
        windowed = any(holds(output, exp.Window) for output in inner.expressions)  # over one row, which would be many
        if aggregates_of(inner) and not windowed and reads_rows(inner, ctes, policy):
            _tie(inner, select, items[0])


def _tie(inner: exp.Select, select: exp.Select, item: exp.Expr) -> None:
    ours, around, where = OfferedTables.of(inner), OfferedTables.of(select), inner.args.get("where")
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


# EXISTS of rows of whomever, which is no condition on single rows: as an aggregate of these rows.
#
# SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 100)  →  SELECT coalesce((SELECT bool_or(true) FROM trips WHERE …), false)
# SELECT 1 AS a FROM trips WHERE fare > 100 LIMIT 1     →  SELECT 1 AS a WHERE EXISTS (SELECT 1 FROM trips WHERE fare > 100)
#
# Claim: bool_or(true) is true of some rows, and NULL of none. What is selected does not matter to EXISTS, nor does its order,
# nor that one row is enough. The rules are those of the subquery, whose aggregate is released like any other.

_CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)
_OF_ROWS = frozenset({"expressions", "from_", "joins", "where", "distinct", "order", "limit", "fetch"})


def asks_for_one(select: exp.Select) -> bool:
    """Return whether a SELECT asks for a row of constants where some row is, as Django's .exists() does."""
    if not (
        {name for name, value in select.args.items() if value} - {"kind", "with_"} <= _OF_ROWS and _has_its_rows(select)
    ):
        return False
    limit = select.args.get("limit")
    one = isinstance(limit, exp.Limit) and str(getattr(limit.expression, "this", "")) == "1"
    constants = all(isinstance(node.unalias().unnest(), _CONSTANTS) for node in select.expressions)
    nested = select.find_ancestor(exp.Query) is not None
    return one and constants and not (nested and OfferedTables.of(select).outer(select))


def ask_for_any(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the EXISTS of one SELECT that are about no row of it, or about public ones; and a SELECT that means EXISTS."""
    if asks_for_one(select) and reads_rows(select, ctes, policy):
        moved = ("from_", "joins", "where", "order")
        found = exp.Select(expressions=[node.copy() for node in select.expressions])
        for clause in moved:
            found.set(clause, select.args.get(clause))
            select.set(clause, None)
        select.set("limit", None)
        select.set("where", exp.Where(this=exp.Exists(this=found)))
    tests = every(select, exp.Exists)
    if not tests:
        return
    private = any(reads_rows(item, ctes, policy) for item in from_items(select))
    for test in tests:
        inner = test.this.unnest() if isinstance(test.this, exp.Subquery) else test.this
        if not isinstance(inner, exp.Select) or not reads_rows(inner, ctes, policy) or not _has_its_rows(inner):
            continue
        if test.find_ancestor(exp.Query) is select and not (private and OfferedTables.of(inner).outer(inner)):
            test.replace(_any(inner))


def _has_its_rows(inner: exp.Select) -> bool:
    """Return whether there are as many rows as in its FROM and WHERE, or one of them where there are some."""
    if not {name for name, value in inner.args.items() if value} <= _OF_ROWS or aggregates_of(inner):
        return False
    distinct, limit = inner.args.get("distinct"), inner.args.get("limit")
    count = None if limit is None else limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    enough = limit is None or (isinstance(count, exp.Literal) and str(count.this).isdigit() and int(count.this) > 0)
    return enough and not (distinct is not None and distinct.args.get("on")) and not holds(inner, exp.Window)


def _any(inner: exp.Select) -> exp.Expr:
    """Return whether there is any row; a role that may not name the columns that are selected is told so."""
    query = exp.Select(**{name: inner.args[name] for name in ("from_", "joins", "where") if inner.args.get(name)})
    names, named = OfferedTables.of(inner), _columns_named(inner)
    if names.outer(query):  # in another subquery the row beside it could not be seen
        own = [each.this for each in named if isinstance(each.this, exp.Column) and names.has(each.this)]
        nulls = [exp.Is(this=column, expression=exp.Null()) for column in own]
        where = query.args["where"].this if query.args.get("where") else exp.true()
        query.set("where", exp.Where(this=exp.and_(where, exp.or_(exp.true(), *nulls))))
    elif named:
        query.set("expressions", named)
        query = exp.select().from_(exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("found"))))
    query.set("expressions", [exp.alias_(exp.Anonymous(this="bool_or", expressions=[exp.true()]), "any", quoted=True)])
    return exp.Anonymous(this="coalesce", expressions=[exp.Subquery(this=query), exp.false()])


def _columns_named(inner: exp.Select) -> list[exp.Expr]:
    """Return what is selected and ordered by, as far as it names columns."""
    order = inner.args.get("order")
    told = [*inner.expressions, *(order.expressions if order else ())]
    columns = [column for node in told for column in every(node, exp.Column) if not isinstance(column.this, exp.Star)]
    return [exp.alias_(column.copy(), f"c{place}") for place, column in enumerate(columns)]


# EXISTS of a unit's rows that compare with the row beside them, where its truth is a value: by the largest, or the smallest.
#
# SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM rides s WHERE s.rider = r.rider AND s.fare > r.fare)) FROM rides r
# →  … FILTER (WHERE coalesce((SELECT max(s.fare) FROM rides s WHERE s.rider = r.rider) > r.fare, false))
#
# Claim: some value is above another if the largest is, and below it if the smallest is; NULL is neither, and no row has no
# largest. So EXISTS is true where the comparison is, and false everywhere else. The rules are those of the subquery, which
# stands for one value. In a condition that rows must meet EXISTS is followed by itself.

_EXTREME: dict[type[exp.Expr], Sequence[str]] = {
    exp.GT: ["max"],
    exp.GTE: ["max"],
    exp.LT: ["min"],
    exp.LTE: ["min"],
    exp.NEQ: ["min", "max"],
}
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.NEQ: exp.NEQ,
}  # fmt: skip
_OF_TESTS = frozenset({"expressions", "from_", "joins", "where"})


def compare_extremes(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the EXISTS of one SELECT that are values."""
    tests = every(select, exp.Exists)
    if not tests:
        return
    where = select.args.get("where")
    followed = (
        {id(node) for test in existences(where.this)[1] for node in every(test.node, exp.Exists)} if where else set()
    )
    for test in tests:
        inner = test.this
        while isinstance(inner, exp.Subquery):
            inner = inner.this
        if id(test) in followed or not isinstance(inner, exp.Select) or not reads_rows(inner, ctes, policy):
            continue
        if (made := _comparison(inner, ctes, policy)) is not None:
            test.replace(made)


def _comparison(inner: exp.Select, ctes: Ctes, policy: Policy) -> exp.Expr | None:
    """Return the comparison instead of EXISTS, if one of its conditions compares a row's value with one from outside."""
    where, ours = inner.args.get("where"), OfferedTables.of(inner)
    if (
        where is None
        or any(value and key not in _OF_TESTS for key, value in inner.args.items())
        or aggregates_of(inner)
    ):
        return None  # an aggregate without GROUP BY has a row in any case
    parts = list(conjuncts_of(where.this))
    pairs = [pair for part in parts if (pair := ours.pair(part)) is not None]
    compared = [part for part in parts if ours.pair(part) is None and ours.outer(part)]
    if len(compared) != 1 or not groups_by_unit(inner, [inside for inside, _ in pairs], ctes, policy):
        return None
    (part,) = compared
    sides = _sides(part, ours)
    if sides is None:
        return None
    kind, inside, outside = sides
    rest = [each.copy() for each in parts if each is not part]
    truths = [
        kind(this=_value(inner, rest, name, inside), expression=exp.Paren(this=outside.copy()))
        for name in _EXTREME[kind]
    ]
    return exp.Anonymous(this="coalesce", expressions=[exp.Paren(this=exp.or_(*truths)), exp.false()])


def _sides(part: exp.Expr, ours: OfferedTables) -> tuple[type[exp.Expr], exp.Expr, exp.Expr] | None:
    """Return how something of the inner rows compares with something from outside."""
    kind = type(part)
    if kind not in _EXTREME or every(part, exp.Query):
        return None
    for kind_, side, other in ((kind, part.this, part.expression), (_TURNED[kind], part.expression, part.this)):
        inside, outside = every(side, exp.Column), every(other, exp.Column)
        if inside and outside and not ours.outer(side) and not any(map(ours.has, outside)):
            return kind_, side, other
    return None


def _value(inner: exp.Select, conditions: Sequence[exp.Expr], name: str, of: exp.Expr) -> exp.Expr:
    query = inner.copy()
    query.set("expressions", [exp.alias_(exp.Anonymous(this=name, expressions=[of.copy()]), name, quoted=True)])
    query.set("where", exp.Where(this=exp.and_(*(condition.copy() for condition in conditions))))
    return exp.Subquery(this=query)
