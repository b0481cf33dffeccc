"""The pages on their own address, served by uvicorn on the server's event loop."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from dataclasses import replace

import uvicorn

from dpsql.policy.config import Listen
from dpsql.web.app import make_app
from dpsql.web.sessions import Sessions
from dpsql.web.site import Site

_GRACE = 5


class Pages:
    """Serves a site until it is stopped."""

    def __init__(self, listen: Listen, site: Site) -> None:
        self._listen = listen
        self._site = site
        self._sessions: Sessions | None = None
        self._server: _Inside | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """Return the address of the first page."""
        if self._socket is None:
            raise RuntimeError("the pages are not served")
        scheme = "https" if self._listen.tls else "http"
        host = f"[{self._listen.host}]" if ":" in self._listen.host else self._listen.host
        return f"{scheme}://{host}:{self._socket.getsockname()[1]}/"

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: when the address can't be had.
        """
        self._socket = _listening(self._listen.host, self._listen.port)
        # Cookies know no ports, and two servers on one machine must not share one.
        cookie = f"dpsql-{self._socket.getsockname()[1]}"
        app, self._sessions = make_app(replace(self._site, cookie=cookie, secure=self._listen.tls is not None))
        tls = self._listen.tls
        self._server = _Inside(
            uvicorn.Config(
                app,
                loop="none",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE,
                ssl_certfile=tls.certificate if tls else None,
                ssl_keyfile=tls.key if tls else None,
            )
        )
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))

    async def stop(self) -> None:
        """Let running requests end, then log everybody out."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task
        if self._sessions is not None:
            await self._sessions.close()
        if self._socket is not None:
            self._socket.close()


class _Inside(uvicorn.Server):
    """A server inside somebody else's process, whose signals are not its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    # The protocol is named, because asyncio sends small answers at once only where it is.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen()
    except OSError:
        found.close()
        raise
    return found
