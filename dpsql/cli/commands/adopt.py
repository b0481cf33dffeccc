"""`dpsql adopt`: a ledger of another data set, or of one that was elsewhere, becomes this one's."""

import typer

from dpsql.accounting.ledger import Way
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.errors import Unsupported
from dpsql.open_ledger import open_ledger
from dpsql.policy.load import load


@with_exit_code
def adopt(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Let the ledger belong to the data set and the engine that the configuration names; what was charged stays charged."""
    loaded = load(config)
    with open_ledger(loaded, Way.ADOPTED) as ledger:
        before = ledger.adopted
    if before is None:
        raise Unsupported(
            f'the ledger is that of the data set "{loaded.policy.dataset}" already', because="ledger-adopted-already"
        )
    typer.echo(f'the ledger was that of the data set "{before.name}" in {before.source}')
    typer.echo(f'it is now that of "{loaded.policy.dataset}"; stored answers are forgotten, charges are not')
