"""A server that outlived the dpsql that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_PATIENCE = 30.0  # seconds until it is killed
_POLL = 0.05


def stop(data: Path) -> None:
    """Stop a server that outlived its dpsql (we hold the directory's lock, so it is nobody else's)."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return
    deadline = time.monotonic() + _PATIENCE
    while _serves(pid, data):
        os.kill(pid, signal.SIGINT if time.monotonic() < deadline else signal.SIGKILL)
        time.sleep(_POLL)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    """Say whether process `pid` is a server of the directory `data`: the number may be another's by now."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        if sys.platform == "linux":
            return False
        shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], check=False, capture_output=True, text=True)  # noqa: S603, S607
        command = shown.stdout
    return "postgres" in command and str(data) in command
