"""The table of tools in docs/clients.md: the rows that are there, what a tool's row is, and the page with other rows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.tools.catalogue import TOOLS
from tests.clients.tools.reasons import REASONS
from tests.clients.tools.run import Tried

PAGE = Path(__file__).resolve().parents[3] / "docs" / "clients.md"
_PLACE = re.compile(r"(<!-- table tools, written by tests/clients/tools -->\n).*?(<!-- end -->)", re.DOTALL)
_RULE = re.compile(r"rule: ([a-z-]+)")
_HEAD = ("tool", "works as on PostgreSQL", "works with made-up rows", "does not, and why", "a profile pays")

_PROTECTED = "are protected; ask for count(*)"

Row = tuple[str, ...]


class UnexplainedError(AssertionError):
    """Something does not work, and nobody knows why."""


def row(tool: str, tried: Sequence[Tried]) -> Row:
    """Return the row of a tool.

    Raises:
        UnexplainedError: something does not work, and neither a rule nor `REASONS` says why.
    """
    failed = [line for line in tried if not line.is_right and not line.made_up]
    reasons: dict[str, list[str]] = {}
    for failure in failed:
        reasons.setdefault(_reason(tool, failure), []).append(f"`{failure.name}`")
    paid = [line.paid for line in tried if "profile" in line.part]
    return (
        tool,
        _parts(tried, [line for line in tried if line.is_right]),
        _parts(tried, [line for line in tried if line.made_up and not line.is_right]),
        "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items()) or "–",
        f"{sum(paid):g}" if paid else "",
    )


def _parts(every: Sequence[Tried], these_tried: Sequence[Tried]) -> str:
    """Return how many things of each part are among those that were found."""
    told = []
    for part in dict.fromkeys(line.part for line in these_tried):
        all_, these = (sum(line.part == part for line in some) for some in (every, these_tried))
        told.append(part if all_ == 1 else f"{part} ({these})" if all_ == these else f"{part} ({these} of {all_})")
    return ", ".join(told) or "–"


def _reason(tool: str, tried: Tried) -> str:
    """Return why something does not work.

    Raises:
        UnexplainedError: nobody knows.
    """
    reason = REASONS.get((tool, tried.name)) or REASONS.get((tool, tried.part))
    if reason is not None:
        return reason
    rule = _RULE.search(tried.failed)
    if _PROTECTED in tried.failed:
        return "rows (`rows-of-protected-table`)"
    if rule is None:
        raise UnexplainedError(f"{tool}, {tried.name}: {tried}")
    return f"`{rule[1]}`"


def rows(page: str) -> Mapping[str, Row]:
    """Return the rows that stand on a page, by tool."""
    place = _PLACE.search(page)
    names = {tool.name for tool in TOOLS}
    return {cells[0]: cells for cells in read_table("" if place is None else place[0]) if cells[0] in names}


def read_table(text: str) -> Sequence[Row]:
    """Return the cells of each line of a text with a table in it."""
    lines = [line.strip("|").split(" | ") for line in text.splitlines()]
    return [tuple(cell.strip().replace("\\|", "|") for cell in cells) for cells in lines]


def written(page: str, by_tool: Mapping[str, Row]) -> str:
    """Return a page with these rows in its table."""
    lines = [_HEAD, ("---",) * len(_HEAD), *(by_tool[tool.name] for tool in TOOLS if tool.name in by_tool)]
    return _PLACE.sub(lambda place: f"{place[1]}\n{table(lines)}\n{place[2]}", page)


def table(lines: Sequence[Row]) -> str:
    """Return lines of cells as Markdown has a table."""
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
