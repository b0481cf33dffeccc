"""Ledgers of both kinds: what one promises the other keeps."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dpsql.accounting.postgres.ledger import PostgresLedger
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from tests.support.fix_ledger import Clock

Opened = Callable[[], SqlLedger]
"""Opens the test's ledger, which another process may have open."""


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Opened:
    """Return what opens one ledger, by one clock."""
    if request.param == "sqlite":
        return partial(SqliteLedger, tmp_path / "l.db", clock)
    return partial(PostgresLedger, request.getfixturevalue("dsn"), tmp_path / "l", clock)


@pytest.fixture
def ledger(opened: Opened) -> Iterator[SqlLedger]:
    """Open a new ledger."""
    with opened() as new:
        yield new
