"""A configuration to be served, for each test its own."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.site import configure


@pytest.fixture
def directory() -> Iterator[Path]:
    """Give a directory that the shadow's account can enter."""
    made = Path(tempfile.mkdtemp(prefix="dpsql-faults-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def config(directory: Path) -> Path:
    """Give a configuration."""
    return configure(directory)
