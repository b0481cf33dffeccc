"""Texts whose values are not declared: what engines make of them provably as PostgreSQL does, and nothing else.

Engines agree about characters, byte by byte order and LIKE; not about letters beyond ASCII, nor about regular expressions.

lower(note) = 'a'  →  translate(note, 'ABC…', 'abc…') = 'a'        note ~ '^a.*b'  →  note LIKE 'a%b%'
"""

import re
from collections.abc import Mapping, Sequence
from math import prod

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.ir.expr import Apply, Const, Digits, Expr, Ref, Results, TimeField, Unit, refs
from dpsql.rewrite.ir.literal import TYPES
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.dialect import excerpt, literal_text, written_type
from dpsql.rewrite.translate.values.arithmetic import as_timestamp
from dpsql.rewrite.translate.values.context import Handler, Operand, Translator, unknown_construct
from dpsql.rewrite.translate.values.value_map import MAX_VALUES, map_values, narrowed_where, through_shadow
from dpsql.rewrite.translate.values.zones import on_session_clock

# The first characters of a time's text, which show a unit of time: the shadow writes each, the engine sees the map.
#
# left(picked::text, 7)  →  CASE date_trunc('month', picked) WHEN TIMESTAMP '2019-03-01 …' THEN '2019-03' … END

_UNITS = ((4, "year"), (7, "month"), (10, "day"), (13, "hour"), (16, "minute"), (19, "second"))
"""Up to which character of `2019-03-01 12:34:56` no finer unit of time is shown; years have four digits, as bounds have."""


def by_unit(t: Translator, moment: Expr, unit: str, node: exp.Expr) -> Expr:
    """Return what the shadow writes for each unit of time that can occur; `node` is in terms of a column `x`."""
    truncated = Apply("date_trunc", (moment,), SqlType.TIMESTAMP, Unit(unit))

    def by_value(narrowed: Translator) -> Expr:
        units = domain(truncated, {r: narrowed.facts_of(r) for r in refs(moment)}, MAX_VALUES)
        return map_values(narrowed, truncated, tuple(unit for unit in units if unit is not None), node)

    return narrowed_where(t, by_value)


def time_prefix(t: Translator, text: exp.Expr, end: int, node: exp.Expr) -> Expr | None:
    """Return `node`, which has no more than the first `end` characters of a time's text; None where it has no such text."""
    casts, cast = list[exp.Cast](), text.unnest() if isinstance(text, exp.Paren) else text
    while isinstance(cast, exp.Cast) and TYPES.get(written_type(cast.to).split("(")[0]) is SqlType.TEXT:
        casts.append(cast)
        cast = cast.this
    if not casts:
        return None
    arg = t.expression(cast)
    if not arg.type.is_temporal or t.facts_of(arg).values is not None:
        return None
    unit = next((unit for most, unit in _UNITS if min(end, 10 if arg.type is SqlType.DATE else end) <= most), None)
    if unit is None or end < 1 or not t.constants.evaluator.dates_in_iso:
        return None
    shown = "date" if arg.type is SqlType.DATE else "timestamp"
    written = exp.cast(exp.column("x"), shown, dialect="postgres")
    for outer_cast in reversed(casts):  # varchar(5) cuts it
        written = exp.Cast(this=written, to=outer_cast.to.copy())
    whole = node.transform(lambda part: written.copy() if part == text else part)
    moment = as_timestamp(on_session_clock(t, arg, node))
    return by_unit(t, moment, unit, whole)


_LETTERS: Mapping[str, str] = {"lower": "lowered", "upper": "uppered"}
_VARCHAR = re.compile(r"character(?: varying)?\((\d+)\)")
_META = frozenset(".^$*+?()[]{}|\\")
_SIMILAR_META = frozenset("*+?(){}[]\\")
_ANYTHING: Mapping[str, str] = {".*": "%", ".+": "_%", ".": "_"}
_TOKEN = re.compile(r"\.[*+]?|\\[^A-Za-z0-9]|[^.^$*+?()\[\]{}|\\]", re.DOTALL)


def is_open(t: Translator, expr: Expr) -> bool:
    """Return whether an expression is a text that may be anything."""
    return expr.type.is_text and not isinstance(expr, Const) and t.facts_of(expr).values is None


def as_text(expr: Expr) -> Expr:
    """Return a value that engines read as a text as one."""
    if isinstance(expr, Const):
        return Const(expr.value, SqlType.TEXT)
    return expr if expr.type is SqlType.TEXT else Apply("as_text", (expr,), SqlType.TEXT)


