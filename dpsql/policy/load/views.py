"""From the shapes of schema files to views, as far as they can be checked without reading their queries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpsql.policy.load.document import Document
from dpsql.policy.load.mistakes import Mistakes
from dpsql.policy.load.table_shapes import ViewShape
from dpsql.policy.model import SqlType
from dpsql.policy.view import View, ViewColumn


@dataclass(frozen=True, slots=True)
class ViewFile:
    """One schema file with a view: where things stand in it, and what it says."""

    name: str
    document: Document
    shape: ViewShape
    mistakes: Mistakes


def views_of(files: Iterable[ViewFile], declared: Mapping[str, str]) -> Mapping[str, View]:
    """Return the views by name; `declared` has the file of each table, by its name in lower case."""
    views, folded = dict[str, View](), dict(declared)
    for file in files:
        name = file.shape.table
        if name is None:
            continue
        first = folded.setdefault(name.lower(), file.name)
        if first != file.name:
            file.mistakes.add(file.document, ("table",), f'is "{name}", which {first} declares already')
        elif file.shape.view is not None:
            views[name] = _view(name, file.shape.view, file)
    return views


def _view(name: str, query: str, file: ViewFile) -> View:
    for column, shape in (file.shape.columns or {}).items():
        if shape.type is not None and shape.type[0] is SqlType.JSON:
            file.mistakes.add(
                file.document,
                ("columns", column, "type"),
                f"is {shape.type[1]}, to which a view casts nothing; its paths are those of the table's column",
            )
    columns = {
        column: ViewColumn(None if shape.type is None else shape.type[1], shape.description)
        for column, shape in (file.shape.columns or {}).items()
    }
    line = file.document.line(("view",))
    return View(name, query.strip().removesuffix(";"), columns, file.shape.description, file.name, line)
