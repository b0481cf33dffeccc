"""Becomes the server: gives up privileges, shuts itself in, ties its life to its parent's, then executes PostgreSQL.

A program of its own, run by path with one argument, a `LaunchPlan` as JSON; it imports nothing of ours.
Doing this between fork and exec inside dpsql would not be safe, because dpsql has threads.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import TypedDict

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_PATH_BENEATH = 1
_INSTRUCTION = 8  # bytes


class LaunchPlan(TypedDict):
    """The process that the server is to become."""

    uid: int
    """−1: stay who we are."""
    gid: int
    parent: int
    """The process with which it ends."""
    memory: int
    """Bytes of address space, or fewer where we may have no more."""
    ruleset: str
    """The rights that Landlock takes away, in hexadecimal; empty: none."""
    rules: list[tuple[str, int]]
    """The rights that it gives back, by place."""
    filter: str
    """The filter of system calls, in hexadecimal; empty: none."""
    environment: dict[str, str]
    program: list[str]


class _Filter(ctypes.Structure):
    """How the kernel is told of a filter."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main(plan: LaunchPlan) -> None:
    """Execute the program; the order matters, because a change of user forgets the parent-death signal."""
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = _ruleset(libc, plan)
    if plan["uid"] >= 0:
        # Groups first, the user last: who is no root any more can't change groups.
        os.setgroups([])
        os.setgid(plan["gid"])
        os.setuid(plan["uid"])
    # A core file would have what clients have sent, and released values of all roles.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        memory = plan["memory"] if most == resource.RLIM_INFINITY else min(plan["memory"], most)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
        # Without it the kernel takes neither ruleset nor filter from a process that is not root.
        _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    # The signal is sent when the parent ends. If it had ended before prctl, it would never come, and the server would
    # live on.
    if os.getppid() != plan["parent"]:  # it died before the signal was asked for
        sys.exit(1)
    if ruleset is not None:
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
        os.close(ruleset)
    # The filter comes last: it may refuse the calls that are made above.
    if plan["filter"]:
        instructions = bytes.fromhex(plan["filter"])
        told = _Filter(len(instructions) // _INSTRUCTION, instructions)
        _check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(told), 0, 0))
    os.execve(plan["program"][0], plan["program"], plan["environment"])  # noqa: S606


def _ruleset(libc: ctypes.CDLL, plan: LaunchPlan) -> int | None:
    """Make the ruleset; its files are opened before privileges go."""
    attributes = bytes.fromhex(plan["ruleset"])
    if not attributes:
        return None
    ruleset = _check(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    for path, rights in plan["rules"]:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, place)
        _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
        os.close(place)
    return ruleset


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox was refused: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
