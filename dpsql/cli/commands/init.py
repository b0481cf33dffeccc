"""`dpsql init`: schema files to begin with, from the names and types in a database's catalogue."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.catalogue import Catalogue, RecordsFile, read_catalogue
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.quoting import yaml_name
from dpsql.engines.duckdb.files import CSV, PARQUET
from dpsql.errors import ConfigError
from dpsql.policy.config import DuckDbFile, PostgresServer
from dpsql.policy.load.scalars import column_type

_HEAD = """\
# Declare bounds and values from what you know about the world, never from a look at the data.
table: {table}
# Whose rows are these, and how many of one unit count at the most? Or "public: true", if everybody may see every row.
# privacy_units:
#   person: {{column: …, max_rows: …}}
columns:
"""


@with_exit_code
def init(
    database: Annotated[str, typer.Argument(help="A DuckDB, Parquet or CSV file, or a PostgreSQL DSN.")],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where the schema files go.")] = Path("schemas"),
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="Only these tables.")] = None,
) -> None:
    """Write a schema file for each table of a database; only its catalogue is read, never its records."""
    source = _source(database)
    catalogue = read_catalogue(source)
    tables, advice = catalogue.tables, _advice(catalogue, source)
    unknown = sorted(set(table or ()) - set(tables))
    if unknown or not tables:
        found = f"has no table {', '.join(unknown)}" if unknown else "has no tables"
        hint = " ".join((f"It has {', '.join(sorted(tables)) or 'none'}.", *advice))
        raise ConfigError(f"the database {found}", hint=hint)
    files = _files(directory, table or sorted(tables))
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        with file.open("x", encoding="utf-8") as stream:
            stream.write(schema_text(name, tables[name]))
        typer.echo(f"wrote {file}")
    for line in advice:
        typer.echo(line)
    typer.echo("next: declare the privacy units, bounds and values in them, then run dpsql check")


def schema_text(table: str, columns: Mapping[str, str]) -> str:
    """Return the beginnings of a schema file."""
    return _HEAD.format(table=yaml_name(table)) + "".join(_line(name, kind) for name, kind in columns.items())


def _line(column: str, kind: str) -> str:
    if kind.startswith("enum"):
        return f"  {yaml_name(column)}: {_enumeration(kind.removeprefix('enum'))}\n"
    try:
        return f"  {yaml_name(column)}: {{type: {_flow(column_type(kind)[1])}}}\n"
    except ValueError:
        return f"  # {yaml_name(column)} is left out: dpsql has no type for {yaml_name(kind.partition('(')[0])}\n"


def _enumeration(labels: str) -> str:
    """Return a type of labels; in DuckDB they may have been made of values, and are for the owner to say."""
    return f"{{type: enum, values: {labels}}}" if labels else "{type: enum, values: []}  # its labels, in their order"


def _flow(declared: str) -> str:
    """Quote a type whose comma would end it within braces."""
    return f'"{declared}"' if "," in declared else declared


def _source(database: str) -> DuckDbFile | PostgresServer | RecordsFile:
    path = Path(database)
    if database.startswith(("postgresql://", "postgres://")) or ("=" in database and not path.exists()):
        return PostgresServer(database)
    return RecordsFile(path) if path.name.lower().endswith((*PARQUET, *CSV)) else DuckDbFile(path)


def _advice(catalogue: Catalogue, source: DuckDbFile | PostgresServer | RecordsFile) -> list[str]:
    """Return the advice about tables and columns that were left out."""
    if not catalogue.elsewhere:
        return []
    schemas = ", ".join(catalogue.elsewhere)
    if isinstance(source, PostgresServer):
        how = f"Name one in the DSN: options='-c search_path={catalogue.elsewhere[0]}'."
    else:
        how = 'dpsql serves those of schema "main"; make views there.'
    return [f"Left out are the tables of other schemas: {schemas}. {how}"]


def _files(directory: Path, tables: Collection[str]) -> dict[str, Path]:
    """Return a file for each table; a name that is no file name is changed."""
    files: dict[str, Path] = {}
    for table in tables:
        file = directory / f"{re.sub(r'[^A-Za-z0-9_-]', '_', table)}.yaml"
        if file.exists() or file in files.values():
            raise ConfigError(
                f"{file} exists already", hint="Give another --directory, or --table for some tables only."
            )
        files[table] = file
    return files
