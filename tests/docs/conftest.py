"""The demo in small, for the examples of the documentation."""

import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dpsql.demo.trips import generate
from tests.docs.pages import ROOT
from tests.support.connected import Connect, connections

TRIPS = 20_000


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """Return a directory with the demo's configuration and schemas, and fewer trips."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-docs-"))
    directory.chmod(0o711)
    shutil.copytree(ROOT / "schemas", directory / "schemas")
    shutil.copy(ROOT / "config.yaml", directory)
    generate(directory / ".dpsql" / "demo" / "taxi.duckdb", TRIPS)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def served(home: Path) -> Iterator[Connect]:
    """Return what connects as a role of the demo."""
    with connections(home / "config.yaml") as connect:
        yield connect


@pytest.fixture(scope="session")
def ask(served: Connect) -> Connect:
    """Return what connects as a role of the demo; the same connection each time."""
    return cache(served)
