"""The rows of `dpsql.registry`: what was released, and what each answer has cost in all."""

from collections.abc import Callable, Sequence

from dpsql.accounting.ledger import Entry
from dpsql.accounting.privacy_loss import compose, show_down

REGISTRY = {
    "role_name": "text", "unit_kind": "text", "statement": "text", "epsilon": "numeric", "delta": "numeric",
    "first_told": "timestamp with time zone", "last_told": "timestamp with time zone", "times": "bigint",
}  # fmt: skip


def registry_rows(entries: Sequence[Entry], brief: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return a row for each statement of each role, from the ledger's newest lines; `brief` cuts long statements short."""
    told: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in reversed(entries):
        told.setdefault((entry.role, entry.kind, entry.statement), []).append(entry)
    return [
        (role, kind, brief(statement), show_down(cost.epsilon), show_down(cost.delta), *_when(lines))
        for (role, kind, statement), lines in told.items()
        for cost in (compose(line.cost for line in lines),)
    ]


def _when(lines: Sequence[Entry]) -> tuple[str, str, str]:
    """Return when a statement was charged first and last, and how many times: its parts are charged at one time."""
    times = sorted({line.time for line in lines})
    return times[0].isoformat(" "), times[-1].isoformat(" "), str(len(times))
