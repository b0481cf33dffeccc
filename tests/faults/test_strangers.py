"""Those who connect and say nothing, at 1,024 descriptors: users come in all the same, and the log stays short."""

import http.client
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from dpsql.wire.protocol.messages import Limits
from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, serving
from tests.support.processes import descriptors, seconds_worked

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
STRANGERS = 1_100
BACKLOG = 500
"""So many wait with the system while nobody is let in."""
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))"
WATCHED = 3.0
"""Seconds for which the server is watched while they wait."""


@pytest.fixture
def with_pages(config: Path) -> Path:
    """Give a configuration with pages."""
    config.write_text(config.read_text() + "web: {host: 127.0.0.1, port: 0}\n")
    return config


def _pages(site: Site) -> int:
    """Return the pages' port."""
    return int(site.pages.rstrip("/").rpartition(":")[2])


def _pid(site: Site) -> int:
    assert site.process is not None
    return site.process.pid


@contextmanager
def _silent(*ports: int, count: int = STRANGERS) -> Iterator[None]:
    """Connect to each port, again and again, and say nothing."""
    with ExitStack() as open_until_then:
        for port in ports:
            for _ in range(count):
                open_until_then.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        yield


def _asked(site: Site) -> object:
    """Return an answer, for which the client waits two seconds at the most."""
    with psycopg.connect(f"{site.dsn} connect_timeout=20", autocommit=True) as connection:
        return connection.execute(GROUPED.encode()).fetchall()


def _shown(site: Site) -> int:
    """Return the status of the log-in page."""
    with closing(http.client.HTTPConnection("127.0.0.1", _pages(site), timeout=20)) as connection:
        connection.request("GET", "/login")
        return connection.getresponse().status


def test_silent_strangers_keep_nobody_out(with_pages: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Users come in by both doors, and have all their seats; the server hardly works, and says little."""
    with serving(with_pages, before=LIMIT) as site, psycopg.connect(site.dsn, autocommit=True) as before:
        before.execute("SELECT 1")
        with _silent(site.port, _pages(site)), ExitStack() as sessions:
            worked = seconds_worked(_pid(site))
            time.sleep(WATCHED)
            assert seconds_worked(_pid(site)) - worked < WATCHED / 4
            assert descriptors(_pid(site)) < 1024 / 2
            assert _asked(site) == BY_PAYMENT
            assert _shown(site) == 200
            assert before.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
            for _ in range(Limits().connections_per_user - 1):
                session = sessions.enter_context(psycopg.connect(f"{site.dsn} connect_timeout=20", autocommit=True))
                assert session.execute("SELECT count(*) FROM zones").fetchone() == (5,)
            with pytest.raises(psycopg.OperationalError, match="too many connections for user"):
                psycopg.connect(site.dsn)
    assert len(capfd.readouterr().err.splitlines()) < 10


def test_no_descriptor_left_is_waited_for(with_pages: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """While there is none the server pauses and says so once; when there are some whoever waited is served."""
    with serving(with_pages, before=LIMIT) as site:
        pid = _pid(site)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid), 1024))
        with _silent(site.port, _pages(site), count=BACKLOG):
            worked = seconds_worked(pid)
            time.sleep(WATCHED)
            assert seconds_worked(pid) - worked < WATCHED / 4
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, 1024))
            time.sleep(WATCHED)
            assert _asked(site) == BY_PAYMENT
            assert _shown(site) == 200
    said = capfd.readouterr().err
    assert said.count("nobody can be let in for a moment") == 1
    assert len(said.splitlines()) < 10
