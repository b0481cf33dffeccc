"""`dpsql mcp`: let agents ask a running server, by the Model Context Protocol."""

from typing import Annotated

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.errors import ConfigError


@with_exit_code
def mcp(
    address: Annotated[
        str,
        typer.Argument(
            help="Where dpsql listens, as postgresql://ana@127.0.0.1:5439/taxi; the password is PGPASSWORD's."
        ),
    ] = "",
    *,
    http: Annotated[
        str | None,
        typer.Option("--http", help="Serve over HTTP at HOST:PORT, where each request logs in, and not the caller."),
    ] = None,
) -> None:
    """Serve agents, by the Model Context Protocol: over standard input and output, or HTTP."""
    try:
        from dpsql.agents import server  # noqa: PLC0415 # an extra
    except ModuleNotFoundError as missing:
        raise ConfigError(
            f'"{missing.name}" is not installed', hint="In a checkout of dpsql: pip install -e '.[mcp]'."
        ) from None
    if http is None:
        server.serve_stdio(address)
        return
    # The last colon: [::1]:8440 has others.
    host, _, port = http.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f'--http is "{http}"', hint="Write it as 127.0.0.1:8440.")
    server.serve_http(address, host.strip("[]"), int(port))
