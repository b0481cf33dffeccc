"""How far the kernel shuts the shadow's server in: the files that it may touch, and the system calls that it is refused."""

import ctypes
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from dpsql.errors import ConfigError
from dpsql.policy.config import SandboxNeed

# The files that the shadow's server may touch, as a ruleset of Landlock: `launch` hands these numbers to the kernel.
#
# Landlock needs no privilege, holds for all processes that come from the one that asked for it, and can't be taken back.
# Calls that no rule allows are refused, also to a superuser of the server, and to any code that runs in it. A rule is
# bound to the file or directory as it was at the start, not to its name.

_CREATE_RULESET, _VERSION = 444, 1  # the number of the system call is the same on every architecture

# From linux/landlock.h. A right that the ruleset handles is denied everywhere but where a rule gives it back.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG, _MAKE_SOCK = 1 << 7, 1 << 8, 1 << 9
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_HANDLED = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEV}
"""The rights over files that each version of the kernel's interface added: all are taken away, then some given back."""
_NO_TCP, _SCOPED = 3, 3  # neither bind nor connect; no abstract socket of others, no signal to others
_NET_SINCE, _SCOPED_SINCE = 4, 6

_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _READ_FILE | _READ_DIR
_KEEP = _READ | _WRITE_FILE | _TRUNCATE | _MAKE_REG | _REMOVE_FILE

_SYSTEM_FILES = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/nix/store",
    "/gnu/store",
    "/usr/share/zoneinfo",
    "/usr/share/postgresql",
    "/usr/share/pgsql",
    "/etc/ld.so.cache",
    "/dev/urandom",
)
"""Software that everybody may read. Nothing of /proc, /home, /var, /tmp; of /etc only the loader's list of libraries."""
_SHARED_FILES = ("share/postgresql", "share/pgsql", "share/timezonesets", "share/tsearch_data", "share/extension")
_PT_INTERP = 3
_LOADER_PATIENCE = 10.0  # seconds for the loader to list the libraries


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rights that are denied, as the kernel's structure, and those that are allowed, with their places."""

    attributes: bytes
    rules: tuple[tuple[str, int], ...]
    """Paths, and the rights below each."""


def landlock_version() -> int:
    """Return the version of the kernel's interface; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None)
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _VERSION)))


def landlock_ruleset(abi: int, program: Path, *, read: tuple[Path, ...], data: Path, sockets: Path) -> Ruleset:
    """Build the rules for the server `program`, which keeps its files in `data` and its socket in `sockets`."""
    # The kernel refuses a ruleset with bits that it does not know, so each version is asked for what it has.
    files = sum(rights for since, rights in _HANDLED.items() if since <= abi)
    attributes = struct.pack("=Q", files)
    if abi >= _NET_SINCE:
        attributes += struct.pack("=Q", _NO_TCP)
    if abi >= _SCOPED_SINCE:
        attributes += struct.pack("=Q", _SCOPED)
    granted = dict.fromkeys((*_installed(program), *map(Path, _SYSTEM_FILES), *read), _READ)
    for executed in (program, *_interpreter(program)):
        granted[executed] = _EXECUTE | _READ  # the kernel also executes the loader that the program names
    granted |= {
        Path("/dev/null"): _READ | _WRITE_FILE,
        data: _KEEP | _MAKE_DIR | _REMOVE_DIR,
        sockets: _KEEP | _MAKE_SOCK,
    }
    return Ruleset(attributes, tuple(_rule(path, rights & files) for path, rights in granted.items() if path.exists()))


def _rule(path: Path, rights: int) -> tuple[str, int]:
    return str(path), rights if path.is_dir() else rights & _ON_FILES


def _installed(program: Path) -> Iterator[Path]:
    """Yield what belongs to the program: its libraries and data, and what wheels keep beside the package."""
    root = program.parent.parent
    yield from (root / "lib", root / "lib64")
    yield from (root / name for name in _SHARED_FILES)
    yield root.parent.parent / f"{root.parent.name}.libs"
    yield from _libraries(program)


def _libraries(program: Path) -> Iterator[Path]:
    """Yield the libraries that the loader finds, wherever they are."""
    for loader in _interpreter(program):
        listed = subprocess.run(  # noqa: S603 # the system's loader
            [loader, "--list", program], env={}, check=False, capture_output=True, text=True, timeout=_LOADER_PATIENCE
        )
        for line in listed.stdout.splitlines():
            path = line.partition("=>")[2].strip().partition(" (")[0]
            if path.startswith("/"):
                yield Path(path)


def _interpreter(program: Path) -> Iterator[Path]:
    """Yield the loader that a 64-bit ELF file names, if it names one."""
    with program.open("rb") as file:
        head = file.read(64)
        start, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        for place in range(start, start + size * count, size):
            file.seek(place)
            kind, offset, length = struct.unpack("<I4xQ16xQ16x", file.read(56))
            if kind == _PT_INTERP:
                file.seek(offset)
                yield Path(os.fsdecode(file.read(length).rstrip(b"\0")))


# The system calls that the shadow's server is refused: a filter for the kernel, made of numbers.
#
# Landlock speaks of files. This speaks of the rest by which code that runs inside the server could reach other
# processes: sockets other than the server's own, debugging, the keyring, other rights and owners on files, namespaces,
# and the ways around a filter. PostgreSQL uses none of it once it has been started.

_EACCES, _ENOSYS = 13, 38
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
# Classic BPF (linux/bpf_common.h): load a word of the call's description, mask it, jump over some instructions, return
# a verdict. The program reads from the top, and each block compares one number.
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
_TRUNCATING = (76, 45)
_CLONE3 = (435, 435)
_ALL = 0xFFFFFFFF
_NAMESPACES = 0x7E020000  # what asks `clone` for namespaces

_Demand = tuple[int, int, int]
"""An argument's place, a mask, and what must be left of the argument under it."""
_RESTRICTED: Mapping[str, tuple[tuple[int, int], tuple[_Demand, ...]]] = {
    # PostgreSQL needs a socket of the kind that it listens on, and no other: no TCP, no netlink, no packets.
    "socket": ((41, 198), ((0, _ALL, 1), (1, 0xF, 1))),  # AF_UNIX, SOCK_STREAM
    "chmod": ((90, -1), ((1, _ALL, 0o700),)),  # as PostgreSQL does to its own socket
    "fchmodat": ((268, 53), ((2, _ALL, 0o700),)),
    "prlimit64": ((302, 261), ((0, _ALL, 0),)),  # its own
    "clone": ((56, 220), ((0, _NAMESPACES, 0),)),
}


