"""Serves an application over HTTP by uvicorn, to as many connections as have room, each with a time limit."""

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Iterator
from typing import cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from dpsql.wire.protocol.transport import AcceptedConnection
from dpsql.wire.server.acceptor import Acceptor, Silence
from dpsql.wire.server.limits import PendingConnections

# A browser's connection, with a time limit for each request and a place among those that may be closed for others.


class Visit(H11Protocol, AcceptedConnection):
    """uvicorn's connection, which by itself would wait for ever for the rest of a request."""

    def __init__(
        self, config: Config, state: ServerState, pending: "PendingConnections[Visit]", request_timeout: float
    ) -> None:
        """Wait `request_timeout` seconds for a request: from the connection, or its first byte, to the last of its body."""
        super().__init__(config, state, {})
        self._request_timeout = request_timeout
        self._pending = pending
        self._due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first request."""
        super().connection_made(cast("asyncio.Transport", transport))
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request; the limit counts from its first byte."""
        if self._due is None and not self._is_answered:
            self._expect()
        super().data_received(data)
        if self._is_answered:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and stop counting the connection."""
        self._stop_waiting()
        self._pending.remove(self)
        super().connection_lost(exc)

    @property
    def may_go(self) -> bool:
        """Return whether no answer is being made."""
        return not self._is_answered

    def abort(self) -> None:
        """Hang up at once."""
        if self.transport is not None:
            self.transport.abort()
        super().abort()

    @property
    def _is_answered(self) -> bool:
        """Return whether a whole request has come and its answer was not sent yet."""
        waiting = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        return self.cycle is not None and not self.cycle.response_complete and not waiting

    def _expect(self) -> None:
        self._due = self.loop.call_later(self._request_timeout, self.abort)

    def _stop_waiting(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


# The application's server.

REQUEST_TIMEOUT = 20.0
"""Seconds for a request to come."""
_GRACE = 5
_SILENCE = Silence(unread=60)
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Visits:
    """The connections to one address, until they are stopped."""

    def __init__(self, *, most: int, tls: ssl.SSLContext | None = None, request_timeout: float) -> None:
        """Serve at most `most` connections at a time, and wait `request_timeout` seconds for a request."""
        self._request_timeout = request_timeout
        self._pending: PendingConnections[Visit] = PendingConnections(most, time.monotonic)
        self._acceptor = Acceptor(self._pending, self._visit, silence=_SILENCE, refusal=b"" if tls else _FULL, tls=tls)
        self._server: _UntilSignals

    def open(self, host: str, port: int) -> int:
        """Listen; return the port.

        Raises:
            OSError: when the address is not free.
        """
        return self._acceptor.open(host, port)

    def show(self, tls: ssl.SSLContext | None) -> None:
        """Show another certificate to those who come from now on."""
        self._acceptor.show(tls)

    def prepare(self, app: ASGIApp, *, stopped_by_signals: bool = False) -> None:
        """Answer by an application; it is told of the beginning and the end where signals stop it."""
        # It warns of malformed requests: anybody could fill the log with them.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        config = uvicorn.Config(
            app,
            loop="none",
            ws="none",
            lifespan="on" if stopped_by_signals else "off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
        )
        config.load()
        self._server = _UntilSignals(config) if stopped_by_signals else _Inside(config)

    async def serve(self) -> None:
        """Answer until it is stopped, and those that are begun to their end."""
        try:
            await self._server.serve()
        finally:
            self._acceptor.close()

    def stop(self) -> None:
        """Let nobody in any more, and let running requests end."""
        self._acceptor.close()
        self._server.should_exit = True

    def _visit(self) -> Visit:
        return Visit(self._server.config, self._server.server_state, self._pending, self._request_timeout)


class _UntilSignals(uvicorn.Server):
    """uvicorn without sockets: the acceptor brings connections."""

    async def startup(self, sockets: object = None) -> None:  # noqa: ARG002
        self.servers: list[object] = []  # type: ignore[assignment] # there are none
        await self.lifespan.startup()
        self.started = True


class _Inside(_UntilSignals):
    """The same without signal handlers: the process has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
