"""What is served beside a server's own port, if its configuration wants it: the pages, and figures for Prometheus."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from dpsql.errors import ConfigError
from dpsql.metrics.sources import Sources
from dpsql.policy.config import Config, Listen
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
        # Remembered only once they are served: what could not be opened is neither shown certificates nor stopped.
        await pages.start()
        self._pages = pages

    def show(self, tls: Certificate | None) -> None:
        """Show another certificate to those who come from now on."""
        self._certificate = tls
        if self._pages is not None:
            self._pages.show(None if tls is None else tls.context)

    async def change(self, site: Site) -> None:
        """Serve another site to the same visitors; log out those who were removed or have another password."""
        if self._pages is not None:
            await self._pages.change(site)

    async def stop(self) -> None:
        """Let running requests end."""
        if self._pages is not None:
            await self._pages.stop()


# The figures beside a server, if its configuration wants them, and the extra is installed.


def served_metrics(listen: Listen | None, number: int, sources: Sources) -> AbstractContextManager[None]:
    """Return what serves them while it is entered; nothing where there is no address.

    Raises:
        ConfigError: the extra is not installed.
    """
    if listen is None:
        return nullcontext()
    require_prometheus_client()
    from dpsql.metrics.collector import serving_figures  # noqa: PLC0415  (which most servers do without)

    return serving_figures(listen, number, sources)


def require_prometheus_client() -> None:
    """See that Prometheus's client is installed.

    Raises:
        ConfigError: it is not.
    """
    try:
        import prometheus_client  # noqa: F401, PLC0415
    except ImportError as missing:
        raise ConfigError(
            f"metrics needs Prometheus's client, which can't be imported: {missing.name}",
            hint="in a checkout of dpsql: pip install -e '.[metrics]'",
        ) from None
