"""Serves agents over standard input and output, or over HTTP on this machine."""

import asyncio
import ipaddress

import psycopg
from mcp.server.transport_security import TransportSecuritySettings
from psycopg.conninfo import conninfo_to_dict
from starlette.types import ASGIApp

from dpsql.agents.http_login import NeedsLogin
from dpsql.agents.server import make_server
from dpsql.agents.session import Login
from dpsql.errors import ConfigError
from dpsql.system_limits import most
from dpsql.wire.server.visits import REQUEST_TIMEOUT, Visits

_PATH = "/mcp"
_MOST = 256
"""Connections at a time; each may have one to dpsql."""


def serve_stdio(address: str) -> None:
    """Serve the agent that has started this process, until it ends."""
    _words(address)
    make_server(Login(address), http=False).run("stdio")


def serve_http(address: str, host: str, port: int) -> None:
    """Serve agents that log in each by themselves, until interrupted.

    Raises:
        ConfigError: others could read passwords, or ask without one.
    """
    for word in ("user", "password", "passfile"):
        if word in _words(address):
            raise ConfigError(
                f"the address has a {word}, with which everybody who reaches {host}:{port} would ask",
                hint="Leave it out: each request brings its own log-in.",
            )
    if not _is_here(host):
        raise ConfigError(
            f'"{host}" is not an address of this machine alone: passwords would travel in the clear',
            hint="Listen on 127.0.0.1, with a proxy that has TLS before it.",
        )
    asyncio.run(_serve(http_app(address, host, port), host, port))


async def _serve(app: ASGIApp, host: str, port: int) -> None:
    visits = Visits(most=min(most() // 4, _MOST), request_timeout=REQUEST_TIMEOUT)
    visits.prepare(app, stopped_by_signals=True)
    try:
        visits.open(host, port)
    except OSError as taken:
        raise ConfigError(str(taken), hint="Stop what listens there, or give another port.") from None
    await visits.serve()


def http_app(address: str, host: str, port: int) -> ASGIApp:
    """Return what serves agents over HTTP at one address; browsers are served no page, by any name."""
    names = [f"{name}:{port}" for name in (host, "localhost")]
    app = make_server(Login(address), http=True).streamable_http_app(
        streamable_http_path=_PATH,
        json_response=True,
        stateless_http=True,
        host=host,
        transport_security=TransportSecuritySettings(allowed_hosts=names),
    )
    return NeedsLogin(app)


def _words(address: str) -> dict[str, object]:
    try:
        return dict(conninfo_to_dict(address))
    except psycopg.ProgrammingError as wrong:
        raise ConfigError(
            f"the address can't be read: {wrong}", hint="Write it as postgresql://ana@127.0.0.1:5439/taxi."
        ) from None


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
