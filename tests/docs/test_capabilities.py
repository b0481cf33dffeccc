"""The table of what the three documents can do: each test, page and Python name in it is there.

Commands and links are seen to by `test_pages`.
"""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT.parent / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Every capability of the three documents")[2]
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `(\w+)::(test_\w+)` \|$", re.MULTILINE)
ROWS = _ROW.findall(SECTION)
PLACES = sorted({place for _, where, *_ in ROWS for place in where.split("; ")})
_STEP = re.compile(r"(Explore|Choose)(?:, (?:steps? ([0-9]|[0-9] and [0-9])|(Roles|Your data)))?")


def test_every_capability_has_its_test() -> None:
    """In a file of that name; the page says how many there are, and no row is written otherwise."""
    missing = [
        f"{file}::{test}"
        for _, _, file, test in ROWS
        if not any(f"def {test}(" in path.read_text(encoding="utf-8") for path in ROOT.rglob(f"test_{file}.py"))
    ]
    assert missing == []
    assert f"{len(ROWS)} things" in SECTION
    assert len(ROWS) == sum(line.startswith("| ") and "| capability |" not in line for line in SECTION.splitlines())
    assert len({capability for capability, *_ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("place", PLACES)
def test_every_place_is_there(place: str) -> None:
    """A step of a page, a name that Python finds, or what `test_pages` looks at: a command, or a link."""
    if step := _STEP.fullmatch(place):
        page = (ROOT.parent / "dpsql/web/templates" / f"{step[1].lower()}.html").read_text(encoding="utf-8")
        assert all(f"{number} · " in page for number in re.findall("[0-9]", step[2] or ""))
        assert f'"{step[3]}")' in page or not step[3]
    elif name := re.fullmatch(r"`dpsql((?:\.\w+)+)`", place):
        member: object = import_module("dpsql")
        for part in name[1].split(".")[1:]:
            member = _member(member, part)
    else:
        assert re.fullmatch(r"`dpsql [a-z -]+`|\[[^\]]+\]\([^)]+\)", place)


def _member(thing: object, name: str) -> object:
    """Return a member of a package, module or class; one that must be imported is."""
    if not hasattr(thing, name):
        import_module(f"{getattr(thing, '__name__')}.{name}")  # noqa: B009  an object has none that types know of
    return getattr(thing, name)
