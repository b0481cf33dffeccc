"""What an operator's commands and systemd hear of a server that runs."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from dpsql import control
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, serving, with_shadow
from tests.faults.controls import signal_to, write
from tests.faults.engine_server import engine_server, of, use
from tests.support.forked import Forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sockets without files are Linux's")
COMMAND = Path(sys.executable).with_name("dpsql")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command has ended with."""

    code: int
    out: str
    err: str


def _reload(config: Path, user: int | None = None) -> Ran:
    """Run `dpsql reload`, as user `user` of this machine if that is given."""
    command = [str(COMMAND), "reload", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, user=user)  # noqa: S603
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def site(config: Path, tmp_path: Path) -> Iterator[Site]:
    """Serve a configuration."""
    with (tmp_path / "log").open("w") as log, serving(config, log=log) as served:
        yield served


@pytest.mark.usefixtures("site")
def test_reload_waits_for_what_the_server_makes_of_it(config: Path) -> None:
    """It ends with 0 once the new configuration counts, and with 1 and the reason where it does not."""
    assert _reload(config) == Ran(0, "reloaded\n", "")
    good = config.read_text()
    config.write_text(good.replace("role: analyst", "role: analist"))
    wrong = _reload(config)
    assert wrong.code == 1
    assert 'users.ana.role: is "analist", which is no role; did you mean "analyst"?' in wrong.err
    assert "everything goes on as before" in wrong.err
    config.write_text(good + "nonsense: [\n")
    broken = _reload(config)
    assert (broken.code, "is not YAML" in broken.err) == (1, True)
    config.write_text(good)
    assert _reload(config).code == 0


def test_reload_where_nobody_serves_says_what_to_do(config: Path) -> None:
    """It exits with 1, names the file, and says as whom to run it."""
    ran = _reload(config)
    assert ran.code == 1
    assert f"no dpsql serve of this account serves {config.resolve()}" in ran.err
    assert "Run this as the server's account or as root" in ran.err


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes somebody else")
def test_nobody_else_is_heard(config: Path, site: Site) -> None:
    """Another account of the machine has no server read anything, whatever it says."""
    read, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setuid(65534)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
                stranger.connect(control._name(config, 0))
                os.write(write_end, b"said: ")
                stranger.sendall(b"reload\n")
                os.write(write_end, stranger.recv(100))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write_end)
    assert os.read(read, 100) == b"said: "
    os.close(read)
    with psycopg.connect(site.dsn) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_reload_hears_every_process(directory: Path, tmp_path: Path) -> None:
    """Where several serve, each is asked."""
    config = configure(directory)
    write(config, "port: 0}", "port: 0, processes: 2}")
    (directory / "second").mkdir()
    with_shadow(config)
    with_shadow(directory / "second" / "config.yaml")
    (directory / "second" / "shadow").rename(directory / "shadow-2")
    with (tmp_path / "log").open("w") as log, serving(config, log=log):
        assert _reload(config) == Ran(0, "reloaded, 2 processes\n", "")
        write(config, "role: analyst", "role: analist")
        wrong = _reload(config)
        assert wrong.code == 1
        assert "process 1: not reloaded: " in wrong.err
        assert "process 2: not reloaded: " in wrong.err


def _told(listening: socket.socket) -> str:
    listening.settimeout(60)
    return listening.recv(4096).decode()


def test_systemd_hears_when_it_serves_and_when_it_stops(config: Path, tmp_path: Path) -> None:
    """By the protocol of sd_notify, once clients can connect and before it goes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        before = f"import os; os.environ['NOTIFY_SOCKET'] = {str(tmp_path / 'notify')!r}"
        with serving(config, before=before) as site:
            assert _told(listening) == f"READY=1\nSTATUS=serving taxi on 127.0.0.1:{site.port}"
            signal_to(site, signal.SIGTERM)
            assert _told(listening) == "STOPPING=1\nSTATUS=stopping"


def test_serve_waits_for_a_database_that_starts_later(directory: Path, tmp_path: Path) -> None:
    """With --wait it says so and serves as soon as it can; without it ends with the reason."""
    config = configure(directory)
    with_shadow(config)
    with engine_server(directory) as engine:
        use(config, of(engine))
        there = Path(engine.address.path)
        away = there.rename(there.with_name("away"))
        plain = subprocess.run([COMMAND, "serve", "--config", config], capture_output=True, text=True, check=False)  # noqa: S603
        assert plain.returncode == 1
        assert "the PostgreSQL server can't be asked" in plain.stderr
        with (tmp_path / "log").open("w") as log:
            waiting = Forked(["serve", "--wait", "--config", str(config)], log)
            try:
                deadline = time.monotonic() + 60
                while "the engine is waited for" not in (tmp_path / "log").read_text():
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
                away.rename(there)
                assert waiting.stdout is not None
                said = re.match(r"serving taxi on \S+:(\d+)", waiting.stdout.readline())
                assert said
                with psycopg.connect(Site(int(said[1])).dsn, autocommit=True) as connection:
                    assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            finally:
                waiting.send_signal(signal.SIGTERM)
                waiting.wait(60)
                if waiting.stdout is not None:
                    waiting.stdout.close()
        assert (tmp_path / "log").read_text().count("the engine is waited for") == 1


def test_the_log_is_objects_if_it_is_asked_for(config: Path, tmp_path: Path) -> None:
    """Also what a reload says."""
    with (tmp_path / "log").open("w") as log:
        served = Forked(["serve", "--log-format", "json", "--config", str(with_shadow(config))], log)
        try:
            assert served.stdout is not None
            assert served.stdout.readline().startswith("serving")
            write(config, "role: analyst", "role: analist")
            assert _reload(config).code == 1
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait(60)
            if served.stdout is not None:
                served.stdout.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["level"] for line in lines if line["message"].startswith("not reloaded: ")] == ["ERROR"]


def test_who_spends_hears_when_a_budget_nears_its_end(config: Path, tmp_path: Path) -> None:
    """In a NOTICE with the answer, once for each mark; the operator's log has the same."""
    write(config, "protects: passenger, budget: {epsilon: 10000000}", "protects: passenger, budget: {epsilon: 10000}")
    heard: list[str] = []
    with (
        (tmp_path / "log").open("w") as log,
        serving(config, log=log) as site,
        psycopg.connect(site.dsn, autocommit=True) as connection,
    ):
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        for fare in range(10):
            connection.execute(f"SELECT count(*) FROM trips WHERE fare > {fare}".encode())
    assert [line.partition(" is spent")[0] for line in heard] == [
        '80 % of the budget of role "analyst"',
        '95 % of the budget of role "analyst"',
    ]
    assert "enough for 2 more questions at the price of this one; it does not renew" in heard[0]
    assert all(f"a budget nears its end: {line}" in (tmp_path / "log").read_text() for line in heard)
