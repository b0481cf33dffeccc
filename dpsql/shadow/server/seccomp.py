"""The system calls that the shadow's server is refused: a filter for the kernel, made of numbers.

Landlock speaks of files. This speaks of the rest by which code that runs inside the server could reach other
processes: sockets other than the server's own, debugging, the keyring, other rights and owners on files, namespaces,
and the ways around a filter. PostgreSQL uses none of it once it has been started.
"""

import ctypes
import platform
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_EACCES, _ENOSYS = 13, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in the kernel's description of a call
_X32 = 0x40000000
_GET_ACTION_AVAILABLE = 2
_SINCE_TRUNCATE = 3


@dataclass(frozen=True, slots=True)
class _Machine:
    """An architecture as the kernel numbers it, and the column of the tables below that is its own."""

    audit: int
    column: int
    seccomp: int
    """The system call that tells what filters can do."""


_MACHINES = {"x86_64": _Machine(0xC000003E, 0, 317), "aarch64": _Machine(0xC00000B7, 1, 277)}

_REFUSED: Mapping[str, tuple[int, int]] = {
    # Sockets of others, also by ways that need no `connect`: databases, buses and agents of the same account.
    "connect": (42, 203),
    "socketpair": (53, 199),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # Keys.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Modes and owners of files; Landlock does not look at them.
    "fchmod": (91, 52),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    # Programs without a file, and watching files.
    "execveat": (322, 281),
    "memfd_create": (319, 279),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    # Parts of the kernel that are for administrators and often broken.
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
}
_TRUNCATE = (76, 45)
_CLONE3 = (435, 435)
_ALL = 0xFFFFFFFF
_NAMESPACES = 0x7E020000  # what asks `clone` for namespaces

_Demand = tuple[int, int, int]
"""An argument's place, a mask, and what must be left of the argument under it."""
_RESTRICTED: Mapping[str, tuple[tuple[int, int], tuple[_Demand, ...]]] = {
    "socket": ((41, 198), ((0, _ALL, 1), (1, 0xF, 1))),  # AF_UNIX, SOCK_STREAM
    "chmod": ((90, -1), ((1, _ALL, 0o700),)),  # as PostgreSQL does to its own socket
    "fchmodat": ((268, 53), ((2, _ALL, 0o700),)),
    "prlimit64": ((302, 261), ((0, _ALL, 0),)),  # its own
    "clone": ((56, 220), ((0, _NAMESPACES, 0),)),
}


def available() -> bool:
    """Return whether the kernel has filters, and we its numbers."""
    machine = _machine()
    if sys.platform != "linux" or machine is None:
        return False
    refuse = ctypes.c_uint32(_ERRNO)
    return int(ctypes.CDLL(None).syscall(machine.seccomp, _GET_ACTION_AVAILABLE, 0, ctypes.byref(refuse))) == 0


def program(landlock: int) -> bytes:
    """Return the filter for this machine; what Landlock of that version does not cover is refused as well."""
    machine = _machine()
    assert machine is not None
    refused = [numbers[machine.column] for numbers in _REFUSED.values()]
    if landlock < _SINCE_TRUNCATE:
        refused.append(_TRUNCATE[machine.column])  # PostgreSQL warns, and leaves it to the next checkpoint
    return b"".join(_instructions(machine, [number for number in refused if number >= 0]))


def _instructions(machine: _Machine, refused: list[int]) -> Iterator[bytes]:
    yield _load(_ARCHITECTURE)
    yield _jump(_IF_EQUAL, machine.audit, met=1)
    yield _return(_KILL)
    yield _load(_NUMBER)
    yield _jump(_IF_AT_LEAST, _X32, unmet=1)  # the same calls by other numbers
    yield _return(_ERRNO | _EACCES)
    yield _jump(_IF_EQUAL, _CLONE3[machine.column], unmet=1)
    yield _return(_ERRNO | _ENOSYS)  # its flags are out of sight; the C library then takes `clone`
    for number in refused:
        yield _jump(_IF_EQUAL, number, unmet=1)
        yield _return(_ERRNO | _EACCES)
    for numbers, demands in _RESTRICTED.values():
        if numbers[machine.column] >= 0:
            yield _jump(_IF_EQUAL, numbers[machine.column], unmet=4 * len(demands) + 1)
            for place, mask, wanted in demands:
                # The upper half of an argument does not matter: the kernel takes these as 32 bits, or has no flag there.
                yield _load(_ARGUMENTS + 8 * place)
                yield _instruction(_AND, 0, 0, mask)
                yield _jump(_IF_EQUAL, wanted, met=1)
                yield _return(_ERRNO | _EACCES)
            yield _return(_ALLOW)
    yield _return(_ALLOW)


def _machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if sys.maxsize > 2**32 else None


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, 0, 0, offset)


def _jump(test: int, value: int, *, met: int = 0, unmet: int = 0) -> bytes:
    """Skip as many instructions."""
    return _instruction(test, met, unmet, value)


def _return(verdict: int) -> bytes:
    return _instruction(_RETURN, 0, 0, verdict)


def _instruction(code: int, met: int, unmet: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, met, unmet, value)