def filters_available() -> bool:
    """Return whether the kernel has filters, and we its numbers."""
    machine = _machine()
    if sys.platform != "linux" or machine is None:
        return False
    refuse = ctypes.c_uint32(_ERRNO)
    return int(ctypes.CDLL(None).syscall(machine.seccomp, _GET_ACTION_AVAILABLE, 0, ctypes.byref(refuse))) == 0


def filter_program(landlock: int) -> bytes:
    """Return the filter for this machine; what Landlock of that version does not cover is refused as well."""
    machine = _machine()
    assert machine is not None
    refused = [numbers[machine.column] for numbers in _REFUSED.values()]
    if landlock < _SINCE_TRUNCATE:
        refused.append(_TRUNCATING[machine.column])  # PostgreSQL warns, and leaves it to the next checkpoint
    return b"".join(_instructions(machine, [number for number in refused if number >= 0]))


def _instructions(machine: _Machine, refused: list[int]) -> Iterator[bytes]:
    yield _load_word(_ARCHITECTURE)
    # First of all the architecture: a 64-bit process may make 32-bit calls, whose numbers mean others.
    yield _jump_if(_IF_EQUAL, machine.audit, met=1)
    yield _return_action(_KILL)
    yield _load_word(_NUMBER)
    yield _jump_if(_IF_AT_LEAST, _X32, unmet=1)  # the same calls by other numbers
    yield _return_action(_ERRNO | _EACCES)
    yield _jump_if(_IF_EQUAL, _CLONE3[machine.column], unmet=1)
    yield _return_action(_ERRNO | _ENOSYS)  # its flags are out of sight; the C library then takes `clone`
    for number in refused:
        yield _jump_if(_IF_EQUAL, number, unmet=1)
        yield _return_action(_ERRNO | _EACCES)
    for numbers, demands in _RESTRICTED.values():
        if numbers[machine.column] >= 0:
            yield _jump_if(_IF_EQUAL, numbers[machine.column], unmet=4 * len(demands) + 1)
            for place, mask, wanted in demands:
                # The upper half of an argument does not matter: the kernel takes these as 32 bits, or has no flag there.
                yield _load_word(_ARGUMENTS + 8 * place)
                yield _instruction(_AND, 0, 0, mask)
                yield _jump_if(_IF_EQUAL, wanted, met=1)
                yield _return_action(_ERRNO | _EACCES)
            yield _return_action(_ALLOW)
    yield _return_action(_ALLOW)


def _machine() -> _Machine | None:
    return _MACHINES.get(platform.machine()) if sys.maxsize > 2**32 else None


def _load_word(offset: int) -> bytes:
    return _instruction(_LOAD, 0, 0, offset)


def _jump_if(test: int, value: int, *, met: int = 0, unmet: int = 0) -> bytes:
    """Skip as many instructions."""
    return _instruction(test, met, unmet, value)


def _return_action(verdict: int) -> bytes:
    return _instruction(_RETURN, 0, 0, verdict)


def _instruction(code: int, met: int, unmet: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, met, unmet, value)


# How much of both the kernel has.


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The kernel's means that are used: both, where it has them."""

    landlock: int
    """The version of Landlock's interface; 0: none."""
    filtered: bool
    """Whether system calls are filtered."""

    @classmethod
    def of_kernel(cls) -> "Sandbox":
        """Return the most that this kernel can do."""
        return cls(landlock_version(), filters_available())

    @classmethod
    def as_needed(cls, need: SandboxNeed) -> "Sandbox":
        """Return the most that this kernel can do, if that is enough.

        Raises:
            ConfigError: the sandbox is required, and not whole.
        """
        sandbox = cls.of_kernel()
        match need:
            case SandboxNeed.AVAILABLE:
                return sandbox
            case SandboxNeed.REQUIRED:
                if sandbox.is_whole:
                    return sandbox
                raise ConfigError(
                    f"the configuration requires a sandbox: {sandbox}",
                    hint="Linux 5.13 or later has one if Landlock is enabled (lsm=…), on x86_64 and aarch64.",
                )
            case _:
                assert_never(need)

    @classmethod
    def none(cls) -> "Sandbox":
        """Return what shuts nothing in."""
        return cls(0, filtered=False)

    @property
    def is_whole(self) -> bool:
        """Return whether files, programs, processes and the network are all out of the server's reach."""
        return self.landlock > 0 and self.filtered

    def __str__(self) -> str:
        """Say what there is, or what is lacking and what that means; one line."""
        if self.is_whole:
            return f"the shadow runs in a sandbox of the kernel (Landlock {self.landlock}, filtered system calls)"
        if self.landlock:
            return (
                "the shadow's sandbox lacks a filter of system calls on this machine: foreign code in it could reach"
                " sockets and the network"
            )
        return (
            "the shadow runs without a sandbox, because this kernel has no Landlock: a superuser of it"
            " reads and writes all that its account may"
        )
