"""The conditions of a WHERE that there are, or are not, rows of other tables: EXISTS, IN and their kin.

zone = 3 AND EXISTS (SELECT …) AND rider NOT IN (SELECT …)  →  [zone = 3], [EXISTS (SELECT …), NOT rider IN (SELECT …)]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.read.trees import every


@dataclass(frozen=True, slots=True)
class Existence:
    """One condition that a query has rows, or with `left` that one of its rows has that value; or, negated, that none has."""

    node: exp.Expr
    query: exp.Select
    left: exp.Expr | None
    negated: bool


def existences(where: exp.Expr) -> tuple[list[exp.Expr], list[Existence]]:
    """Return the conditions that all must hold: plain ones, and tests."""
    plain, tests = [], []
    for part in conjuncts_of(where):
        test = _existence(part)
        if test is None:
            plain.append(part)
        else:
            tests.append(test)
    return plain, tests


def calls_listed(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the calls in what the queries of EXISTS put out: one that returns sets decides how many rows there are."""
    # EXISTS (SELECT unnest(x) FROM t) has no rows where the array is empty, though t has some.
    for test in every(select, exp.Exists):
        query = test.this
        while isinstance(query, (exp.Subquery, exp.Paren)):
            query = query.this
        if isinstance(query, exp.Select):
            calls = (call for output in query.expressions for call in every(output, exp.Anonymous))
            yield from (call for call in calls if not is_aggregate(call))


def tested_queries(select: exp.Select) -> frozenset[int]:
    """Return the queries, by their identity, in the tests of a SELECT's WHERE; DISTINCT is nothing to these, and goes."""
    where = select.args.get("where")
    tests = existences(where.this)[1] if where is not None else []
    for test in tests:
        distinct = test.query.args.get("distinct")
        # DISTINCT ON stays: with its ORDER BY it chooses which value of several there is.
        if distinct is not None and not distinct.args.get("on"):
            test.query.set("distinct", None)
    inside = (node for test in tests for node in (test.query, test.query.parent))
    return frozenset(id(node) for node in inside)


def conjuncts_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a chain of AND joins, however long and however bracketed."""
    # A stack and no recursion: tools write thousands of conditions. What is on the left is taken first, as it was written.
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, exp.And):
            pending += [part.expression, part.this]
        elif isinstance(part, exp.Paren):
            pending.append(part.this)
        else:
            yield part


def as_list(query: exp.Expr, is_test: Callable[[exp.Expr], bool]) -> exp.Expr:
    """Write `x = ANY (…)` as `x IN (…)`, and `x <> ALL (…)` as `x NOT IN (…)`, unless it is a test by itself.

    The query in it is returned, which may stand in brackets now.
    """
    quantified = query.parent
    whole = quantified.parent if quantified is not None else None
    if not isinstance(whole, (exp.EQ, exp.NEQ)) or whole.expression is not quantified or is_test(whole):
        return query
    if not isinstance(quantified, exp.Any if isinstance(whole, exp.EQ) else exp.All):
        return query
    listed = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)
    among: exp.Expr = exp.In(this=whole.this, query=listed)
    whole.replace(exp.Paren(this=exp.Not(this=among)) if isinstance(whole, exp.NEQ) else among)
    return listed


def _existence(node: exp.Expr) -> Existence | None:
    inner, negated = node, False
    while isinstance(inner, (exp.Not, exp.Paren)):
        # NOT (NOT EXISTS (…)) is EXISTS (…).
        negated ^= isinstance(inner, exp.Not)
        inner = inner.this
    query, left = None, None
    match inner:
        case exp.Exists():
            query = inner.this
        case exp.In() if inner.args.get("query"):
            query, left = inner.args["query"], inner.this
        case exp.EQ() if isinstance(inner.expression, exp.Any):
            query, left = inner.expression.this, inner.this
        # x <> ALL (…) is NOT (x = ANY (…)).
        case exp.NEQ() if isinstance(inner.expression, exp.All):
            query, left, negated = inner.expression.this, inner.this, not negated
    while isinstance(query, (exp.Subquery, exp.Paren)):
        query = query.this
    return Existence(node, query, left, negated) if isinstance(query, exp.Select) else None
