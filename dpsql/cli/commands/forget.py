"""`dpsql forget`: the accounts of somebody who was erased at the source."""

from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.engines.snapshot.accounts import AccountStore
from dpsql.engines.snapshot.directory import SnapshotDirectory
from dpsql.errors import ConfigError
from dpsql.policy.load import load
from dpsql.secret import read_or_make_secret, secret_file


@with_exit_code
def forget(
    kind: Annotated[str, typer.Argument(help="The unit kind, as the tables declare it: patient.")],
    unit: Annotated[str, typer.Argument(help="Who it is, as the tables name them: 4711.")],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Remove the accounts of somebody whose records were erased; what was released stays.

    Erase the records at the source before, and run dpsql refresh after, which reads all periods again. Who comes back by
    that name weighs nothing in the questions that they had a part in, until their terms are over.
    """
    loaded = load(config)
    policy, copied = loaded.policy, loaded.snapshot
    kinds = {kind for table in policy.tables.values() if table.grows is not None for kind in table.units}
    if copied is None or kind not in kinds:
        raise ConfigError(
            f'no table that grows protects a "{kind}", so that there are no accounts',
            hint=f"Kinds: {', '.join(sorted(kinds)) or 'none'}.",
        )
    # First: whatever becomes of the rest, the next copy reads all periods again, and has nobody who was erased by then.
    SnapshotDirectory(copied.directory).request_whole_copy()
    # A hash of the name stays, so that who comes back does not begin anew. It is keyed by the server's own secret, without
    # which the server would not know them again.
    secret = read_or_make_secret(secret_file(loaded.shadow, loaded.file.parent))
    number = AccountStore(copied.accounts, Path(), copied.resources, secret).forget(kind, unit)
    if number:
        typer.echo(f"{kind} {unit} had accounts in {number} standing questions; they are removed")
        typer.echo("what was released of these questions stays as it is, and can't be taken back")
    else:
        typer.echo(f"{kind} {unit} has no account in any standing question")
    typer.echo(
        "the copy of the records was made before they were erased, perhaps: dpsql refresh makes another, of all periods"
    )
