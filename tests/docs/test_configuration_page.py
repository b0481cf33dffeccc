"""docs/configuration.md names every setting, with the default that it has, and its examples are right."""

import shutil
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML

from dpsql.assembly import servable
from dpsql.policy.load import load
from dpsql.policy.load.shapes import ConfigShape, StrictShape, TableShape, ViewShape
from tests.docs.pages import ROOT, Block, blocks, text

PAGE = text(ROOT / "docs" / "configuration.md")
ROWS: Mapping[str, list[str]] = {
    cells[1].strip("` "): [cell.strip() for cell in cells]
    for cells in (line.split(" | ") for line in PAGE.replace("\n| `", "\n | `").split("\n") if line.startswith(" | `"))
}
"""The rows of all tables, by the setting in their first cell."""


def settings(shape: type[StrictShape], path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield every setting that has no settings of its own, by its dotted path; `*` stands for a name that one gives."""
    for name, field in shape.model_fields.items():
        inner = list(_shapes(field.annotation))
        place = f"{path}{field.alias or name}"
        if not inner:
            yield place, field
        for kind, named in inner:
            yield from settings(kind, f"{place}.*." if named else f"{place}.")


def _shapes(annotation: Any, *, named: bool = False) -> Iterator[tuple[type[StrictShape], bool]]:
    """Yield the shapes within a type, and whether they are the values of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, StrictShape):
        yield annotation, named
    elif get_origin(annotation) in (Union, types.UnionType, Annotated, dict):
        for part in get_args(annotation):
            yield from _shapes(part, named=named or get_origin(annotation) is dict)


EVERY = [*settings(ConfigShape), *settings(TableShape), *settings(ViewShape)]


@pytest.mark.parametrize(("path", "field"), EVERY, ids=[path for path, _ in EVERY])
def test_every_setting_is_named_with_its_default(path: str, field: FieldInfo) -> None:
    """It has a row of its own; where the shape has a default, the row says the same."""
    assert path in ROWS
    if field.default is not None and not isinstance(field.default, dict):
        shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        assert ROWS[path][3] == f"`{shown}`"


def test_nothing_else_is_named() -> None:
    """A setting that is gone goes from the page; mappings may have a row of their own."""
    named = {path for path, _ in EVERY}
    inner = {path.rsplit(".", n)[0] for path in named for n in range(1, 4)}
    assert sorted(set(ROWS) - named - inner) == []


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Return a copy of the demo's configuration, and files where examples have a certificate."""
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    shutil.copy(ROOT / "config.yaml", tmp_path)
    for name in ("server.pem", "server.key"):
        (tmp_path / name).touch()
    return tmp_path / "config.yaml"


@pytest.mark.parametrize("block", blocks("yaml", "config"), ids=str)
def test_examples_of_configurations_are_right(block: Block, demo: Path) -> None:
    """Together with the rest of the demo's configuration."""
    yaml = YAML(typ="safe", pure=True)
    whole = yaml.load(demo.read_text(encoding="utf-8")) | yaml.load(block.text)
    with demo.open("w", encoding="utf-8") as file:
        yaml.dump(whole, file)
    load(demo)


@pytest.mark.parametrize("block", blocks("yaml", "view"), ids=str)
def test_examples_of_views_are_right(block: Block, demo: Path) -> None:
    """Over the demo's tables."""
    (demo.parent / "schemas" / "view.yaml").write_text(block.text, encoding="utf-8")
    assert servable(demo).policy.views


@pytest.mark.parametrize("block", blocks("yaml", "table"), ids=str)
def test_examples_of_tables_are_right(block: Block, demo: Path) -> None:
    """Together with the demo's other tables, and the other examples."""
    names = [str(YAML(typ="safe", pure=True).load(each.text)["table"]) for each in blocks("yaml", "table")]
    for name, example in zip(names, blocks("yaml", "table"), strict=True):
        (demo.parent / "schemas" / f"{name}.yaml").write_text(example.text, encoding="utf-8")
    demo.write_text(
        demo.read_text(encoding="utf-8").replace("engine: {", "engine: {snapshot: true, "), encoding="utf-8"
    )
    assert str(YAML(typ="safe", pure=True).load(block.text)["table"]) in load(demo).policy.tables
