"""SELECT DISTINCT of keys beside what the rows of each key come to, which is GROUP BY in other words.

SELECT DISTINCT zone, count(*) OVER (PARTITION BY zone) FROM trips  →  SELECT zone, count(*) FROM trips GROUP BY zone

The keys have to be the windows' partition, all of it and no more: then each partition is one of the distinct rows.
"""

from sqlglot import exp

from dpsql.rewrite.syntax.named.aggregate_names import is_aggregate
from dpsql.rewrite.syntax.named.named_windows import put_windows_in_place
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.trees import every, holds

_PLAIN = frozenset({"this", "partition_by", "over"})
"""The parts of such a window: no order, no frame."""


def put_groups_in_place(select: exp.Select) -> None:
    """Change a SELECT DISTINCT of that form; any other stays unchanged."""
    distinct = select.args.get("distinct")
    others = any(select.args.get(key) for key in ("group", "having", "qualify"))
    if distinct is None or distinct.args.get("on") or others or not holds(select, exp.Window):
        return
    put_windows_in_place(select)
    outputs = [output.unalias() for output in select.expressions]
    keys = {render(output): output for output in outputs if not holds(output, exp.Window)}
    places = [*outputs, *([select.args["order"]] if select.args.get("order") else [])]
    windows = [window for place in places for window in every(place, exp.Window)]
    if not keys or select.args.get("windows") or not all(_is_of(window, frozenset(keys)) for window in windows):
        return
    select.set("group", exp.Group(expressions=[key.copy() for key in keys.values()]))
    select.set("distinct", None)
    for window in windows:
        window.replace(window.this)


def _is_of(window: exp.Window, keys: frozenset[str]) -> bool:
    """Return whether a window aggregates the rows that are equal in these keys, and no fewer."""
    partition = {render(key) for key in window.args.get("partition_by") or ()}
    plain = not any(value and key not in _PLAIN for key, value in window.args.items())
    return plain and partition == keys and is_aggregate(window.this)
