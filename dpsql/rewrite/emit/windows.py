"""The text of a value that a row has among the rows of its unit.

lag(fare) OVER (PARTITION BY rider ORDER BY day)
→  lag("fare", 1) OVER (PARTITION BY "rider" ORDER BY "day" ASC NULLS LAST, "fare", "day")
"""

from collections.abc import Sequence

from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.unit_values import unit_text
from dpsql.rewrite.ir.unit_value import RowsAround, Window

_BY_PEERS = frozenset({"rank", "dense_rank", "aggregate"})
"""Functions for which rows that tie are the same, unless a frame counts single rows."""
_ALL = RowsAround(None, None)


def window_text(window: Window, unit: str, every: Sequence[str], emitter: Emitter) -> str:
    """Return the call over the named columns; `every` are all that make the order of a unit's rows total."""
    keys, frame = [unit, *window.partition], window.frame
    if window.function == "last_value" and frame is None:
        # The last of the rows that tie is the same for all of them: they are a partition of their own.
        keys, frame = [*keys, *(name for name, _ in window.order)], _ALL
    order = [f"{quoted(name)} {how}" for name, how in window.order]
    if window.function not in _BY_PEERS or frame not in {None, _ALL}:
        order += map(quoted, every)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    rows = (
        "" if frame is None else f" ROWS BETWEEN {_end(frame.before, 'PRECEDING')} AND {_end(frame.after, 'FOLLOWING')}"
    )
    over = f" OVER (PARTITION BY {', '.join(map(quoted, keys))}{ordered}{rows})"
    return f"{_call(window)}{over}" if window.value is None else unit_text(window.value, emitter, over)


def _end(rows: int | None, side: str) -> str:
    if rows is None:
        return f"UNBOUNDED {side}"
    return f"{rows} {side}" if rows else "CURRENT ROW"


def _call(window: Window) -> str:
    arguments = [
        *([] if window.arg is None else [quoted(window.arg)]),
        *([] if window.number is None else [str(window.number)]),
    ]
    return f"{window.function}({', '.join(arguments)})"
