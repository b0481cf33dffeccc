"""One public name, one meaning: what is defined at the top of two modules would have to be told apart by its path."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.support.sources import trees

ENTRY_POINTS = frozenset({"main"})
"""What a module that is run as a program calls its beginning."""


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the public names that a module defines, imports apart."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def _several(trees: Mapping[str, ast.Module]) -> Mapping[str, Sequence[str]]:
    """Return the names that are defined in several modules."""
    modules_of: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for name in {name for name in _defined(tree) if not name.startswith("_")} - ENTRY_POINTS:
            modules_of[name].append(module)
    return {name: modules for name, modules in modules_of.items() if len(modules) > 1}


def test_no_name_has_two_meanings() -> None:
    """A public name stands in one module."""
    assert _several(trees()) == {}


def test_a_second_meaning_would_be_found() -> None:
    """Classes, functions and constants alike, but neither imports nor what is private."""
    tree = ast.parse("from x import Thing\nRows = list[int]\n_own = 1\ndef read(): ...")
    other = ast.parse("class Rows: ...\n_own = 2\nread: int = 1\nThing = 3")
    assert set(_several({"a.one": tree, "b.other": other})) == {"Rows", "read"}
