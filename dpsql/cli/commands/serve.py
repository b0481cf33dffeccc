"""`dpsql serve`: run the server until it is told to stop."""

import asyncio
import logging
from functools import partial
from typing import Annotated

import typer

from dpsql.accounting.sqlite.file import Way
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.support.signals import Signals
from dpsql.collector import collect_seldom
from dpsql.engines.snapshot.open import see_that_there_is_one
from dpsql.errors import DpsqlError
from dpsql.gateway.views import with_checked_views
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.question import Cancellation
from dpsql.server import Server

_LOG = logging.getLogger("dpsql.server")


@with_exit_code
def serve(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Start though the ledger is gone, or an older copy; once.")
    ] = False,
) -> None:
    """Serve the data set to PostgreSQL clients."""
    loaded = load(config)
    if loaded.snapshot is not None:
        # Before signals are caught: what takes long here may be interrupted, or killed, at any moment.
        see_that_there_is_one(with_checked_views(loaded), partial(typer.echo, err=True), Cancellation())
    asyncio.run(_serve(loaded, Way.ANEW if new_ledger else Way.AS_IT_IS))


async def _serve(config: Config, ledger: Way) -> None:
    with Signals() as signals:
        async with Server(config, ledger) as server:
            collect_seldom()
            host, port = server.address
            pages = "" if server.pages is None else f", pages at {server.pages}"
            typer.echo(f"serving {config.policy.dataset} on {host}:{port}{pages}; stop with Ctrl-C")
            await signals.until_stopped(partial(_reload, server))


async def _reload(server: Server) -> None:
    """Read the configuration again; where it can't be used, go on with the earlier one."""
    try:
        await server.reload()
    except DpsqlError as failed:
        typer.echo(f"not reloaded: {failed.message}", err=True)
    except Exception:  # noqa: BLE001 # whatever it is: the next hang-up must be heard
        _LOG.exception("the configuration could not be read again")
        typer.echo("not reloaded: see the log", err=True)
    else:
        typer.echo("reloaded")
