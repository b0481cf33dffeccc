"""dpsql in a process of its own: stopped, killed, told to read its configuration again, and left without its shadow."""

import os
import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT, LONG_TRIPS
from tests.clients.site import Site, configure, serving
from tests.faults.controls import kill_shadow, line, shadow_of, signal_to, write
from tests.support.processes import children

QUICK = 7.0
"""Seconds for a stop; half a second on a quiet machine, and far less than the grace of what is waited for."""
linux = pytest.mark.skipif(not Path("/proc").exists(), reason="finds children in /proc")


@dataclass(frozen=True, slots=True)
class Lasting:
    """A server that outlives what is done to it, and tells of it."""

    config: Path
    site: Site
    log: Path

    def said(self, words: str, times: int = 1) -> None:
        """Wait until it has said something on its standard error so many times since it started."""
        deadline = time.monotonic() + 120
        while self.log.read_text().count(words) < times:
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def count(self, words: str) -> int:
        """Return how often it has said something."""
        return self.log.read_text().count(words)


@pytest.fixture(scope="module")
def lasting() -> Iterator[Lasting]:
    """Give one server to the tests that leave it as it was."""
    with TemporaryDirectory(prefix="dpsql-life-") as made:
        directory = Path(made)
        directory.chmod(0o711)
        config = configure(directory)
        with (directory / "log").open("w") as log, serving(config, log=log) as site:
            yield Lasting(config, site, directory / "log")


def _spent(connection: psycopg.Connection) -> object:
    return connection.execute("SELECT epsilon_spent FROM dpsql.budget").fetchall()


