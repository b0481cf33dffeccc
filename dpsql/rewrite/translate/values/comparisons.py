"""Comparisons, three-valued logic and conditionals.

fare BETWEEN 5 AND '20'           →  fare >= 5 AND fare <= 20
CASE paid WHEN 'cash' THEN 1 END  →  CASE WHEN paid = 'cash' THEN 1 ELSE NULL END
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.functions.function import arithmetic_type
from dpsql.rewrite.functions.table import without_double
from dpsql.rewrite.ir.expr import FALSE, NULL, TRUE, Apply, Const, Expr, IntervalValue, both, negation
from dpsql.rewrite.ir.literal import ENDLESS, is_endless
from dpsql.rewrite.syntax.read.dialect import excerpt, literal_text
from dpsql.rewrite.translate.public.constants import coerce
from dpsql.rewrite.translate.values.arithmetic import as_moment, as_timestamp
from dpsql.rewrite.translate.values.context import (
    Age,
    ElapsedTime,
    Handler,
    IntervalTimes,
    Operand,
    Translator,
    unknown_construct,
)
from dpsql.rewrite.translate.values.durations import is_interval, lengths
from dpsql.rewrite.translate.values.subqueries import values_of
from dpsql.rewrite.translate.values.texts import (
    as_text,
    in_letters,
    in_order,
    is_open,
    labels_of,
    not_padded,
    without_case,
)
from dpsql.rewrite.translate.values.value_map import through_shadow
from dpsql.rewrite.translate.values.zones import (
    in_utc,
    instant,
    is_time,
    is_time_column,
    is_zoned,
    relabel_time,
    shows_utc,
    since_midnight,
)

BOOL = SqlType.BOOLEAN
_NARROW = frozenset({SqlType.SMALLINT, SqlType.INTEGER})
"""The whole numbers of which no two are one in double precision."""
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_ORDERS = frozenset(_MIRRORED)
_HALVES_END = 2**52
"""From here on double precision has whole numbers alone."""


def compare(t: Translator, op: str, a: Expr, b: Expr, node: exp.Expr) -> Expr:
    """Return `a op b` with literals read as the other side's type, dates lifted to timestamps."""
    # A text in quotes has no type of its own in PostgreSQL: beside a number '5' is a number, beside a date '2024-01-01' is a
    # day.
    a = coerce(a, b.type, t.constants, endless=True) if isinstance(a, Const) else a
    b = coerce(b, a.type, t.constants, endless=True) if isinstance(b, Const) else b
    a, b = _at_one_clock(t, a, b, node)
    a, b = _within_reach(t, a, b), _within_reach(t, b, a)
    a, b = as_whole(a), as_whole(b)
    a, b = _whole_beside(a, b, _MIRRORED.get(op, op)), _whole_beside(b, a, op)
    if SqlType.CHARACTER in (a.type, b.type) and SqlType.TEXT in (a.type, b.type):
        a, b = as_text(a), as_text(b)
    alike = a.type == b.type or (a.type.is_number and b.type.is_number) or NULL in (a, b)
    if not alike:
        raise unknown_construct(node, because="comparison-of-types")
    if a.type is SqlType.ENUM and op in _ORDERS:
        a, b = in_order(a, labels_of(a, b)), in_order(b, labels_of(a, b))
    if a.type is SqlType.TEXT and op in _ORDERS and not (is_open(t, a) or is_open(t, b)):
        return through_shadow(t, node)
    return Apply(op, (a, b), BOOL)


def as_whole(expr: Expr) -> Expr:
    """Return a whole number in its form before PostgreSQL makes it one of another type, which has room for all of them.

    seats::double precision < 2.5  →  seats < 2.5
    """
    arg = without_double(expr)
    return arg if arg.type in _NARROW or (arg.type.is_integer and expr.type is SqlType.NUMERIC) else expr


def _whole_beside(const: Expr, other: Expr, op: str) -> Expr:
    """Return a number of the type numeric as a whole one of 64 bits, beside another: double precision takes some for one.

    id = 9007199254740993::numeric  →  id = 9007199254740993
    id > 9007199254740992.5         →  id > 9007199254740992
    """
    value = _decimal_beside(const, other)
    if value is None:
        return const
    if value.denominator > 1 and op not in _ORDERS:
        # A half is no whole number either, and a double.
        return const if abs(value) < _HALVES_END else Const(Fraction(1, 2), SqlType.NUMERIC)
    whole = math.ceil(value) if op in {"lt", "ge"} else math.floor(value)
    return Const(whole, SqlType.BIGINT) if -(2**63) <= whole < 2**63 else const


