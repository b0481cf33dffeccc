"""Lists of the values that there are: each is in its group once.

SELECT paid, string_agg(DISTINCT zone, ',') FROM trips GROUP BY paid
→  SELECT v.k1, string_agg(DISTINCT v.x, ',') FROM (SELECT DISTINCT paid AS k1, zone AS x FROM trips) AS v GROUP BY v.k1

Claim: each value is in its group once, in the list as in the query below, which is an answer like any other.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.group_values import with_values
from dpsql.rewrite.syntax.forms.nested import aggregates_of, queries_inside
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.named.columns import Ctes, tables_in_from
from dpsql.rewrite.syntax.named.grouping import grouping_of
from dpsql.rewrite.syntax.named.made_names import fresh
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.read.dialect import render

_CLAUSES = frozenset(
    {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "kind"}
)
_LISTS = frozenset({"string_agg", "array_agg"})


def list_values(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Let a SELECT whose only aggregates are lists of the distinct values of one expression read those values."""
    calls = aggregates_of(select)
    values = [_listed(call) for call in calls]
    if not calls or None in values or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    if len({render(value) for value in values if value is not None}) != 1 or not reads_rows(select, ctes, policy):
        return
    group = select.args.get("group")
    if next(queries_inside(select), None) is not None or (group is not None and not grouping_of(select).plain):
        return
    keys = grouping_of(select).keys if group is not None else ()
    alias = fresh("values", tables_in_from(select))
    texts = {render(key): exp.column(f"key {place}", alias, quoted=True) for place, key in enumerate(keys, start=1)}
    value = values[0]
    assert value is not None
    if render(value) in texts or not _are_of(select, calls, texts):
        return
    _read_values(select, keys, value, alias, texts | {render(value): exp.column("value", alias, quoted=True)})


def _listed(call: exp.Expr) -> exp.Expr | None:
    """Return what a list is of, if it has each value once and is ordered by nothing else."""
    if not isinstance(call, exp.Anonymous) or function_name(call) not in _LISTS or not call.expressions:
        return None
    first, *others = call.expressions
    constant = all(isinstance(part.this if isinstance(part, exp.Cast) else part, exp.Literal) for part in others)
    if not isinstance(first, exp.Distinct) or not constant:
        return None
    value, *further = first.expressions
    separators = all(isinstance(part.this if isinstance(part, exp.Cast) else part, exp.Literal) for part in further)
    return value if separators else None


def _are_of(select: exp.Select, calls: Sequence[exp.Expr], texts: dict[str, exp.Column]) -> bool:
    """Return whether columns are shown, chosen and ordered by in lists and keys alone."""
    known = {*texts, *map(render, calls)}
    pending = [*select.expressions, *(select.args[key] for key in ("having", "order") if select.args.get(key))]
    while pending:
        node = pending.pop()
        if render(node) in known:
            continue
        if isinstance(node, exp.Column):
            return False
        pending += node.iter_expressions()
    return True


def _read_values(
    select: exp.Select, keys: Sequence[exp.Expr], value: exp.Expr, alias: str, columns: dict[str, exp.Column]
) -> None:
    named = [exp.alias_(key.copy(), f"key {place}", quoted=True) for place, key in enumerate(keys, start=1)]
    below = exp.Select(
        expressions=[*named, exp.alias_(value.copy(), "value", quoted=True)], distinct=exp.Distinct(),
        **{key: select.args.get(key) for key in ("from_", "joins", "where")},
    )  # fmt: skip
    names = [output_name(output) for output in select.expressions]
    outputs = [
        exp.alias_(with_values(output.unalias(), columns), name, quoted=True, copy=False)
        for output, name in zip(select.expressions, names, strict=True)
    ]
    select.set("expressions", outputs)
    for key in ("group", "having", "order"):
        if (clause := select.args.get(key)) is not None:
            with_values(clause, columns)
    for key in ("joins", "where"):
        select.set(key, None)
    table = exp.Subquery(this=below, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    select.set("from_", exp.From(this=table))
