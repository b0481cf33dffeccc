"""A browser's connection, with a time limit for each request and a place among those that may be closed for others."""

import asyncio
from typing import cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from dpsql.wire.protocol.transport import AcceptedConnection
from dpsql.wire.server.pending_connections import PendingConnections


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
