"""dpsql and a plain PostgreSQL, each in a process of its own: some drivers would otherwise wait for themselves."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.matrix.place import matrix_site
from tests.clients.site import Site, configure, plain_site, serving


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """Give a directory that the servers' account can enter."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-clients-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def here(place: Path) -> Iterator[Site]:
    """Give dpsql."""
    with serving(configure(place)) as site:
        yield site


@pytest.fixture(scope="session")
def plain(place: Path) -> Iterator[Site]:
    """Give PostgreSQL with the same tables, all of them empty."""
    with plain_site(place) as site:
        yield site


@pytest.fixture(scope="session")
def matrix() -> Iterator[Site]:
    """Give dpsql with TLS, and a table that no statement gets through."""
    with matrix_site() as site:
        yield site
