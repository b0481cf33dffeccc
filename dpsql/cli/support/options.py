"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", help="The configuration.", envvar="DPSQL_CONFIG", show_default=True)
]
DEFAULT_CONFIG = Path("config.yaml")
RoleName = Annotated[str, typer.Option("--role", "-r", help="The role that asks and pays.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON: an object a line, unless there is but one.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="CSV, with the names in the first line.")]
Sql = Annotated[str, typer.Argument(help="One SQL statement; - reads it from standard input.")]


def statement(sql: str) -> str:
    """Return the statement that an argument stands for."""
    text = typer.get_text_stream("stdin").read() if sql == "-" else sql
    if not text.strip(" \t\r\n;"):
        where = "on standard input" if sql == "-" else "in the argument"
        raise typer.BadParameter(f"there is no statement {where}; dpsql.columns has what may be asked about")
    return text
