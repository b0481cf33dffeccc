"""TO_CHAR over a bounded time: the shadow writes every unit of time that can occur, the engine sees the map.

to_char(picked, 'YYYY-MM')  →  CASE date_trunc('month', picked) WHEN TIMESTAMP '2019-03-01 …' THEN '2019-03' … END
to_char(picked, 'Dy HH24')  →  CASE 24 * extract(isodow FROM picked) + extract(hour FROM picked) WHEN 24 THEN 'Mon 00' … END

What a format shows may come again each day, or each week: then one such day or week has all texts that there are, however
many years the bounds have. Claim: the map says what PostgreSQL says of the time itself. Proof: nothing but the weekday and
the time of the day is shown, and the moment that stands for it in the week of 1970-01-05 has these.
"""

import re
from math import prod

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import Apply, Const, Expr, TimeField
from dpsql.rewrite.translate.values.arithmetic import as_timestamp
from dpsql.rewrite.translate.values.context import Translator, refused
from dpsql.rewrite.translate.values.time_texts import by_unit
from dpsql.rewrite.translate.values.value_map import mapped, through_shadow
from dpsql.rewrite.translate.values.zones import on_session_clock

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
    return mapped(t, number, values, exp.Anonymous(this="to_char", expressions=[time, pattern.copy()]))


def _unit(pattern: str, node: exp.Expr) -> str:
    """Return the finest unit of time that a format shows."""
    upper = pattern.upper()
    if any(part in upper for part in ("MS", "US", "FF", "TZ", "OF")):
        raise refused(node, because="to-char-format")
    for unit, templates in _PATTERNS:
        if any(template in upper for template in templates):
            return unit
    raise Unsupported(f"to_char format '{pattern}' shows no time", because="to-char-format")
