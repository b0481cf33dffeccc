"""`dpsql check`: the configuration by itself, and beside the engine's catalogue."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.told import told
from dpsql.engines.base import NoEngine
from dpsql.engines.open import connect
from dpsql.engines.tables import check_tables
from dpsql.policy.load import load
from dpsql.policy.load.editors import write_schemas

_Schemas = Annotated[
    Path | None, typer.Option("--json-schema", help="Write the JSON Schemas for editors into this directory instead.")
]


@told
def check(config: ConfigFile = DEFAULT_CONFIG, json_schema: _Schemas = None) -> None:
    """Check the configuration, and compare it with the engine's tables if the engine can be reached."""
    if json_schema is not None:
        for file in write_schemas(json_schema):
            typer.echo(f"wrote {file}")
        return
    loaded = load(config)
    policy = loaded.policy
    counts = f"{len(policy.tables)} tables, {len(policy.roles)} roles, {len(loaded.users)} users"
    typer.echo(f"{config}: {counts}: no mistake")
    try:
        engine = connect(loaded)
    except NoEngine as failure:
        typer.echo(f"the engine was not compared: {failure.message}")
        return
    with closing(engine):
        check_tables(policy, engine)
        typer.echo("the engine has every declared table and column")
