"""`dpsql demo`: data, server, a first answer and log-ins, in one command."""

import asyncio
import errno
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import psycopg
import typer
from psycopg.conninfo import make_conninfo

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.show import show_answer
from dpsql.cli.support.signals import Signals
from dpsql.demo.setting import USERS, demo_config, new_passwords
from dpsql.libpq import OWN
from dpsql.policy.config import Config
from dpsql.scratch import Scratch
from dpsql.server import Server

_FIRST = "SELECT payment_type, COUNT(*) AS trips, AVG(fare) AS average_fare FROM trips GROUP BY payment_type"
_FIRST_USER = "olga"
_WHO = {
    "owner": "who also sees what others asked",
    "collaborator": "with medium noise",
    "third_party": "from whom drivers are protected, with more noise",
}
"""What the demo's roles are for."""
_TRIES = 20


@with_exit_code
def demo(
    port: Annotated[
        int,
        typer.Option(
            help="The port, or the next one that is free; the pages' is as far from it as 8439 from 5439.",
            min=0,
            max=65500,
        ),
    ] = 5439,
) -> None:
    """Serve synthetic taxi trips on this machine, with fresh passwords and a fresh ledger, until interrupted."""
    # The shadow may run as another user, who has to pass through; what is private lies one level deeper.
    with Scratch("dpsql-demo-", mode=0o711) as scratch:
        run = scratch.path
        typer.echo("preparing a million synthetic taxi trips …", err=True)
        passwords = new_passwords()
        config = demo_config(run, passwords, port)
        asyncio.run(_serve(config, passwords))


async def _serve(config: Config, passwords: Mapping[str, str]) -> None:
    """Serve on the first port that is free."""
    for port in range(config.listen.port, config.listen.port + _TRIES):
        moved = _moved(config, port - config.listen.port)
        try:
            async with Server(moved) as server:
                await _run(server, moved.policy.dataset, passwords)
        except OSError as failure:
            if failure.errno != errno.EADDRINUSE:
                raise
        else:
            return
    raise OSError(errno.EADDRINUSE, f"no free port from {config.listen.port} to {port}")


def _moved(config: Config, by: int) -> Config:
    """Return the configuration with its ports, also that of the pages, moved."""
    web = config.web and replace(config.web, port=config.web.port + by)
    return replace(config, listen=replace(config.listen, port=config.listen.port + by), web=web)


async def _run(server: Server, dataset: str, passwords: Mapping[str, str]) -> None:
    host, port = server.address
    links = {name: f"postgresql://{name}:{passwords[name]}@{host}:{port}/{dataset}" for name in USERS}
    await asyncio.to_thread(_ask, links[_FIRST_USER])
    typer.echo(
        "Anybody below can connect, until Ctrl-C. These budgets are for play: dpsql epsilon advise gives some that protect."
    )
    for name, link in links.items():
        typer.echo(f"{name}, {USERS[name].replace('_', ' ')}, {_WHO[USERS[name]]}:")
        typer.echo(f"connect: {link}")
    if server.pages is not None:
        typer.echo(f"pages: {server.pages} (with the same names and passwords)")
    with Signals() as signals:
        await signals.until_stopped()


def _ask(link: str) -> None:
    """Ask a first question as any client would, and print the answer."""
    typer.echo(f"{_FIRST};")
    with psycopg.connect(make_conninfo(link, **OWN)) as connection, connection.cursor() as cursor:
        cursor.execute(_FIRST.encode())
        show_answer(cursor)
