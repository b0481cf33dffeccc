"""`dpsql unlock`: what has closed a role's account, or refused it a form of statement, and opening it again."""

from typing import Annotated

import typer

from dpsql.accounting.ledger import Event, Failing
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, ConfigFile
from dpsql.errors import ConfigError, Unsupported
from dpsql.open_ledger import open_ledger
from dpsql.policy.load import load

_MEANING = {
    "engine": "a measurement failed",
    "late": "a measurement failed",
    "broken": "a measurement failed by a bug of dpsql",
    "closed": "the account was closed",
}


@with_exit_code
def unlock(
    role: Annotated[
        str, typer.Argument(help="The role whose account is closed, or that is refused a form of statement.")
    ],
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Show why a role's account was closed, or a form of statement refused, and open it; the ledger keeps that it was."""
    loaded = load(config)
    with open_ledger(loaded) as ledger:
        closed, incidents = ledger.is_closed(role), ledger.incidents(role)
        if not closed and role not in loaded.policy.roles:
            raise ConfigError(f'there is no role "{role}"', hint=f"Roles: {', '.join(loaded.policy.roles)}")
        if not closed and not any(incident.what == Failing.BROKEN for incident in incidents):
            raise Unsupported(f'the account of role "{role}" is open', because="account-open-already")
        for incident in incidents:
            typer.echo(_line(incident))
        ledger.unlock(role)
    typer.echo(f'the account of role "{role}" is open again; the log of dpsql serve says more about what failed')


def _line(event: Event) -> str:
    # Another user's text: no control character of it may reach the terminal.
    statement = "".join(c if c.isprintable() else " " for c in event.statement)
    return f"{event.time:%Y-%m-%d %H:%M:%S} UTC: {_MEANING[event.what]}: {event.cause}; {event.user} asked: {statement}"
