"""`dpsql reload`: have the server read its configuration and certificates again, and hear what it makes of them."""

import typer

from dpsql import control
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.errors import ConfigError


@with_exit_code
def reload(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Have the server of a configuration read it and its certificates again; fail with the reason if it does not."""
    said = control.ask_to_reload(config)
    # A dict for a set that keeps the order: several processes mostly give one reason.
    wrong = {verdict.wrong: None for verdict in said if verdict.wrong is not None}
    if wrong:
        raise ConfigError("\n".join(wrong), hint="Correct that, run dpsql check, and reload again; or restart dpsql.")
    typer.echo("reloaded" if len(said) == 1 else f"reloaded, {len(said)} processes")
