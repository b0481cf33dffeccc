"""From sqlglot's tree of a row-level expression to ours: every class is handled by name here or refused.

The result is typed as PostgreSQL types it, so that integer division, for one, is decided here and not by an engine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import is_null, require_interval
from dpsql.rewrite.dialects.base import SINGLE_DIGITS
from dpsql.rewrite.functions.function import Function
from dpsql.rewrite.functions.table import NUMBERS, TABLE, decimals_of, is_real, step_of
from dpsql.rewrite.functions.temporal import FIELDS
from dpsql.rewrite.ir.calendar import UNITS
from dpsql.rewrite.ir.expr import Apply, Bins, Buckets, Const, Digits, Expr, Facts, IntervalValue, TimeField, Unit
from dpsql.rewrite.ir.literal import TYPES
from dpsql.rewrite.syntax.named.aggregate_names import function_name
from dpsql.rewrite.syntax.read.dialect import excerpt, written_type
from dpsql.rewrite.translate.public.constants import Constants
from dpsql.rewrite.translate.values.arithmetic import ARITHMETIC_HANDLERS, apply_function, as_timestamp, power
from dpsql.rewrite.translate.values.comparisons import (
    LOGIC_HANDLERS,
    MEMBERSHIP_HANDLERS,
    compare,
    overlaps,
    unify_types,
)
from dpsql.rewrite.translate.values.context import (
    Age,
    ElapsedTime,
    Handler,
    Names,
    Operand,
    Translator,
    unknown_construct,
)
from dpsql.rewrite.translate.values.durations import age, date_bin, part, part_of_span
from dpsql.rewrite.translate.values.json_paths import JSON_HANDLERS, column, typed_path
from dpsql.rewrite.translate.values.subqueries import LOOKUPS
from dpsql.rewrite.translate.values.texts import REGULAR, as_text, left, length, substring, to_char
from dpsql.rewrite.translate.values.value_map import MAPPED, through_shadow
from dpsql.rewrite.translate.values.zones import (
    TIME_TYPES,
    at_time_zone,
    by_clock,
    in_utc,
    is_zoned,
    on_session_clock,
    part_of_day,
    time_of_day,
    truncated_in,
)

# Casts, with a length or a precision too, as PostgreSQL makes them.
#
# shared::int          →  CASE WHEN shared THEN 1 WHEN shared IS FALSE THEN 0 ELSE NULL END
# note::varchar(3)     →  cut(note, 3)
# fare::numeric(10, 2) →  round(fare, 2), where its interval says that it fits

_ONE_CHARACTER = frozenset({"char", "character"})
_CLOCK_TYPES = frozenset({"timestamp", "timestamp without time zone"})
_SECOND_DIGITS = 6
_Y2K = 946_684_800_000_000
"""The moment, in microseconds since 1970, from which PostgreSQL counts: halves are rounded away from it."""
_MOST_DIGITS = 15


def cast(t: Translator, node: exp.Expr) -> Operand:
    """Translate a cast that can't fail; of a column with few values, any cast."""
    assert isinstance(node, exp.Cast)
    name = written_type(node.to)
    inside = typed_path(t, node)
    if inside is None and name in TIME_TYPES:
        return time_of_day(t, node)
    zoned = is_zoned(t, node)
    if inside is None and zoned is not is_zoned(t, node.this) and (zoned or name in _CLOCK_TYPES):
        return at_time_zone(t, node)
    arg, base = inside or t.expression(node.this), name.split("(")[0]
    target = SqlType.INTERVAL if base == "interval" else TYPES.get(base)
    if target is None or "[" in name:
        raise unknown_construct(node, because="cast-type")
    lengths = [int(size.name) for size in node.to.expressions if size.name.isdecimal()]
    if base in _ONE_CHARACTER and not lengths:
        lengths = [1]
    if lengths or "(" in name:
        return _with_length(t, node, arg, target, lengths)
    clocked = inside is None and target.is_temporal and target is not SqlType.TIMESTAMPTZ
    result = _cast(t, on_session_clock(t, arg, node) if clocked else arg, target)
    return result if result is not None else through_shadow(t, node)


