"""`dpsql serve`: run the server until it is told to stop."""

import asyncio
import logging
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dpsql.accounting.ledger import Way
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.logs import LogFormat, log_as
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.support.signals import Signals
from dpsql.cli.support.waiting import wait_for_engine
from dpsql.collector import collect_seldom
from dpsql.control import ControlDoor
from dpsql.engines.snapshot.open import see_that_there_is_one
from dpsql.errors import DpsqlError
from dpsql.notify import notify
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.question import Cancellation
from dpsql.server import Server
from dpsql.supervisor import Supervisor, Worker

_LOG = logging.getLogger("dpsql.server")
_TURN = 0.001
"""Seconds until a thread that computes lets another one go on: a user with few questions waits for each that plans."""


@with_exit_code
def serve(
    config: ConfigFile = DEFAULT_CONFIG,
    *,
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger", help="Start with a new ledger although the old one is missing, or an older copy; once."
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an engine that can't be reached yet, instead of ending.")
    ] = False,
    log_format: Annotated[
        LogFormat, typer.Option("--log-format", help="How lines of the log are written.")
    ] = LogFormat.TEXT,
) -> None:
    """Serve the data set to PostgreSQL clients."""
    log_as(log_format)
    loaded, way = load(config), Way.ANEW if new_ledger else Way.AS_IT_IS
    if wait:
        wait_for_engine(loaded)
    if loaded.listen.processes == 1:
        _run(loaded, way, None)
    elif code := Supervisor(loaded.listen, partial(_work, config, way), partial(_say_so, loaded)).run():
        raise typer.Exit(code)


def _work(file: Path, way: Way, worker: Worker) -> int:
    """Serve as one of several processes, by what the configuration says now; return the exit code."""

    @with_exit_code
    def run() -> None:
        _run(load(file), way if worker.first else Way.AS_IT_IS, worker)

    try:
        run()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def _run(loaded: Config, way: Way, worker: Worker | None) -> None:
    if loaded.snapshot is not None:
        # Before signals are caught: what takes long here may be interrupted, or killed, at any moment.
        see_that_there_is_one(loaded, partial(typer.echo, err=True), Cancellation())
    asyncio.run(_serve(loaded, way, worker))


async def _serve(config: Config, ledger: Way, worker: Worker | None) -> None:
    with Signals() as signals:
        if worker is not None:
            _stop_when_alone(worker.lifeline, signals)
        async with Server(config, ledger, None if worker is None else worker.post) as server:
            collect_seldom()
            sys.setswitchinterval(_TURN)
            if worker is None:
                _say_so(config, server.address[1], server.pages)
            else:
                worker.announce(server.pages)
            who = "" if worker is None else f"process {worker.post.number + 1}: "
            number, processes = (0, 1) if worker is None else (worker.post.number, len(worker.post.doors))
            reload = partial(_reload, server, who)
            door = ControlDoor(config.file, number, processes, reload)
            await door.open()
            try:
                await signals.until_stopped(reload)
            finally:
                door.close()
            if worker is None:
                notify(STOPPING="1", STATUS="stopping")


def _stop_when_alone(lifeline: int, signals: Signals) -> None:
    """Stop when nobody watches over this process any more."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(lifeline)  # it stays readable
        signals.stop()

    loop.add_reader(lifeline, stop)


def _say_so(config: Config, port: int, pages: str | None) -> None:
    shown = "" if pages is None else f", pages at {pages}"
    typer.echo(f"serving {config.policy.dataset} on {config.listen.host}:{port}{shown}; stop with Ctrl-C")
    notify(READY="1", STATUS=f"serving {config.policy.dataset} on {config.listen.host}:{port}")


async def _reload(server: Server, who: str) -> str | None:
    """Read the configuration again; where it can't be used, go on with the earlier one, and return why."""
    try:
        await server.reload()
    except DpsqlError as failed:
        wrong = failed.message
    except Exception:  # noqa: BLE001 # whatever it is: the next hang-up must be heard
        _LOG.exception("the configuration could not be read again")
        wrong = "see the log"
    else:
        typer.echo(f"{who}reloaded")
        return None
    _LOG.error("not reloaded: %s%s", who, wrong)
    return f"{who}not reloaded: {wrong}"
