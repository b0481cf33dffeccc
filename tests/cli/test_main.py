"""The command line as a whole."""

import subprocess
import sys

from typer.main import get_command

from dpsql.cli.main import app


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
