"""Records of decisions have one form, are numbered without a gap, and are all in the list."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, headings, links, text

PLACE = ROOT / "docs" / "decisions"
RECORDS = sorted(PLACE.glob("0*.md"))
PARTS = ["Chosen.", "Against.", "Consequences.", "Reasons to think again."]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_says_what_was_chosen_against_what(record: Path) -> None:
    """And which consequences it has, and what would make us think again."""
    parts = [part for part in re.findall(r"^\*\*([^*]+)\*\*", text(record), re.MULTILINE) if part in PARTS]
    assert parts == PARTS


def test_records_are_numbered_and_listed() -> None:
    """In their order, by their titles' numbers."""
    assert [int(record.name[:4]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
    assert [int(headings(record)[0].split(".")[0]) for record in RECORDS] == list(range(1, len(RECORDS) + 1))
    assert links(PLACE / "README.md") == [record.name for record in RECORDS]
