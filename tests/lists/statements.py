"""Statements that others wrote, by their numbers, and the verdict that a page has of each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.docs.pages import ROOT, text

PAGE = ROOT / "docs" / "others-ask.md"
_HERE = Path(__file__).parent
_TITLE = re.compile(r"^-- (?:\[(\d+)\] .*|q(\d+) .*|(\d+))$", re.MULTILINE)
_TABLE = re.compile(r"^<!-- table (\w+) -->\n\n\|.*\n\|[-| ]+\n((?:\|.*\n)+)\n<!-- end -->$", re.MULTILINE)


def load(name: str) -> Mapping[int, str]:
    """Return the statements of a file, without what ends them."""
    _, *parts = _TITLE.split((_HERE / f"{name}.sql").read_text(encoding="utf-8"))
    statements: dict[int, str] = {}
    for bracketed, with_q, plain, sql in zip(*(iter(parts),) * 4, strict=True):
        statements[int(bracketed or with_q or plain)] = sql.strip().rstrip(";").strip()
    return statements


def verdicts(name: str) -> Mapping[int, str]:
    """Return what a table of the page says of each number: answered, public, no rows, or the rule by which it is refused."""
    tables = {cells[1]: cells[2] for cells in _TABLE.finditer(text(PAGE))}
    said: dict[int, str] = {}
    for row in tables[name].splitlines():
        numbers, verdict, _ = (cell.strip() for cell in row.strip("|").split("|"))
        for number in _numbers(numbers):
            assert number not in said, f"{name} {number} stands twice"
            said[number] = verdict.removeprefix("refused ").strip("`")
    return said


def counted(title: str) -> tuple[int, ...]:
    """Return what the page says of a whole list: how many statements there are, and how many answered and public ones."""
    (row,) = re.findall(rf"^\| {title} \|(.*)\|$", text(PAGE), re.MULTILINE)
    return tuple(int(cell) for cell in row.split("|"))[:3]


def _numbers(cell: str) -> Iterator[int]:
    """Yield the numbers of a list with ranges, such as `1, 4–6`."""
    for part in cell.split(","):
        first, _, last = part.strip().partition("–")
        yield from range(int(first), int(last or first) + 1)