def _decimal_beside(const: Expr, other: Expr) -> Fraction | None:
    """Return a constant of the type numeric that is compared with whole numbers."""
    if not isinstance(const, Const) or const.type is not SqlType.NUMERIC or not other.type.is_integer:
        return None
    return Fraction(const.value) if isinstance(const.value, int | Fraction) else None


def _at_one_clock(t: Translator, a: Expr, b: Expr, node: exp.Expr) -> tuple[Expr, Expr]:
    """Return two times, of which one may be a date or have a zone, by the same clock."""
    types = (a.type, b.type)
    if SqlType.TIMESTAMPTZ in types and a.type is not b.type:
        if shows_utc(t) and isinstance(a if a.type is SqlType.TIMESTAMPTZ else b, Const):
            return relabel_time(as_timestamp(a), SqlType.TIMESTAMP), relabel_time(as_timestamp(b), SqlType.TIMESTAMP)
        return instant(t, a, node), instant(t, b, node)
    return (as_timestamp(a), as_timestamp(b)) if SqlType.TIMESTAMP in types else (a, b)


def _within_reach(t: Translator, const: Expr, other: Expr) -> Expr:
    """Return infinity (or NaN) as a value that is as surely beyond everything that it is compared with."""
    if not isinstance(const, Const) or not is_endless(const.value):
        return const
    interval = t.facts_of(other).interval
    if interval is None:
        raise Unsupported(
            "only values with bounds can be compared with infinity and NaN",
            because="endless-without-bounds",
        )
    spare = 1 if other.type.is_temporal else interval.magnitude + 1
    beyond = interval.high + spare if const.value == ENDLESS else interval.low - spare
    return Const(math.floor(beyond), other.type)


