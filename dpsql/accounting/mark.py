"""A mark beside the ledger: which one is here, and how far it had got, so that its loss is noticed at the next start."""

import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from dpsql.private_files import open_private

_LOG = logging.getLogger("dpsql.ledger")
_WIDTH = 256
"""Bytes of the file, for any contents, so that one write replaces it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The facts about a ledger that are known without it."""

    ledger: str
    """Its identity."""
    dataset: str
    lines: int
    """The number of its last line, or of an earlier one."""


def mark_path(path: Path) -> Path:
    """Return where a ledger's mark is."""
    return path.with_name(f"{path.name}.mark")


def read_mark(path: Path) -> Mark | None:
    """Return the mark of the ledger at `path`; None where there is none, or none that a power cut has left whole."""
    try:
        with os.fdopen(open_private(mark_path(path), os.O_RDONLY), "rb") as file:
            return Mark(**json.loads(file.read()))
    except (OSError, ValueError, TypeError):
        return None


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the mark; that the ledger goes on matters more than that it is marked."""
    try:
        file = open_private(mark_path(path), os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(file, json.dumps(asdict(mark)).ljust(_WIDTH).encode(), 0)
        finally:
            os.close(file)
    except OSError as error:
        _LOG.warning("the ledger's mark can't be written: %s", error)
