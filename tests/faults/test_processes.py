"""Several processes that serve one address: for their clients they are one server."""

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg import pq

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving, with_shadow
from tests.faults.controls import line, signal_to, write
from tests.support.forked import Forked
from tests.support.processes import children

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="finds children in /proc")
_PATIENCE = 120.0
ENDLESS = b"SELECT count(*) FROM generate_series(1, 10000000000)"


@contextmanager
def _resting(process: int) -> Iterator[None]:
    """Let a process rest for a while."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@dataclass(frozen=True, slots=True)
class Pair:
    """A server of two processes."""

    config: Path
    site: Site
    log: Path

    @property
    def processes(self) -> list[int]:
        """Return those that serve."""
        assert self.site.process is not None
        return children(self.site.process.pid)

    @property
    def doors(self) -> list[str]:
        """Return where each takes cancel requests from the other."""
        return [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "dpsql-doors-" in line]

    @contextmanager
    def at(self, process: int, user: str = "") -> Iterator[psycopg.Connection]:
        """Give a connection to one of them: the other does not accept it, because it rests."""
        (other,) = set(self.processes) - {process}
        with _resting(other):
            opened = psycopg.connect(f"{self.site.dsn} {user}", autocommit=True)
        with opened:
            yield opened


def _paired(directory: Path) -> Path:
    """Write the configuration of two processes, with a shadow for each."""
    config = configure(directory)
    write(config, "port: 0}", "port: 0, processes: 2}")
    (directory / "second").mkdir()
    with_shadow(config)
    with_shadow(directory / "second" / "config.yaml")
    (directory / "second" / "shadow").rename(directory / "shadow-2")
    return config


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Give one to all tests; it ends as a server should, and leaves nobody behind."""
    with TemporaryDirectory(prefix="dpsql-pair-") as made:
        directory = Path(made)
        directory.chmod(0o711)
        config = _paired(directory)
        with (directory / "log").open("w") as log, serving(config, log=log) as site:
            running = Pair(config, site, directory / "log")
            yield running
            served = running.processes
            signal_to(site, signal.SIGTERM)
            assert site.process is not None
            assert site.process.wait(30) == 0
            assert not any(Path(f"/proc/{process}").exists() for process in served)


def test_both_answer_from_one_ledger(pair: Pair) -> None:
    """What one was asked and paid for the other has, and charges nothing more."""
    asked = "SELECT count(*) FROM trips WHERE fare > 11.5"
    spent = "SELECT epsilon_spent FROM dpsql.budget"
    first, second = pair.processes
    with pair.at(first) as near, pair.at(second) as other:
        before = near.execute(spent).fetchall()
        answer = near.execute(asked).fetchall()
        after = near.execute(spent).fetchall()
        assert before != after == other.execute(spent).fetchall()
        assert other.execute(asked).fetchall() == answer
        assert other.execute(spent).fetchall() == after
        assert near.execute(GROUPED.encode()).fetchall() == other.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_cancel_request_reaches_the_other(pair: Pair) -> None:
    """The one that accepts it asks at the other's door; and it is over when it is carried out."""
    for runs in pair.processes:
        with pair.at(runs) as connection:
            connection.execute("SELECT 1")
            connection.pgconn.send_query(ENDLESS)
            connection.pgconn.flush()
            cancelling = threading.Thread(target=connection.cancel_safe, kwargs={"timeout": _PATIENCE})
            with _resting(runs):
                doors = len(pair.doors)
                cancelling.start()
                _until(lambda: len(pair.doors) > doors)  # noqa: B023 # somebody waits at one
                assert cancelling.is_alive()
            cancelling.join(_PATIENCE)
            result = connection.pgconn.get_result()
            assert result is not None
            assert result.error_field(pq.DiagnosticField.SQLSTATE) == b"57014"
            assert connection.pgconn.get_result() is None


def _guess(family: int, place: tuple[str, int] | str, number: int) -> None:
    """Ask to cancel a session without its key; return when that was carried out, or not."""
    with socket.socket(family) as raw:
        raw.settimeout(_PATIENCE)
        raw.connect(place)
        raw.sendall(struct.pack("!IIII", 16, 80877102, number, 1))
        assert raw.recv(1) == b""


def test_a_cancel_request_with_a_wrong_key_does_nothing(pair: Pair) -> None:
    """Also where it comes to a door: who can reach one has to know as much as any client."""
    with pair.at(pair.processes[0]) as connection:
        connection.execute("SELECT 1")
        connection.pgconn.send_query(ENDLESS)
        for _ in range(5):
            _guess(socket.AF_INET, ("127.0.0.1", pair.site.port), connection.info.backend_pid)
            for door in pair.doors:
                _guess(socket.AF_UNIX, door, connection.info.backend_pid)
            connection.pgconn.consume_input()
            assert connection.pgconn.is_busy()
        connection.cancel_safe(timeout=_PATIENCE)
        assert connection.pgconn.get_result() is not None
        assert connection.pgconn.get_result() is None


def test_both_read_the_configuration_again(pair: Pair) -> None:
    """Each says so; a new user may log in at both."""
    with pair.at(pair.processes[1]) as connection:
        connection.execute("SELECT 1")
        text = pair.config.read_text()
        verifier = text.partition('ana: {role: analyst, password: "')[2].partition('"')[0]
        pair.config.write_text(f'{text}  ben: {{role: analyst, password: "{verifier}"}}\n')
        signal_to(pair.site, signal.SIGHUP)
        assert {line(pair.site), line(pair.site)} == {"process 1: reloaded\n", "process 2: reloaded\n"}
        assert connection.execute("SELECT 1").fetchone() == (1,)
    for process in pair.processes:
        with pair.at(process, "user=ben") as connection:
            assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_a_process_that_dies_is_replaced(pair: Pair) -> None:
    """The clients of the others notice nothing, and the log says so."""
    first, second = pair.processes
    with pair.at(second) as connection:
        connection.execute("SELECT 1")
        os.kill(first, signal.SIGKILL)
        _until(lambda: len(pair.processes) == 2 and first not in pair.processes)
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        assert "process 1 of 2 has ended with -9" in pair.log.read_text()
        (new,) = set(pair.processes) - {second}
    with pair.at(new) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_none_outlives_who_watches_over_them(directory: Path) -> None:
    """When it is killed they stop, as if they had been told to."""
    with serving(_paired(directory)) as site:
        assert site.process is not None
        served = children(site.process.pid)
        signal_to(site, signal.SIGKILL)
        _until(lambda: not any(Path(f"/proc/{process}").exists() for process in served))


def test_where_one_cannot_start_none_does(directory: Path) -> None:
    """The error is told once, with the exit code of every error."""
    config = _paired(directory)
    (directory / "taxi.duckdb").unlink()
    with (directory / "log").open("w") as log:
        served = Forked(["serve", "--config", str(config)], log)
        assert served.stdout is not None
        with served.stdout:
            assert served.stdout.read() == ""
        assert served.wait(60) == 1
    assert (directory / "log").read_text().count("ERROR") == 1
