"""docs/errors.md lists the errors that there are, in the words that they have."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import pytest

from dpsql import errors
from dpsql.errors import DpsqlError
from tests.docs.pages import ROOT, text
from tests.support.sources import texts, trees

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


@cache
def _messages() -> set[str]:
    """Return every message that the product's code could say."""
    calls = (node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    said = {said for call in calls if (said := _said(call.args[0])) is not None}
    return said | {kind.__name__ for kind in CLASSES}


RULE_ROWS = re.findall(r"^\| `([a-z-]+)` \| (`+)(.+?)\2 \| [^|]*[a-z][^|]* \|$", PAGE, re.MULTILINE)
TABLED = [message for _, _, message in RULE_ROWS] + re.findall(
    r"^\| `([^`]*[a-z …\")])` \| [^|]*\|$", PAGE, re.MULTILINE
)


@pytest.mark.parametrize("message", TABLED)
def test_messages_are_said(message: str) -> None:
    """A message of the page's tables is one of the product's, word for word."""
    assert message in _messages()


@cache
def _reasons() -> Sequence[tuple[str, ast.expr]]:
    """Return what is said to be the reason of a refusal, with its file."""
    return [
        (file, node.value)
        for file, tree in trees().items()
        if "because" in texts()[file]
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "because"
    ]


@cache
def _rules() -> Mapping[str, set[str]]:
    """Return the code of every rule with the files whose refusals bear it."""
    files_of: dict[str, set[str]] = {}
    for file, reason in _reasons():
        if isinstance(reason, ast.Constant):
            files_of.setdefault(str(reason.value), set()).add(file)
    return files_of


CODES = sorted({code for source in texts().values() for code in re.findall(r'\bbecause="([^"]+)"', source)})
"""What `_rules` finds, sooner."""
REFUSALS = {kind.__name__ for kind in CLASSES if "because" in inspect.signature(kind).parameters}


def test_every_rule_is_listed_once() -> None:
    """Each code has one row, which says what to do; a code that is gone goes from the page."""
    assert sorted([*(code for code, _, _ in RULE_ROWS), "account-closed"]) == sorted(_rules()) == CODES
    assert "Rule `account-closed`: " in PAGE


@pytest.mark.parametrize("code", CODES)
def test_a_rule_has_one_file(code: str) -> None:
    """The code in a refusal leads to the file of the rule, and to no other."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", code)
    assert len(_rules()[code]) == 1
    assert {file for file, source in texts().items() if f'"{code}"' in source} == _rules()[code]


def test_every_refusal_has_a_rule() -> None:
    """What dpsql refuses by rules of its own can't be raised without one; what is made of a variable is only passed on."""
    ours = (
        "Unsupported AccessDenied MissingBounds BudgetExhausted AccountClosed InvalidSetting UnknownSetting TooComplex"
    )
    assert set(ours.split()) == REFUSALS
    passed_on = {file for file, reason in _reasons() if not isinstance(reason, ast.Constant)}
    assert passed_on == {"errors", "rewrite.translate.values.context"}
