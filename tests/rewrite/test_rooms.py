"""A rule shows what it does."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]
ROOM = ROOT / "dpsql" / "rewrite"
MODULES = {str(f.relative_to(ROOM).with_suffix("")): f for f in sorted(ROOM.rglob("*.py")) if f.stem != "__init__"}
RULES = [*(name for name in MODULES if name.startswith(("translate/", "emit/"))), "functions/text"]
RULES += [f"syntax/whole/{name}" for name in ("analyze", "splice")]
RULES += ["syntax/forms/simplify", "syntax/named/grouping"]
PLAIN = {f"translate/values/{name}" for name in ("context", "translator")}
"""They look names up, and change nothing of a statement."""


@pytest.mark.parametrize("name", sorted(set(RULES) - PLAIN))
def test_a_rule_shows_what_it_turns_into_what(name: str) -> None:
    """SQL before → after, in the words of the module or of its functions."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    places = [tree, *(node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))]
    assert any("→" in (ast.get_docstring(place) or "") for place in places)
