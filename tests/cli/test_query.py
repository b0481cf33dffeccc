"""`dpsql query` and `dpsql explain`, against an ordinary PostgreSQL in the server's place."""

from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

import dpsql
from dpsql.cli.main import app
from dpsql.shadow.server.postgres import Postgres

RUN = CliRunner()


@pytest.fixture(autouse=True)
def _connected(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `connect` lead to PostgreSQL, and only for one role of one configuration."""

    def connect(config: Path, *, role: str) -> psycopg.Connection[tuple[object, ...]]:
        assert (config, role) == (Path("c.yaml"), "owner")
        return psycopg.connect(postgres.dsn("postgres"))

    monkeypatch.setattr(dpsql, "connect", connect)


def _run(command: str, sql: str, given: str | None = None) -> tuple[int, str, str]:
    done = RUN.invoke(app, [command, "--config", "c.yaml", "--role", "owner", sql], input=given)
    return done.exit_code, done.stdout, done.stderr


def test_an_answer_is_a_table() -> None:
    """Column names and a row, in plain columns where no terminal is; a per cent sign is only that."""
    code, out, err = _run("query", "SELECT 7 % 4 AS rest, NULL AS nothing")
    assert (code, err) == (0, "")
    assert out == "rest  nothing\n   3     NULL\n"


@pytest.mark.parametrize(
    ("form", "printed"),
    [
        ("--csv", 'rest,nothing,text\n3,,"a,b"\n'),
        ("--json", '{"rest": 3, "nothing": null, "text": "a,b"}\n'),
    ],
)
def test_programs_have_forms_of_their_own(form: str, printed: str) -> None:
    """Numbers are numbers, and NULL is no text."""
    words = ["query", "--config", "c.yaml", "--role", "owner", form]
    done = RUN.invoke(app, [*words, "SELECT 7 % 4 AS rest, NULL AS nothing, 'a,b' AS text"])
    assert (done.exit_code, done.stdout) == (0, printed)
    assert RUN.invoke(app, [*words, "--csv", "--json", "SELECT 1"]).exit_code == 2


def test_a_dash_reads_standard_input() -> None:
    """Long statements come from a file."""
    code, out, _ = _run("query", "-", "SELECT 42 AS answer")
    assert code == 0
    assert "42" in out


def test_each_statement_has_its_answer() -> None:
    """What returns no rows answers with its command."""
    _, out, _ = _run("query", "SET timezone = 'UTC'; SELECT 1 AS one")
    assert out.startswith("SET\n")
    assert "one" in out


def test_notices_go_to_stderr() -> None:
    """They are not part of the answer."""
    _, out, err = _run("query", "DO $$ BEGIN RAISE NOTICE 'mind'; END $$")
    assert (out, err) == ("DO\n", "NOTICE: mind\n")


def test_a_refusal_is_told_with_its_code() -> None:
    """SQLSTATE, message and hint of the server."""
    code, out, err = _run("query", "SELECT no_column FROM (SELECT 1 AS a_column) t")
    assert (code, out) == (1, "")
    assert err == (
        'ERROR: column "no_column" does not exist\nHINT: Perhaps you meant to reference the column "t.a_column".\n'
    )


def test_explain_prints_lines() -> None:
    """One line of the plan a line."""
    code, out, _ = _run("explain", "SELECT 1")
    assert code == 0
    assert out.startswith("Result")


def test_a_role_is_needed() -> None:
    """Whose budget pays is never guessed."""
    assert RUN.invoke(app, ["query", "SELECT 1"]).exit_code == 2
