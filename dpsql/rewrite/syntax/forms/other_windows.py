"""Windows that are said by others, where private rows are read; and DISTINCT of rows with windows, which comes after them.

percent_rank() OVER (PARTITION BY u ORDER BY x)
→  CASE WHEN count(*) OVER (PARTITION BY u) > 1
   THEN CAST(rank() OVER (PARTITION BY u ORDER BY x) - 1 AS double precision) / (count(*) OVER (PARTITION BY u) - 1)
   ELSE 0 END
cume_dist() OVER (PARTITION BY u ORDER BY x)
→  CAST(count(*) OVER (PARTITION BY u ORDER BY x) AS double precision) / count(*) OVER (PARTITION BY u)
lead(x, 2, d) OVER (PARTITION BY u ORDER BY t)
→  CASE WHEN lead(1, 2) OVER (PARTITION BY u ORDER BY t) IS NULL THEN d ELSE lead(x, 2) OVER (PARTITION BY u ORDER BY t) END
SELECT DISTINCT u, first_value(x) OVER (PARTITION BY u ORDER BY t) AS f FROM trips
→  SELECT DISTINCT u, f FROM (SELECT u, first_value(x) OVER (PARTITION BY u ORDER BY t) AS f FROM trips) AS windows

A row that is not there has no 1, and one that is there has, also where its x is NULL. Both windows look at the same row:
where rows tie, all windows of a SELECT take them in one order.
"""

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.group_windows import put_groups_in_place
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import Ctes
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_WITH_DEFAULT = 3
"""The arguments of `lead` and `lag` of which the last one stands for a row that is not there."""
_INSIDE = ("expressions", "from_", "joins", "where", "windows")
_OUTSIDE = frozenset({*_INSIDE, "distinct", "order", "limit", "offset", "with_"})
_NAME = "windows"


def say_by_other_windows(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change the windows of a SELECT of private rows, and its DISTINCT; any other SELECT stays."""
    if not any(holds(output, exp.Window) for output in select.expressions) or not reads_rows(select, ctes, policy):
        return
    if _has_others(select):
        put_windows_in_place(select)
        for window in [window for output in select.expressions for window in every(output, exp.Window)]:
            other = _other(window)
            if other is not None:
                _put(window, other)
    put_groups_in_place(select)
    _put_below(select)


def _has_others(select: exp.Select) -> bool:
    return any(_other(window) is not None for output in select.expressions for window in every(output, exp.Window))


def _other(window: exp.Window) -> exp.Expr | None:
    """Return what says the same as a window; None if it is not said by others."""
    name, args = function_name(window.this), getattr(window.this, "expressions", [])
    if window.args.get("spec"):  # which these functions do not look at
        return None
    match name:
        case "percent_rank" if not args:
            rank, others = _minus_one(_call(window, "rank")), _minus_one(_rows(window))
            return (
                exp.Case()
                .when(exp.GT(this=_rows(window), expression=exp.Literal.number(1)), _quotient(rank, others), copy=False)
                .else_(exp.cast(exp.Literal.number(0), "double"), copy=False)
            )
        case "cume_dist" if not args:
            return _quotient(_call(window, "count", exp.Star()), _rows(window))
        case "lead" | "lag" if len(args) == _WITH_DEFAULT:
            value, far, default = args
            there = _call(window, name, exp.Literal.number(1), far)
            is_none = exp.Is(this=there, expression=exp.Null())
            return (
                exp.Case().when(is_none, default.copy(), copy=False).else_(_call(window, name, value, far), copy=False)
            )
        case _:
            return None


def _call(window: exp.Window, name: str, *args: exp.Expr) -> exp.Window:
    """Return another function over the same window."""
    other = window.copy()
    other.set("this", exp.Anonymous(this=name, expressions=[arg.copy() for arg in args]))
    return other


def _rows(window: exp.Window) -> exp.Window:
    """Return how many rows the whole partition has."""
    rows = _call(window, "count", exp.Star())
    rows.set("order", None)
    return rows


def _minus_one(number: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=number, expression=exp.Literal.number(1)))


def _quotient(part: exp.Expr, whole: exp.Expr) -> exp.Expr:
    return exp.Div(this=exp.cast(part, "double"), expression=exp.cast(whole, "double"))


def _put(window: exp.Window, other: exp.Expr) -> None:
    """Put something else where a window stands; an output keeps its name."""
    if isinstance(window.parent, exp.Select):
        other = exp.alias_(other, output_name(window), quoted=True)
    elif not isinstance(window.parent, exp.Alias):
        other = exp.Paren(this=other)
    window.replace(other)


def _put_below(select: exp.Select) -> None:
    """Put the windows of a SELECT DISTINCT below it."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on") or aggregates_of(select):
        return
    if any(value and key not in _OUTSIDE for key, value in select.args.items() if key != "kind"):
        return
    names = [output_name(output) for output in select.expressions]
    plain = not any(isinstance(output.unalias(), exp.Star) or holds(output, exp.Star) for output in select.expressions)
    windows = any(holds(output, exp.Window) for output in select.expressions)
    if not windows or not plain or len({name.lower() for name in names}) < len(names):
        return
    columns = {render(o.unalias()): n for o, n in zip(select.expressions, names, strict=True)}
    order = select.args.get("order")
    for term in order.expressions if order else ():
        key = term.this if isinstance(term, exp.Ordered) else term
        if render(key) in columns:
            key.replace(exp.column(columns[render(key)], _NAME, quoted=True))
    outputs = [
        output.copy() if isinstance(output, exp.Alias) else exp.alias_(output.copy(), name, quoted=True)
        for output, name in zip(select.expressions, names, strict=True)
    ]
    below = exp.Select(**{key: select.args.get(key) for key in _INSIDE})
    below.set("expressions", outputs)
    for key in _INSIDE:
        select.set(key, None)
    select.set(
        "expressions",
        [exp.alias_(exp.column(name, _NAME, quoted=True), name, quoted=True) for name in names],
    )
    alias = exp.TableAlias(this=exp.to_identifier(_NAME, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=alias)))
