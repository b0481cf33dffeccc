"""Ledgers on a server."""

from functools import partial
from pathlib import Path

import pytest

from dpsql.accounting.postgres.ledger import PostgresLedger
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import Clock


@pytest.fixture
def opened(dsn: str, tmp_path: Path, clock: Clock) -> Opened:
    """Return what opens one ledger, by one clock."""
    return partial(PostgresLedger, dsn, tmp_path / "l", clock)
