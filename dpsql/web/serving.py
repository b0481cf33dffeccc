"""The pages on their own address, served by uvicorn on the server's event loop."""

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace

import uvicorn

from dpsql.policy.config import Listen
from dpsql.web.app import make_app
from dpsql.web.page_context import PageContext
from dpsql.web.site import Site
from dpsql.web.visit import Visit
from dpsql.wire.server.acceptor import Acceptor, Silence
from dpsql.wire.server.pending_connections import PendingConnections

_GRACE = 5
_SILENCE = Silence(unread=60)
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Pages:
    """Serves a site until it is stopped."""

    def __init__(
        self, listen: Listen, site: Site, *, most: int, tls: ssl.SSLContext | None, request_timeout: float = 20.0
    ) -> None:
        """Serve at most `most` connections at a time, and wait `request_timeout` seconds for a request."""
        self._request_timeout = request_timeout
        self._listen = listen
        self._site = site
        self._pending: PendingConnections[Visit] = PendingConnections(most, time.monotonic)
        self._acceptor = Acceptor(self._pending, self._visit, silence=_SILENCE, refusal=b"" if tls else _FULL, tls=tls)
        self._port = 0
        self._context: PageContext
        self._server: _Inside
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Return the address of the first page."""
        scheme = "https" if self._listen.tls else "http"
        host = f"[{self._listen.host}]" if ":" in self._listen.host else self._listen.host
        return f"{scheme}://{host}:{self._port}/"

    async def start(self) -> None:
        """Listen.

        Raises: OSError: when the address is not free.
        """
        self._port = self._acceptor.open(self._listen.host, self._listen.port)
        # Cookies know no ports, and two servers on one machine must not share one.
        cookie = f"dpsql-{self._port}"
        self._site = replace(self._site, cookie=cookie, secure=self._listen.tls is not None)
        app, self._context = make_app(self._site)
        # It warns of malformed requests: anybody could fill the log with them.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        config = uvicorn.Config(
            app,
            loop="none",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE,
        )
        config.load()
        self._server = _Inside(config)
        self._task = asyncio.create_task(self._server.serve())

    async def stop(self) -> None:
        """Let running requests end, then log everybody out."""
        self._acceptor.close()
        if self._task is not None:
            self._server.should_exit = True
            await self._task
            await self._context.sessions.close()

    async def change(self, site: Site) -> None:
        """Serve another site to the same visitors; log out those who were removed."""
        self._site = replace(site, cookie=self._site.cookie, secure=self._site.secure)
        self._context.site = self._site
        await self._context.sessions.change(self._site)

    def show(self, tls: ssl.SSLContext | None) -> None:
        """Show another certificate to those who come from now on."""
        self._acceptor.show(tls)

    def _visit(self) -> Visit:
        return Visit(self._server.config, self._server.server_state, self._pending, self._request_timeout)


class _Inside(uvicorn.Server):
    """uvicorn without signal handlers and sockets: the process has its own, and the acceptor brings connections."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: object = None) -> None:  # noqa: ARG002
        self.servers: list[asyncio.base_events.Server] = []
        self.started = True
