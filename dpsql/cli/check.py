"""`dpsql check`: the configuration by itself, and beside the engine's catalogue."""

from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.catalogue import read_catalogue
from dpsql.cli.compare import differences
from dpsql.cli.options import DEFAULT_CONFIG, ConfigFile
from dpsql.cli.told import told
from dpsql.errors import ConfigError
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
        catalogue = read_catalogue(loaded.engine)
    except ConfigError as failure:
        typer.echo(f"the engine was not compared: {failure.message}")
        return
    found = differences(policy, catalogue)
    if found:
        raise ConfigError("\n".join(found), hint="Correct the schema files, or the tables.")
    typer.echo("the engine has every declared table and column")
