"""Groups of as many rows each, over everybody: cut at quantiles that are released first.

SELECT fare, ntile(4) OVER (ORDER BY fare) AS q FROM trips
→  SELECT fare, CASE WHEN fare <= cuts."1" THEN 1 WHEN fare <= cuts."2" THEN 2 WHEN fare <= cuts."3" THEN 3 ELSE 4 END AS q
   FROM trips CROSS JOIN (
     SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY fare) AS "1", percentile_disc(0.5) …, … FROM trips) AS cuts

It does not mean quite the same: rows with one value are in one group, where PostgreSQL puts some of them into the next one,
and quantiles have noise. A place among everybody's rows is anybody's; whether a value is above a released one is its own.
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import tables_in_from
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_ROWS = ("from_", "joins", "where")
_CLAUSES = frozenset({*_ROWS, "expressions", "with_", "windows", "kind", "distinct"})
_MOST = 100
"""Groups that one statement is cut into."""


def cut_at_quantiles(select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Change the `ntile(n) OVER (ORDER BY x)` of a SELECT of private rows; any other SELECT stays."""
    if any(value and key not in _CLAUSES for key, value in select.args.items()) or aggregates_of(select):
        return
    if not any(holds(output, exp.Window) for output in select.expressions) or not reads_rows(select, ctes, policy):
        return
    put_windows_in_place(select)
    windows = [window for output in select.expressions for window in every(output, exp.Window)]
    rows = exp.Select(**{key: select.args.get(key) for key in _ROWS}).copy()
    for window in windows:
        number, term = _groups(window), _ordered(window)
        if number is None or term is None or holds(term, exp.Query):
            continue
        alias = fresh(f"quantiles of {render(term.this)}"[:50], tables_in_from(select))
        cuts = _cuts(rows, term.this, number)
        name = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
        select.append("joins", exp.Join(this=exp.Subquery(this=cuts, alias=name), kind="CROSS"))
        window.replace(_group(term, number, alias))


def _groups(window: exp.Window) -> int | None:
    """Return into how many groups everybody's rows are cut; None where they are not, or it is another window."""
    args = getattr(window.this, "expressions", [])
    others = any(window.args.get(key) for key in ("partition_by", "spec", "alias", "first"))
    if function_name(window.this) != "ntile" or others or len(args) != 1 or not isinstance(args[0], exp.Literal):
        return None
    number = int(args[0].name) if args[0].name.isdecimal() else 0
    return number if 1 < number <= _MOST else None


def _ordered(window: exp.Window) -> exp.Ordered | None:
    """Return the one key by which the rows are ordered, with NULL where PostgreSQL has it by itself."""
    order = window.args.get("order")
    terms = order.expressions if order is not None else []
    if len(terms) != 1 or not isinstance(terms[0], exp.Ordered):
        return None
    first = bool(terms[0].args.get("nulls_first"))
    return terms[0] if first == bool(terms[0].args.get("desc")) else None


def _cuts(rows: exp.Select, by: exp.Expr, number: int) -> exp.Select:
    """Return the query for the values at which the groups of rows end."""
    query, outputs = rows.copy(), []
    for place in range(1, number):
        share = exp.Div(this=exp.cast(exp.Literal.number(place), "double"), expression=exp.Literal.number(number))
        call = exp.Anonymous(this="percentile_disc", expressions=[share])
        within = exp.WithinGroup(this=call, expression=exp.Order(expressions=[exp.Ordered(this=by.copy())]))
        outputs.append(exp.alias_(within, f"{place}", quoted=True))
    query.set("expressions", outputs)
    return query


def _group(term: exp.Ordered, number: int, cuts: str) -> exp.Expr:
    """Return in which group a row is; one without a value is in the last one, or in the first where order falls."""
    case, down = exp.Case(), bool(term.args.get("desc"))
    for place in range(1, number):
        cut = exp.column(f"{place}", cuts, quoted=True)
        within = (exp.LT if down else exp.LTE)(this=term.this.copy(), expression=cut)
        case = case.when(within, exp.Literal.number(number + 1 - place if down else place), copy=False)
    return exp.Paren(this=case.else_(exp.Literal.number(1 if down else number), copy=False))
