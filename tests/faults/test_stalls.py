"""Statements that take minutes: they can be stopped in any way there is, and keep nobody else waiting."""

import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from tests.clients.site import Site, configure, serving

USERS = ("ana", "bob", "cat", "dan", "eva")
EACH = 4
"""How many statements of one user are worked on at a time."""
SOON = 60.0
"""Seconds on a busy machine; the noise of all that are asked at a time takes longer."""
_MANY = ", ".join(f"corr(fare + {times} * tip, tip)" for times in range(4))
LONG = f"SELECT date_trunc('minute', pickup_ts), {_MANY} FROM trips WHERE fare > {{}} AND pickup_ts < '2019-03-07' GROUP BY 1"
"""Noise for two seconds, where nothing else runs; of twice as much a run through its plan would not end in time."""
IMPATIENT = """
from functools import partialmethod
from dpsql.wire.server.listener import Listener
Listener.stop = partialmethod(Listener.stop, grace=0.2)
"""
"""An end that waits a moment for statements, and not ten seconds."""
SHORT = "SELECT count(*) FROM trips"
FRESH = "SELECT count(*) FROM trips WHERE tip > 1"


def _configured(directory: Path) -> Path:
    """Write a configuration with five users, and so little ε that noise has to be drawn digit by digit."""
    written = configure(directory)
    text = written.read_text().replace("per_query: {epsilon: 1000}", "per_query: {epsilon: 0.01}")
    line = next(line for line in text.splitlines() if "ana:" in line)
    written.write_text(text + "\n".join(line.replace("ana:", f"{user}:") for user in USERS[1:]) + "\n")
    return written


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """Give a directory that the shadow's account can enter."""
    made = Path(tempfile.mkdtemp(prefix="dpsql-stalls-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def site(directory: Path) -> Iterator[Site]:
    """Give a server for all tests that leave it alive."""
    with serving(_configured(directory)) as served:
        yield served


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Give threads."""
    with ThreadPoolExecutor(32) as threads:
        yield threads


Connect = Callable[..., psycopg.Connection]


@pytest.fixture
def connect(site: Site) -> Iterator[Connect]:
    """Give a function that connects, as ana unless told otherwise."""
    with ExitStack() as stack:

        def connect(user: str = "ana", to: Site = site) -> psycopg.Connection:
            where = to.dsn.replace("user=ana", f"user={user}")
            return stack.enter_context(psycopg.connect(where, autocommit=True))

        yield connect


def _charges(connection: psycopg.Connection) -> int:
    ((charges,),) = connection.execute("SELECT count(*) FROM dpsql.charges").fetchall()
    return int(charges)


def _charged(connection: psycopg.Connection, most: int) -> None:
    """Wait until so many measurements were charged."""
    deadline = time.monotonic() + 4 * SOON
    while _charges(connection) < most:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _outcome(connection: psycopg.Connection, statement: str) -> str | None:
    """Return the code with which a statement fails."""
    try:
        connection.execute(statement.encode())
    except psycopg.Error as failed:
        return failed.sqlstate or "08006"
    return None


def _stop(*connections: psycopg.Connection) -> None:
    for connection in connections:
        connection.pgconn.get_cancel().cancel()


def test_noise_is_cancelled(connect: Connect, pool: ThreadPoolExecutor) -> None:
    """While it is drawn; what was charged stays charged, and asking again is a charge again."""
    asking, other = connect(), connect()
    before = _charges(other)
    for charged in (1, 2):
        asked = pool.submit(_outcome, asking, LONG.format(0))
        _charged(other, before + charged)
        _stop(asking)
        assert asked.result(SOON) == "57014"
    assert asking.execute("SELECT 1").fetchone() == (1,)
    assert _charges(other) == before + 2


def test_noise_for_nobody_is_not_drawn(connect: Connect) -> None:
    """A client that hangs up ends its statement, so that its share of the threads is free for its next ones."""
    other = connect()
    before = _charges(other)
    for fare in range(1, EACH + 1):
        asking = connect()
        asking.pgconn.send_query(LONG.format(fare).encode())
        _charged(other, before + fare)
        asking.close()
    begun = time.monotonic()
    assert other.execute(b"SELECT count(*) FROM trips WHERE fare > 10").fetchone() is not None
    assert time.monotonic() - begun < SOON


def test_who_waits_for_the_same_measurement_is_cancelled_alone(connect: Connect, pool: ThreadPoolExecutor) -> None:
    """Of two sessions that ask the same one measures; both can be stopped, and one was charged."""
    first, second, other = connect(), connect(), connect()
    before = _charges(other)
    measuring = pool.submit(_outcome, first, LONG.format(20))
    _charged(other, before + 1)
    waiting = pool.submit(_outcome, second, LONG.format(20))
    time.sleep(0.5)  # until it waits
    _stop(second)
    assert waiting.result(SOON) == "57014"
    assert not measuring.done()
    _stop(first)
    assert measuring.result(SOON) == "57014"
    assert _charges(other) == before + 1


def test_waiting_for_the_ledger_is_cancelled(directory: Path, connect: Connect, pool: ThreadPoolExecutor) -> None:
    """Another process keeps it locked; nothing is charged, others go on, accounts are told, and afterwards all is well."""
    asking, other = [connect() for _ in range(EACH)], connect()
    before = _charges(other)
    with closing(sqlite3.connect(directory / "ledger.db", isolation_level=None)) as ledger:
        ledger.execute("BEGIN EXCLUSIVE")
        asked = [pool.submit(_outcome, each, FRESH) for each in asking]
        time.sleep(0.5)  # until they wait
        assert not any(each.done() for each in asked)
        assert other.execute("SELECT count(*) > 0 FROM zones").fetchone() == (True,)
        assert _charges(other) == before
        begun = time.monotonic()
        _stop(*asking)
        assert {each.result(SOON) for each in asked} == {"57014"}
        assert time.monotonic() - begun < SOON
        ledger.execute("ROLLBACK")
    assert _charges(other) == before
    assert other.execute(FRESH.encode()).fetchone() is not None


def test_noise_does_not_hold_up_the_end(connect: Connect, pool: ThreadPoolExecutor) -> None:
    """The server exits soon after SIGTERM, however much there was to draw; the first may have its answer by then."""
    own = Path(tempfile.mkdtemp(prefix="dpsql-stalls-"))
    own.chmod(0o711)
    with serving(_configured(own), before=IMPATIENT) as site:
        assert site.process is not None
        other = connect(to=site)
        asked = [pool.submit(_outcome, connect(to=site), LONG.format(fare)) for fare in range(2)]
        _charged(other, len(asked))
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(SOON) == 0
        outcomes = {each.result(SOON) for each in asked}
        assert outcomes <= {"57014", "57P01", "08006", None}
        assert outcomes != {None}
    shutil.rmtree(own, ignore_errors=True)


@pytest.mark.slow  # sixteen threads draw as much as they can
def test_what_is_known_waits_for_no_thread(connect: Connect, pool: ThreadPoolExecutor) -> None:
    """Not even where all that measure are busy: stored answers, refusals and accounts; a new question has to wait."""
    other = connect(USERS[-1])
    answer, before = other.execute(SHORT.encode()).fetchall(), _charges(other)
    asking = [connect(user) for user in USERS[:-1] for _ in range(EACH)]
    asked = [pool.submit(_outcome, each, LONG.format(30 + place)) for place, each in enumerate(asking)]
    _charged(other, before + len(asking))
    begun = time.monotonic()
    assert other.execute(SHORT.encode()).fetchall() == answer
    assert _outcome(other, "SELECT fare FROM trips GROUP BY 1") is not None
    waiting, watching = pool.submit(_outcome, other, LONG.format(99)), connect(USERS[-1])
    assert _charges(watching) == before + len(asking)
    assert time.monotonic() - begun < SOON
    _stop(other)
    assert waiting.result(SOON) == "57014"
    _stop(*asking)
    assert {each.result(4 * SOON) for each in asked} == {"57014"}
    assert _charges(watching) == before + len(asking)
