"""docs/errors.md lists the errors that there are, in the words that they have."""

import ast
import re
from collections.abc import Iterator

import pytest

from dpsql import errors
from dpsql.errors import DpsqlError
from tests.docs.pages import ROOT, text

PAGE = text(ROOT / "docs" / "errors.md")
TREE = text(ROOT / "dpsql" / "errors.py")


def below(kind: type[DpsqlError]) -> Iterator[type[DpsqlError]]:
    """Yield the classes below one that dpsql/errors.py defines for others to raise."""
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__ and not child.__name__.startswith("_"):
            yield child
        yield from below(child)


CLASSES = tuple(below(DpsqlError))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_class_is_explained(kind: type[DpsqlError]) -> None:
    """It stands in the overview and has a section, with its SQLSTATE."""
    assert f"| `{kind.__name__}` | {kind.sqlstate} |" in PAGE
    assert f"### {kind.__name__} {kind.sqlstate}\n" in PAGE
    assert f"{kind.__name__} " in TREE.split('"""')[1]


def test_nothing_else_is_explained() -> None:
    """A class that is gone goes from the page."""
    explained = re.findall(r"^### (\w+) ", PAGE, re.MULTILINE)
    assert sorted(explained) == sorted(kind.__name__ for kind in CLASSES)


@pytest.mark.parametrize("kind", [k for k in CLASSES if getattr(k, "text", "")], ids=lambda kind: kind.__name__)
def test_fixed_texts_are_quoted(kind: type[DpsqlError]) -> None:
    """What is said after data was read is there to the letter, with its advice."""
    quoted = PAGE.split(f"### {kind.__name__} ")[1].split("\n#")[0]
    said = kind()  # type: ignore[call-arg]  # these classes take no message
    assert f"> {said.message}\n" in quoted
    assert said.hint is None or f"> {said.hint}\n" in quoted


def _said(node: ast.expr) -> str | None:
    """Return a message with … for what it names."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=values):
            return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in values)
    return None


def _messages() -> set[str]:
    """Return every message that the product's code could say."""
    trees = (ast.parse(text(file)) for file in sorted((ROOT / "dpsql").rglob("*.py")))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return {said for call in calls if (said := _said(call.args[0])) is not None}


MESSAGES = _messages() | {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize("message", re.findall(r"^\| `([^`]*[a-z …\")])` \|", PAGE, re.MULTILINE))
def test_messages_are_said(message: str) -> None:
    """A message of the page's tables is one of the product's, word for word."""
    assert message in MESSAGES
