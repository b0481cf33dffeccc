"""`dpsql.connect`: an ordinary connection, whose server comes and goes with it."""

import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import dpsql
from dpsql.errors import ConfigError
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import configure


@pytest.fixture(scope="module")
def config() -> Iterator[Path]:
    """Give a configuration with a few trips."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-local-"))
    directory.chmod(0o711)
    yield configure(directory)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def left(config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a place for temporary files with those of a server that was killed."""
    place = config.parent / "temporary"
    place.mkdir(mode=0o711)
    monkeypatch.setenv("TMPDIR", str(place))
    with dpsql.connect(config, role="analyst"):  # which has the place that is kept
        connection = dpsql.connect(config, role="analyst")
        server, connection._server = connection._server, None
        assert server is not None
        server.kill()
        server.communicate()
        connection.close()
    assert list(place.glob("dpsql-*"))
    return place


def test_connection_asks_and_leaves_nothing(config: Path, left: Path) -> None:
    """A question, a refusal, a cancel (for which libpq waits without letting other threads run), and the end.

    What a server that was killed left is removed by the next.
    """
    with dpsql.connect(config, role="analyst") as connection:
        server = connection._server
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        connection.commit()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM trips")
        connection.rollback()
        connection.cancel()
        described = connection.pgconn.describe_prepared(b"")
        assert described.error_message
    assert server is not None
    assert server.returncode == 0
    assert list(left.glob("dpsql-*")) == []


def test_shadow_stays_for_the_next(config: Path) -> None:
    """To make one takes as long as all the rest; a server beside another has one of its own, which goes with it."""
    cluster = config.parent / "shadow-local" / "cluster"
    with dpsql.connect(config, role="analyst"):
        first = cluster.read_text()
        with dpsql.connect(config, role="analyst") as beside:
            assert beside.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    with dpsql.connect(config, role="analyst") as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    assert cluster.read_text() == first


def test_place_where_nothing_can_be_kept(config: Path) -> None:
    """The shadow goes with its server then."""
    lock = config.parent / "elsewhere-local.lock"
    lock.mkdir()
    moved = config.with_name("moved.yaml")
    moved.write_text(config.read_text().replace("directory: shadow", "directory: elsewhere"))
    with dpsql.connect(moved, role="analyst") as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
    assert not lock.with_suffix("").exists()


def test_caller_does_not_import_the_server() -> None:
    """It would be imported twice: by whoever connects, and in the server's own process."""
    program = "import sys, dpsql; dpsql.connect; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert {"dpsql.server", "dpsql.policy", "duckdb", "sqlglot", "pydantic"}.isdisjoint(done.stdout.split())


def test_role_that_is_not_there_is_named(config: Path) -> None:
    """With those that are."""
    with pytest.raises(ConfigError, match='there is no role "nobody"; roles: analyst'):
        dpsql.connect(config, role="nobody")


def test_server_that_does_not_start_says_why(config: Path) -> None:
    """The child's error is the caller's."""
    broken = config.with_name("broken.yaml")
    broken.write_text(config.read_text().replace("taxi.duckdb", "nothing.duckdb"))
    with pytest.raises(ConfigError, match=r"nothing\.duckdb"):
        dpsql.connect(broken, role="analyst")


def test_it_opens_no_address_of_the_servers(config: Path) -> None:
    """Beside a server that runs, or where its extras are not installed: that of its figures was taken, and it gave up."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        beside = config.with_name("beside.yaml")
        port = taken.getsockname()[1]
        beside.write_text(f"{config.read_text(encoding='utf-8')}\nmetrics: {{port: {port}}}\n", encoding="utf-8")
        with dpsql.connect(beside, role="analyst") as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
