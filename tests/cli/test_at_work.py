"""Signs of life of long work, and what is refused before any work begins."""

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.cli.support.show import progress

RUN = CliRunner()


def test_long_work_is_told_and_short_work_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    """On the standard error, so that the output stays what it is."""
    with progress("reading", first=60):
        pass
    assert capsys.readouterr() == ("", "")
    with progress("reading the records", first=0.01):
        while not (told := capsys.readouterr()).err:
            time.sleep(0.01)
    assert told == ("", "reading the records …\n")


def test_work_that_fails_is_told_no_longer(capsys: pytest.CaptureFixture[str]) -> None:
    """The teller ends with it."""
    with pytest.raises(ValueError, match="no"), progress("reading", first=60):
        raise ValueError("no")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["query", "", "-r", "x"], "there is no statement in the argument"),
        (["query", " ; ", "-r", "x"], "there is no statement in the argument"),
        (["explain", "", "-r", "x"], "there is no statement in the argument"),
        (
            ["epsilon", "risk", "--risk", "1/3", "--values", "1,2,3", "--epsilon", "-1"],
            "an ε of -1: it must be above 0",
        ),
        (["epsilon", "risk", "--risk", "1/3", "--people", "9", "--epsilon", "0"], "an ε of 0: it must be above 0"),
        (["check", "--json-schema", "nowhere"], "nowhere: there is no such folder; make it first"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    command: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the thing, its limit and the next step."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    result = RUN.invoke(app, command)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_an_epsilon_is_judged_by_the_rule_for_people_too() -> None:
    """As a line of its own."""
    result = RUN.invoke(app, ["epsilon", "risk", "--risk", "1/3", "--people", "10000", "--epsilon", "2"])
    assert "as given" in result.output
    assert "88.08 %" in result.output
