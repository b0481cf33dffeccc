"""`dpsql refresh`: begin the next epoch."""

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.open_ledger import open_ledger
from dpsql.policy.load import load


@with_exit_code
def refresh(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let answers be measured anew; asking again will then cost again."""
    with open_ledger(load(config)) as ledger:
        typer.echo(f"epoch {ledger.advance('dpsql refresh')} has begun")
