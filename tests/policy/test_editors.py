"""The JSON Schemas that editors use."""

import json
from pathlib import Path

import pytest

from dpsql.policy.load.shapes import FILES, json_schema, write_schemas

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("name", FILES)
def test_the_committed_copy_is_current(name: str) -> None:
    """`dpsql check --json-schema docs` was run after the last change of the shapes."""
    assert (DOCS / name).read_text(encoding="utf-8") == json_schema(FILES[name])


def test_every_key_has_a_description() -> None:
    """An editor can explain each key of each mapping."""
    for kind in FILES.values():
        schema = json.loads(json_schema(kind))
        for shape in (schema, *schema["$defs"].values()):
            for name, key in shape.get("properties", {}).items():
                assert key.get("description"), (shape["title"], name)


def test_required_keys_are_told() -> None:
    """The schema asks for what the loader asks for."""
    assert json.loads(json_schema(FILES["table.schema.json"]))["required"] == ["table", "columns"]


def test_they_are_written_to_a_directory(tmp_path: Path) -> None:
    """One file each, in a directory that need not exist."""
    assert [file.name for file in write_schemas(tmp_path / "new")] == list(FILES)