def _with_length(t: Translator, node: exp.Cast, arg: Expr, target: SqlType, lengths: Sequence[int]) -> Expr:
    """Translate a cast to a type with a length or a precision."""
    match target, lengths:
        case SqlType.CHARACTER, [length]:
            return _padded(t, node, arg, length)
        case SqlType.TEXT, [length] if arg.type.is_text and t.facts_of(arg).values is None:
            return _cut(as_text(arg), length)
        case SqlType.NUMERIC, [digits, *scale] if arg.type.is_number and len(scale) < 2:
            return _rounded(t, node, arg, digits, scale[0] if scale else 0)
        case SqlType.TIMESTAMP, [digits] if arg.type.is_temporal:
            return _to_fraction(t, node, as_timestamp(on_session_clock(t, arg, node)), digits)
    return through_shadow(t, node)


def _cut(arg: Expr, length: int) -> Expr:
    return Apply("cut", (arg,), SqlType.TEXT, Digits(length))


def _padded(t: Translator, node: exp.Cast, arg: Expr, length: int) -> Expr:
    """Translate a cast to character(n), whose blanks at the end mean nothing: without them."""
    if arg.type.is_text and t.facts_of(arg).values is None:
        return Apply("unpadded", (_cut(as_text(arg), length),), SqlType.CHARACTER)
    return through_shadow(t, node)


def _rounded(t: Translator, node: exp.Cast, arg: Expr, digits: int, scale: int) -> Expr:
    """Translate a cast to numeric(p, s), which rounds and fails where a number has more than p − s digits before the point.

    Raises:
        Unsupported: a number could have more, or it is computed with fewer.
    """
    if digits > _MOST_DIGITS or scale > digits:
        return _lost(node, f"numbers are computed with {_MOST_DIGITS} digits here")
    number = arg if arg.type is SqlType.NUMERIC else _to_numeric(t, arg)
    whole = arg.type.is_integer
    rounded = number if whole else Apply("round", (number,), SqlType.NUMERIC, Digits(scale) if scale else None)
    if require_interval(rounded, t.facts_of(rounded)).magnitude >= Fraction(10) ** (digits - scale):
        return _lost(node, f"its values may have more than {digits - scale} digits before the point")
    return rounded


def _lost(node: exp.Cast, why: str) -> Expr:
    raise Unsupported(
        f"{excerpt(node)} is not supported over private rows: {why}",
        because="cast-precision",
        hint="Write round(x, 2) or a cast to numeric without a length; or let the answer be cast and not its rows.",
    )


def _to_fraction(t: Translator, node: exp.Cast, moment: Expr, digits: int) -> Expr:
    """Translate a cast to timestamp(n): to the nearest, halves away from the year 2000."""
    if digits >= _SECOND_DIGITS:
        return moment
    size = 10 ** (_SECOND_DIGITS - digits)
    interval = require_interval(moment, t.facts_of(moment))
    if interval.low < _Y2K <= interval.high:
        return _lost(node, "its values lie on both sides of the year 2000, from which halves are rounded away")
    half = size // 2 if interval.low >= _Y2K else size // 2 - 1
    later = Apply("shift", (moment,), SqlType.TIMESTAMP, IntervalValue(0, 0, half))
    return Apply("date_bin", (later,), SqlType.TIMESTAMP, Bins(size, 0))


def _to_numeric(t: Translator, arg: Expr) -> Expr:
    """Return a number as the decimal that PostgreSQL makes of it: of single precision that of 6 digits.

    r::numeric  →  to_decimal(r, 6); of hundredths up to 1,000, as its column declares them, round(r, 2), which is the same
    """
    number = Apply("to_double", (arg,), SqlType.NUMERIC)
    if not is_real(arg):
        return number
    arg = arg if arg.type is SqlType.REAL else Apply("to_single", (arg,), SqlType.REAL)
    step = step_of(arg)
    decimals = decimals_of(step) if step else None
    interval = None if decimals is None else t.facts_of(arg).interval
    if decimals is not None and interval is not None and interval.magnitude * 10**decimals <= 10**SINGLE_DIGITS:
        return Apply("round", (number,), SqlType.NUMERIC, Digits(decimals) if decimals else None)
    return Apply("to_decimal", (arg,), SqlType.NUMERIC, Digits(SINGLE_DIGITS))


