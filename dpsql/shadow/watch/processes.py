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


def memory_of(process: int) -> int:
    """Return the bytes that a process has for itself; nothing where it has ended, or can't be read."""
    if sys.platform != "linux":
        return 0
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def memory_of_machine() -> int:
    """Return the bytes that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


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
