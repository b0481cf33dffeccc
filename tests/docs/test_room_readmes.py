"""READMEs of rooms name files that are there, and each room has one."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

ROOMS = sorted(file.parent for file in (ROOT / "dpsql").glob("*/__init__.py"))
READMES = [ROOT / "dpsql" / "README.md", *(room / "README.md" for room in ROOMS)]


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.parent.name))
def test_links_lead_to_files(readme: Path) -> None:
    """Relative ones, from the room's folder."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", readme.read_text(encoding="utf-8"))
    assert [link for link in links if not (readme.parent / link).exists()] == []


@pytest.mark.parametrize("readme", READMES, ids=lambda file: str(file.parent.name))
def test_files_of_ours_that_are_named_exist(readme: Path) -> None:
    """Where a path of the repository is written out."""
    named = re.findall(r"`((?:dpsql|tests|docs)/[\w/]+\.(?:py|md))`", readme.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []
