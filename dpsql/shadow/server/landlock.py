"""The files that the shadow's server may touch, as a ruleset of Landlock: `launch` hands these numbers to the kernel.

Landlock needs no privilege, holds for all processes that come from the one that asked for it, and can't be taken back.
Calls that no rule allows are refused, also to a superuser of the server, and to any code that runs in it. A rule is
bound to the file or directory as it was at the start, not to its name.
"""

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CREATE_RULESET, _VERSION = 444, 1  # the number of the system call is the same on every architecture

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

_SYSTEM = (
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
_SHARE = ("share/postgresql", "share/pgsql", "share/timezonesets", "share/tsearch_data", "share/extension")
_PT_INTERP = 3
_PATIENCE = 10.0  # seconds for the loader to list the libraries


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rights that are denied, as the kernel's structure, and those that are allowed, with their places."""

    attributes: bytes
    rules: tuple[tuple[str, int], ...]
    """Paths, and the rights below each."""


def version() -> int:
    """Return the version of the kernel's interface; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None)
    return max(0, int(libc.syscall(_CREATE_RULESET, None, 0, _VERSION)))


def ruleset(abi: int, program: Path, *, read: tuple[Path, ...], data: Path, sockets: Path) -> Ruleset:
    """Build the rules for the server `program`, which keeps its files in `data` and its socket in `sockets`."""
    files = sum(rights for since, rights in _HANDLED.items() if since <= abi)
    attributes = struct.pack("=Q", files)
    if abi >= _NET_SINCE:
        attributes += struct.pack("=Q", _NO_TCP)
    if abi >= _SCOPED_SINCE:
        attributes += struct.pack("=Q", _SCOPED)
    granted = dict.fromkeys((*_installed(program), *map(Path, _SYSTEM), *read), _READ)
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
    yield from (root / name for name in _SHARE)
    yield root.parent.parent / f"{root.parent.name}.libs"
    yield from _libraries(program)


def _libraries(program: Path) -> Iterator[Path]:
    """Yield the libraries that the loader finds, wherever they are."""
    for loader in _interpreter(program):
        listed = subprocess.run(  # noqa: S603 # the system's loader
            [loader, "--list", program], env={}, check=False, capture_output=True, text=True, timeout=_PATIENCE
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
