"""The demo in small, for the examples of the documentation."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import dpsql
from dpsql.demo.generate import generate
from tests.docs.pages import ROOT

Ask = Callable[[str], psycopg.Connection]
"""Gives a connection of a role; the same one each time."""

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
def ask(home: Path) -> Iterator[Ask]:
    """Return what connects as a role of the demo."""
    opened: dict[str, psycopg.Connection] = {}

    def connection(role: str) -> psycopg.Connection:
        if role not in opened:
            opened[role] = dpsql.connect(home / "config.yaml", role=role)
            opened[role].autocommit = True
        return opened[role]

    yield connection
    for one in opened.values():
        one.close()
