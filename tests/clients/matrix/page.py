"""The tables of docs/clients.md: the rows that are there, and the page with other rows."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.clients.matrix.catalogue import DRIVERS
from tests.clients.matrix.run import Row
from tests.clients.matrix.steps import STEPS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "clients.md"
_PLACE = re.compile(r"(<!-- table (\w+), written by tests/clients/matrix -->\n).*?(<!-- end -->)", re.DOTALL)


def rows(page: str) -> Mapping[str, Row]:
    """Return the rows that stand on a page, by driver."""
    placed = {place[2]: place[0] for place in _PLACE.finditer(page)}
    notes = [
        (n[1], (n[2], n[3])) for n in re.finditer(r"^- \*\*(.+?)\*\*, (\w+): (.+)$", placed["notes"], re.MULTILINE)
    ]
    read = {}
    for line in placed["matrix"].splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if name in _names() and len(cells) == len(STEPS):
            read[name] = Row(tuple(cells), tuple(note for driver, note in notes if driver == name))
    return read


def written(page: str, by_driver: Mapping[str, Row]) -> str:
    """Return a page with these rows in its tables, and the drivers' lines."""
    now = {"steps": _steps(), "connect": _connect(), "matrix": _matrix(by_driver), "notes": _notes(by_driver)}
    return _PLACE.sub(lambda place: f"{place[1]}\n{now[place[2]]}\n{place[3]}", page)


def _names() -> list[str]:
    return [driver.name for driver in DRIVERS]


def _steps() -> str:
    return _table(("step", "what it shows"), ((step.name, step.about) for step in STEPS))


def _connect() -> str:
    return _table(("client", "how it connects"), ((driver.name, f"`{driver.connect}`") for driver in DRIVERS))


def _matrix(by_driver: Mapping[str, Row]) -> str:
    head = ("", *(step.name for step in STEPS))
    return _table(head, ((name, *by_driver[name].cells) for name in _names() if name in by_driver))


def _notes(by_driver: Mapping[str, Row]) -> str:
    told = ((name, *note) for name in _names() if name in by_driver for note in by_driver[name].notes)
    return "".join(f"- **{name}**, {step}: {note}\n" for name, step, note in told)


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    every = [[*head], *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    every.insert(1, ["---"] * len(every[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in every)
