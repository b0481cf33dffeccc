"""The rows in a row's window, where a single unit's rows are read.

ROWS BETWEEN 6 PRECEDING AND CURRENT ROW  →  RowsAround(6, 0)
RANGE UNBOUNDED PRECEDING                 →  None: the default
"""

from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.rewrite.ir.unit_value import RowsAround
from dpsql.rewrite.syntax.read.dialect import render

_FARTHEST = 10_000
_DEFAULT = (None, 0)
_SIDES = ("PRECEDING", "FOLLOWING")
_UNKNOWN = -1


def frame_of(node: exp.Window) -> RowsAround | None:
    """Return the frame of a window call, None for the default one.

    Raises:
        Unsupported: its own row is not among them, or it is told by the distance of values.
    """
    spec = node.args.get("spec")
    if spec is None:
        return None
    kind = str(spec.args.get("kind") or "").upper()
    before, after = (_end(spec, key, side) for key, side in zip(("start", "end"), _SIDES, strict=True))
    unknown = before is _UNKNOWN or after is _UNKNOWN or spec.args.get("exclude")
    if kind != "ROWS" and (before, after) == _DEFAULT and not unknown:
        return None
    if unknown or (kind != "ROWS" and (before, after) != (None, None)):
        raise Unsupported(
            f"the frame {render(spec)[:60]} is not supported over private rows",
            because="window-frame",
            hint="Write ROWS BETWEEN n PRECEDING AND n FOLLOWING, with UNBOUNDED or CURRENT ROW at either end.",
        )
    return RowsAround(before, after)


def _end(spec: exp.Expr, key: str, side: str) -> int | None:
    """Return how many rows on one side there are, None if all."""
    value, given = spec.args.get(key), str(spec.args.get(f"{key}_side") or side).upper()
    if value is None or (isinstance(value, str) and value.upper() == "CURRENT ROW"):
        return 0
    text = value.name if isinstance(value, exp.Literal) and not value.is_string else ""
    if given != side:
        return 0 if text == "0" else _UNKNOWN  # no row before its own, and none behind it: its own
    if isinstance(value, str):
        return None
    return int(text) if text.isdecimal() and int(text) <= _FARTHEST else _UNKNOWN
