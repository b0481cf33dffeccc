"""Accepts connections, as many as there is room for, and pauses while the system has no descriptor left.

asyncio's own servers try again a thousand times a second then, and write a traceback each time.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dpsql.rate_limited_log import RateLimitedLog
from dpsql.wire.protocol.transport import AcceptedConnection
from dpsql.wire.server.limits import PendingConnections

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.wire"))
_BACKLOG = 1024
_AT_ONCE = 64  # connections, before others have their turn
_PAUSE = 1.0  # seconds until it is tried again where the system had nothing left
_HANDSHAKE = 10.0  # seconds for TLS
Sockets = tuple[socket.socket, ...]
"""The sockets that listen on all addresses of a host's name."""
_NOT_HERE = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""How an address of a name fails that this machine does not have, such as IPv6's."""


@dataclass(frozen=True, slots=True)
class Silence:
    """After how many seconds a client that has vanished from the network is given up."""

    idle: int = 60
    """Without a byte, until a probe is sent."""
    interval: int = 10
    """Between probes, six in all."""
    unread: int = 330
    """While it does not acknowledge what was sent."""

    def set_on(self, connection: socket.socket) -> None:
        """Set it on a socket."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", self.idle),
            ("TCP_KEEPINTVL", self.interval),
            ("TCP_KEEPCNT", 6),
            ("TCP_USER_TIMEOUT", self.unread * 1000),
        ):
            if hasattr(socket, name):  # not everywhere
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_C = TypeVar("_C", bound=AcceptedConnection)


class Acceptor(Generic[_C]):
    """Listens on the sockets of one address until it is closed."""

    def __init__(
        self,
        pending: PendingConnections[_C],
        make: Callable[[], _C],
        *,
        silence: Silence,
        refusal: bytes,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`make` makes what speaks with a connection, which is among `pending`; `refusal` is sent where there is no room."""
        self._pending = pending
        self._make = make
        self._silence = silence
        self._refusal = refusal
        self._tls = tls
        self._sockets: Sockets = ()
        self._accepting: set[_C] = set()
        self._pause: asyncio.TimerHandle | None = None

    def open(self, host: str, port: int) -> int:
        """Listen; return the port.

        Raises:
            OSError: when the address is not free.
        """
        return self.accept_from(listen(host, port))

    def accept_from(self, listening: Sockets) -> int:
        """Accept from sockets that listen already, perhaps for other processes as well; return their port."""
        self._sockets = listening
        self._resume()
        return port_of(listening)

    def close(self) -> None:
        """Stop listening, and abort connections that are being set up."""
        if self._pause is not None:
            self._pause.cancel()
        self._remove_readers()
        for listening in self._sockets:
            listening.close()
        self._sockets = ()
        for accepted in self._accepting:
            accepted.abort()

    def show(self, tls: ssl.SSLContext | None) -> None:
        """Show another certificate to those who connect from now on."""
        self._tls = tls

    def _resume(self) -> None:
        self._pause = None
        for listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _remove_readers(self) -> None:
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)

    def _accept(self, listening: socket.socket) -> None:
        # Not all who wait: in a storm of connections those who are served already shall have their turn of the loop.
        for _ in range(_AT_ONCE):
            try:
                connection, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            # accept(2) would fail again at once, and the loop would do nothing else.
            except OSError as failed:  # most often: no descriptor is left
                _RATE_LIMITED.warning("nobody can be let in for a moment: %s", failed.strerror)
                self._remove_readers()
                self._pause = asyncio.get_running_loop().call_later(_PAUSE, self._resume)
                return
            connection.setblocking(False)
            self._admit(connection, str(address[0]))

    def _admit(self, connection: socket.socket, address: str) -> None:
        accepted = self._make()
        if not self._pending.admit(accepted, address):
            _RATE_LIMITED.warning("a connection from %s was turned away: too many there have not logged in", address)
            with contextlib.suppress(OSError):
                connection.send(self._refusal)
            connection.close()
            return
        self._accepting.add(accepted)
        accepted.accepting = asyncio.get_running_loop().create_task(self._connect(connection, accepted))

    async def _connect(self, connection: socket.socket, accepted: _C) -> None:
        loop = asyncio.get_running_loop()
        timeout = None if self._tls is None else _HANDSHAKE
        try:
            self._silence.set_on(connection)
            await loop.connect_accepted_socket(
                lambda: accepted, connection, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except (OSError, asyncio.CancelledError):
            # It went, or does not speak TLS, or we close.
            self._pending.remove(accepted)
            connection.close()
        finally:
            self._accepting.discard(accepted)
            accepted.accepting = None


def listen(host: str, port: int) -> Sockets:
    """Listen on all addresses that a host's name has; on port 0 the first one chooses for all.

    Raises:
        OSError: when the address is not free.
    """
    addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    opened: list[socket.socket] = []
    failed: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(addresses):
        chosen = opened[0].getsockname()[1] if opened else port
        try:
            opened.append(_bound(family, (address[0], chosen, *address[2:])))
        except OSError as error:
            failed = error
            if error.errno not in _NOT_HERE:
                break
    if failed is not None and (not opened or failed.errno not in _NOT_HERE):
        for each in opened:
            each.close()
        raise OSError(failed.errno, f"can't listen on {host or '*'}:{port}: {failed.strerror}") from failed
    return tuple(opened)


def port_of(listening: Sockets) -> int:
    """Return the port that all of them listen on."""
    return int(listening[0].getsockname()[1])


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    # The protocol is named, because asyncio sends small answers at once only where it is.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
