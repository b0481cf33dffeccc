"""Ends a server that outlived the dpsql that started it: the server, and its sessions by themselves.

Under root this is a program of its own, run by path with the arguments `uid gid directory`: as the server's account it
can end nothing but that account's processes and remove nothing but its files, by any names of theirs. Root itself only
looks, and runs no program where nothing is left.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_GRACE = 1.0  # seconds for a server to stop by itself: the kernel told it to when its dpsql died
_PATIENCE = 30.0  # seconds for the kernel to end what was killed
_POLL = 0.01


def stop(data: Path, uid: int | None = None, gid: int | None = None) -> None:
    """End all processes that serve the directory `data` (we hold its lock, so they are nobody else's).

    Raises:
        OSError: they don't end.
    """
    if uid is None or gid is None:
        _end(data)
        return
    if _is_over(data, uid):
        return
    command = [sys.executable, "-I", "-S", __file__, str(uid), str(gid), str(data)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd="/")  # noqa: S603
    if done.returncode != 0:
        raise OSError(f"the processes of an earlier shadow don't end: {done.stderr[-500:]}")


def _is_over(data: Path, uid: int) -> bool:
    """Return whether there is certainly nothing to end, which takes a look: the program takes fifty times as long.

    A process that may not look at one of the account's processes can't tell.
    """
    try:
        if sys.platform != "linux" or _exists(data / "postmaster.pid"):
            return False
        return not any(name.isdecimal() and _works_in(data, name, uid) for name in os.listdir("/proc"))  # noqa: PTH208
    except OSError:
        return False


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _works_in(data: Path, pid: str, uid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == uid and os.readlink(f"/proc/{pid}/cwd") == str(data)  # noqa: PTH115, PTH116
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return False


def _end(data: Path) -> None:
    start = time.monotonic()
    while processes := list(_serving(data)):
        passed = time.monotonic() - start
        if passed > _PATIENCE:
            raise TimeoutError(f"processes {processes} still serve {data}")
        if passed > _GRACE or not any(_is_server(pid) for pid in processes):
            for pid in processes:
                _kill(pid)
        time.sleep(_POLL)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _serving(data: Path) -> Iterator[int]:
    """Yield PostgreSQL's processes that work in the directory; its sessions outlive it while they are busy."""
    if sys.platform != "linux":
        yield from _named(data)
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                place, program = (entry / "cwd").readlink(), (entry / "exe").readlink()
            except OSError:  # another account's, or gone
                continue
            # A program that was replaced since is "postgres (deleted)".
            if place == data and program.name.split()[0] == "postgres":
                yield int(entry.name)


def _is_server(pid: int) -> bool:
    """Return whether a process is the server itself; its sessions have titles."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"postgres: ")
    except OSError:
        return False


def _named(data: Path) -> Iterator[int]:
    """Yield the process that the server's own file names, where there is no /proc to ask."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], check=False, capture_output=True, text=True)  # noqa: S603, S607
    if "postgres" in shown.stdout and str(data) in shown.stdout:
        yield pid


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main(uid: int, gid: int, data: Path) -> None:
    """End them as the account that they belong to."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    _end(data)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
