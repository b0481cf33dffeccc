"""The pages beside a server, if its configuration wants them."""

from datetime import datetime
from typing import TYPE_CHECKING

from dpsql.policy.config import Config
from dpsql.web.site import Site
from dpsql.wire.protocol.certificate import Certificate, certificate_of

if TYPE_CHECKING:
    from dpsql.web.app import Pages


class ServedPages:
    """Pages that are opened, change and stop with the server; where there are none, all of that does nothing."""

    def __init__(self) -> None:
        """Begin without any."""
        self._pages: Pages | None = None
        self._certificate: Certificate | None = None

    @property
    def url(self) -> str | None:
        """Return their address; None if there are none."""
        return None if self._pages is None else self._pages.url

    def ends(self) -> datetime | None:
        """Return when their certificate ends; None where there is none."""
        return None if self._certificate is None else self._certificate.ends

    async def open(self, config: Config, site: Site, most: int) -> None:
        """Serve a site to at most so many connections, if the configuration has an address for it.

        Raises:
            ConfigError: its certificate can't be used.
            OSError: the address can't be listened on.
        """
        if (web := config.web) is None:
            return
        from dpsql.web.app import Pages  # noqa: PLC0415  (where there are no pages, a sixth of the start is saved)

        shown = self._certificate = certificate_of(web.tls)
        pages = Pages(web, site, most=most, tls=None if shown is None else shown.context)
        await pages.start()
        self._pages = pages

    def show(self, tls: Certificate | None) -> None:
        """Show another certificate to those who come from now on."""
        self._certificate = tls
        if self._pages is not None:
            self._pages.show(None if tls is None else tls.context)

    async def change(self, site: Site) -> None:
        """Serve another site to the same visitors; log out those who were removed."""
        if self._pages is not None:
            await self._pages.change(site)

    async def stop(self) -> None:
        """Let running requests end."""
        if self._pages is not None:
            await self._pages.stop()
