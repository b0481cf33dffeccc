"""The demo's schema files, but for `max_rows`, which are numbers here: what is charged is then one measurement."""

import shutil
from pathlib import Path

_DEMO = Path(__file__).resolve().parent.parent.parent / "schemas"


def copy_with_numbers(directory: Path) -> Path:
    """Copy the files to a directory that is not there yet; return it."""
    shutil.copytree(_DEMO, directory)
    trips = directory / "trips.yaml"
    text = trips.read_text(encoding="utf-8")
    for column, rows in (("passenger_id", 20), ("driver_id", 400)):
        assert f"{{column: {column}}}" in text
        text = text.replace(f"{{column: {column}}}", f"{{column: {column}, max_rows: {rows}}}")
    trips.write_text(text, encoding="utf-8")
    return directory
