"""Casts, with a length or a precision too, as PostgreSQL makes them.

shared::int          →  CASE WHEN shared THEN 1 WHEN shared IS FALSE THEN 0 ELSE NULL END
note::varchar(3)     →  cut(note, 3)
fare::numeric(10, 2) →  round(fare, 2), where its interval says that it fits
"""

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import bounded
from dpsql.rewrite.ir.evaluator import TYPES
from dpsql.rewrite.ir.expr import Apply, Bins, Const, Digits, Expr, IntervalValue
from dpsql.rewrite.translate.values.arithmetic import as_timestamp
from dpsql.rewrite.translate.values.clock import TIME_TYPES, time_of_day
from dpsql.rewrite.translate.values.context import Operand, Translator, refused
from dpsql.rewrite.translate.values.json_paths import typed_path
from dpsql.rewrite.translate.values.texts import as_text
from dpsql.rewrite.translate.values.value_map import through_shadow
from dpsql.rewrite.translate.values.zones import at_time_zone, is_zoned, on_session_clock

_ONE_CHARACTER = frozenset({"char", "character"})
_CLOCK_TYPES = frozenset({"timestamp", "timestamp without time zone"})
_SECOND_DIGITS = 6
_Y2K = 946_684_800_000_000
"""The moment, in microseconds since 1970, from which PostgreSQL counts: halves are rounded away from it."""
_MOST_DIGITS = 15


def cast(t: Translator, node: exp.Expr) -> Operand:
    """Translate a cast that can't fail; of a column with few values, any cast."""
    assert isinstance(node, exp.Cast)
    name = node.to.sql("postgres").lower()
    inside = typed_path(t, node)
    if inside is None and name in TIME_TYPES:
        return time_of_day(t, node)
    zoned = is_zoned(t, node)
    if inside is None and zoned is not is_zoned(t, node.this) and (zoned or name in _CLOCK_TYPES):
        return at_time_zone(t, node)
    arg, base = inside or t.expression(node.this), name.split("(")[0]
    target = SqlType.INTERVAL if base == "interval" else TYPES.get(base)
    if target is None or "[" in name:
        raise refused(node, because="cast-type")
    lengths = [int(size.name) for size in node.to.expressions if size.name.isdecimal()]
    if base in _ONE_CHARACTER and not lengths:
        lengths = [1]
    if lengths or "(" in name:
        return _with_length(t, node, arg, target, lengths)
    clocked = inside is None and target.is_temporal and target is not SqlType.TIMESTAMPTZ
    result = _cast(on_session_clock(t, arg, node) if clocked else arg, target)
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
    number = arg if arg.type is SqlType.NUMERIC else Apply("to_double", (arg,), SqlType.NUMERIC)
    whole = arg.type.is_integer
    rounded = number if whole else Apply("round", (number,), SqlType.NUMERIC, Digits(scale) if scale else None)
    if bounded(rounded, t.facts_of(rounded)).magnitude >= Fraction(10) ** (digits - scale):
        return _lost(node, f"its values may have more than {digits - scale} digits before the point")
    return rounded


def _lost(node: exp.Cast, why: str) -> Expr:
    raise Unsupported(
        f"{node.sql('postgres')[:80]} is not supported over private rows: {why}",
        because="cast-precision",
        hint="Write round(x, 2) or a cast to numeric without a length; or let the answer be cast and not its rows.",
    )


def _to_fraction(t: Translator, node: exp.Cast, moment: Expr, digits: int) -> Expr:
    """Translate a cast to timestamp(n): to the nearest, halves away from the year 2000."""
    if digits >= _SECOND_DIGITS:
        return moment
    size = 10 ** (_SECOND_DIGITS - digits)
    interval = bounded(moment, t.facts_of(moment))
    if interval.low < _Y2K <= interval.high:
        return _lost(node, "its values lie on both sides of the year 2000, from which halves are rounded away")
    half = size // 2 if interval.low >= _Y2K else size // 2 - 1
    later = Apply("shift", (moment,), SqlType.TIMESTAMP, IntervalValue(0, 0, half))
    return Apply("date_bin", (later,), SqlType.TIMESTAMP, Bins(size, 0))


def _cast(arg: Expr, target: SqlType) -> Expr | None:
    source = arg.type
    if source is target or (source, target) == (SqlType.TIME, SqlType.INTERVAL):
        return arg
    if target is SqlType.TEXT and source.is_text:
        return as_text(arg)
    if target.is_integer and source.is_integer:
        return arg
    if target.is_integer and source.is_number:
        return Apply("to_integer", (arg,), SqlType.BIGINT)
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
