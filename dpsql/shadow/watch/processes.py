"""The system's view of a session's process; nothing where it has no /proc."""

import os
import sys
from contextlib import suppress
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


def memory_to_be_had(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes that the machine has, or as many as a container or systemd lets this process and its children have."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        path = own.read_text(encoding="ascii").partition("0::/")[2].strip()
    except (OSError, ValueError):
        return limits[0]
    place = groups / path
    for group in (place, *place.parents):
        if group.is_relative_to(groups):
            with suppress(OSError, ValueError):  # `max`, or a group that is not to be seen
                limits.append(int((group / "memory.max").read_text(encoding="ascii")))
    return min(limits)


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
