"""The unit for systemd on the operations page: systemd takes it, and rates it as hardened."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
UNIT = PAGE.partition("```ini\n")[2].partition("```")[0]
WORST = 3.0
"""The exposure, of at most 10, that the unit stays below."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Write it, with programs and an account that are there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd to ask")
    written = tmp_path / "dpsql.service"
    written.write_text(UNIT.replace("/opt/dpsql/bin/dpsql", sys.executable).replace("User=dpsql", "User=daemon"))
    return written


def _analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607


def test_systemd_takes_the_unit(unit: Path) -> None:
    """Every line is known, and has a value that counts."""
    done = _analyze("verify", "--recursive-errors=no", str(unit))
    said = [line for line in done.stderr.splitlines() if "dpsql.service" in line]
    assert (done.returncode, said) == (0, [])


def test_the_unit_is_hardened(unit: Path) -> None:
    """Its exposure is rated as on the page, and below 3."""
    done = _analyze("security", "--offline=true", str(unit))
    rated = re.search(r"exposure level for dpsql.service: ([\d.]+)", done.stdout)
    assert rated
    assert float(rated[1]) < WORST
    assert float(rated[1]) <= float(re.findall(r"rates this ([\d.]+)", PAGE)[0])
