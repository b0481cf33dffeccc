"""`dpsql serve`: run the server until it is told to stop."""

import asyncio
from functools import partial

import typer

from dpsql.cli.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.told import told
from dpsql.cli.waiting import until_interrupted
from dpsql.errors import DpsqlError
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.server import Server


@told
def serve(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Serve the data set to PostgreSQL clients."""
    asyncio.run(_serve(load(config)))


async def _serve(config: Config) -> None:
    async with Server(config) as server:
        host, port = server.address
        pages = "" if server.pages is None else f", pages at {server.pages}"
        typer.echo(f"serving {config.policy.dataset} on {host}:{port}{pages}; stop with Ctrl-C")
        await until_interrupted(partial(_reload, server))


async def _reload(server: Server) -> None:
    """Take what the configuration says now, or go on with what it said before."""
    try:
        await server.reload()
    except DpsqlError as failed:
        typer.echo(f"not reloaded: {failed.message}", err=True)
    else:
        typer.echo("reloaded")
