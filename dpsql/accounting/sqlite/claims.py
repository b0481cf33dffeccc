"""Claims of processes that share a ledger's file, on measurements: bytes of the mark beside it, which the kernel locks.

A lock goes with its process, however that ends. It is that of an open file and not of a process, so that two ledgers that
one process has open are told apart.
"""

import fcntl
import os
import struct
import threading
from collections.abc import Iterable
from pathlib import Path

from dpsql.accounting.mark import mark_path
from dpsql.accounting.sql.place_of_key import place_of_key
from dpsql.private_files import open_private

_BEGIN = 2**20
"""Where the bytes begin that may be locked."""


class FileClaims:
    """Claims of one process on measurements; see `MeasuringClaims`."""

    def __init__(self, path: Path) -> None:
        """Open the mark beside the ledger at `path`: the locks are far behind its end.

        Raises:
            OSError: it can't be opened.
        """
        self._file = os.fdopen(open_private(mark_path(path), os.O_RDWR | os.O_CREAT), "r+b")
        self._lock = threading.Lock()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            self._file.close()

    def take(self, keys: Iterable[str]) -> bool:
        """Claim these keys, all or none; see `MeasuringClaims.take`."""
        taken: list[str] = []
        with self._lock:
            for key in keys:
                try:
                    self._set(fcntl.F_WRLCK, key)
                except BlockingIOError:
                    self._unlock(taken)
                    return False
                taken.append(key)
        return True

    def give_back(self, keys: Iterable[str]) -> None:
        """End claims; see `MeasuringClaims.give_back`."""
        with self._lock:
            self._unlock(keys)

    def _unlock(self, keys: Iterable[str]) -> None:
        for key in () if self._file.closed else keys:
            self._set(fcntl.F_UNLCK, key)

    def _set(self, kind: int, key: str) -> None:
        """Ask the kernel for what fcntl(2) calls a `struct flock`: kind, from where, begin, length, no process."""
        fcntl.fcntl(
            self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, _BEGIN + place_of_key(key), 1, 0)
        )
