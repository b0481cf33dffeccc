"""The first characters of a time's text, which show a unit of time: the shadow writes each, the engine sees the map.

left(picked::text, 7)  →  CASE date_trunc('month', picked) WHEN TIMESTAMP '2019-03-01 …' THEN '2019-03' … END
"""

from sqlglot import exp

from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.ir.evaluator import TYPES
from dpsql.rewrite.ir.expr import Apply, Expr, Unit, refs
from dpsql.rewrite.translate.values.arithmetic import as_timestamp
from dpsql.rewrite.translate.values.context import Translator
from dpsql.rewrite.translate.values.value_map import MAX_VALUES, mapped
from dpsql.rewrite.translate.values.zones import on_session_clock

_UNITS = ((4, "year"), (7, "month"), (10, "day"), (13, "hour"), (16, "minute"), (19, "second"))
"""Up to which character of `2019-03-01 12:34:56` no finer unit of time is shown; years have four digits, as bounds have."""


def by_unit(t: Translator, moment: Expr, unit: str, node: exp.Expr) -> Expr:
    """Return what the shadow writes for each unit of time that can occur; `node` is in terms of a column `x`."""
    truncated = Apply("date_trunc", (moment,), SqlType.TIMESTAMP, Unit(unit))
    values = tuple(v for v in domain(truncated, {r: t.facts_of(r) for r in refs(moment)}, MAX_VALUES) if v is not None)
    return mapped(t, truncated, values, node)


def beginning(t: Translator, text: exp.Expr, end: int, node: exp.Expr) -> Expr | None:
    """Return `node`, which has no more than the first `end` characters of a time's text; None where it has no such text."""
    casts, cast = list[exp.Cast](), text.unnest() if isinstance(text, exp.Paren) else text
    while isinstance(cast, exp.Cast) and TYPES.get(cast.to.sql("postgres").lower().split("(")[0]) is SqlType.TEXT:
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
