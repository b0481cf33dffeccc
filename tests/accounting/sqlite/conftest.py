"""Ledgers in files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from tests.support.fix_ledger import Clock


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[SqliteLedger]:
    """Open a new ledger."""
    with SqliteLedger(tmp_path / "ledger.db", clock) as opened:
        yield opened
