"""`dpsql explore`: the story of what ε does, as one file in a browser; no server, no account, no records."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.web.explore import story_file


@with_exit_code
def explore(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file to write; one in a new folder unless given.")
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in a browser.")] = True,
) -> None:
    """Show what ε does, in five steps: synthetic and public rows in one HTML file, which needs no network."""
    file = output or Path(tempfile.mkdtemp(prefix="dpsql-explore-")) / "explore.html"
    file.write_text(story_file(), encoding="utf-8")
    typer.echo(f"{file}: open it in a browser; it needs no server")
    if show:
        webbrowser.open(file.absolute().as_uri())
