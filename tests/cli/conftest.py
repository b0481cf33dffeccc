"""A PostgreSQL server for tests of commands that talk to one."""

from collections.abc import Iterator

import pytest

from dpsql.shadow.postgres import Postgres
from tests.support import clusters


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """An empty server."""
    server = clusters.start(tmp_path_factory.mktemp("postgres") / "server")
    yield server
    server.stop()
