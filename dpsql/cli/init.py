"""`dpsql init`: schema files to begin with, from the names and types in a database's catalogue."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.catalogue import read_catalogue
from dpsql.cli.quoting import quoted
from dpsql.cli.told import told
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


@told
def init(
    database: Annotated[str, typer.Argument(help="A DuckDB file, or postgresql://user@host/database.")],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where the schema files go.")] = Path("schemas"),
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="Only these tables.")] = None,
) -> None:
    """Write a schema file for each table of a database; only its catalogue is read, never its records."""
    catalogue = read_catalogue(_engine(database))
    unknown = sorted(set(table or ()) - set(catalogue))
    if unknown or not catalogue:
        found = f"has no table {', '.join(unknown)}" if unknown else "has no tables"
        raise ConfigError(f"the database {found}", hint=f"It has {', '.join(sorted(catalogue)) or 'none'}.")
    files = _files(directory, table or sorted(catalogue))
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        with file.open("x", encoding="utf-8") as stream:
            stream.write(schema_text(name, catalogue[name]))
        typer.echo(f"wrote {file}")
    typer.echo("next: declare the privacy units, bounds and values in them, then run dpsql check")


def schema_text(table: str, columns: Mapping[str, str]) -> str:
    """Return the beginnings of a schema file."""
    return _HEAD.format(table=quoted(table)) + "".join(_line(name, kind) for name, kind in columns.items())


def _line(column: str, kind: str) -> str:
    try:
        return f"  {quoted(column)}: {{type: {_flow(column_type(kind)[1])}}}\n"
    except ValueError:
        # Without its parameters: an enumeration's labels may be values.
        return f"  # {quoted(column)} is left out: dpsql has no type for {quoted(kind.partition('(')[0])}\n"


def _flow(declared: str) -> str:
    """Quote a type whose comma would end it within braces."""
    return f'"{declared}"' if "," in declared else declared


def _engine(database: str) -> DuckDbFile | PostgresServer:
    if database.startswith(("postgresql://", "postgres://")):
        return PostgresServer(database)
    return DuckDbFile(Path(database))


def _files(directory: Path, tables: Collection[str]) -> dict[str, Path]:
    """Return a file for each table; a name that is no good as a file's is changed."""
    files: dict[str, Path] = {}
    for table in tables:
        file = directory / f"{re.sub(r'[^A-Za-z0-9_-]', '_', table)}.yaml"
        if file.exists() or file in files.values():
            raise ConfigError(
                f"{file} exists already", hint="Give another --directory, or --table for some tables only."
            )
        files[table] = file
    return files
