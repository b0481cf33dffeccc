"""The forms of statements that have passed their trial, kept in a file: a line each, with what they were tried for.

A line is a hash of the form, the engine's edition, the policy and dpsql's version. It holds nothing of records. Where the
file can't be read or written, statements are tried again.
"""

import logging
import os
import threading
from pathlib import Path

from dpsql.private_files import make_directory, open_private

_LOG = logging.getLogger("dpsql.trial")
_MOST = 200_000
"""Lines of a file, and forms in memory; then it begins anew."""
_LINE = 65
"""Bytes of a line: 64 digits and its end."""


class TriedForms:
    """The forms that have passed, for any number of threads; `file` is None where it is kept in memory alone."""

    def __init__(self, file: Path | None) -> None:
        """Read what has passed before."""
        self._file, self._lock, self._read = file, threading.Lock(), 0
        self._passed: set[str] = set()
        self._look()

    def __contains__(self, form: str) -> bool:
        """Return whether a form has passed, in this process or in another one."""
        with self._lock:
            if form not in self._passed:
                self._look()
            return form in self._passed

    def add(self, form: str) -> None:
        """Keep a form that has passed."""
        with self._lock:
            if len(self._passed) >= _MOST:  # a user who may explain for nothing could fill the memory
                self._passed.clear()
            self._passed.add(form)
            if self._file is None:
                return
            try:
                make_directory(self._file.parent)
                opened = open_private(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                try:
                    if os.fstat(opened).st_size >= _MOST * _LINE:
                        os.ftruncate(opened, 0)
                    os.write(opened, f"{form}\n".encode())
                finally:
                    os.close(opened)
            except OSError as failed:
                _LOG.warning("what passed its trial can't be kept, and will be tried again: %s", failed)

    def _look(self) -> None:
        """Read what was added since."""
        if self._file is None or not self._file.exists():
            return
        try:
            opened = open_private(self._file, os.O_RDONLY)
            try:
                size = os.fstat(opened).st_size
                if size < self._read:  # begun anew
                    self._read = 0
                more = os.pread(opened, size - self._read, self._read)
            finally:
                os.close(opened)
        except OSError as failed:
            _LOG.warning("what passed its trial can't be read: %s", failed)
            return
        whole = more[: len(more) // _LINE * _LINE]
        self._read += len(whole)
        self._passed.update(line for line in whole.decode("ascii", "replace").splitlines() if len(line) == _LINE - 1)
