"""An engine that hangs, and neither answers nor stops nor breaks a connection: nobody waits for it for good."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import configure, serving
from tests.faults.engine_server import engine_server, of, use
from tests.support.processes import children

SOON = 12.0
"""Seconds on a busy machine: three for the engine to stop, then nobody waits."""
NEW = "SELECT count(*) FROM trips WHERE fare > {}"


@pytest.fixture
def source(directory: Path) -> Iterator[Postgres]:
    """Give a PostgreSQL server with the tables."""
    with engine_server(directory) as server:
        yield server


@contextmanager
def _hanging(source: Postgres) -> Iterator[None]:
    """Let every process of the engine's server stand still."""
    processes = [source.pid, *children(source.pid)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("how", ["statement_timeout", "cancel"])
def test_a_measurement_ends_when_its_client_or_its_time_does(directory: Path, source: Postgres, how: str) -> None:
    """Five, one after the other, more than may be measured at a time; and the engine serves again once it can."""
    config = use(configure(directory), of(source))
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        with _hanging(source):
            for number in range(5):
                since = time.monotonic()
                if how == "cancel":
                    threading.Timer(1, connection.cancel).start()
                else:
                    connection.execute("SET statement_timeout = '1s'")
                with pytest.raises(psycopg.errors.QueryCanceled):
                    connection.execute(NEW.format(number).encode())
                assert time.monotonic() - since < SOON
                assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        connection.execute("SET statement_timeout = 0")
        assert connection.execute(NEW.format(20).encode()).fetchall() == [(1920,)]


def test_a_server_stops_beside_an_engine_that_hangs(directory: Path, source: Postgres) -> None:
    """It gives statements ten seconds, and then goes, whatever the engine does."""
    config = use(configure(directory), of(source))
    with serving(config) as site, psycopg.connect(site.dsn, autocommit=True) as connection:
        assert connection.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        with _hanging(source):
            asking = threading.Thread(target=_asked, args=(connection,), daemon=True)
            asking.start()
            time.sleep(1)
            assert site.process is not None
            site.process.send_signal(signal.SIGTERM)
            assert site.process.wait(30) == 0
            asking.join(SOON)
            assert not asking.is_alive()


def _asked(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute(NEW.format(1).encode())
