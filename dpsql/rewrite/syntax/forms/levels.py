"""ROLLUP, CUBE and GROUPING SETS of what does not add up: each level by itself, below each other.

SELECT zone, count(DISTINCT rider) FROM trips GROUP BY ROLLUP (zone)
→  SELECT zone, "count(DISTINCT rider)" AS count FROM (
     SELECT zone, count(DISTINCT rider) FROM trips GROUP BY zone
     UNION ALL SELECT NULL, count(DISTINCT rider) FROM trips WHERE TRUE OR zone IS NULL) AS levels

Sums are read off for all levels from the finest groups. Of distinct values, medians and extremes each level is measured, and
each pays. PostgreSQL takes NULL for the type of the column beside it in the first two parts of a UNION: so one of the first
two levels has to have each key.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.forms.correlation import reads_rows
from dpsql.rewrite.syntax.forms.group_windows import columns_for, names_for
from dpsql.rewrite.syntax.forms.nested import aggregates_of
from dpsql.rewrite.syntax.named.aggregate_names import STATISTICS, function_name
from dpsql.rewrite.syntax.named.columns import Ctes
from dpsql.rewrite.syntax.named.grouping import Set, grouping_in
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.named.output_names import output_name
from dpsql.rewrite.syntax.named.units import groups_by_unit
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_MOST_LEVELS = 16
"""Levels that one statement divides its ε among."""
_ROWS = ("from_", "joins", "where")
_NAME = "levels"
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def put_levels_apart(select: exp.Select, ctes: Ctes, policy: Policy) -> None:
    """Change a SELECT of private rows that has levels of what does not add up; any other stays."""
    group = select.args.get("group")
    if group is None or not any(holds(element, *_SETS) for element in group.expressions):
        return
    calls = aggregates_of(select)
    if all(map(_adds_up, calls)) or not reads_rows(select, ctes, policy):
        return
    grouping = grouping_in(select, calls)
    sets = sorted(grouping.sets, key=len, reverse=True)
    if not 1 < len(sets) <= _MOST_LEVELS or {*sets[0], *sets[1]} < set(range(len(grouping.keys))):
        return
    outside = [
        *select.expressions,
        *(part for key in ("having", "distinct", "order") if (part := select.args.get(key))),
    ]
    put_windows_in_place(select)
    if (
        select.args.get("windows")
        or any(holds(part, exp.Query) for part in outside)
        or groups_by_unit(select, grouping.keys, ctes, policy)
    ):
        return
    parts = (*grouping.keys, *calls)
    names = names_for(parts)
    levels = [_level(select, grouping.keys, calls, names, level) for level in sets]
    outputs = [output_name(output) for output in select.expressions]
    for part in outside:
        columns_for(part, names, frozenset(map(type, parts)), _NAME)
    for output, name in zip(select.expressions, outputs, strict=True):
        if not isinstance(output, exp.Alias):
            output.replace(exp.alias_(output.copy(), name, quoted=True))
    having = select.args.get("having")
    for key in (*_ROWS, "group", "having"):
        select.set(key, None)
    if having is not None:
        select.set("where", exp.Where(this=having.this))
    query: exp.Expr = levels[0]
    for level in levels[1:]:
        query = exp.Union(this=query, expression=level, distinct=False)
    alias = exp.TableAlias(this=exp.to_identifier(_NAME, quoted=True))
    select.set("from_", exp.From(this=exp.Subquery(this=query, alias=alias)))


def _adds_up(call: exp.Expr) -> bool:
    """Return whether what a call says of a group follows from what it says of parts of it."""
    bare = call.this if isinstance(call, exp.Filter) else call
    name = function_name(bare)
    plain = not any(holds(arg, exp.Distinct) for arg in getattr(bare, "expressions", ()))
    return name == "grouping" or (name in STATISTICS and plain)


def _level(
    select: exp.Select, keys: Sequence[exp.Expr], calls: Sequence[exp.Expr], names: Mapping[str, str], level: Set
) -> exp.Select:
    """Return the query of one level."""
    query = exp.Select(**{key: select.args.get(key) for key in _ROWS}).copy()
    shown = [key.copy() if place in level else exp.Null() for place, key in enumerate(keys)]
    told = [_told(call, keys, level) for call in calls]
    texts = [names[render(part)] for part in (*keys, *calls)]
    query.set("expressions", [exp.alias_(p, name, quoted=True) for p, name in zip([*shown, *told], texts, strict=True)])
    named = [column for place, key in enumerate(keys) if place not in level for column in every(key, exp.Column)]
    if named:  # so that each level leaves out the same rows: those that lack a value where none may be missing
        nulls = [exp.Is(this=column.copy(), expression=exp.Null()) for column in named]
        query.where(exp.or_(exp.true(), *nulls), copy=False)
    if level:
        query.set("group", exp.Group(expressions=[keys[place].copy() for place in level]))
    return query


def _told(call: exp.Expr, keys: Sequence[exp.Expr], level: Set) -> exp.Expr:
    """Return a call as it stands in a level: what GROUPING says is known."""
    if function_name(call) != "grouping":
        return call.copy()
    grouped = {render(keys[place]) for place in level}
    bits = "".join("0" if render(key) in grouped else "1" for key in call.expressions)
    return exp.Literal.number(int(bits, 2))