def compare_nodes(t: Translator, op: str, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Expr:
    """Return `left op right`, both times, both intervals or both values."""
    if any(is_time(side) or is_time_column(t, side) for side in (left, right)):
        return Apply(op, (since_midnight(t, left), since_midnight(t, right)), BOOL)
    a = in_letters(t, left, right) or t.operand(left, endless=True)
    b = in_letters(t, right, left) or t.operand(right, endless=True)
    spans = (ElapsedTime, Age, IntervalTimes)
    if isinstance(a, spans) or isinstance(b, spans) or is_interval(a) or is_interval(b):
        return Apply(op, lengths(_interval(t, a, left), _interval(t, b, right), node), BOOL)
    return compare(t, op, t.value(a), t.value(b), node)


def at_one_clock(t: Translator, *times: exp.Expr) -> tuple[exp.Expr, ...]:
    """Return times as UTC's clock shows them where one has a zone: the session's clock may be changed in between."""
    return tuple(in_utc(t, time) for time in times) if any(is_zoned(t, time) for time in times) else times


def _interval(t: Translator, value: Operand, node: exp.Expr) -> Operand:
    """Return a literal that is compared with an interval as one."""
    if isinstance(value, Const) and value.type is SqlType.TEXT:
        return t.operand(exp.Cast(this=node.copy(), to=exp.DataType.build("interval", dialect="postgres")))
    return value


def _logic(op: str) -> Handler:
    def handler(t: Translator, node: exp.Expr) -> Expr:
        args = tuple(boolean(t, part) for part in _chain(node))
        return both(*args) if op == "and" else Apply(op, args, BOOL)

    return handler


def _chain(node: exp.Expr) -> list[exp.Expr]:
    """Return what a connector joins; `a OR b OR …`, which some tools write for IN, is one list and not a deep tree."""
    parts: list[exp.Expr] = []
    left, kind = node, type(node)
    while isinstance(left, exp.Connector) and type(left) is kind:
        parts.append(left.expression)
        left = left.this
    parts.append(left if left is not node else node.this)
    return parts[::-1]


def boolean(t: Translator, node: exp.Expr) -> Expr:
    """Translate a condition."""
    expr = t.expression(node)
    if isinstance(expr, Const) and expr.type is not BOOL:
        expr = coerce(expr, BOOL, t.constants)
    if expr.type is not BOOL and expr != NULL:
        raise Unsupported(f"{excerpt(node)} is not a condition", because="not-a-condition")
    return expr


def row_condition(t: Translator, node: exp.Expr) -> Expr:
    """Translate a condition on rows, which the bounds of its columns make computable for every row.

    An engine that failed on some row would say that there is such a row.

    Raises:
        MissingBounds: something in it could overflow.
    """
    condition = boolean(t, node)
    t.facts_of(condition)
    return condition


def row_parts(node: exp.Expr | None) -> Sequence[exp.Expr] | None:
    """Return the parts of `(a, b)` or `ROW (a, b)`; None of anything else."""
    if isinstance(node, exp.Tuple):
        return node.expressions
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "row":
        return node.expressions
    return None


def _is(t: Translator, node: exp.Expr) -> Expr:
    """Translate IS NULL and its kin; of a row all parts have to be NULL, or not to be."""
    what, parts = node.expression, row_parts(node.this)
    if parts is not None and isinstance(what, exp.Null):
        return both(*(_is(t, exp.Is(this=part, expression=what, negate=node.args.get("negate"))) for part in parts))
    arg = t.expression(node.this)
    if isinstance(what, exp.Null):
        result: Expr = Apply("is_null", (arg,), BOOL)
    elif isinstance(what, exp.Boolean) and not t.facts_of(arg).nullable:
        result = arg if what.this else negation(arg)
    elif isinstance(what, exp.Boolean):
        result = Apply("is_true" if what.this else "is_false", (arg,), BOOL)
    else:
        raise unknown_construct(node, because="is-null-true-false")
    return negation(result) if node.args.get("negate") else result


def _distinct_from(t: Translator, node: exp.Expr) -> Expr:
    same = compare_nodes(t, "same", node.this, node.expression, node)
    return Apply("not", (same,), BOOL) if isinstance(node, exp.NullSafeNEQ) else same


def like(t: Translator, node: exp.Expr) -> Expr:
    """Translate LIKE and ILIKE with one literal pattern."""
    arg, pattern = in_letters(t, node.this, node.expression) or t.expression(node.this), t.expression(node.expression)
    if not (isinstance(pattern, Const) and isinstance(pattern.value, str)):
        raise Unsupported(
            "LIKE takes a literal pattern over private rows",
            because="like-literal",
            hint="Write it as a text: x LIKE 'a%'.",
        )
    if t.facts_of(arg).values is not None:
        return through_shadow(t, node)
    not_padded(arg, node)
    if pattern.value.endswith("\\"):
        raise Unsupported(
            "this LIKE needs a column whose `values` are declared",
            because="like-needs-domain",
            hint="The owner of the data can declare `values` for it in the table's schema file.",
        )
    caseless = isinstance(node, exp.ILike)
    condition = without_case(arg, pattern.value, node) if caseless else Apply("like", (arg, pattern), BOOL)
    return Apply("not", (condition,), BOOL) if node.args.get("negate") else condition


def _case(t: Translator, node: exp.Expr) -> Expr:
    subject = node.args.get("this")
    conditions, results = [], []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(boolean(t, branch.this))
        else:
            conditions.append(compare(t, "eq", t.expression(subject), t.expression(branch.this), node))
        results.append(t.expression(branch.args["true"]))
    default = node.args.get("default")
    results.append(t.expression(default) if default is not None else NULL)
    results = list(unify_types(t, results, node))
    args = [part for pair in zip(conditions, results[:-1], strict=True) for part in pair]
    return Apply("case", (*args, results[-1]), results[0].type)


def unify_types(t: Translator, exprs: list[Expr], node: exp.Expr) -> tuple[Expr, ...]:
    """Return the expressions with one type, as CASE, COALESCE and GREATEST need it."""
    # CASE WHEN late THEN fare ELSE '0' END: what is in quotes, and NULL, takes the others' type.
    types = [e.type for e in exprs if e != NULL and not (isinstance(e, Const) and e.type is SqlType.TEXT)]
    target = types[0] if types else SqlType.TEXT
    if types and all(x.is_number for x in types):
        target = arithmetic_type(*types)
    elif SqlType.TIMESTAMPTZ in types:
        target = SqlType.TIMESTAMPTZ
    elif SqlType.TIMESTAMP in types:
        target = SqlType.TIMESTAMP
    return tuple(_converted(t, e, target, node) for e in exprs)


def _converted(t: Translator, e: Expr, target: SqlType, node: exp.Expr) -> Expr:
    if isinstance(e, Const):
        e = coerce(e, target, t.constants)
        if e.value is None:
            return Const(None, target)
    if target is SqlType.TIMESTAMP:
        e = as_timestamp(e)
    if target is SqlType.TIMESTAMPTZ:
        e = instant(t, e, node)
    if e.type is not target and not (e.type.is_number and target.is_number):
        raise unknown_construct(node, because="branches-of-types")
    if e.type is not target and isinstance(e, Const):
        return Const(e.value, target)
    return Apply("to_double", (e,), target) if e.type.is_integer and not target.is_integer else e


LOGIC_HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.And: _logic("and"),
    exp.Or: _logic("or"),
    exp.Not: lambda t, node: negation(boolean(t, node.this)),
    exp.Is: _is,
    exp.NullSafeEQ: _distinct_from,
    exp.NullSafeNEQ: _distinct_from,
    exp.Case: _case,
}


