"""Who leaves while the shadow works, or can't be stopped, has no place for another session until that has ended."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions, read_process
from dpsql.wire.protocol.messages import Limits
from dpsql.wire.server.listener import Listener
from tests.support.spinning import SPINNING
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening

_PATIENCE = 60.0
"""Seconds on a busy machine."""
_SPIN = f"SELECT {SPINNING}".encode()


def _open(listener: Listener, user: str = "ana") -> psycopg.Connection:
    return psycopg.connect(f"{dsn(listener, user)} password=pw", autocommit=True)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _begin(session: psycopg.Connection) -> int:
    """Let a session begin to spin; return its process."""
    ((process,),) = session.execute("SELECT pg_backend_pid()").fetchall()
    session.pgconn.send_query(_SPIN)
    session.pgconn.flush()
    _until(lambda: (seen := read_process(process)) is not None and seen.worked > 0.3)
    return int(process)


@contextmanager
def _looking(left: LeftoverSessions) -> Iterator[None]:
    """Do what the warden does."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            left.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_who_leaves_has_no_other_session_until_the_first_has_ended(shadow: Postgres, answers: Exact) -> None:
    """It counts among the user's and among all; others have theirs."""
    left, limits = LeftoverSessions(), Limits(connections_per_user=2)
    with listening(answers, shadow, limits, left=left) as (served, _), closing(_open(served, "gus")) as other:
        leaving = _open(served)
        process = _begin(leaving)
        leaving.close()
        _until(lambda: left.of("ana") == 1)
        with closing(_open(served)), pytest.raises(psycopg.OperationalError, match="too many connections for user"):
            _until(lambda: _open(served).closed)
        assert other.execute("SELECT 1").fetchone() == (1,)
        with _looking(left):
            _until(lambda: read_process(process) is None)
        with closing(_open(served)), closing(_open(served)) as second:
            assert second.execute("SELECT 1").fetchone() == (1,)
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_left_sessions_count_among_all(shadow: Postgres, answers: Exact) -> None:
    """The shadow has no more than it was made for."""
    left, limits = LeftoverSessions(), Limits(sessions=1)
    with listening(answers, shadow, limits, left=left) as (served, _):
        leaving = _open(served)
        process = _begin(leaving)
        leaving.close()
        _until(lambda: left.number == 1)
        with pytest.raises(psycopg.OperationalError, match="too many sessions are in use"):
            _open(served, "gus").execute("SELECT 1")
        with _looking(left):
            _until(lambda: read_process(process) is None)


def _cancel(session: psycopg.Connection, _: Listener) -> None:
    session.cancel_safe()


def _cancel_by_sql(session: psycopg.Connection, served: Listener) -> None:
    with closing(_open(served)) as another:
        another.execute("SELECT pg_cancel_backend(%s)", (session.info.backend_pid,))


Cancel = Callable[[psycopg.Connection, Listener], None]


@pytest.mark.parametrize("cancel", [_cancel, _cancel_by_sql])
def test_a_session_that_hears_no_cancel_is_ended(shadow: Postgres, answers: Exact, cancel: Cancel) -> None:
    """Its client is told so, and may connect again."""
    left = LeftoverSessions()
    with listening(answers, shadow, left=left) as (served, _), closing(_open(served)) as session, _looking(left):
        timer = threading.Timer(0.5, cancel, (session, served))
        timer.start()
        with pytest.raises(psycopg.OperationalError, match="can't be canceled otherwise"):
            session.execute(_SPIN)
        timer.join()
        _until(lambda: not left.number)
        with closing(_open(served)) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)


def test_a_session_that_hears_it_goes_on(shadow: Postgres, answers: Exact) -> None:
    """As ever, however much it works after."""
    left = LeftoverSessions()
    with listening(answers, shadow, left=left) as (served, _), closing(_open(served)) as session:
        timer = threading.Timer(0.5, session.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute("SELECT count(*) FROM generate_series(1, 1000000000000)")
        timer.join()
        assert session.execute("SELECT count(*) FROM generate_series(1, 30000000)").fetchone() == (30000000,)
    assert left.number == 0
