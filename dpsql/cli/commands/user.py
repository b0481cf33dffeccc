"""`dpsql user`: make the line of the configuration that lets somebody log in."""

import sys
from typing import Annotated

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import RoleName
from dpsql.cli.support.quoting import yaml_name
from dpsql.errors import ConfigError
from dpsql.policy.load.scalars import identifier
from dpsql.wire.protocol.scram import Verifier


@with_exit_code
def user(name: Annotated[str, typer.Argument(help="The name to log in with.")], role: RoleName) -> None:
    """Ask for a password and print the user's line for config.yaml; the password itself is kept nowhere."""
    for given in (name, role):
        try:
            identifier(given)
        except ValueError as failure:
            raise ConfigError(f'"{given}" {failure}') from None
    verifier = Verifier.of(_password())
    typer.echo(f'  {yaml_name(name)}: {{role: {yaml_name(role)}, password: "{verifier}"}}')


def _password() -> str:
    """Ask at a terminal, twice; else read one line."""
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise ConfigError("the password is empty", hint="Give it on one line of standard input.")
    return password
