"""The bundles of the page Ask are what their lock file gives."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BUILT = ROOT / "dpsql" / "web" / "static" / "built"


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_bundles_are_built_to_the_same_bytes(tmp_path: Path) -> None:
    """In another directory, from nothing but what is committed; their licences, too."""
    source = tmp_path / "web"
    source.mkdir()
    for file in (ROOT / "web").iterdir():
        if file.is_file():
            shutil.copy(file, source)
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=source, check=True, timeout=300)  # noqa: S607
    subprocess.run(["node", "build.mjs", str(tmp_path / "built")], cwd=source, check=True, timeout=120)  # noqa: S603, S607
    made = {file.name: file.read_bytes() for file in (tmp_path / "built").iterdir()}
    assert made == {file.name: file.read_bytes() for file in BUILT.iterdir()}
