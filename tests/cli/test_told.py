"""Errors at the rim of the command line."""

import psycopg
import pytest
import typer

from dpsql.cli.support.exit_codes import told
from dpsql.errors import AccessDenied, DpsqlError, EngineFailed


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            AccessDenied("rows of trips", hint="Ask for COUNT(*)."),
            "ERROR 42501: rows of trips\nHINT: Ask for COUNT(*).\n",
        ),
        (
            EngineFailed(),
            f"ERROR 58000: {EngineFailed.text}\nHINT: {EngineFailed.advice}\n",
        ),
        (psycopg.OperationalError("no route"), "ERROR 08000: no route\n"),
        (FileNotFoundError(2, "No such file", "x"), "ERROR 58030: x: No such file\n"),
    ],
)
def test_an_error_is_told_in_two_lines(
    error: DpsqlError | psycopg.Error | OSError, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLSTATE, message, hint; exit code 1; never a traceback."""

    @told
    def fail() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        fail()
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == text


def test_our_own_mistakes_are_not_hidden() -> None:
    """What is no error for people goes on."""

    @told
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
