"""From a tree of text to a shape: every mistake noted at its line, the rest kept so that it can be checked too."""

import copy
import re
from typing import TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dpsql.errors import InternalError
from dpsql.policy.load.document import Document, Tree
from dpsql.policy.load.mistakes import Mistakes, Path, suggestion
from dpsql.policy.load.shapes import StrictShape

S = TypeVar("S", bound=StrictShape)

_SECRET = frozenset({"password", "dsn", "from", "ledger"})
_CONTAINERS = {
    "model_type": "must be a mapping (key: value)",
    "dict_type": "must be a mapping (key: value)",
    "list_type": "must be a list [a, b]",
    "string_type": "must be text",
}


def shaped(kind: type[S], document: Document, mistakes: Mistakes) -> S:
    """Read a document as a shape; mistakes are noted and left out."""
    root = copy.deepcopy(dict(document.root))
    while (shape := _attempt(kind, root, document, mistakes)) is None:
        pass
    _note_missing(shape, (), document, mistakes)
    return shape


def _attempt(kind: type[S], root: dict[str, Tree], document: Document, mistakes: Mistakes) -> S | None:
    """Validate the tree; failing that, note and remove mistakes."""
    try:
        return kind.model_validate(root)
    except ValidationError as failure:
        for error in failure.errors(include_url=False):
            mistakes.add(document, error["loc"], _message(kind, document, error))
            _remove(root, error["loc"])
    return None


def _message(kind: type[StrictShape], document: Document, error: ErrorDetails) -> str:
    """Say the mistake in one value and what is allowed."""
    path, given = error["loc"], error["input"]
    match error["type"]:
        case "extra_forbidden":
            return f"is not a known key{suggestion(str(path[-1]), _keys_at(kind, path[:-1]))}"
        case "enum" if isinstance(given, str):
            allowed = re.findall("'([^']+)'", error["ctx"]["expected"])
            return f"{_shown(document, path, given)}{suggestion(given, allowed)}"
        case "value_error" if isinstance(given, str):
            return f"{_shown(document, path, given)}; it {error['ctx']['error']}"
        case "value_error":
            return str(error["ctx"]["error"])
        case "enum":
            return "must be one value, not a list or a mapping"
        case "too_short" | "too_long":
            wanted = error["ctx"].get("min_length", error["ctx"].get("max_length"))
            return f"has {len(given)} entries; {wanted} needed"
        case other:
            return _CONTAINERS.get(other, error["msg"])


def _shown(document: Document, path: Path, given: str) -> str:
    """Repeat a value, unless it may be a secret or came from the environment."""
    if path in document.hidden or not _SECRET.isdisjoint(path):
        return "is not right"
    return f'is "{given}"' if len(given) <= 80 else f'is "{given[:80]}…"'


def _keys_at(kind: type[StrictShape], path: Path) -> list[str]:
    """Return the keys that a mapping at this path may have."""
    shape, named = kind, False
    for step in path:
        if named:
            named = False
        else:
            shape, named = _inside(shape.model_fields[str(step)].annotation)
    return [name if field.alias is None else field.alias for name, field in shape.model_fields.items()]


def _inside(annotation: object) -> tuple[type[StrictShape], bool]:
    """Return the shape inside an annotation, and whether it is one of several by name."""
    if isinstance(annotation, type) and issubclass(annotation, StrictShape):
        return annotation, False
    named = get_origin(annotation) is dict
    for choice in get_args(annotation):
        if isinstance(choice, type) and issubclass(choice, StrictShape):
            return choice, named
        if get_args(choice):
            return _inside(choice)
    raise InternalError


def _remove(root: dict[str, Tree], path: Path) -> None:
    """Take a value out of the tree; a list goes as a whole, so that positions stay what they are."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    inner: Tree = root
    for step in path[:-1]:
        if not isinstance(inner, dict) or str(step) not in inner:
            return
        inner = inner[str(step)]
    if isinstance(inner, dict):
        inner.pop(str(path[-1]), None)


def _note_missing(value: object, path: Path, document: Document, mistakes: Mistakes) -> None:
    """Note every key that should be there and is not."""
    if isinstance(value, dict):
        for name, item in value.items():
            _note_missing(item, (*path, name), document, mistakes)
    if not isinstance(value, StrictShape):
        return
    for name in value.required:
        if document.has(path) and not document.has((*path, name)):
            mistakes.add(document, path, f'lacks the key "{name}"')
    for name in type(value).model_fields:
        _note_missing(getattr(value, name), (*path, name), document, mistakes)
