"""The table of what the three documents can do: each test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT.parent / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `(\w+)::(test_\w+)` \|$", re.MULTILINE)


def test_every_capability_has_its_test() -> None:
    """In a file of that name; the page says how many there are, and no row is written otherwise."""
    section = PAGE.partition("## Every capability of the three documents")[2]
    rows = _ROW.findall(section)
    missing = [
        f"{file}::{test}"
        for _, _, file, test in rows
        if not any(f"def {test}(" in found.read_text(encoding="utf-8") for found in ROOT.rglob(f"test_{file}.py"))
    ]
    assert missing == []
    assert f"can do, {len(rows)} things" in section
    assert len(rows) == sum(line.startswith("| ") and "| capability |" not in line for line in section.splitlines())
    assert len({capability for capability, *_ in rows}) == len(rows)
