"""The text of a number that a row has among the rows of its unit.

lag(fare) OVER (PARTITION BY rider ORDER BY day)
→  lag("fare", 1) OVER (PARTITION BY "rider" ORDER BY "day" ASC NULLS LAST, "fare", "day")
"""

from collections.abc import Sequence

from dpsql.rewrite.emit.columns import quoted
from dpsql.rewrite.ir.relation import Window

_BY_PEERS = frozenset({"rank", "dense_rank", "count"})
"""Functions for which rows that tie are alike."""


def window_text(window: Window, unit: str, every: Sequence[str]) -> str:
    """Return the call over the named columns; `every` are all that make the order of a unit's rows total."""
    partition = ", ".join(map(quoted, (unit, *window.partition)))
    order = [f"{quoted(name)} {how}" for name, how in window.order]
    if window.function not in _BY_PEERS:
        order += map(quoted, every)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    return f"{_call(window)} OVER (PARTITION BY {partition}{ordered})"


def _call(window: Window) -> str:
    if window.function == "count":
        return "count(*)"
    arguments = [
        *([] if window.arg is None else [quoted(window.arg)]),
        *([] if window.number is None else [str(window.number)]),
    ]
    return f"{window.function}({', '.join(arguments)})"