def _cast(t: Translator, arg: Expr, target: SqlType) -> Expr | None:
    source = arg.type
    if source is target is SqlType.REAL and isinstance(arg, Apply):
        return Apply("to_single", (arg,), target)
    if source is target or (source, target) == (SqlType.TIME, SqlType.INTERVAL):
        return arg
    if target is SqlType.TEXT and source.is_text:
        return as_text(arg)
    if target.is_integer and source.is_integer:
        return arg
    if target.is_integer and source.is_number:
        return Apply("to_integer", (arg,), SqlType.BIGINT)
    if target is SqlType.REAL and source.is_number:
        return Apply("to_single", (arg,), target)
    if target is SqlType.NUMERIC and source.is_number:
        return _to_numeric(t, arg)
    if target.is_number and not target.is_integer and source.is_number:
        return Apply("to_double", (arg,), target)
    if source is SqlType.BOOLEAN and target.is_integer:
        return Apply(
            "case",
            (arg, Const(1, target), Apply("is_false", (arg,), SqlType.BOOLEAN), Const(0, target), Const(None, target)),
            target,
        )
    if source.is_integer and target is SqlType.BOOLEAN:
        return Apply("ne", (arg, Const(0, source)), target)
    if source is SqlType.DATE and target is SqlType.TIMESTAMP:
        return as_timestamp(arg)
    if source is SqlType.TIMESTAMP and target is SqlType.DATE:
        return Apply("timestamp_to_date", (arg,), SqlType.DATE)
    return None


# Function calls and casts by name, as PostgreSQL names them.
#
# date_part('year', day)  →  extract('year' FROM date_to_timestamp(day))
# shared::int             →  CASE WHEN shared THEN 1 WHEN shared IS FALSE THEN 0 ELSE NULL END

_FIELD_NAMES = {
    "years": "year", "months": "month", "days": "day", "hours": "hour", "minutes": "minute", "seconds": "second",
    "weeks": "week", "decades": "decade", "centuries": "century", "millennia": "millennium",
}  # fmt: skip
"""Other names of fields."""
_MOST_BUCKETS = 10_000
_MOST_THRESHOLDS = 1000
_Call = Callable[[Translator, list[exp.Expr], exp.Expr], Operand]


def call(t: Translator, node: exp.Expr) -> Operand:
    """Translate a function call; one that is not known may still be a function of a column with few values."""
    handler = _CALLS.get(function_name(node))
    return handler(t, node.expressions, node) if handler else through_shadow(t, node)


