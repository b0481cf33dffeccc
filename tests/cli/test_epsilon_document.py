"""What docs/choosing-epsilon.md shows is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.commands.epsilon import epsilon_app

PAGE = Path(__file__).parents[2] / "docs" / "choosing-epsilon.md"
EXAMPLES = re.findall(r"```console\n\$ dpsql epsilon (.*)\n((?:.*\n)*?)```", PAGE.read_text(encoding="utf-8"))


def squeezed(line: str) -> str:
    """Return a line of a table without its padding and frame."""
    return re.sub(r"[\s│┃]+", " ", line).strip()


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_examples_print_what_the_page_shows(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line that is shown is among those that are printed."""
    monkeypatch.setenv("COLUMNS", "120")
    result = CliRunner().invoke(epsilon_app, shlex.split(command))
    assert result.exit_code == 0, result.output
    printed = {squeezed(line) for line in result.output.splitlines()}
    assert {squeezed(line) for line in shown.splitlines()} <= printed


def test_the_page_has_examples_of_every_command() -> None:
    """So that the test above can't become empty."""
    assert {command.split()[0] for command, _ in EXAMPLES} == {"risk", "advise", "noise"}
