"""The number that a client is told of its session is its number everywhere, and stops what the session runs."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.clients.asked import GROUPED
from tests.clients.data import BY_PAYMENT
from tests.clients.site import Site, configure, plain_site, serving
from tests.faults.controls import kill_shadow

LONG = "SELECT date_trunc('minute', pickup_ts), corr(fare, tip) FROM trips GROUP BY 1"
"""With little ε, minutes of noise."""
ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000000000)"
ASLEEP = "SELECT pg_sleep(600)"
"""What takes as long on a plain server, and no processor."""
BEGUN = 0.5
"""Seconds after which a statement runs."""
SOON = 60.0


@pytest.fixture(scope="module", params=["dpsql", "plain"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Give dpsql, and a plain PostgreSQL that says what is right."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-numbers-"))
    directory.chmod(0o711)
    if request.param == "dpsql":
        config = configure(directory)
        config.write_text(config.read_text().replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 0.01}"))
        with serving(config) as served:
            yield served
    else:
        with plain_site(directory) as served:
            yield served
    shutil.rmtree(directory, ignore_errors=True)


def _connect(site: Site) -> psycopg.Connection:
    return psycopg.connect(site.dsn, autocommit=True)


def _outcome(connection: psycopg.Connection, statement: str) -> str | None:
    """Return the code with which a statement fails."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as failed:
        return failed.sqlstate
    return None


def test_a_session_has_one_number(site: Site) -> None:
    """What the driver was told, what the function says, and what the view of sessions has."""
    with _connect(site) as first, _connect(site) as second:
        told = first.info.backend_pid
        assert first.execute("SELECT pg_backend_pid()").fetchone() == (told,)
        listed = second.execute("SELECT usename FROM pg_stat_activity WHERE pid = %s", (told,)).fetchall()
        assert listed == [("ana",)]
        assert second.info.backend_pid != told


def test_an_idle_session_is_ended_by_its_number(site: Site) -> None:
    """Also one that has not asked anything yet."""
    with _connect(site) as idle, _connect(site) as other:
        assert other.execute("SELECT pg_terminate_backend(%s)", (idle.info.backend_pid,)).fetchone() == (True,)
        assert _outcome(idle, "SELECT 1") == "57P01"


@pytest.mark.parametrize("way", ["text", "parameter", "row"])
def test_a_statement_is_cancelled_by_its_number(site: Site, way: str) -> None:
    """Whoever is told, and however the number gets to the function; the session goes on."""
    statement = LONG if site.process is not None else ASLEEP
    with _connect(site) as asking, _connect(site) as other, ThreadPoolExecutor() as pool:
        number = asking.info.backend_pid
        asked = pool.submit(_outcome, asking, statement)
        assert not threading.Event().wait(BEGUN)
        assert not asked.done()
        match way:
            case "text":
                told = other.execute(f"SELECT pg_cancel_backend({number})".encode())
            case "parameter":
                told = other.execute("SELECT pg_cancel_backend(%s)", (number,))
            case _:
                rows = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                told = other.execute(rows + " AND pid IS NOT NULL AND usename = current_user")
        assert (True,) in told.fetchall()
        assert asked.result(SOON) == "57014"
        assert asking.execute("SELECT 1").fetchone() == (1,)


def test_a_working_session_is_ended_by_its_number(site: Site) -> None:
    """As dbt does it: the statement ends, and with it the session."""
    statement = LONG if site.process is not None else ASLEEP
    with _connect(site) as asking, _connect(site) as other, ThreadPoolExecutor() as pool:
        asked = pool.submit(_outcome, asking, statement)
        assert not threading.Event().wait(BEGUN)
        other.execute(f"SELECT pg_terminate_backend({asking.info.backend_pid})".encode())
        assert asked.result(SOON) == "57P01"
        assert asking.closed


def test_numbers_that_nobody_has_do_nothing(site: Site) -> None:
    """As PostgreSQL has it: false, and a warning."""
    with _connect(site) as other:
        said: list[str | None] = []
        other.add_notice_handler(lambda notice: said.append(notice.message_primary))
        assert other.execute("SELECT pg_cancel_backend(4194304)").fetchone() == (False,)
        assert other.execute("SELECT pg_cancel_backend(NULL)").fetchone() == (None,)
        assert said == ["PID 4194304 is not a PostgreSQL backend process"]


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds children in /proc")
def test_the_number_stays_good_when_the_shadow_was_restarted() -> None:
    """An idle session has another one in the new shadow; what it was told still stops it."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-numbers-"))
    directory.chmod(0o711)
    config = configure(directory)
    with serving(config) as site, _connect(site) as idle:
        kill_shadow(site)
        assert idle.execute(GROUPED.encode()).fetchall() == BY_PAYMENT
        with _connect(site) as other, ThreadPoolExecutor() as pool:
            asked = pool.submit(_outcome, idle, ENDLESS)
            assert not threading.Event().wait(BEGUN)
            other.execute("SELECT pg_cancel_backend(%s)", (idle.info.backend_pid,))
            assert asked.result(SOON) == "57014"
    shutil.rmtree(directory, ignore_errors=True)