# Comparisons with lists and arrays, and of rows of several values.
#
# zone <> ALL ('{1,2}')            →  NOT zone IN (1, 2)
# seats > ANY (ARRAY[1, 2])        →  seats > 1
# seats <= ALL (SELECT zone_id …)  →  seats <= 1
# (seats, paid) < (1, 'cash')      →  seats < 1 OR seats = 1 AND paid < 'cash'
# note LIKE ANY (ARRAY['a%', 'b'])  →  note LIKE 'a%' OR note LIKE 'b'

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
        if isinstance(array, exp.Array) and array.find(exp.Column) is not None:
            return _joined([compare_nodes(t, op, node.this, item, node) for item in array.expressions], every=every)
        items = values_of(t, array) if isinstance(array, exp.Query) else t.constants.items(array)
        return _of_array(t, node.this, items, node, op=op, every=every)
    left, other = row_parts(node.this), row_parts(right)
    if left is None and other is None:
        return compare_nodes(t, op, node.this, node.expression, node)
    if left is None or other is None or op not in _STRICT:  # PostgreSQL compares the others value by value
        raise unknown_construct(node, because="rows-alike")
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
    # x > ALL (1, 5) is x > 5, and x > ANY (1, 5) is x > 1.
    most = (max if (op in ("gt", "ge")) == every else min)(
        value for value in by_value if isinstance(value, (int, Fraction))
    )
    return by_value[most], *[item for item in items if item.value is None][:1]


def _listed(t: Translator, left: exp.Expr, items: Sequence[Const], node: exp.Expr, op: str = "eq") -> Expr:
    """Return `x IN (…)`, or `x NOT IN (…)`."""
    x = in_letters(t, left, *node.args.get("expressions", ())) or as_whole(t.expression(left))
    # A fraction beside whole numbers would make engines compare all of them in double precision, and no number is one.
    whole = [item for item in items if (_decimal_beside(item, x) or Fraction(0)).denominator == 1]
    members = tuple(dict.fromkeys(_member(t, x, item, node) for item in whole or items[:1]))
    inside = Apply("in", (x, *members), BOOL)
    return inside if op == "eq" else Apply("not", (inside,), BOOL)


def _member(t: Translator, x: Expr, item: Const, node: exp.Expr) -> Const:
    pair = compare(t, "eq", x, item, node)
    assert isinstance(pair, Apply)
    member = pair.args[1]
    if pair.args[0] != x or not isinstance(member, Const):
        raise unknown_construct(node, because="list-of-constants")
    return member


def _in(t: Translator, node: exp.Expr) -> Expr:
    if node.args.get("unnest") or node.args.get("field"):
        raise unknown_construct(node, because="list-form")
    if node.args.get("query"):
        return _of_array(t, node.this, values_of(t, node.args["query"]), node, op="eq", every=False)
    left, *listed = at_one_clock(t, node.this, *_elements(node))
    written = all(isinstance(item, exp.Literal) or literal_text(item) is not None for item in listed)
    if not written and _is_span(t, left):
        return _joined([compare_nodes(t, "eq", left, item, node) for item in listed], every=False)
    items = [t.value(t.operand(item, endless=True)) for item in listed]
    if not all(isinstance(item, Const) for item in items):
        x = t.expression(left)
        return _joined([compare(t, "eq", x, item, node) for item in items], every=False)
    return _listed(t, left, [item for item in items if isinstance(item, Const)], node)


