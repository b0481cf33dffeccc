"""docs/tests.md names every helper that rooms share; a helper with one user alone lies with that."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, code, text

SUPPORT = ROOT / "tests" / "support"
HELPERS = sorted(file.stem for file in SUPPORT.glob("*.py"))
SOURCES = {file: text(file) for place in ("tests", "benchmarks", "docs") for file in (ROOT / place).rglob("*.py")}


def _users(helper: str) -> set[Path]:
    """Return the files that import a helper, by its path or from the folder."""
    imported = re.compile(rf"tests\.support\.{helper}\b|from tests\.support import [^()]*\b{helper}\b")
    return {file for file, source in SOURCES.items() if imported.search(source)}


def test_every_helper_is_on_the_page() -> None:
    """And nothing else that looks like one."""
    named = {word for word in code(ROOT / "docs" / "tests.md") if re.fullmatch(r"[a-z_]+", word)}
    assert set(HELPERS) <= named
    assert named - set(HELPERS) == {"dpsql", "initdb", "max_rows", "policy", "world"}


@pytest.mark.parametrize("helper", [name for name in HELPERS if not name.endswith("_mutants")])
def test_a_helper_has_several_users(helper: str) -> None:
    """One that a single file uses goes to its folder; the parts of a helper, fixtures and mistakes are here together."""
    users = _users(helper)
    is_part = any(user.parent == SUPPORT for user in users)
    assert helper.startswith("fix_") or is_part or len({user.parent for user in users}) > 1 or len(users) > 1