def labels_of(*exprs: Expr) -> tuple[Value, ...]:
    """Return the labels of an enumeration in their order, by the first column of it."""
    return next((ref.column.values or () for ref in refs(*exprs) if ref.type is SqlType.ENUM), ())


def in_order(expr: Expr, values: Sequence[Value]) -> Expr:
    """Return the place that a value has in an order of all that there can be."""
    if isinstance(expr, Const):
        return Const(values.index(expr.value) if expr.value in values else None, SqlType.INTEGER)
    keys = (Const(value, expr.type) for value in values)
    return Apply("map", (expr, *keys), SqlType.INTEGER, Results(tuple(range(len(values)))))


def in_letters(t: Translator, node: exp.Expr, *others: exp.Expr) -> Expr | None:
    """Return `lower(x)` or `upper(x)` of such a text where it is compared with texts of ASCII; None of anything else."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    op = _LETTERS.get(function_name(inner)) if isinstance(inner, exp.Anonymous) else None
    if op is None or len(inner.expressions) != 1:
        return None
    arg = t.expression(inner.expressions[0])
    texts = [literal_text(other) for other in others]
    plain = all(text is not None and text.isascii() for text in texts)
    return Apply(op, (as_text(arg),), SqlType.TEXT) if is_open(t, arg) and plain else None


def without_case(arg: Expr, pattern: str, node: exp.Expr) -> Expr:
    """Translate `x ILIKE pattern` of such a text.

    Raises:
        Unsupported: the pattern has letters beyond ASCII.
    """
    if not pattern.isascii():
        raise _beyond_ascii(node)
    return _liked(Apply("lowered", (arg,), SqlType.TEXT), pattern.lower())


def _regular(t: Translator, node: exp.Expr) -> Expr:
    """Translate `~` and `~*`."""
    arg, escaped = t.expression(node.this), node.expression.unnest()
    if function_name(escaped) == "similar_to_escape":
        return _similar(t, escaped.expressions[0], node)
    text = literal_text(node.expression)
    if not is_open(t, arg) or text is None:
        return through_shadow(t, node)
    not_padded(arg, node)
    if isinstance(node, exp.RegexpILike):
        if not text.isascii():
            raise _beyond_ascii(node)
        arg, text = Apply("folded", (arg,), SqlType.TEXT), text.lower()
    patterns = [_as_like(part) for part in text.split("|")]
    if "\\|" in text or None in patterns:
        raise Unsupported(
            f"{excerpt(node)}: engines read this regular expression otherwise than PostgreSQL",
            because="regular-expression",
            hint="Of texts without declared `values` it may have characters, ^ $ . .* .+ and |; or write LIKE.",
        )
    parts = tuple(_liked(arg, pattern) for pattern in patterns if pattern is not None)
    return parts[0] if len(parts) == 1 else Apply("or", parts, SqlType.BOOLEAN)


def _similar(t: Translator, pattern: exp.Expr, node: exp.Expr) -> Expr:
    """Translate SIMILAR TO, of alternatives that `LIKE` could say.

    x SIMILAR TO 'a|b%'  is  x ~ similar_to_escape('a|b%')
    """
    arg, text = t.expression(node.this), literal_text(pattern)
    if not is_open(t, arg) or text is None:
        return through_shadow(t, node)
    not_padded(arg, node)
    if not _SIMILAR_META.isdisjoint(text):
        raise Unsupported(
            f"{excerpt(node)}: engines read this pattern otherwise than PostgreSQL",
            because="similar-pattern",
            hint="Of texts without declared `values` it may have characters, % _ and |; or write LIKE.",
        )
    parts = tuple(_liked(arg, alternative) for alternative in text.split("|"))
    return parts[0] if len(parts) == 1 else Apply("or", parts, SqlType.BOOLEAN)


def not_padded(arg: Expr, node: exp.Expr) -> None:
    """Check that a text has no blanks at its end that PostgreSQL compares with a pattern, and engines do not have.

    Raises:
        Unsupported: it has.
    """
    if arg.type is SqlType.CHARACTER:
        raise Unsupported(
            f"{excerpt(node)}: blanks at the end of char(n) count in patterns alone",
            because="pattern-of-padded",
            hint="Write x::text LIKE …, without blanks at the end.",
        )


def _as_like(pattern: str) -> str | None:
    """Return the LIKE pattern that a regular expression is; None if it is none."""
    begins, ends = pattern.startswith("^"), pattern.endswith("$") and not pattern.endswith("\\$")
    inside = pattern[begins : len(pattern) - ends]
    # ^a.*b_  →  a, .*, b, _  →  a%b\_% for LIKE. Of a+ the + is no token: what is put together again is not what was there.
    tokens = _TOKEN.findall(inside)
    if "".join(tokens) != inside:
        return None
    middle = "".join(_ANYTHING.get(token) or _as_itself(token[-1]) for token in tokens)
    return ("" if begins else "%") + middle + ("" if ends else "%")


def _as_itself(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _liked(arg: Expr, pattern: str) -> Expr:
    return Apply("like", (arg, Const(pattern, SqlType.TEXT)), SqlType.BOOLEAN)


def _beyond_ascii(node: exp.Expr) -> Unsupported:
    return Unsupported(
        f"{excerpt(node)}: engines have other small letters beyond ASCII than PostgreSQL",
        because="letters-beyond-ascii",
        hint="Write LIKE; or the owner of the data can declare `values` for the column.",
    )


def length(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate LENGTH of any text: its number of characters, bounded where the type bounds it."""
    arg = t.expression(args[0]) if len(args) == 1 else None
    if arg is None or not is_open(t, arg):
        return through_shadow(t, node)
    match = _VARCHAR.fullmatch(arg.column.declared) if isinstance(arg, Ref) else None
    return Apply("length", (as_text(arg),), SqlType.INTEGER, Digits(int(match[1])) if match else None)


def left(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate LEFT of any text."""
    if len(args) == 2:
        number = t.expression(args[1])
        if (of_time := _of_time(t, args[0], 0, number, node)) is not None:
            return of_time
        arg = t.expression(args[0])
        if is_open(t, arg) and isinstance(number, Const) and isinstance(number.value, int) and number.value >= 0:
            return Apply("cut", (as_text(arg),), SqlType.TEXT, Digits(number.value))
    return through_shadow(t, node)


def substring(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate SUBSTRING and SUBSTR: of any text from its first character on."""
    start = t.expression(args[1]) if len(args) == 3 else None
    if isinstance(start, Const) and isinstance(start.value, int) and not isinstance(start.value, bool):
        of_time = _of_time(t, args[0], start.value - 1, t.expression(args[2]), node)
        if of_time is not None:
            return of_time
    if isinstance(start, Const) and start.value == 1 and start.type.is_number:
        return left(t, [args[0], args[2]], node)
    return through_shadow(t, node)


def _of_time(t: Translator, text: exp.Expr, before: int, number: Expr, node: exp.Expr) -> Expr | None:
    """Return some of the first characters of a time's text, `before` and a number of them; None of any other text."""
    if not isinstance(number, Const) or not isinstance(number.value, int) or isinstance(number.value, bool):
        return None
    return time_prefix(t, text, before + number.value, node) if number.value >= 0 else None


def _substring(t: Translator, node: exp.Expr) -> Expr:
    parts = [node.args.get(part) for part in ("this", "start", "length")]
    return substring(t, [part for part in parts if part is not None], node)


def _begins(t: Translator, node: exp.Expr) -> Operand:
    """Translate name ^@ 'a'  →  starts_with(name, 'a')."""
    return t.operand(exp.Anonymous(this="starts_with", expressions=[node.this.copy(), node.expression.copy()]))


REGULAR: Mapping[type[exp.Expr], Handler] = {
    exp.StartsWith: _begins,
    exp.RegexpLike: _regular,
    exp.RegexpILike: _regular,
    exp.Substring: _substring,
}


# TO_CHAR over a bounded time: the shadow writes every unit of time that can occur, the engine sees the map.
#
# to_char(picked, 'YYYY-MM')  →  CASE date_trunc('month', picked) WHEN TIMESTAMP '2019-03-01 …' THEN '2019-03' … END
# to_char(picked, 'Dy HH24')  →  CASE 24 * extract(isodow FROM picked) + extract(hour FROM picked) WHEN 24 THEN 'Mon 00' … END
#
# What a format shows may come again each day, or each week: then one such day or week has all texts that there are, however
# many years the bounds have. Claim: the map says what PostgreSQL says of the time itself. Proof: nothing but the weekday and
# the time of the day is shown, and the moment that stands for it in the week of 1970-01-05 has these.

_PATTERNS = (
    ("second", ("SSSS", "SS")),
    ("minute", ("MI",)),
    ("hour", ("HH24", "HH12", "HH", "AM", "PM", "A.M.", "P.M.")),
    ("day", ("DDD", "DD", "DAY", "DY", "D", "IDDD", "ID", "IW", "WW", "W", "J")),
    ("month", ("MONTH", "MON", "MM", "RM")),
    ("quarter", ("Q",)),
    ("year", ("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "CC")),
)
"""The templates of PostgreSQL's formats, from the finest unit of time that they show to the coarsest."""
_DAILY = frozenset({"MI", "HH24", "HH12", "HH", "AM", "PM", "A.M.", "P.M."})
_WEEKLY = frozenset({"DAY", "DY", "D", "ID"})
_TEMPLATES = (
    "A.D. A.M. B.C. P.M. AD AM BC CC DAY DDD DD DY D FX HH24 HH12 HH IDDD ID IW IYYY IYY IY I J MI MM MONTH MON MS OF PM Q RM"
    " SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY YYY YY Y"
).split()
_CAPITALIZED = ("Day", "Dy", "Month", "Mon")
_TEMPLATE = re.compile(
    "(?:FM|fm|TM)?("
    + "|".join(
        map(re.escape, sorted([*_TEMPLATES, *map(str.lower, _TEMPLATES), *_CAPITALIZED], key=lambda word: -len(word)))
    )
    + ")"
)
"""As PostgreSQL reads a format: in small or in capital letters, of what begins alike the longest."""
_STEPS = {
    "day": (("isodow", 7),),
    "hour": (("isodow", 7), ("hour", 24)),
    "minute": (("isodow", 7), ("hour", 24), ("minute", 60)),
}
"""By the finest unit that a format shows the fields that tell the units of a week apart, with how many values each has."""
_SUNDAY = "1970-01-04"


def to_char(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate the formatting of a time; of anything else, as a function of a column with few values."""
    arg = as_timestamp(on_session_clock(t, t.expression(args[0]), node)) if len(args) == 2 else None
    if arg is None or arg.type is not SqlType.TIMESTAMP or t.facts_of(arg).values is not None:
        return through_shadow(t, node)
    pattern = t.expression(args[1])
    if not isinstance(pattern, Const) or not isinstance(pattern.value, str):
        raise Unsupported("to_char takes a literal format over private rows", because="to-char-format")
    unit, shown = _unit(pattern.value, node), _shown(pattern.value)
    if shown and unit in _STEPS and shown <= _DAILY | _WEEKLY and not (shown & _WEEKLY and unit == "minute"):
        return _of_a_week(t, arg, unit, args[1], of_day=not shown & _WEEKLY)
    written = exp.Anonymous(this="to_char", expressions=[exp.column("x"), args[1].copy()])
    return by_unit(t, arg, unit, written)


def _shown(pattern: str) -> frozenset[str]:
    """Return the templates of a format; none where it quotes texts, which are not read here."""
    if '"' in pattern or "\\" in pattern:
        return frozenset()
    return frozenset(template.upper() for template in _TEMPLATE.findall(pattern))


def _of_a_week(t: Translator, moment: Expr, unit: str, pattern: exp.Expr, *, of_day: bool) -> Expr:
    """Return what the shadow writes for each unit of a week, or of a Sunday, which then stands for every other day."""
    number: Expr = Const(0, SqlType.BIGINT)
    for field, size in _STEPS[unit][of_day:]:
        value = Apply("to_integer", (Apply("extract", (moment,), SqlType.NUMERIC, TimeField(field)),), SqlType.BIGINT)
        coarse = Apply("mul", (number, Const(size, SqlType.BIGINT)), SqlType.BIGINT)
        number = value if isinstance(number, Const) else Apply("add", (coarse, value), SqlType.BIGINT)
    each = prod(size for field, size in _STEPS[unit] if field != "isodow")
    values = range(each) if of_day else range(each, 8 * each)  # Monday is 1
    step = exp.cast(exp.Literal.string(f"1 {unit}"), "interval", dialect="postgres")
    begin = exp.cast(exp.Literal.string(_SUNDAY), "timestamp", dialect="postgres")
    time = exp.Add(this=begin, expression=exp.Paren(this=exp.Mul(this=exp.column("x"), expression=step)))
    return map_values(t, number, values, exp.Anonymous(this="to_char", expressions=[time, pattern.copy()]))


def _unit(pattern: str, node: exp.Expr) -> str:
    """Return the finest unit of time that a format shows."""
    upper = pattern.upper()
    if any(part in upper for part in ("MS", "US", "FF", "TZ", "OF")):
        raise unknown_construct(node, because="to-char-format")
    for unit, templates in _PATTERNS:
        if any(template in upper for template in templates):
            return unit
    raise Unsupported(f"to_char format '{pattern}' shows no time", because="to-char-format")
