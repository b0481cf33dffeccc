"""The command line as a whole."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from dpsql.cli.main import COMMANDS, app

COMPILED = Path(os.environ.get("DRIVERS", ".venv/drivers")).absolute() / "compiled"
"""sqlglot with its compiled form, which SQLMesh and others bring."""


def test_a_command_is_imported_when_it_is_asked_for() -> None:
    """The whole of dpsql takes a second to import, and completion asks at each key."""
    program = "import sys; from dpsql.cli.main import app; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)  # noqa: S603
    imported = ran.stdout.split()
    assert "dpsql.cli.main" in imported
    assert not {"dpsql.gateway", "dpsql.rewrite", "duckdb", "dpsql.policy.load"} & {*imported}


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_imports_no_command(option: str) -> None:
    """A list of commands is printed at once."""
    program = f"import sys; sys.argv = ['dpsql', '{option}']; from dpsql.cli.main import app\n"
    program += "try: app()\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)  # noqa: S603
    assert "Watch over it" in ran.stdout
    assert not {"dpsql.gateway", "dpsql.cli.commands.query", "psycopg", "duckdb"} & {*ran.stderr.split()}


def test_completion_imports_no_command() -> None:
    """A shell asks at each key."""
    asked = {"_DPSQL_COMPLETE": "complete_bash", "COMP_WORDS": "dpsql re", "COMP_CWORD": "1"}
    program = "import sys; sys.argv = ['dpsql']; from dpsql.cli.main import app\n"
    program += "try: app(prog_name='dpsql')\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, env={**os.environ, **asked}
    )
    assert ran.stdout.split() == ["reload", "refresh"]
    assert not {"dpsql.gateway", "dpsql.cli.commands.reload", "psycopg"} & {*ran.stderr.split()}


@pytest.mark.parametrize("name", [name for entries in COMMANDS.values() for name in entries])
def test_each_command_is_what_the_list_says(name: str) -> None:
    """Its own help begins with the same sentence, and it can be called as its example calls it."""
    (entry,) = (entries[name] for entries in COMMANDS.values() if name in entries)
    command = get_command(app).commands[name]  # type: ignore[attr-defined]  # it is a group
    assert " ".join(command.help.partition("\n\n")[0].split()) == entry.help
    assert command.name == name
    for path, inner in _with_commands_of(command, [name]):
        _, example = inner.epilog.split("Example: dpsql ")
        words = shlex.split(example.partition(" > ")[0])
        assert words[: len(path)] == path
        inner.make_context(path[-1], words[len(path) :], resilient_parsing=hasattr(inner, "commands"))


def _with_commands_of(command: Any, path: list[str]) -> Iterator[tuple[list[str], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _with_commands_of(inner, [*path, name])


def test_a_module_can_be_run() -> None:
    """Where scripts are not on the path."""
    ran = subprocess.run([sys.executable, "-m", "dpsql", "--version"], capture_output=True, check=True, text=True)
    assert ran.stdout.startswith("dpsql ")


@pytest.mark.parametrize(
    "command", ["check", "query -r owner SELECT", "explain -r owner SELECT", "serve", "init x.duckdb"]
)
def test_a_compiled_parser_is_told_in_a_sentence(command: str) -> None:
    """With the cure, by every command that reads SQL: classes of dpsql's can't extend compiled ones."""
    assert COMPILED.is_dir()
    program = "from dpsql.cli.main import app; app()"
    ran = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, *command.split()],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(COMPILED)},
        text=True,
    )
    assert (ran.returncode, ran.stderr.splitlines()) == (
        1,
        [
            "ERROR: sqlglot is compiled here (sqlglotc), and dpsql can't extend its parser",
            "HINT: Remove its compiled form: pip uninstall sqlglotc",
        ],
    )
