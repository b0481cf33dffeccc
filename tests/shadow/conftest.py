"""The shadow's fixtures, and a way to connect to it as a client's role."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401


@pytest.fixture
def connect(shadow: Postgres) -> Iterator[Callable[[str], psycopg.Connection]]:  # noqa: F811
    """Give a function that connects as a role, in autocommit."""
    opened: list[psycopg.Connection] = []

    def connect(user: str) -> psycopg.Connection:
        opened.append(psycopg.connect(shadow.dsn("taxi", user), autocommit=True))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()
