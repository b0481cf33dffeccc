"""What Linux says of running processes."""

import os
from pathlib import Path


def children(pid: int) -> list[int]:
    """Return the children of a process, whichever of its threads started them."""
    lists = (task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children"))
    return sorted(int(child) for text in lists for child in text.split())


def seconds_worked(pid: int) -> float:
    """Return how long a process has had a processor."""
    return sum(_ticks(pid)[:2]) / os.sysconf("SC_CLK_TCK")


def seconds_with_children(pid: int) -> float:
    """Return how long a process has had a processor, and its children that are done."""
    return sum(_ticks(pid)) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    """Return the ticks of a process, of the user's and of the system's, and then the same of its children that are done."""
    return [int(field) for field in Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:15]]


def descriptors(pid: int) -> int:
    """Return how many files and sockets a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def megabytes(pid: int) -> int:
    """Return how much memory a process has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024
