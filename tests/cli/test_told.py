"""Errors at the rim of the command line."""

import psycopg
import pytest
import typer
from psycopg import pq

from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.errors import AccessDenied, DpsqlError, EngineFailed


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            AccessDenied("rows of trips", because="some-rule", hint="Ask for COUNT(*)."),
            "ERROR: rows of trips\nDETAIL: rule: some-rule\nHINT: Ask for COUNT(*).\n",
        ),
        (
            EngineFailed(),
            f"ERROR: {EngineFailed.text}\nHINT: {EngineFailed.advice}\n",
        ),
        (psycopg.OperationalError("no route"), "ERROR: no route\n"),
        (FileNotFoundError(2, "No such file", "x"), "ERROR: x: No such file\n"),
    ],
)
def test_an_error_is_told_in_lines(
    error: DpsqlError | psycopg.Error | OSError, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLSTATE and message, then the rule and the hint; exit code 1; never a traceback."""

    @with_exit_code
    def fail() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        fail()
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == text


def test_our_own_mistakes_are_not_hidden() -> None:
    """What is no error for people goes on."""

    @with_exit_code
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


@pytest.mark.parametrize(
    ("detail", "told_"), [("rule: key-without-domain", True), ("Key (name)=(Ann) already exists.", False)]
)
def test_a_servers_detail_is_told_only_if_it_is_a_rule(
    detail: str, told_: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors of dpsql come through a connection too; another server's detail may have a row in it."""

    @with_exit_code
    def fail() -> None:
        raise psycopg.Error("no", info={pq.DiagnosticField.MESSAGE_DETAIL: detail.encode()})

    with pytest.raises(typer.Exit):
        fail()
    assert (f"DETAIL: {detail}\n" in capsys.readouterr().err) == told_