def _plain(function: Function) -> _Call:
    def handler(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
        return apply_function(function, tuple(t.expression(arg) for arg in args), node)

    return handler


def _round(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    arg = t.expression(args[0])
    digits = t.expression(args[1]) if len(args) == 2 else Const(0, SqlType.INTEGER)
    if (
        not arg.type.is_number
        or not isinstance(digits, Const)
        or not isinstance(digits.value, int)
        or not -15 <= digits.value <= 15
    ):
        raise unknown_construct(node, because="round-digits")
    if arg.type.is_integer and digits.value >= 0:
        return arg
    if arg.type.is_integer:
        arg = Apply("to_double", (arg,), SqlType.NUMERIC)
    return Apply("round", (arg,), arg.type, Digits(digits.value) if digits.value else None)


def _trunc(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Operand:
    """Translate `trunc`, which cuts off behind so many digits of a decimal.

    trunc(x, 2)  →  round(trunc(x * 100) / 100, 2)
    trunc(x, -2)  →  trunc(x / 100) * 100
    """
    if len(args) != 2:
        return apply_function(TABLE["trunc"], (t.expression(args[0]),), node)
    digits = t.expression(args[1])
    if not isinstance(digits, Const) or not isinstance(digits.value, int) or not -15 <= digits.value <= 15:
        raise unknown_construct(node, because="round-digits")
    power, decimal = exp.Literal.number(10 ** abs(digits.value)), exp.cast(args[0].copy(), "decimal")
    if digits.value <= 0:
        return t.operand(
            exp.Mul(this=_called("trunc", exp.Div(this=decimal, expression=power)), expression=power.copy())
        )
    cut = _called("trunc", exp.Mul(this=decimal, expression=power))
    return t.operand(_called("round", exp.Div(this=cut, expression=power.copy()), args[1].copy()))


def _called(name: str, *args: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[*args])


def _power(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    if len(args) != 2:
        raise unknown_construct(node, because="two-numbers")
    return power(t.expression(args[0]), t.expression(args[1]), node)


def _any(op: str) -> _Call:
    def handler(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
        exprs = unify_types(t, [t.expression(arg) for arg in args], node)
        type_ = exprs[0].type
        if op != "coalesce" and not (type_.is_number or type_.is_moment or type_ is SqlType.DATE):
            raise unknown_construct(node, because="greatest-of-numbers")
        # All leave out what is NULL, and are NULL of nothing else.
        exprs = tuple(expr for expr in exprs if not is_null(expr)) or exprs[:1]
        return Apply(op, exprs, exprs[0].type)

    return handler


def _nullif(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    a, b = (t.expression(arg) for arg in args)
    if a.type.is_integer and isinstance(b, Const) and isinstance(b.value, int):
        return Apply("nullif", (a, b), a.type)
    same = compare(t, "eq", a, b, node)
    return Apply("case", (same, Const(None, a.type), a), a.type)


def _counting(*, nulls: bool) -> _Call:
    """Return how the arguments that are NULL, or those that are not, are counted."""

    def handler(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Operand:
        del node
        null, other = exp.Literal.number(int(nulls)), exp.Literal.number(int(not nulls))
        tests = (exp.If(this=exp.Is(this=arg, expression=exp.null()), true=null.copy()) for arg in args)
        ones: Iterator[exp.Expr] = (exp.Case(ifs=[test], default=other.copy()) for test in tests)
        return t.operand(reduce(lambda a, b: exp.Add(this=a, expression=b), ones))

    return handler


def _bucket(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    if len(args) == 2:
        return _thresholds(t, args, node)
    if len(args) != 4:
        raise unknown_construct(node, because="width-bucket-arguments")
    x, low, high, count = (t.expression(arg) for arg in args)
    known = isinstance(low, Const) and isinstance(high, Const) and isinstance(count, Const)
    if not known or not isinstance(count, Const) or not isinstance(count.value, int) or count.value < 1:
        raise Unsupported(
            "width_bucket takes constant ends and a constant number of buckets",
            because="width-bucket-arguments",
            hint="Write them as numbers: width_bucket(x, 0, 100, 10).",
        )
    if count.value > _MOST_BUCKETS:
        raise Unsupported(
            f"width_bucket makes {count.value:,} buckets here, the limit is {_MOST_BUCKETS:,}",
            because="width-bucket-arguments",
            hint=f"Write a number of buckets up to {_MOST_BUCKETS:,}.",
        )
    assert isinstance(low, Const)
    assert isinstance(high, Const)
    if low.value is None or high.value is None or not low.value < high.value:  # type: ignore[operator]
        raise Unsupported(
            "width_bucket needs its lower end below its upper one",
            because="width-bucket-arguments",
            hint="Write the lower end first: width_bucket(x, 0, 100, 10).",
        )
    return Apply("width_bucket", (x, low, high), SqlType.INTEGER, Buckets(count.value))


def _thresholds(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate WIDTH_BUCKET(x, ARRAY[…]): how many of the rising numbers are at most x."""
    x, items = t.expression(args[0]), t.constants.items(args[1]) or ()
    numbers = [item.value for item in items if item.type.is_number and item.value is not None]
    if not x.type.is_number or not 0 < len(numbers) == len(items) <= _MOST_THRESHOLDS or numbers != sorted(numbers):
        raise Unsupported(
            "width_bucket takes a constant array of rising numbers here",
            because="width-bucket-arguments",
        )
    pairs = [(compare(t, "lt", x, item, node), Const(n, SqlType.INTEGER)) for n, item in enumerate(items)]
    if t.facts_of(x).nullable:
        pairs.insert(0, (Apply("is_null", (x,), SqlType.BOOLEAN), Const(None, SqlType.INTEGER)))
    branches = (part for pair in pairs for part in pair)
    return Apply("case", (*branches, Const(len(items), SqlType.INTEGER)), SqlType.INTEGER)


def _trunc_date(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    unit = t.expression(args[0])
    if not 2 <= len(args) <= 3 or not isinstance(unit, Const) or str(unit.value).lower() not in UNITS:
        raise Unsupported(f"date_trunc takes one of {', '.join(UNITS)} here", because="date-trunc-unit")
    name = str(unit.value).lower()
    if len(args) == 3 or is_zoned(t, args[1]):
        return truncated_in(t, name, args[1], args[2] if len(args) == 3 else None, node)
    return Apply("date_trunc", (_moment(t, args[1], node),), SqlType.TIMESTAMP, Unit(name))


def _timezone(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    if len(args) != 2:
        raise unknown_construct(node, because="function-of-time")
    return at_time_zone(t, node)


def _moment(t: Translator, node: exp.Expr, whole: exp.Expr) -> Expr:
    arg = as_timestamp(on_session_clock(t, t.expression(node), whole))
    if arg.type is not SqlType.TIMESTAMP:
        raise unknown_construct(whole, because="function-of-time")
    return arg


def _part(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    field = t.expression(args[0])
    return _extracted(t, str(field.value if isinstance(field, Const) else ""), args[1], node)


def extract(t: Translator, node: exp.Expr) -> Expr:
    """Translate EXTRACT(field FROM t)."""
    return _extracted(t, str(node.this.name), node.expression, node)


def _extracted(t: Translator, field: str, arg: exp.Expr, node: exp.Expr) -> Expr:
    if field.lower() == "epoch" and is_zoned(t, arg):
        arg = in_utc(t, arg)
    value = t.operand(arg)
    if isinstance(value, (ElapsedTime, Age)):
        return part(value, _FIELD_NAMES.get(field.lower(), field.lower()))
    field = _FIELD_NAMES.get(field.lower(), field.lower())
    if isinstance(value, Expr) and value.type.is_span:
        return part_of_day(value, field) or part_of_span(value, field)
    if field not in FIELDS:
        raise Unsupported(f"extract takes one of {', '.join(sorted(FIELDS))} here", because="extract-field")
    return Apply("extract", (_moment(t, arg, node),), SqlType.NUMERIC, TimeField(field))


def _date(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Operand:
    """Translate `date(t)`, which is a cast in PostgreSQL."""
    if len(args) != 1:
        raise unknown_construct(node, because="date-of-one")
    return cast(t, exp.Cast(this=args[0].copy(), to=exp.DataType.build("date", dialect="postgres")))


_CALLS: Mapping[str, _Call] = {
    **{name: _plain(f) for f in NUMBERS if f.call is not None for name in f.call.names},
    "round": _round,
    "trunc": _trunc,
    "power": _power,
    "pow": _power,
    "greatest": _any("greatest"),
    "least": _any("least"),
    "coalesce": _any("coalesce"),
    "nullif": _nullif,
    "num_nulls": _counting(nulls=True),
    "num_nonnulls": _counting(nulls=False),
    "width_bucket": _bucket,
    "date_trunc": _trunc_date,
    "date_bin": date_bin,
    "date": _date,
    "age": age,
    "date_part": _part,
    "to_char": to_char,
    "timezone": _timezone,
    **dict.fromkeys(("length", "char_length", "character_length"), length),
    "left": left,
    "substr": substring,
    "substring": substring,
}
CALLS: Mapping[type[exp.Expr], Handler] = {exp.Anonymous: call, exp.Extract: extract, exp.Cast: cast}


def _inner(t: Translator, node: exp.Expr) -> Operand:
    return t.operand(node.this)


HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.Column: column, exp.Paren: _inner, **ARITHMETIC_HANDLERS, **LOGIC_HANDLERS, **JSON_HANDLERS,
    **MEMBERSHIP_HANDLERS, **CALLS, **MAPPED, **LOOKUPS, **REGULAR,
    exp.AtTimeZone: at_time_zone, exp.Add: by_clock, exp.Sub: by_clock, exp.Overlaps: overlaps,
}  # fmt: skip


def translator(
    names: Names,
    constants: Constants,
    facts_of: Callable[[Expr], Facts],
    public: Callable[[exp.Expr], exp.Expr | None],
) -> Translator:
    """Return the translator of one SELECT's expressions."""
    return Translator(names, constants, facts_of, HANDLERS, public)
