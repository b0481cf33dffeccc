"""EXISTS of rows of whomever, which is no condition on single rows: as an aggregate of these rows.

SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 100)  →  SELECT coalesce((SELECT bool_or(true) FROM trips WHERE …), false)
SELECT 1 AS a FROM trips WHERE fare > 100 LIMIT 1     →  SELECT 1 AS a WHERE EXISTS (SELECT 1 FROM trips WHERE fare > 100)

Claim: bool_or(true) is true of some rows, and NULL of none. What is selected does not matter to EXISTS, nor does its order,
nor that one row is enough. The rules are those of the subquery, whose aggregate is released like any other.
"""

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import Offered, reads_rows
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.columns import Ctes, from_items
from dpsql.rewrite.syntax.read.trees import every, holds

_CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)
_PLAIN = frozenset({"expressions", "from_", "joins", "where", "distinct", "order", "limit", "fetch"})


def asks_for_one(select: exp.Select) -> bool:
    """Return whether a SELECT asks for a row of constants where some row is, as Django's .exists() does."""
    if not ({name for name, value in select.args.items() if value} - {"kind", "with_"} <= _PLAIN and _is_plain(select)):
        return False
    limit = select.args.get("limit")
    one = isinstance(limit, exp.Limit) and str(getattr(limit.expression, "this", "")) == "1"
    constants = all(isinstance(node.unalias().unnest(), _CONSTANTS) for node in select.expressions)
    nested = select.find_ancestor(exp.Query) is not None
    return one and constants and not (nested and Offered.of(select).outer(select))


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
        if not isinstance(inner, exp.Select) or not reads_rows(inner, ctes, policy) or not _is_plain(inner):
            continue
        if test.find_ancestor(exp.Query) is select and not (private and Offered.of(inner).outer(inner)):
            test.replace(_any(inner))


def _is_plain(inner: exp.Select) -> bool:
    """Return whether there are as many rows as in its FROM and WHERE, or one of them where there are some."""
    if not {name for name, value in inner.args.items() if value} <= _PLAIN or aggregates_of(inner):
        return False
    distinct, limit = inner.args.get("distinct"), inner.args.get("limit")
    count = None if limit is None else limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    enough = limit is None or (isinstance(count, exp.Literal) and str(count.this).isdigit() and int(count.this) > 0)
    return enough and not (distinct is not None and distinct.args.get("on")) and not holds(inner, exp.Window)


def _any(inner: exp.Select) -> exp.Expr:
    """Return whether there is any row; a role that may not name the columns that are selected is told so."""
    query = exp.Select(**{name: inner.args[name] for name in ("from_", "joins", "where") if inner.args.get(name)})
    names, named = Offered.of(inner), _columns_named(inner)
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
