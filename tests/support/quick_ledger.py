"""Ledgers for tests that are not about disks: each commit waits for a disk several times, but not for memory."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.clock import Clock

_MEMORY = Path("/dev/shm")  # noqa: S108  (what is put there has a name that nobody can guess)
_ROOM = 2**26
"""Free bytes from which on ledgers of tests have enough."""


@contextmanager
def quick_directory() -> Iterator[Path]:
    """Give a directory in memory, where Linux has room for files there; it goes with what is in it."""
    roomy = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM
    with TemporaryDirectory(prefix="dpsql-test-", dir=_MEMORY if roomy else None) as directory:
        yield Path(directory)


@contextmanager
def quick_ledger(clock: Clock) -> Iterator[SqliteLedger]:
    """Open a ledger of its own."""
    with quick_directory() as directory, SqliteLedger(directory / "ledger.db", clock) as ledger:
        yield ledger
