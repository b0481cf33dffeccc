"""The command `dpsql`, whose commands are each imported when they are asked for: all of them take as long as a second."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.logs import log_to_standard_error
from dpsql.libpq import forget_sent_settings

_PLACES: Mapping[str, str] = {
    "demo": "commands.demo:demo",
    "serve": "commands.serve:serve",
    "query": "commands.query:query",
    "explain": "commands.explain:explain_statement",
    "explore": "commands.explore:explore",
    "check": "commands.check:check_config",
    "init": "commands.init:init",
    "profile": "commands.profile:profile",
    "audit": "commands.audit:audit",
    "audit-privacy": "commands.audit_privacy:audit_privacy",
    "refresh": "commands.refresh:refresh",
    "reload": "commands.reload:reload",
    "unlock": "commands.unlock:unlock",
    "adopt": "commands.adopt:adopt",
    "plot": "commands.plot:plot",
    "mcp": "commands.mcp:mcp",
    "budget": "commands.budget:budget_app",
    "ledger": "commands.ledger:ledger_app",
    "user": "commands.user:user_app",
    "epsilon": "commands.epsilon.with_planner:with_planner",
}
"""The module below `dpsql.cli` of each, and its function there, or its commands."""


class _Commands(Mapping[str, Any]):
    """All commands by their names, each imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        command = _imported(*_PLACES[name].split(":"))
        alone = typer.Typer(add_completion=False)
        alone.callback()(lambda: None)
        if isinstance(command, typer.Typer):
            alone.add_typer(command, name=name)
        else:
            alone.command(name)(command)
        group: Any = typer.main.get_command(alone)
        return group.commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


@with_exit_code
def _imported(module: str, function: str) -> Any:
    """Return a command's function: where dpsql can't work with what is installed, its import says so."""
    return getattr(import_module(f"dpsql.cli.{module}"), function)


class _Group(TyperGroup):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        """Make a group as typer does, which has these commands."""
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is added to them

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, and import nothing."""
        _ = ctx
        return list(self.commands)


app = typer.Typer(
    name="dpsql",
    help="A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged.",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpsql {version('dpsql')}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Run one of the commands below."""
    forget_sent_settings()
    log_to_standard_error()
