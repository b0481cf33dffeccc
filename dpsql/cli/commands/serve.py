"""`dpsql serve`: run the server until it is told to stop."""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated, Self

import typer

from dpsql.accounting.ledger import OpeningWay
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.logs import LogFormat, log_as
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.control import ControlSocket, notify
from dpsql.engines.base import NoEngine
from dpsql.engines.connect import connect_engine
from dpsql.engines.snapshot.open import ensure_snapshot
from dpsql.errors import DpsqlError
from dpsql.policy.config import Config
from dpsql.policy.load import load
from dpsql.question import Cancellation
from dpsql.server import Server
from dpsql.supervisor import Supervisor, Worker
from dpsql.system_limits import collect_seldom

# Serving until a signal says stop.

_STOP = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """The operator's signals to the process, caught from the start: `with Signals() as signals: …`, in a running loop."""

    def __init__(self) -> None:
        self._stopped, self._hung_up = asyncio.Event(), asyncio.Event()

    def __enter__(self) -> Self:
        """Catch signals; without this a SIGHUP during the start would end the process."""
        loop = asyncio.get_running_loop()
        for wanted in _STOP:
            loop.add_signal_handler(wanted, self.stop)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up.set)
        return self

    def __exit__(self, *error: object) -> None:
        """Give signals their usual meaning back."""
        loop = asyncio.get_running_loop()
        for wanted in (*_STOP, signal.SIGHUP):
            loop.remove_signal_handler(wanted)

    def stop(self) -> None:
        """Do as at a request to terminate."""
        self._stopped.set()

    async def until_stopped(self, reload: Callable[[], Awaitable[object]] | None = None) -> None:
        """Return at an interrupt or a request to terminate; call `reload` at each hang-up until then."""
        reloading = None if reload is None else asyncio.get_running_loop().create_task(self._reload(reload))
        try:
            await self._stopped.wait()
        finally:
            if reloading is not None:
                reloading.cancel()

    async def _reload(self, reload: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._hung_up.wait()
            # Before the files are read: a hang-up that comes meanwhile has them read once more.
            self._hung_up.clear()
            await reload()


# Waiting for an engine that starts later than dpsql does.

_LOG = logging.getLogger("dpsql.server")
_UNTIL_TRIED_AGAIN = 2.0  # seconds


def wait_for_engine(config: Config) -> None:
    """Return once the engine can be asked; say why not, once for each reason.

    Raises:
        ConfigError: waiting would not help.
    """
    said = ""
    while True:
        try:
            with closing(connect_engine(config)):
                return
        # Only this may mend by itself. Any other ConfigError, as of a wrong file, ends the start.
        except NoEngine as away:
            why = f"{away.message}: {away.hint}"
        if why != said:
            said = why
            _LOG.warning("the engine is waited for: %s", why)
            notify(STATUS=f"waiting: {' '.join(why.split())}")
        time.sleep(_UNTIL_TRIED_AGAIN)


# The command.

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
    loaded, way = load(config), OpeningWay.ANEW if new_ledger else OpeningWay.AS_IT_IS
    if wait:
        wait_for_engine(loaded)
    if loaded.listen.processes == 1:
        _run(loaded, way, None)
    elif code := Supervisor(loaded.listen, partial(_work, config, way), partial(_say_so, loaded)).run():
        raise typer.Exit(code)


def _work(file: Path, way: OpeningWay, worker: Worker) -> int:
    """Serve as one of several processes, by what the configuration says now; return the exit code."""

    @with_exit_code
    def run() -> None:
        # --new-ledger is said once: the other processes, and those that come later, find the ledger that the first has begun.
        _run(load(file), way if worker.first else OpeningWay.AS_IT_IS, worker)

    try:
        run()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def _run(loaded: Config, way: OpeningWay, worker: Worker | None) -> None:
    if loaded.snapshot is not None:
        # Before signals are caught: what takes long here may be interrupted, or killed, at any moment.
        ensure_snapshot(loaded, partial(typer.echo, err=True), Cancellation())
    asyncio.run(_serve(loaded, way, worker))


async def _serve(config: Config, ledger: OpeningWay, worker: Worker | None) -> None:
    with Signals() as signals:
        if worker is not None:
            _stop_when_alone(worker.lifeline, signals)
        async with Server(config, ledger, None if worker is None else worker.post) as server:
            # Once all is loaded, which stays for as long as we serve.
            collect_seldom()
            # Python's own is 5 ms.
            sys.setswitchinterval(_TURN)
            if worker is None:
                _say_so(config, server.address[1], server.pages)
            else:
                worker.announce(server.pages)
            who = "" if worker is None else f"process {worker.post.number + 1}: "
            number, processes = (0, 1) if worker is None else (worker.post.number, len(worker.post.doors))
            reload = partial(_reload, server, who)
            commands = {"reload": reload, "newest": partial(_serve_newest, server)}
            door = ControlSocket(config.file, number, processes, commands)
            await door.open()
            try:
                await signals.until_stopped(reload)
            finally:
                door.close()
            if worker is None:
                # Before the server ends, which lets running statements finish for some seconds.
                notify(STOPPING="1", STATUS="stopping")


async def _serve_newest(server: Server) -> str | None:
    try:
        await server.serve_newest()
    except DpsqlError as failed:
        return failed.message
    return None


def _stop_when_alone(lifeline: int, signals: Signals) -> None:
    """Stop when nobody watches over this process any more."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(lifeline)  # it stays readable
        signals.stop()

    # A pipe that only the watching process holds open: its end is read once that is gone, even by a kill.
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
