"""`dpsql refresh`: begin the next epoch."""

import typer

from dpsql.books import open_ledger
from dpsql.cli.support.exit_codes import told
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.policy.load import load


@told
def refresh(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let answers be measured anew; asking again will then cost again."""
    with open_ledger(load(config)) as ledger:
        typer.echo(f"epoch {ledger.advance('dpsql refresh')} has begun")
