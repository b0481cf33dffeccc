"""`dpsql check`: the configuration by itself, and beside the engine's catalogue."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from dpsql.assembly import servable
from dpsql.cli.support.at_work import at_work
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.growing import said_of_growth
from dpsql.cli.support.options import DEFAULT_CONFIG, AsCsv, AsJson, ConfigFile
from dpsql.cli.support.rehearsed import ask_directory, see_that_serve_would_start
from dpsql.cli.support.report import show_report
from dpsql.cli.support.show import Form
from dpsql.engines.connect import connect_database, connect_engine
from dpsql.engines.owner import report
from dpsql.engines.snapshot.copying import check_copyable
from dpsql.engines.snapshot.open import current_snapshot, open_snapshot
from dpsql.engines.tables import check_tables
from dpsql.errors import ConfigError
from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.config import Config, CopiedDatabase, EmbeddedShadow, Shadow, SnapshotConfig
from dpsql.policy.load.shapes import write_schemas
from dpsql.shadow.server.sandbox import Sandbox

_Schemas = Annotated[
    Path | None, typer.Option("--json-schema", help="Write the JSON Schemas for editors into this folder instead.")
]


_Data = Annotated[bool, typer.Option("--data", help="Also read the records and print a private report, for owners.")]
_FilesOnly = Annotated[bool, typer.Option("--files-only", help="Check the files alone, without the engine.")]
_Groups = Annotated[int, typer.Option("--groups", help="With --data: how many groups a typical answer has.", min=1)]


@with_exit_code
def check_config(
    config: ConfigFile = DEFAULT_CONFIG,
    json_schema: _Schemas = None,
    files_only: _FilesOnly = False,
    data: _Data = False,
    groups: _Groups = 100,
    *,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Check the configuration, and compare it with the engine's tables: where `serve` would not start, this fails.

    Only with --data are records read; the rows of public tables always are. The ledger is opened in a copy. --json and --csv
    are for the report of --data.
    """
    if json_schema is not None:
        if not json_schema.is_dir():
            raise typer.BadParameter(f"{json_schema}: there is no such folder; make it first")
        for file in write_schemas(json_schema):
            typer.echo(f"wrote {file}")
        return
    loaded = servable(config)
    policy = loaded.policy
    views = f", {len(policy.views)} views" if policy.views else ""
    counts = f"{len(policy.tables)} tables{views}, {len(policy.roles)} roles, {len(loaded.users)} users"
    typer.echo(f"{config}: {counts}")
    for note in loaded.notes:
        typer.echo(f"note: {note}")
    _tell_sandbox(loaded.shadow)
    for line in () if loaded.snapshot is None else _old_copies(loaded, loaded.snapshot):
        typer.echo(line)
    for line in said_of_growth(loaded):
        typer.echo(line)
    if files_only:
        typer.echo("no mistake in the files")
        return
    if loaded.ldap is not None:
        typer.echo(ask_directory(loaded.ldap))
    if isinstance(loaded.engine, CopiedDatabase):
        _check_database(loaded, data=data, groups=groups, form=Form.of(as_json, as_csv))
        return
    with closing(connect_engine(loaded)) as engine:
        check_tables(policy, engine)
        typer.echo("the engine has every declared table and column")
        if loaded.snapshot is not None:
            check_copyable(policy, engine)
            typer.echo("every declared column can be copied into a snapshot")
        public = read_public(policy, engine)
        typer.echo(see_that_serve_would_start(loaded))
        typer.echo("no mistake")
        if data:
            with at_work("reading the records for the private report"):
                reports = tuple(report(policy, engine, public.declared))
            show_report(policy, reports, groups, Form.of(as_json, as_csv))


def _check_database(loaded: Config, *, data: bool, groups: int, form: Form) -> None:
    """Compare the declarations with a database that is copied; records are read from the copy, if there is one.

    Raises:
        ConfigError: `serve` would not start, or there is no copy to read.
    """
    with closing(connect_database(loaded)) as source:
        for note in source.notes():
            typer.echo(note)
        source.check_tables()
        typer.echo("the database has every declared table and column, and each can be copied")
        public = read_public(loaded.policy, source)
    typer.echo(see_that_serve_would_start(loaded))
    typer.echo("no mistake")
    if not data:
        return
    if current_snapshot(loaded) is None:
        raise ConfigError("--data reads the copy of the records, and there is none yet", hint="dpsql refresh makes it.")
    with closing(open_snapshot(loaded)) as engine, at_work("reading the copy for the private report"):
        reports = tuple(report(loaded.policy, engine, public.declared))
    show_report(loaded.policy, reports, groups, form)


def _old_copies(loaded: Config, snapshot: SnapshotConfig) -> Iterator[str]:
    """Yield what it means that a copy answers for longer than a window is, or for how long at all."""
    often = loaded.refresh.days
    until = f"until the next {loaded.refresh}" if often else "until somebody makes another (dpsql refresh)"
    if snapshot.oldest is None:
        yield f"a copy of the records answers {until}, however old it is: engine.oldest sets an end"
    for kind, budget in loaded.policy.budgets.items():
        if budget.window is not None and (often is None or often > budget.window):
            yield (
                f"budget.{kind}.window is {budget.window} days, and a copy answers {until}: all that is asked of one copy "
                "counts for the days on which it was made, and nothing becomes free before there is another"
            )


def _tell_sandbox(shadow: Shadow) -> None:
    """Tell how far this machine's kernel would shut the shadow in; refuse, if the configuration wants more."""
    if isinstance(shadow, EmbeddedShadow):
        typer.echo(str(Sandbox.as_needed(shadow.sandbox)))
