"""Becomes the server: gives up privileges, ties its life to its parent's, bounds its memory, then executes PostgreSQL.

A program of its own, run by path with the arguments `uid gid parent bytes program…` (uid −1: stay who we are).
Doing this between fork and exec inside dpsql would not be safe, because dpsql has threads.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(uid: int, gid: int, parent: int, memory: int, program: list[str]) -> None:
    """Execute `program`; the order matters, because a change of user forgets the parent-death signal."""
    libc = ctypes.CDLL(None)
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:  # it died before the signal was asked for
        sys.exit(1)
    os.execv(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
