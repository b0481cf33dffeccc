"""Windows of a SELECT that are defined by WINDOW, written where they are used.

SELECT lag(fare) OVER (w ORDER BY day) FROM trips WINDOW w AS (PARTITION BY rider)
→  SELECT lag(fare) OVER (PARTITION BY rider ORDER BY day) FROM trips
"""

from collections.abc import Mapping

from sqlglot import exp

from dpsql.rewrite.syntax.named.identifiers import fold

_PARTS = ("partition_by", "order", "spec")


def put_windows_in_place(select: exp.Select) -> None:
    """Change a SELECT of rows so that it has no WINDOW clause; one with windows that it does not define stays."""
    windows: dict[str, exp.Window] = {}
    for window in select.args.get("windows") or ():
        name = window.this
        if not isinstance(window, exp.Window) or not isinstance(name, exp.Identifier) or not _filled(window, windows):
            return
        windows[fold(name)] = window
    calls = [window for output in select.expressions for window in output.find_all(exp.Window)]
    filled = [_filled(call, windows) for call in calls]
    if all(filled):
        select.set("windows", None)


def _filled(window: exp.Window, windows: Mapping[str, exp.Window]) -> bool:
    """Return whether a window is known, and give it what the one that it names has."""
    name = window.args.get("alias")
    if name is None:
        return True
    base = windows.get(fold(name))
    if base is None:
        return False
    for part in _PARTS:
        given = base.args.get(part)
        if given and not window.args.get(part):
            window.set(part, [item.copy() for item in given] if isinstance(given, list) else given.copy())
    window.set("alias", None)
    return True
