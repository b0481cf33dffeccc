"""`dpsql refresh`: begin the next epoch, with a copy of the records if the configuration wants one."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dpsql import control
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import ConfigError
from dpsql.open_ledger import open_ledger
from dpsql.policy.load import load
from dpsql.question import Cancellation


@with_exit_code
def refresh(
    config: ConfigFile = DEFAULT_CONFIG,
    every: Annotated[
        bool, typer.Option("--all", help="Copy closed periods of tables that grow again, too: as after an erasure.")
    ] = False,
) -> None:
    """Start a new epoch: stored answers expire and cost ε again.

    With engine.snapshot the records are copied first; what was answered from the copy before stays free until that is done.
    Of tables that grow only what is in no closed period yet is copied.
    """
    loaded = load(config)
    with open_ledger(loaded) as ledger:
        if loaded.snapshot is None:
            typer.echo(f"epoch {ledger.advance('dpsql refresh')} has begun")
            return
        edition = write_snapshot(loaded, partial(typer.echo, err=True), Cancellation(), whole=every).edition
        _have_it_served(config)
        # By the copy's name: a server that has seen the copy first has begun this epoch, which is then not begun again.
        typer.echo(f"epoch {ledger.begin(edition.epoch)} has begun, with the {edition}")


def _have_it_served(config: Path) -> None:
    """Wait until a server of the configuration answers from the copy, with which its epoch begins."""
    if not control.is_served(config):
        return
    try:
        wrong = dict.fromkeys(verdict.wrong for verdict in control.ask_for_newest(config) if verdict.wrong is not None)
    except ConfigError as nobody:
        wrong = {nobody.message: None}
    for reason in wrong:
        typer.echo(f"the server does not answer from the new copy yet, and tries again: {reason}", err=True)
