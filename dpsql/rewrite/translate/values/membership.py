"""Comparisons with lists and arrays, and of rows of several values.

zone <> ALL ('{1,2}')            →  NOT zone IN (1, 2)
seats > ANY (ARRAY[1, 2])        →  seats > 1
seats <= ALL (SELECT zone_id …)  →  seats <= 1
(seats, paid) < (1, 'cash')      →  seats < 1 OR seats = 1 AND paid < 'cash'
note LIKE ANY (ARRAY['a%', 'b'])  →  note LIKE 'a%' OR note LIKE 'b'
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, both
from dpsql.rewrite.syntax.read.literals import literal_text
from dpsql.rewrite.translate.values.clock import is_time, is_time_column
from dpsql.rewrite.translate.values.comparisons import (
    BOOL,
    as_whole,
    at_one_clock,
    compare,
    compare_nodes,
    like,
    row_parts,
)
from dpsql.rewrite.translate.values.context import Handler, Translator, refused
from dpsql.rewrite.translate.values.durations import is_interval
from dpsql.rewrite.translate.values.subqueries import values_of
from dpsql.rewrite.translate.values.texts import in_letters

_OPS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
}  # fmt: skip
_STRICT = {"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"}
"""How all values of two rows but the last are compared."""


def _comparison(t: Translator, node: exp.Expr) -> Expr:
    op, right = _OPS[type(node)], node.args.get("expression")
    quantified = _quantified(right)
    if quantified is not None:
        array, every = quantified
        items = values_of(t, array) if isinstance(array, exp.Query) else t.constants.items(array)
        return _of_array(t, node.this, items, node, op=op, every=every)
    left, other = row_parts(node.this), row_parts(right)
    if left is None and other is None:
        return compare_nodes(t, op, node.this, node.expression, node)
    if left is None or other is None or op not in _STRICT:  # PostgreSQL compares the others value by value
        raise refused(node, because="rows-alike")
    return _rows(t, op, left, other, node)


def _quantified(node: exp.Expr | None) -> tuple[exp.Expr, bool] | None:
    """Return the array of ANY (…), SOME (…) or ALL (…), and whether it is ALL; the parser knows some by name only."""
    if isinstance(node, (exp.Any, exp.All)):
        return node.this.unnest(), isinstance(node, exp.All)
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        name = str(node.this).lower()
        return (node.expressions[0].unnest(), name == "all") if name in {"all", "some"} else None
    return None


def _of_array(
    t: Translator, left: exp.Expr, items: tuple[Const, ...] | None, node: exp.Expr, *, op: str, every: bool
) -> Expr:
    """Return a comparison with some or with every constant of an array; one that is NULL makes it NULL."""
    if items is None:
        return Const(None, BOOL)
    if not items:
        return TRUE if every else FALSE
    if (op, every) in {("eq", False), ("ne", True)}:
        return _listed(t, left, items, node, op)
    x = t.expression(left)
    return _joined([compare(t, op, x, item, node) for item in _telling(items, op, every=every)], every=every)


def _telling(items: Sequence[Const], op: str, *, every: bool) -> Sequence[Const]:
    """Return those that decide: of numbers, or times, the least or the greatest, and NULL if that is among them."""
    by_value = {item.value: item for item in items if item.value is not None}
    ordered = all(isinstance(value, (int, Fraction)) and not isinstance(value, bool) for value in by_value)
    if op not in _STRICT or not by_value or not ordered or len({item.type for item in by_value.values()}) > 1:
        return tuple(dict.fromkeys(items))
    most = (max if (op in ("gt", "ge")) == every else min)(
        value for value in by_value if isinstance(value, (int, Fraction))
    )
    return by_value[most], *[item for item in items if item.value is None][:1]


def _listed(t: Translator, left: exp.Expr, items: Sequence[Const], node: exp.Expr, op: str = "eq") -> Expr:
    """Return `x IN (…)`, or `x NOT IN (…)`."""
    x = in_letters(t, left, *node.args.get("expressions", ())) or as_whole(t.expression(left))
    members = tuple(dict.fromkeys(_member(t, x, item, node) for item in items))
    inside = Apply("in", (x, *members), BOOL)
    return inside if op == "eq" else Apply("not", (inside,), BOOL)


def _member(t: Translator, x: Expr, item: Const, node: exp.Expr) -> Const:
    pair = compare(t, "eq", x, item, node)
    assert isinstance(pair, Apply)
    member = pair.args[1]
    if pair.args[0] != x or not isinstance(member, Const):
        raise refused(node, because="list-of-constants")
    return member


def _in(t: Translator, node: exp.Expr) -> Expr:
    if node.args.get("unnest") or node.args.get("field"):
        raise refused(node, because="list-form")
    if node.args.get("query"):
        return _of_array(t, node.this, values_of(t, node.args["query"]), node, op="eq", every=False)
    left, *listed = at_one_clock(t, node.this, *node.expressions)
    written = all(isinstance(item, exp.Literal) or literal_text(item) is not None for item in listed)
    if not written and _is_span(t, left):
        return _joined([compare_nodes(t, "eq", left, item, node) for item in listed], every=False)
    items = [t.value(t.operand(item, endless=True)) for item in listed]
    if not all(isinstance(item, Const) for item in items):
        x = t.expression(left)
        return _joined([compare(t, "eq", x, item, node) for item in items], every=False)
    return _listed(t, left, [item for item in items if isinstance(item, Const)], node)


def _is_span(t: Translator, node: exp.Expr) -> bool:
    """Return whether a node is a time of the day or an interval, whose constants are no values by themselves."""
    return is_time(node) or is_time_column(t, node) or is_interval(t.operand(node))


def _rows(t: Translator, op: str, left: Sequence[exp.Expr], right: Sequence[exp.Expr], node: exp.Expr) -> Expr:
    """Compare two rows: by their first values, by the next where those are equal, and so on."""
    *before, (a, b) = zip(left, right, strict=True)
    condition = compare_nodes(t, op, a, b, node)
    for part, other in reversed(before):
        tied = both(compare_nodes(t, "eq", part, other, node), condition)
        condition = _joined([compare_nodes(t, _STRICT[op], part, other, node), tied], every=False)
    return condition


def _like(t: Translator, node: exp.Expr) -> Expr:
    quantified = _quantified(node.args.get("expression"))
    if quantified is None:
        return like(t, node)
    array, every = quantified
    items = t.constants.items(array)
    if items is None:
        return Const(None, BOOL)
    each = [_like_one(t, item, node) for item in items]
    if node.args.get("negate"):
        each = [Apply("not", (comparison,), BOOL) for comparison in each]
    return _joined(each, every=every)


def _like_one(t: Translator, item: Const, node: exp.Expr) -> Expr:
    if item.value is None:
        return Const(None, BOOL)
    pattern = exp.Literal.string(item.value) if isinstance(item.value, str) else exp.Boolean(this=True)
    return like(t, type(node)(this=node.this.copy(), expression=pattern))


def _joined(parts: Sequence[Expr], *, every: bool) -> Expr:
    """Return that every part holds, or that one does."""
    if not parts:
        return TRUE if every else FALSE
    if every:
        return both(*parts)
    return parts[0] if len(parts) == 1 else Apply("or", tuple(parts), BOOL)


MEMBERSHIP_HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    **dict.fromkeys(_OPS, _comparison),
}
