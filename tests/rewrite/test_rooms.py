"""Tests mirror the rooms, files stay small, and a rule shows what it does."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]
ROOM = ROOT / "dpsql" / "rewrite"
MODULES = {str(f.relative_to(ROOM).with_suffix("")): f for f in sorted(ROOM.glob("*/*.py")) if f.stem != "__init__"}
ROWS = dict(
    re.findall(r"^\| `([a-z_/]+)` \| (.+) \|$", (TESTS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
)
RULES = [*(name for name in MODULES if name.startswith(("translate/", "emit/"))), "functions/text"]
RULES += [f"syntax/{name}" for name in ("analyze", "grouping", "scope_probe", "simplify", "splice")]
PLAIN = {"translate/context", "translate/scope_names", "translate/translator"}
"""They look names up, and change nothing of a statement."""


def test_each_module_has_its_test_or_a_reason() -> None:
    """A module is tested in the file of its name, or the README says what holds it; not both, and no module that is gone."""
    tested = {name for name, file in MODULES.items() if (TESTS / file.parent.name / f"test_{file.stem}.py").exists()}
    assert tested | ROWS.keys() == MODULES.keys()
    assert tested & ROWS.keys() == set()


@pytest.mark.parametrize("name", ROWS)
def test_what_holds_a_module_exists(name: str) -> None:
    """The README names no test that is gone."""
    assert all((ROOT / path).exists() for path in re.findall(r"`(tests/[^`]+)`", ROWS[name]))


@pytest.mark.parametrize("name", MODULES)
def test_files_and_functions_are_small(name: str) -> None:
    """At most 300 lines a file, and 40 a function."""
    text = MODULES[name].read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert len(text.splitlines()) <= 300
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= 40] == []


@pytest.mark.parametrize("name", sorted(set(RULES) - PLAIN))
def test_a_rule_shows_what_it_turns_into_what(name: str) -> None:
    """SQL before → after, in the words of the module or of its functions."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    places = [tree, *(node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))]
    assert any("→" in (ast.get_docstring(place) or "") for place in places)