def _elements(node: exp.Expr) -> Sequence[exp.Expr]:
    """Return what a list has, which may be written as rows: x IN (VALUES (1), (2)) is x IN (1, 2)."""
    only = node.expressions[0] if len(node.expressions) == 1 else None
    rows = only.expressions if isinstance(only, exp.Values) else []
    plain = rows and all(len(row.expressions) == 1 for row in rows)
    return [row.expressions[0] for row in rows] if plain else node.expressions


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


# OVERLAPS of two spans of time, each of two times in any order, or of a time and what is added to it.
#
# (a, b) OVERLAPS (c, d), a before b and c before d  →  a < d AND c < b OR a = c

_NOTHING = Const(None, BOOL)


@dataclass(frozen=True, slots=True)
class _Span:
    """When it begins and ends; NULL is an end that is not known, and a beginning only where both are."""

    start: Expr
    end: Expr
    present: bool
    """Whether neither can be NULL."""


def overlaps(t: Translator, node: exp.Expr) -> Expr:
    """Translate OVERLAPS, as PostgreSQL decides it where a time is NULL, too."""
    sides = (node.this, node.expression)
    if any(not isinstance(side, exp.Tuple) or len(side.expressions) != 2 for side in sides):
        raise unknown_construct(node, because="overlaps-of-times")
    a, b, c, d = at_one_clock(t, *(part for side in sides for part in side.expressions))
    first, other = _span(t, a, b, node), _span(t, c, d, node)
    tied = _compare("eq", first.start, other.start)
    if first.present and other.present:
        crossed = both(_compare("lt", first.start, other.end), _compare("lt", other.start, first.end))
        return Apply("or", (crossed, tied), BOOL)
    after, before = _compare("gt", first.start, other.start), _compare("lt", first.start, other.start)
    ended = both(*(Apply("not", (_missing(span.end),), BOOL) for span in (first, other) if not span.present))
    together = Apply("case", (ended, TRUE, _NOTHING), BOOL)
    args = (after, _reaches(first, other), before, _reaches(other, first), tied, together, _NOTHING)
    return Apply("case", args, BOOL)


def _reaches(later: _Span, earlier: _Span) -> Expr:
    """Return whether the span that begins earlier lasts until the later one; unknown where it has no end."""
    inside = _compare("lt", later.start, earlier.end)
    if later.present:
        return inside
    return Apply("case", (inside, TRUE, _missing(later.end), _NOTHING, inside), BOOL)


def _span(t: Translator, first: exp.Expr, second: exp.Expr, node: exp.Expr) -> _Span:
    length = t.operand(second)
    if isinstance(length, (IntervalValue, IntervalTimes)):
        second = exp.Add(this=exp.Paren(this=first.copy()), expression=exp.Paren(this=second.copy()))
    a, b = (as_timestamp(as_moment(t, t.expression(part))) for part in (first, second))
    if any(time.type is not SqlType.TIMESTAMP and time != NULL for time in (a, b)):
        raise unknown_construct(node, because="overlaps-of-times")
    facts_of_times = tuple(t.facts_of(time) for time in (a, b))
    present = not any(facts.nullable for facts in facts_of_times)
    ends = [facts.interval for facts in facts_of_times]
    forward = isinstance(length, IntervalValue) and min(length.months, length.days, length.micros) >= 0
    if present and (forward or (ends[0] and ends[1] and ends[0].high <= ends[1].low)):
        return _Span(a, b, present)
    if present and ends[0] and ends[1] and ends[1].high <= ends[0].low:
        return _Span(b, a, present)
    missing = () if present else (_missing(a), b)
    none = () if present else (_missing(a), Const(None, SqlType.TIMESTAMP))
    turned = _compare("gt", a, b)
    return _Span(
        Apply("case", (*missing, turned, b, a), SqlType.TIMESTAMP),
        Apply("case", (*none, turned, a, b), SqlType.TIMESTAMP),
        present,
    )


def _missing(time: Expr) -> Expr:
    return Apply("is_null", (time,), BOOL)


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b), BOOL)
