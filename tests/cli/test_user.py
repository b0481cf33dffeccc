"""`dpsql user`: the line for the configuration."""

from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.policy.load.document import parse_document
from dpsql.policy.load.mistakes import Mistakes
from dpsql.policy.load.scalars import verifier

RUN = CliRunner()


def test_the_line_is_right_for_the_configuration() -> None:
    """It holds a verifier that the loader accepts, and not the password."""
    done = RUN.invoke(app, ["user", "ana: no", "--role", "owner"], input="correct horse\n")
    assert done.exit_code == 0
    mistakes = Mistakes()
    document = parse_document(done.stdout, "-", mistakes)
    assert mistakes.found == []
    assert document is not None
    entry = document.root["ana: no"]
    assert isinstance(entry, dict)
    assert entry["role"] == "owner"
    assert verifier(str(entry["password"])) == entry["password"]
    assert "correct horse" not in done.output


def test_two_lines_differ() -> None:
    """The salt is new each time."""
    first, second = (RUN.invoke(app, ["user", "ana", "--role", "owner"], input="same\n").stdout for _ in range(2))
    assert first != second


def test_an_empty_password_is_refused() -> None:
    """Nobody logs in with nothing."""
    done = RUN.invoke(app, ["user", "ana", "--role", "owner"], input="\n")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("ERROR F0000: the password is empty\n")


def test_a_name_that_is_none_is_refused() -> None:
    """As the loader would."""
    done = RUN.invoke(app, ["user", "a\tb", "--role", "owner"], input="x\n")
    assert done.exit_code == 1
