"""`dpsql profile`: how many rows units have, and which values are beyond their bounds, for all roles of a unit kind."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import psycopg
import typer
from rich.table import Table

import dpsql
from dpsql.accounting.privacy_loss import show_down
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.show import Form, print_blocks, progress
from dpsql.errors import ConfigError
from dpsql.policy.load import load
from dpsql.policy.model import Policy
from dpsql.privacy.release.release import is_unknown

_TAKE, _READ = "SELECT dpsql.take_profile()", "SELECT * FROM dpsql.profile"


@with_exit_code
def profile(
    config: ConfigFile = DEFAULT_CONFIG,
    unit: Annotated[str | None, typer.Option("--unit", "-u", help="Of this unit kind only.")] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Pay without being asked.")] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Take the profile of whole tables, once an epoch: each role that protects the unit kind pays, and the data set."""
    form, loaded = Form.of(as_json, as_csv), load(config)
    kinds = _kinds(loaded.policy, unit)
    for kind in kinds:
        roles, cost = _roles(loaded.policy, kind), loaded.policy.budgets[kind].profile
        assert cost is not None
        said = f"{kind}: at most ε = {show_down(cost)}, once an epoch, from the data set's budget and from {', '.join(roles)}"
        typer.echo(said, err=True)
    if not yes and not typer.confirm("Pay for it?", err=True):
        raise typer.Exit(1)
    failed, profiles = [], dict[str, dict[tuple[object, ...], dict[str, object]]]()
    for kind in kinds:
        for role in _roles(loaded.policy, kind):
            try:
                with progress(f"taking the profile of {kind} for role {role}"):
                    rows = _taken(loaded.file, role)
            except psycopg.Error as error:
                # Each role pays for itself: one that can't keeps none of the others from theirs.
                failed.append(f'role "{role}": {str(error).splitlines()[0]}')
            else:
                # What two of them know is the same, but one may use tables that another may not.
                known = profiles.setdefault(kind, {})
                known |= {key: row for row in rows if (key := _of(row)) not in known}
    if form is Form.JSON:
        typer.echo(json.dumps({kind: [*known.values()] for kind, known in profiles.items()}, indent=2))
    else:
        for kind, known in profiles.items():
            print_blocks(_table(kind, known.values()), form=form)
    if failed:
        raise ConfigError("; ".join(failed), hint="The other roles have it; run it again when these can pay.")


def _kinds(policy: Policy, unit: str | None) -> list[str]:
    """Return the unit kinds whose profile is to be taken.

    Raises:
        ConfigError: there is none, or the configuration allows none.
    """
    if unit is not None and unit not in policy.budgets:
        raise ConfigError(f'there is no unit kind "{unit}"; unit kinds: {", ".join(policy.budgets)}')
    wanted = policy.budgets if unit is None else [unit]
    kinds = [kind for kind in wanted if policy.budgets[kind].profile is not None]
    if not kinds:
        raise ConfigError(
            f"the configuration allows no profile of {' or '.join(wanted)}",
            hint=f"Say in it what one may cost: budget: {{{next(iter(wanted))}: {{profile: 0.1, …}}}}.",
        )
    return kinds


def _roles(policy: Policy, kind: str) -> Sequence[str]:
    return [role.name for role in policy.roles.values() if role.protects == kind]


def _taken(config: Any, role: str) -> list[dict[str, object]]:
    """Take a role's profile, and return what it then knows."""
    with dpsql.connect(config, role=role) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(_TAKE)
            cursor.execute(_READ)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _of(row: dict[str, object]) -> tuple[object, ...]:
    """Return what a row is about."""
    return row["table_name"], row["column_name"], row["what"]


def _table(kind: str, rows: Iterable[dict[str, object]]) -> Table:
    """Return the facts about a unit kind, for people."""
    table = Table("table", "column", f"{kind}: its profile", "value", "± with 95 %", header_style="bold")
    for row in rows:
        value, margin = row["value"], row["margin"]
        assert isinstance(value, float)
        what = str(row["table_name"]), str(row["column_name"] or ""), str(row["what"])
        if is_unknown(row["what"], margin):
            table.add_row(*what, "unknown", "")
            continue
        table.add_row(
            *what,
            f"{value:,.4g}" if value < 1 else f"{value:,.0f}",
            "" if not isinstance(margin, float) else f"{margin:,.2g}" if margin < 1 else f"{margin:,.0f}",
        )
    return table
