"""The command `dpsql`."""

from importlib.metadata import version
from typing import Annotated

import typer

from dpsql.cli.commands import (
    adopt,
    audit,
    audit_privacy,
    budget,
    check,
    demo,
    explain,
    explore,
    init,
    ledger,
    mcp,
    plot,
    profile,
    query,
    refresh,
    reload,
    serve,
    unlock,
    user,
)
from dpsql.cli.commands.epsilon.app import make_epsilon_app
from dpsql.cli.support.logs import log_to_standard_error
from dpsql.cli.support.planned import planned

app = typer.Typer(
    name="dpsql",
    help="A SQL proxy with differential privacy that PostgreSQL clients connect to unchanged.",
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
    log_to_standard_error()


for _command in (
    demo.demo,
    serve.serve,
    query.query,
    explain.explain_statement,
    explore.explore,
    check.check_config,
    init.init,
    profile.profile,
    audit.audit,
    audit_privacy.audit_privacy,
    refresh.refresh,
    reload.reload,
    unlock.unlock,
    adopt.adopt,
    plot.plot,
    mcp.mcp,
):
    app.command(_command.__module__.rpartition(".")[2].replace("_", "-"))(_command)
app.add_typer(budget.budget_app)
app.add_typer(ledger.ledger_app)
app.add_typer(user.user_app)
app.add_typer(make_epsilon_app(planned), name="epsilon")
