"""The pages on their own address, served by uvicorn on the server's event loop."""

import asyncio
import ssl
from dataclasses import replace

from dpsql.policy.config import Listen
from dpsql.web.app import make_app
from dpsql.web.packed import compress_all
from dpsql.web.page_context import HERE, PageContext
from dpsql.web.site import Site
from dpsql.wire.server.visits import REQUEST_TIMEOUT, Visits


class Pages:
    """Serves a site until it is stopped."""

    def __init__(
        self,
        listen: Listen,
        site: Site,
        *,
        most: int,
        tls: ssl.SSLContext | None,
        request_timeout: float = REQUEST_TIMEOUT,
    ) -> None:
        """Serve at most `most` connections at a time, and wait `request_timeout` seconds for a request."""
        self._listen = listen
        self._site = site
        self._visits = Visits(most=most, tls=tls, request_timeout=request_timeout)
        self._port = 0
        self._context: PageContext
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
        self._port = self._visits.open(self._listen.host, self._listen.port)
        # Cookies know no ports, and two servers on one machine must not share one.
        cookie = f"dpsql-{self._port}"
        self._site = replace(self._site, cookie=cookie, secure=self._listen.tls is not None)
        app, self._context = make_app(self._site)
        await asyncio.to_thread(compress_all, HERE / "static")
        self._visits.prepare(app)
        self._task = asyncio.create_task(self._visits.serve())

    async def stop(self) -> None:
        """Let running requests end, then log everybody out."""
        if self._task is not None:
            self._visits.stop()
            await self._task
            await self._context.sessions.close()

    async def change(self, site: Site) -> None:
        """Serve another site to the same visitors; log out those who were removed."""
        self._site = replace(site, cookie=self._site.cookie, secure=self._site.secure)
        self._context.site = self._site
        await self._context.sessions.change(self._site)

    def show(self, tls: ssl.SSLContext | None) -> None:
        """Show another certificate to those who come from now on."""
        self._visits.show(tls)
