"""Group commit: what several threads have written is made durable by one sync of the log that all of them wrote to."""

import errno
import os
import threading
from pathlib import Path

from dpsql.private_files import open_private


class GroupCommit:
    """Syncs of one write-ahead log.

    A transaction that SQLite commits with `synchronous = NORMAL` stands in the log, where all processes see it and a kill
    leaves it, and only a power cut could take it away. A sync that began after that makes it last
    (https://www.sqlite.org/wal.html, "Performance Considerations"). Commits that come while a sync goes on share the next.
    """

    def __init__(self, log: Path) -> None:
        """Open the log, which stays as long as the ledger is open.

        Raises:
            OSError: it can't be opened.
        """
        self._file = os.fdopen(open_private(log, os.O_RDWR), "r+b", buffering=0)
        self.inode = os.fstat(self._file.fileno()).st_ino
        self._turn = threading.Condition()
        self._asked = 0
        self._synced = 0
        self._going_on = False
        self._failed = False

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def sync(self) -> None:
        """Return once everything that was written before the call is durable.

        Raises:
            OSError: a sync has failed, this one or an earlier: what became of the pages then, no later one tells.
        """
        with self._turn:
            self._asked += 1
            mine = self._asked
            self._turn.wait_for(lambda: not self._going_on or self._synced >= mine)
            if self._failed:
                raise OSError(errno.EIO, "an earlier sync of the ledger's log has failed")
            if self._synced >= mine:
                return
            self._going_on, last = True, self._asked
        kept = False
        try:
            os.fsync(self._file.fileno())
            kept = True
        finally:
            with self._turn:
                self._going_on, self._failed = False, not kept
                if kept:
                    self._synced = last
                self._turn.notify_all()
