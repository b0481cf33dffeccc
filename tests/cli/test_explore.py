"""`dpsql explore`: one file, opened or not."""

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app


def test_the_story_is_written_and_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file's own address; `--no-open` leaves it at that."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    file = tmp_path / "story.html"
    assert CliRunner().invoke(app, ["explore", "-o", str(file)]).exit_code == 0
    assert opened == [file.as_uri()]
    assert "What ε does, in five steps" in file.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["explore", "-o", str(file), "--no-open"]).exit_code == 0
    assert len(opened) == 1


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the reason, and no traceback."""
    file = tmp_path / "nowhere" / "story.html"
    result = CliRunner().invoke(app, ["explore", "-o", str(file), "--no-open"])
    assert result.exit_code != 0
    assert "nowhere" in result.output
    assert "Traceback" not in result.output
