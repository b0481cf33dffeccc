"""How a command speaks with the server of its configuration: by a socket that has no file, named after the configuration's.

The name lies in Linux's abstract namespace, so that the path of the configuration leads to the server, even if the
file has mistakes by now. Only root and the server's own account are heard, which the kernel vouches for; and nobody
else is believed.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dpsql.errors import ConfigError

_LOG = logging.getLogger("dpsql.server")
_ROOT = 0
# Linux's `struct ucred`: process, user, group. The kernel fills it in when a connection is made, whatever the peer says.
_CREDENTIALS = struct.Struct("3i")
_LONGEST = 16
"""Bytes of a word that a command says."""
_PATIENCE = 15.0
"""Seconds for one of several processes that has just died to be there again."""
_PAUSE = 0.2

Command = Callable[[], Awaitable[str | None]]
"""Does what a word asks for; returns why it could not, if so."""


def _name(file: Path, number: int) -> str:
    """Return the name of a process's socket."""
    # Hashed, for such a name has at most 107 bytes, and a path may be longer. Abstract names belong to a network namespace:
    # from outside of a container its server is not found. `ss -xl | grep dpsql` lists the names that are there.
    return f"\0dpsql {hashlib.sha256(os.fsencode(file.resolve())).hexdigest()} {number}"


def _account(connection: socket.socket) -> int:
    """Return whose process is at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])


class ControlSocket:
    """Takes commands for one process of a server."""

    def __init__(self, file: Path, number: int, processes: int, commands: Mapping[str, Command]) -> None:
        """Be process `number` of so many that serve a configuration; `commands` by their words."""
        self._file, self._number, self._processes, self._commands = file, number, processes, commands
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Take commands from now on; where that can't be, say so: everything else goes on."""
        if not hasattr(socket, "SO_PEERCRED"):  # not Linux
            return
        try:
            self._server = await asyncio.start_unix_server(self._hear, _name(self._file, self._number))
        except OSError as failed:
            place = f"another process has its place ({failed.strerror})"
            _LOG.warning("dpsql reload can't reach this server, SIGHUP can: %s", place)

    def close(self) -> None:
        """Take none any more."""
        if self._server is not None:
            self._server.close()

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Anybody on the machine can connect to such a name. The kernel says which account does, so that no secret is
            # needed.
            if _account(writer.get_extra_info("socket")) not in (_ROOT, os.geteuid()):
                return
            word = (await reader.read(_LONGEST)).decode("ascii", "replace").strip()
            # The conversation: "reload\n" → {"processes": 2, "wrong": null}, and the end. Any other word is hung up on.
            if (command := self._commands.get(word)) is not None:
                told = {"processes": self._processes, "wrong": await command()}
                writer.write(json.dumps(told).encode())
                await writer.drain()
        except OSError:
            pass  # who asked has gone
        finally:
            writer.close()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one process on its new configuration."""

    number: int
    processes: int
    wrong: str | None


def is_served(file: Path) -> bool:
    """Return whether a server of a configuration takes commands."""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(_name(file, 0)) == 0


def ask_to_reload(file: Path) -> list[Verdict]:
    """Have every process of the server of a configuration read it again; return what each says.

    Raises:
        ConfigError: nobody of this account serves it.
    """
    return _ask_all(file, "reload")


def ask_for_newest(file: Path) -> list[Verdict]:
    """Have every process answer from the newest copy of the records from now on; return what each says.

    Raises:
        ConfigError: nobody of this account serves it.
    """
    return _ask_all(file, "newest")


def _ask_all(file: Path, word: str) -> list[Verdict]:
    # Process 0 is asked without patience, so that "nobody serves this" is said at once. That the others are there is known
    # then: one that is not has just died, and the supervisor begins it anew.
    first = _ask(file, word, 0)
    others = range(1, first.processes)
    return [first, *(_ask(file, word, number, time.monotonic() + _PATIENCE) for number in others)]


def _ask(file: Path, word: str, number: int, until: float = 0.0) -> Verdict:
    """Ask one process, which may be there only after a while."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        while True:
            try:
                connection.connect(_name(file, number))
                break
            except ConnectionRefusedError:
                if time.monotonic() >= until:
                    raise _nobody(file, number) from None
                time.sleep(_PAUSE)
        # Nor may another account that was first to take the name be believed.
        if os.geteuid() != _ROOT and _account(connection) not in (_ROOT, os.geteuid()):
            raise _nobody(file, number)
        connection.sendall(f"{word}\n".encode())
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    if not said:
        raise ConfigError("the server hung up before it had read its configuration", hint="Its log says why.")
    told = json.loads(said)
    return Verdict(number, int(told["processes"]), told["wrong"])


def _nobody(file: Path, number: int) -> ConfigError:
    if number:
        return ConfigError(f"process {number + 1} of the server does not run", hint="Its log says why.")
    return ConfigError(
        f"no dpsql serve of this account serves {file.resolve()}",
        hint="Run this as the server's account or as root, on its machine, with the --config that it was started with.",
    )


# Messages to systemd about a server's state, by a datagram to the socket that it names: sd_notify(3).


def notify(**states: str) -> None:
    """Tell systemd, as `notify(READY="1", STATUS="serving taxi")`; a system without it keeps nobody from serving."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    # Either a path, or with @ for the 0 byte an abstract name. Other kinds of sockets (vsock:…) are not spoken to.
    if place[:1] not in ("/", "@"):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect("\0" + place[1:] if place.startswith("@") else place)
        sender.sendall("\n".join(f"{name}={value}" for name, value in states.items()).encode())
