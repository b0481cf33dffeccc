"""The command line as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from dpsql.cli.main import app

COMPILED = Path(os.environ.get("DRIVERS", ".venv/drivers")).absolute() / "compiled"
"""sqlglot with its compiled form, which SQLMesh and others bring."""


def test_a_command_is_imported_when_it_is_asked_for() -> None:
    """The whole of dpsql takes a second to import, and completion asks at each key."""
    program = "import sys; from dpsql.cli.main import app; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)  # noqa: S603
    imported = ran.stdout.split()
    assert "dpsql.cli.main" in imported
    assert not {"dpsql.gateway", "dpsql.rewrite", "duckdb", "dpsql.policy.load"} & {*imported}


def test_each_command_is_there() -> None:
    """Each name in the list of commands leads to one, which says what it does."""
    commands = get_command(app).commands  # type: ignore[attr-defined]  # it is a group
    assert len(commands) == 20
    assert all(command.help and command.name == name for name, command in commands.items())


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
            "ERROR F0000: sqlglot is compiled here (sqlglotc), and dpsql can't extend its parser",
            "HINT: Remove its compiled form: pip uninstall sqlglotc",
        ],
    )
