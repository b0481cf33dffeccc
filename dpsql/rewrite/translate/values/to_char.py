"""TO_CHAR over a bounded time: the shadow writes every unit of time that can occur, the engine sees the map.

to_char(picked, 'YYYY-MM')  →  CASE date_trunc('month', picked) WHEN TIMESTAMP '2019-03-01 …' THEN '2019-03' … END
"""

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.expr import Const, Expr
from dpsql.rewrite.translate.values.arithmetic import as_timestamp
from dpsql.rewrite.translate.values.context import Translator, refused
from dpsql.rewrite.translate.values.time_texts import by_unit
from dpsql.rewrite.translate.values.value_map import through_shadow
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


def to_char(t: Translator, args: list[exp.Expr], node: exp.Expr) -> Expr:
    """Translate the formatting of a time; of anything else, as a function of a column with few values."""
    arg = as_timestamp(on_session_clock(t, t.expression(args[0]), node)) if len(args) == 2 else None
    if arg is None or arg.type is not SqlType.TIMESTAMP or t.facts_of(arg).values is not None:
        return through_shadow(t, node)
    pattern = t.expression(args[1])
    if not isinstance(pattern, Const) or not isinstance(pattern.value, str):
        raise Unsupported("to_char takes a literal format over private rows", because="to-char-format")
    written = exp.Anonymous(this="to_char", expressions=[exp.column("x"), args[1].copy()])
    return by_unit(t, arg, _unit(pattern.value, node), written)


def _unit(pattern: str, node: exp.Expr) -> str:
    """Return the finest unit of time that a format shows."""
    upper = pattern.upper()
    if any(part in upper for part in ("MS", "US", "FF", "TZ", "OF")):
        raise refused(node, because="to-char-format")
    for unit, templates in _PATTERNS:
        if any(template in upper for template in templates):
            return unit
    raise Unsupported(f"to_char format '{pattern}' shows no time", because="to-char-format")
