"""Ledgers on a PostgreSQL server, which syncs."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dpsql.accounting.postgres.ledger import PostgresLedger
from dpsql.clock import Clock as AnyClock
from tests.support.plain_server import PlainServer, running_server


@pytest.fixture(scope="session")
def ledger_server() -> Iterator[PlainServer]:
    """Give the one that tests share which do not kill it."""
    with running_server() as server:
        yield server


@pytest.fixture
def dsn(ledger_server: PlainServer) -> str:
    """Return a database without a ledger."""
    return ledger_server.database()


@contextmanager
def on_server(dsn: str, beside: Path, clock: AnyClock) -> Iterator[PostgresLedger]:
    """Open a ledger on a server."""
    with closing(PostgresLedger(dsn, beside / "ledger", clock)) as ledger:
        yield ledger
