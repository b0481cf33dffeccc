"""`dpsql serve`: run the server until it is told to stop."""

import asyncio

import typer

from dpsql.cli.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.told import told
from dpsql.cli.waiting import until_interrupted
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
        await until_interrupted()
