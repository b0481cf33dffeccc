"""Whether one SELECT has all rows of another, which reads more columns and leaves out more rows.

    SELECT s0."unit" AS u FROM (SELECT s0."rider" AS "unit" FROM rides AS s0) AS s0
    has all of SELECT s0."unit" AS u … FROM (SELECT s0."rider" AS "unit", s0."fare" AS "fare" FROM rides AS s0 WHERE …) AS s0

Claim: what is in the second is in the first, as often. Proof, from inside out: both read the same tables, joined by the same
conditions; the first asks nothing that the second does not ask, of columns that are computed alike. Rows that are joined
by LEFT JOIN, or grouped, counted or told apart, are read in the very same words: with more rows there could be others.
A window leaves no row out, and what it computes is not asked for.
"""

from collections.abc import Collection

import sqlglot
from sqlglot import exp

from dpsql.trial.column_bounds import without_parens
from dpsql.trial.statement_parts import conditions_of, projected

_OF_ROWS = frozenset({"expressions", "from_", "joins", "where"})


def has_all_rows(first: exp.Select, from_: str, conditions: frozenset[str]) -> bool:
    """Return whether a SELECT has all rows of FROM with its joins, a text, and conditions."""
    asked = conditions_of(first) - {"TRUE"}
    one, other = (sqlglot.parse_one(text) for text in (first.sql(), f"SELECT 1 {from_}"))
    if not isinstance(one, exp.Select) or not isinstance(other, exp.Select):
        return False
    return asked <= conditions and _reads_all(one, other, _columns_in(one))


def _reads_all(first: exp.Select, second: exp.Select, used: Collection[tuple[str, str]]) -> bool:
    """Return whether the FROM of a SELECT has all rows of that of another, with these columns alike."""
    joins, others = first.args.get("joins") or [], second.args.get("joins") or []
    if len(joins) != len(others):
        return False
    for join, other in zip(joins, others, strict=True):
        plain, same = join.copy(), other.copy()
        for each in (plain, same):
            each.set("this", exp.to_table("t"))
        if plain != same or (join.side and join.this != other.this):
            return False
    used = {*used, *((column.table, column.name) for join in joins for column in join.find_all(exp.Column))}
    pairs = [(first.args["from_"].this, second.args["from_"].this)]
    pairs += [(join.this, other.this) for join, other in zip(joins, others, strict=True)]
    return all(
        _has_all(mine, theirs, {name for table, name in used if table in ("", mine.alias)}) for mine, theirs in pairs
    )


def _has_all(first: exp.Expr, second: exp.Expr, used: Collection[str]) -> bool:
    """Return whether an element of FROM has all rows of another."""
    if first == second:
        return True
    if not isinstance(first, exp.Subquery) or not isinstance(second, exp.Subquery) or first.alias != second.alias:
        return False
    return _is_all(first.this, second.this, used)


def _is_all(first: exp.Expr, second: exp.Expr, used: Collection[str]) -> bool:
    """Return whether a query has all rows of another, with the columns in use computed alike."""
    first, second = without_parens(first), without_parens(second)
    if isinstance(first, exp.Union) and isinstance(second, exp.Union):
        whole = {name for union in (first, second) for name, part in union.args.items() if part}
        return (
            whole <= {"this", "expression", "distinct"}
            and not any(u.args.get("distinct") for u in (first, second))
            and (_is_all(first.left, second.left, used) and _is_all(first.right, second.right, used))
        )
    if not isinstance(first, exp.Select) or not isinstance(second, exp.Select):
        return False
    given = {name for select in (first, second) for name, part in select.args.items() if part}
    if (
        any(_makes_rows(output) for select in (first, second) for output in select.expressions)
        or given - _OF_ROWS
        or not conditions_of(first) - {"TRUE"} <= conditions_of(second)
    ):
        return False
    own, theirs = projected(first), projected(second)
    starred = {alias for select in (own, theirs) for alias in select if alias == "*"}
    below = _columns_in(first, outputs=False)
    for name in used:
        mine, other = own.get(name), theirs.get(name)
        if mine is None and other is None and starred:
            below |= {(first.args["from_"].this.alias, name)}
            continue
        if mine is None or mine != other or mine.find(exp.Window):
            return False
        below |= {(column.table, column.name) for column in mine.find_all(exp.Column)}
    return _reads_all(first, second, below)


def _makes_rows(output: exp.Expr) -> bool:
    """Return whether an output makes one row of several, or several of one."""
    several = output.find(exp.ExplodingGenerateSeries, exp.Explode, exp.GenerateSeries, exp.UDTF) is not None
    calls = output.find_all(exp.AggFunc)
    return several or any(
        call.find_ancestor(exp.Window, exp.Select) is output.find_ancestor(exp.Select) for call in calls
    )


def _columns_in(select: exp.Select, *, outputs: bool = True) -> set[tuple[str, str]]:
    """Return the columns, with their tables, in a SELECT's own conditions, and in its outputs."""
    where = select.args.get("where")
    parts = [*(select.expressions if outputs else ()), *([] if where is None else [where])]
    return {(column.table, column.name) for part in parts for column in part.find_all(exp.Column)}
