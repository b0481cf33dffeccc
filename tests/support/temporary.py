"""Where the files of a run of the tests are: in memory, where Linux has room for them there, and nobody said otherwise.

Thousands of small commits wait for a disk otherwise, and a hundred clusters are written to it.
"""

import os
import shutil
import tempfile
from pathlib import Path

from dpsql.private_files import Scratch

_MEMORY = Path("/dev/shm")  # noqa: S108  (what is put there has a name that nobody can guess)
_ROOM = 8 * 2**30
"""Free bytes from which on a run has enough."""


def begin() -> Scratch | None:
    """Let temporary files of this process, and of those that it starts, be in memory; return where, for the end.

    What a run that was killed has left there goes.
    """
    if "TMPDIR" in os.environ or not _is_fit():
        return None
    place = Scratch("dpsql-run-", _MEMORY, 0o711)
    os.environ["TMPDIR"] = tempfile.tempdir = str(place.path)
    return place


def end(place: Scratch | None) -> None:
    """Remove what was left."""
    if place is not None:
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        place.remove()


def _is_fit() -> bool:
    if not os.access(_MEMORY, os.W_OK):
        return False
    runs_programs = not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC
    return runs_programs and shutil.disk_usage(_MEMORY).free >= _ROOM