def test_stop_is_told_to_idle_clients(config: Path) -> None:
    """At SIGTERM an idle client hears why it is hung up on, and the server exits as it should."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        connection.execute("SELECT 1")
        signal_to(site, signal.SIGTERM)
        assert site.process is not None
        assert site.process.wait(30) == 0
        with socket.socket(fileno=os.dup(connection.fileno())) as raw:
            assert b"C57P01\0" in raw.recv(1000)


def test_stop_does_not_wait_for_idle_encrypted_clients(config: Path) -> None:
    """Who is idle does not answer the end of TLS either, and is told all the same."""
    for name in ("localhost.crt", "localhost.key"):
        shutil.copy(Path(__file__).parent.parent / "wire" / name, config.parent)
    write(config, "port: 0}", "port: 0, tls: {certificate: localhost.crt, key: localhost.key}}")
    with serving(config) as site, ExitStack() as opened:
        dsn = site.dsn.replace("sslmode=disable", "sslmode=require")
        clients = [opened.enter_context(psycopg.connect(dsn, autocommit=True)) for _ in range(10)]
        clients[0].execute("SELECT 1")
        signal_to(site, signal.SIGTERM)
        assert site.process is not None
        assert site.process.wait(QUICK) == 0
        for client in clients:
            with pytest.raises(psycopg.errors.AdminShutdown):
                client.execute("SELECT 1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_right_after_the_start_is_clean(config: Path, number: signal.Signals) -> None:
    """Whoever stops it as soon as it says that it serves gets an exit code of 0, each time."""
    for _ in range(2):
        with serving(config) as site:
            signal_to(site, number)
            assert site.process is not None
            assert site.process.wait(30) == 0


def test_kill_loses_nothing_that_was_paid(config: Path) -> None:
    """After kill -9 the next server gives the same answer for nothing."""
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        answer = connection.execute(GROUPED.encode()).fetchall()
        spent = _spent(connection)
        signal_to(site, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == answer == BY_PAYMENT
        assert _spent(connection) == spent


@linux
def test_dead_shadow_is_replaced(lasting: Lasting) -> None:
    """Who has not asked anything yet notices nothing; who has is told to connect again."""
    with psycopg.connect(lasting.site.dsn, autocommit=True) as busy:
        busy.execute(GROUPED.encode())
        with psycopg.connect(lasting.site.dsn, autocommit=True) as idle:
            kill_shadow(lasting.site)
            assert idle.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            with pytest.raises(psycopg.OperationalError):
                busy.execute("SELECT 1")


def test_mistake_in_a_reload_changes_nothing(lasting: Lasting) -> None:
    """The operator reads what is wrong, and the old configuration goes on."""
    with psycopg.connect(lasting.site.dsn, autocommit=True) as asked:
        asked.execute("SELECT 1")
        good, before = lasting.config.read_text(), lasting.count("not reloaded")
        lasting.config.write_text(good.replace("role: analyst", "role: nobody"))
        signal_to(lasting.site, signal.SIGHUP)
        while lasting.count("not reloaded") == before:
            assert asked.execute("SELECT 1").fetchone() == (1,)
        lasting.config.write_text(good)
        assert asked.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def _hide(directory: Path) -> Path:
    """Take the data file away; return where it is."""
    return (directory / "taxi.duckdb").rename(directory / "hidden.duckdb")


@linux
def test_shadow_comes_back_while_the_data_are_away(config: Path) -> None:
    """What it is made of was read before; who only looks at the catalogue notices nothing."""
    with serving(config) as site:
        _hide(config.parent)
        kill_shadow(site)
        with psycopg.connect(site.dsn, autocommit=True) as connection:
            assert connection.execute("SELECT count(*) > 1 FROM zones").fetchone() == (True,)


@linux
def test_shadow_comes_back_while_the_ledger_is_locked(lasting: Lasting) -> None:
    """What it is made of was read before; what costs nothing is answered."""
    with closing(sqlite3.connect(lasting.config.parent / "ledger.db", isolation_level=None)) as ledger:
        ledger.execute("BEGIN EXCLUSIVE")
        old = shadow_of(lasting.site)
        os.kill(old, signal.SIGKILL)
        with psycopg.connect(lasting.site.dsn, autocommit=True) as connection:
            assert connection.execute("SELECT count(*) > 1 FROM zones").fetchone() == (True,)
            assert shadow_of(lasting.site) != old
            ledger.execute("ROLLBACK")
            assert connection.execute("SELECT count(*) FROM trips WHERE fare > 20.5").fetchone() == (LONG_TRIPS,)


def _freeze(site: Site) -> None:
    """Let the sessions of users in the shadow heed nothing."""
    for session in children(shadow_of(site)):
        if b"ana taxi" in Path(f"/proc/{session}/cmdline").read_bytes():
            os.kill(session, signal.SIGSTOP)


@linux
def test_a_session_that_heeds_nothing_keeps_no_server_down(config: Path) -> None:
    """Neither the shadow when it dies, nor dpsql after kill -9."""
    with serving(config) as site:
        for _ in range(2):
            with psycopg.connect(site.dsn, autocommit=True) as connection:
                connection.execute("SELECT 1")
                _freeze(site)
                kill_shadow(site)
        with psycopg.connect(site.dsn, autocommit=True) as connection:
            assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            _freeze(site)
            signal_to(site, signal.SIGKILL)
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


@linux
def test_shadow_comes_back_after_it_could_not_start(lasting: Lasting) -> None:
    """Whoever tends it goes on after an error, and says so."""
    data = lasting.config.parent / "shadow" / "data"
    away = data.rename(lasting.config.parent / "shadow" / "away")
    os.kill(shadow_of(lasting.site), signal.SIGKILL)
    lasting.said("the shadow could not be started")
    away.rename(data)
    with psycopg.connect(lasting.site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT


def test_a_hangup_that_fails_is_not_the_last_that_is_heard(lasting: Lasting) -> None:
    """Whatever was in the way, the next one counts, and until then all is as it was."""
    with psycopg.connect(lasting.site.dsn, autocommit=True) as connection:
        connection.execute("SELECT 1")
        good, before = lasting.config.read_text(), lasting.count("not reloaded")
        lasting.config.unlink()
        signal_to(lasting.site, signal.SIGHUP)
        lasting.said("not reloaded", before + 1)
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        lasting.config.write_text(good)
        signal_to(lasting.site, signal.SIGHUP)
        assert line(lasting.site) == "reloaded\n"


def test_a_hangup_while_it_starts_ends_nothing(config: Path) -> None:
    """It is heard as soon as there is something to read again."""
    with serving(config, at_once=signal.SIGHUP) as site:
        assert line(site) == "reloaded\n"
        with psycopg.connect(site.dsn, autocommit=True) as connection:
            assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
