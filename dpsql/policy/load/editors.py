"""JSON Schemas of the files, for editors that complete and check while one types."""

import json
from pathlib import Path

from dpsql.policy.load.config_shape import ConfigShape
from dpsql.policy.load.shapes import StrictShape
from dpsql.policy.load.table_shapes import TableShape, ViewShape

FILES: dict[str, type[StrictShape]] = {
    "config.schema.json": ConfigShape,
    "table.schema.json": TableShape,
    "view.schema.json": ViewShape,
}


def json_schema(kind: type[StrictShape]) -> str:
    """Return the JSON Schema of a file, as text that ends with a line feed."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema()}
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def write_schemas(directory: Path) -> tuple[Path, ...]:
    """Write all of them into a directory and return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, kind in FILES.items():
        (directory / name).write_text(json_schema(kind), encoding="utf-8")
    return tuple(directory / name for name in FILES)
