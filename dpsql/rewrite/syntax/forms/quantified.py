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

from collections.abc import Callable, Iterator

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import Ctes
from dpsql.rewrite.syntax.read.trees import every

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
        if (rows and isinstance(node, exp.NEQ)) or (not rows and not Offered.of(query).outer(query)):
            return None  # NOT IN; and what public queries say by themselves, which are values
    if not isinstance(query, exp.Select) or len(lefts) != len(query.expressions) or not _is_plain(query):
        return None
    ours = Offered.of(query)
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
