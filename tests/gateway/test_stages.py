"""The way of a statement as docs/development.md tells it: stages in order, each on the product of the one before."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from dpsql.gateway import gateway, planned_questions
from dpsql.privacy.release.release import Draws

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (\w+) \| `dpsql\.([\w.]+)` \| `(\w+)` \| `(\w+)` \|$", re.MULTILINE)
_FILE = re.compile(r"^\d+\. `(dpsql/[\w/]+\.py)`", re.MULTILINE)
_PAGE = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
_PAGE = _PAGE[_PAGE.index("## Follow a statement") : _PAGE.index("## How to add")]
STAGES = _ROW.findall(_PAGE)
FILES = _FILE.findall(_PAGE)
_WORD = re.compile(r"\w+")


def _annotations(name: str) -> tuple[set[str], set[str]]:
    """Return the names in the annotations of a function's parameters, and in that of what it returns."""
    parts = name.split(".")
    at = next(i for i, part in enumerate(parts) if part[0].isupper() or i == len(parts) - 1)
    function: Any = import_module("dpsql." + ".".join(parts[:at]))
    for part in parts[at:]:
        function = getattr(function, part)
    signature = inspect.signature(inspect.unwrap(function))
    taken = {word for p in signature.parameters.values() for word in _WORD.findall(_spelled(p.annotation))}
    return taken, set(_WORD.findall(_spelled(signature.return_annotation)))


def _spelled(annotation: object) -> str:
    """Return an annotation with the names that aliases stand for."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def test_the_stages_are_those_of_a_statement() -> None:
    """In the order in which a statement goes through them."""
    names = "bind resolve track measure price ready charge run release splice".split()
    assert [stage for stage, *_ in STAGES] == names
    line = next(line for line in _PAGE.splitlines() if line.startswith("bytes →"))
    assert line == f"bytes → wire → {' → '.join(names)} → the shadow → bytes"


@pytest.mark.parametrize(
    ("name", "taken", "product"), [(n, t, p) for _, n, t, p in STAGES], ids=[s for s, *_ in STAGES]
)
def test_a_stage_takes_and_hands_on_what_the_page_says(name: str, taken: str, product: str) -> None:
    """As its annotations have it."""
    parameters, returned = _annotations(name)
    assert taken in parameters
    assert product in returned


def test_a_stage_takes_what_the_one_before_hands_on() -> None:
    """Nothing is between two stages; `Draws` are releases of one measurement that are read together."""
    assert "Release" in str(get_type_hints(Draws)["drawn"])
    assert [taken.replace("Draws", "Release") for _, _, taken, _ in STAGES[1:]] == [
        product for _, _, _, product in STAGES[:-1]
    ]


def test_a_stage_takes_no_product_of_an_earlier_one() -> None:
    """Only that of the one just before it: none can be left out."""
    products = [product for *_, product in STAGES[:-1]]
    for place, (_, name, taken, _) in enumerate(STAGES):
        if place:
            assert _annotations(name)[0] & set(products) - {taken} <= (
                {"PricedPlan"} if name.endswith("splice") else set()
            )


def test_the_page_names_nine_files() -> None:
    """Every stage is in one of them, and they exist."""
    assert len(FILES) == len(set(FILES)) == 9
    assert [file for file in FILES if not (ROOT / file).is_file()] == []
    modules = {file.removeprefix("dpsql/").removesuffix(".py").replace("/", ".") for file in FILES}
    assert [name for _, name, *_ in STAGES if not any(name.startswith(f"{module}.") for module in modules)] == []


def test_the_gateway_calls_the_stages_in_their_order() -> None:
    """On two pages, `examine` first."""
    pages = (planned_questions.PlannedQuestions, gateway.Gateway)
    tree = ast.parse("\n".join(map(inspect.getsource, pages)))
    called = [
        node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))
    ]
    functions = [name.rpartition(".")[2] for _, name, *_ in STAGES]
    lines = {name: _first_call(tree, name) for name in functions}
    assert set(functions) <= set(called)
    assert sorted(functions, key=lambda name: lines[name]) == functions


def _first_call(tree: ast.AST, name: str) -> tuple[int, int]:
    return min(
        (node.lineno, node.col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and name in (getattr(node.func, "attr", None), getattr(node.func, "id", None))
    )
