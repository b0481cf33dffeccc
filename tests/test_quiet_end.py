"""A command that is done says nothing on standard error, least of all what its libraries count as leaked when it ends."""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.site import configure, serving

_EXAMPLE = f"""
import sys, dpsql
with dpsql.connect(sys.argv[1], role="analyst") as connection:
    print(connection.execute({GROUPED!r}).fetchall())
"""


@pytest.fixture(scope="module")
def config() -> Iterator[Path]:
    """Give a configuration with a few trips."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-quiet-"))
    directory.chmod(0o711)
    yield configure(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _run(*arguments: str) -> tuple[int, str]:
    """Run Python; return its exit code, and what it says on standard error."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)  # noqa: S603
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["query", "explain"])
def test_a_command_that_answers_says_nothing_else(command: str, config: Path) -> None:
    """Neither it, nor the server that it starts for itself."""
    program = "from dpsql.cli.main import app; app()"
    assert _run("-c", program, command, "--config", str(config), "--role", "analyst", GROUPED) == (0, "")


def test_a_program_that_connects_says_nothing_else(config: Path) -> None:
    """The notebook's example, and its server."""
    assert _run("-c", _EXAMPLE, str(config)) == (0, "")


def test_a_server_that_is_stopped_logs_nothing(config: Path) -> None:
    """After it has answered, with a client that is still there."""
    with (
        tempfile.TemporaryFile("w+") as log,
        serving(config, executed=True, log=log) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
    ):
        assert connection.execute(GROUPED.encode()).fetchall()
        assert site.process is not None
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(30) == 0
        log.seek(0)
        assert log.read() == ""
