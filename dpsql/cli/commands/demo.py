"""`dpsql demo`: data, server, a first answer and log-ins, in one command."""

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import psycopg
import typer
from psycopg.conninfo import make_conninfo

from dpsql.cli.commands.serve import Signals
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.show import show_answer
from dpsql.demo.growing_trips import BEGINS, Arrivals, HurriedClock, growing_config
from dpsql.demo.setting import USERS, demo_config, new_passwords
from dpsql.libpq import OWN
from dpsql.policy.config import Config
from dpsql.private_files import Scratch
from dpsql.server import Server

_FIRST = "SELECT payment_type, COUNT(*) AS trips, AVG(fare) AS average_fare FROM trips GROUP BY payment_type"
_DAILY = (
    "SELECT pickup_ts::date AS day, COUNT(*) AS trips FROM trips "
    "WHERE pickup_ts >= '2019-03-01' AND pickup_ts < '2019-04-01' GROUP BY 1 ORDER BY 1"
)
_GROWING = (
    f"It is {BEGINS:%-d %B %Y} here, and a day lasts a minute. Ask the question above again: it has a day more each minute.",
    "Once paid it pays nothing more this month, which dpsql.standing says. Name the days: current_date is today's.",
)
_FIRST_USER = "olga"
_WHO = {
    "owner": "who also sees what others asked",
    "collaborator": "with medium noise",
    "third_party": "from whom drivers are protected, with more noise",
}
"""What the demo's roles are for."""
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Growth:
    """How the demo's trips grow: by which clock, and what lets them arrive."""

    clock: HurriedClock
    arrivals: Arrivals

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Let time pass and trips arrive while the block runs."""
        self.clock.start()
        arriving = asyncio.create_task(self.arrivals.arrive(self.clock))
        try:
            yield
        finally:
            arriving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await arriving


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
    grows: Annotated[
        bool,
        typer.Option("--growing", help="Trips arrive by the day, a day a minute: charts by day grow, and pay once."),
    ] = False,
) -> None:
    """Serve synthetic taxi trips on this machine, with fresh passwords and a fresh ledger, until interrupted."""
    # The shadow may run as another user, who has to pass through; what is private lies one level deeper.
    with Scratch("dpsql-demo-", mode=0o711) as scratch:
        run = scratch.path
        typer.echo("preparing a million synthetic taxi trips …", err=True)
        passwords = new_passwords()
        config = demo_config(run, passwords, port)
        if not grows:
            asyncio.run(serve(config, passwords))
            return
        config, arrivals = growing_config(config, run)
        asyncio.run(serve(config, passwords, Growth(HurriedClock(), arrivals)))


async def serve(config: Config, passwords: Mapping[str, str], growth: Growth | None = None) -> None:
    """Serve on the first port that is free."""
    for port in range(config.listen.port, config.listen.port + _TRIES):
        # Tried by starting on it: a look beforehand would say nothing of the moment after.
        moved = _moved(config, port - config.listen.port)
        try:
            async with _server(moved, growth) as server:
                await _run(server, moved.policy.dataset, passwords, growth)
        except OSError as failure:
            if failure.errno != errno.EADDRINUSE:
                raise
        else:
            return
    raise OSError(errno.EADDRINUSE, f"no free port from {config.listen.port} to {port}")


def _server(config: Config, growth: Growth | None) -> Server:
    return Server(config) if growth is None else Server(config, clock=growth.clock)


def _moved(config: Config, by: int) -> Config:
    """Return the configuration with its ports, also that of the pages, moved."""
    web = config.web and replace(config.web, port=config.web.port + by)
    return replace(config, listen=replace(config.listen, port=config.listen.port + by), web=web)


async def _run(server: Server, dataset: str, passwords: Mapping[str, str], growth: Growth | None) -> None:
    host, port = server.address
    links = {name: f"postgresql://{name}:{passwords[name]}@{host}:{port}/{dataset}" for name in USERS}
    # On a thread: the server answers on this loop, and would never come to it while the loop waits for the answer.
    await asyncio.to_thread(_ask, links[_FIRST_USER], _FIRST if growth is None else _DAILY)
    typer.echo(
        "Anybody below can connect, until Ctrl-C. These budgets are for play: dpsql epsilon advise gives some that protect."
    )
    who = _WHO if growth is None else {**_WHO, "collaborator": "who pays half as much"}
    for name, link in links.items():
        typer.echo(f"{name}, {USERS[name].replace('_', ' ')}, {who[USERS[name]]}:")
        typer.echo(f"connect: {link}")
    if server.pages is not None:
        typer.echo(f"pages: {server.pages} (with the same names and passwords)")
    if growth is not None:
        typer.echo("\n".join(_GROWING))
    async with contextlib.AsyncExitStack() as going:
        signals = going.enter_context(Signals())
        if growth is not None:
            # Only now: the first answer is of the first day, however long the start took.
            await going.enter_async_context(growth.going_on())
        await signals.until_stopped()


def _ask(link: str, question: str) -> None:
    """Ask a first question as any client would, and print the answer."""
    typer.echo(f"{question};")
    # The link is as people get it. OWN keeps the environment out, as PGSSLMODE, which is meant for other servers.
    with psycopg.connect(make_conninfo(link, **OWN)) as connection, connection.cursor() as cursor:
        cursor.execute(question.encode())
        show_answer(cursor)
