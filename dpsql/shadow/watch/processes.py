"""The system's view of a session's process; nothing where it has no /proc."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SeenProcess:
    """A process, as it was seen."""

    began: int
    """When, by the system's own count: another process that gets its number later began later."""
    worked: float
    """Seconds that it has had a processor."""


def see(process: int) -> SeenProcess | None:
    """Return the state of a process; None if it has ended, or can't be read."""
    if sys.platform != "linux":
        return None
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
        if fields[0] in {"Z", "X"}:
            return None
        return SeenProcess(int(fields[19]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None
