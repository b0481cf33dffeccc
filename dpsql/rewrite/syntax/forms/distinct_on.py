"""DISTINCT ON of a privacy unit's rows: the first of each in an order, which is a place among the unit's own.

SELECT DISTINCT ON (rider) rider, fare FROM trips ORDER BY rider, day
→  SELECT rider, fare FROM (SELECT rider, fare, row_number() OVER (PARTITION BY rider ORDER BY rider, day) AS p FROM trips)
   WHERE p = 1

Rows that tie are any order's in PostgreSQL, so that the first of them in one order is what it could say. Nothing is decided
here: `translate` follows windows, whose partition has to have the unit.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.columns import fresh
from dpsql.rewrite.syntax.named.units import groups_by_unit, output_columns

_CLAUSES = frozenset({"expressions", "from_", "joins", "where", "with_", "distinct", "order", "windows"})
_INSIDE = ("expressions", "from_", "joins", "where", "windows")
_NAME = "of each unit"


def put_places_below(select: exp.Select, ctes: Mapping[str, exp.CTE], policy: Policy) -> None:
    """Change a SELECT DISTINCT ON of which one key is a unit; any other stays unchanged."""
    distinct = select.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    # LIMIT is not among these clauses: nothing asks in which order the rows come out, and ORDER BY goes with the place.
    if on is None or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return
    names = [name for name, _ in output_columns(select, ctes, policy)]
    keys = [_meant(key, select) for key in (on.expressions if isinstance(on, exp.Tuple) else [on])]
    # By a key that is no unit it would be the first of everybody's rows, which is somebody's: it stays, and is refused.
    if not groups_by_unit(select, keys, ctes, policy) or len({*names}) < len(names):
        return
    number = exp.Window(
        this=exp.Anonymous(this="row_number", expressions=[]), partition_by=keys, order=_order(select), over="OVER"
    )
    place = fresh("place", names)
    below = exp.Select(**{key: select.args.get(key) for key in _INSIDE})
    below.append("expressions", exp.alias_(number, place, quoted=True))
    alias = exp.TableAlias(this=exp.to_identifier(_NAME, quoted=True))
    for key in (*_INSIDE, "distinct", "order"):
        select.set(key, None)
    select.set("expressions", [exp.column(name, _NAME, quoted=True) for name in names])
    select.set("from_", exp.From(this=exp.Subquery(this=below, alias=alias)))
    first = exp.EQ(this=exp.column(place, _NAME, quoted=True), expression=exp.Literal.number(1))
    select.set("where", exp.Where(this=first))


def _order(select: exp.Select) -> exp.Order | None:
    order = select.args.get("order")
    if order is None:
        return None
    ordered = [term.copy() for term in order.expressions]
    for key in ordered:
        if isinstance(key, exp.Ordered):
            key.set("this", _meant(key.this, select))
    return exp.Order(expressions=ordered)


def _meant(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """Return what a key is: an output by its place, as in ORDER BY, or an expression of the rows."""
    outputs: Sequence[exp.Expr] = select.expressions
    if isinstance(key, exp.Paren):
        return _meant(key.this, select)
    # DISTINCT ON (1) and ORDER BY 2 name outputs by their places. In a window's ORDER BY a number would be a constant.
    if (
        isinstance(key, exp.Literal)
        and not key.is_string
        and key.name.isdecimal()
        and 0 < int(key.name) <= len(outputs)
    ):
        return outputs[int(key.name) - 1].unalias().copy()
    return key.copy()
