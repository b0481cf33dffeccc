"""A PostgreSQL server for tests of commands that talk to one."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.support import clusters


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """An empty server, in a directory that its account can enter."""
    with TemporaryDirectory(prefix="dpsql-cli-") as place:
        Path(place).chmod(0o711)
        server = clusters.start(Path(place) / "server")
        yield server
        server.stop()
