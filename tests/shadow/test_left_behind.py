"""A session that nobody waits for ends, whatever it does, and no other session notices."""

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest

from dpsql.errors import TooComplex, Unsupported
from dpsql.question import Settings
from dpsql.rewrite.ir.literal import SpelledSql
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions import oracle
from dpsql.shadow.questions.oracle import OracleSession, ShadowOracle
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch import warden as watch_sessions
from dpsql.shadow.watch.warden import LeftoverSessions, read_process
from tests.support.spinning import SPINNING

Connect = Callable[[str], psycopg.Connection]
_PATIENCE = 60.0
"""Seconds on a busy machine."""


@contextmanager
def _spinning(session: psycopg.Connection) -> Iterator[int]:
    """Let a session spin; give its process, which has worked for a while."""

    def spin() -> None:
        with suppress(psycopg.Error):
            session.execute(f"SELECT {SPINNING}".encode())

    thread = threading.Thread(target=spin)
    thread.start()
    process = session.info.backend_pid
    _until(lambda: (seen := read_process(process)) is not None and seen.worked > 0.3)
    yield process
    thread.join(_PATIENCE)
    assert not thread.is_alive()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _looked(left: LeftoverSessions, keeping: Collection[int] = ()) -> bool:
    left.look(keeping)
    return not left.number


def test_a_session_that_hears_nothing_is_ended(connect: Connect) -> None:
    """No signal of PostgreSQL's own ends it; meanwhile it is its user's, and the other sessions stay."""
    other, session, left = connect("gus"), connect("ana"), LeftoverSessions()
    with _spinning(session) as process:
        os.kill(process, signal.SIGTERM)
        left.add(process, "ana")
        assert (left.of("ana"), left.of("gus"), left.number) == (1, 0, 1)
        _until(lambda: _looked(left))
    assert left.of("ana") == 0
    with pytest.raises(psycopg.OperationalError):
        session.execute("SELECT 1")
    assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_session_with_temporary_tables_has_longer(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it stopped while it drops them, they would stay for good."""
    session, left = connect("ana"), LeftoverSessions()
    with _spinning(session) as process:
        left.add(process, "ana")
        left.look({process})
        begun = read_process(process)
        assert begun is not None
        _until(lambda: (seen := read_process(process)) is not None and seen.worked > begun.worked + 1)
        left.look({process})
        time.sleep(0.2)
        assert left.number == 1
        monkeypatch.setattr(watch_sessions, "_TIDYING", 0.2)
        _until(lambda: _looked(left, {process}))


def test_a_session_that_listens_is_only_told(connect: Connect) -> None:
    """It ends by itself, and is gone from the list as soon as it has."""
    session, left = connect("ana"), LeftoverSessions()
    left.add(session.info.backend_pid, "ana")
    left.look()
    _until(lambda: not left.of("ana"))
    with pytest.raises(psycopg.OperationalError, match="terminating connection due to administrator command"):
        session.execute("SELECT 1")


def test_a_process_that_has_ended_is_not_kept() -> None:
    """Nor is another that has its number."""
    left = LeftoverSessions()
    left.add(2**22 - 1, "ana")
    assert left.number == 0


@pytest.fixture
def left() -> LeftoverSessions:
    """Give a list that nobody looks at."""
    return LeftoverSessions()


@pytest.fixture
def sessions(shadow: Postgres, left: LeftoverSessions, monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleSession]:
    """Give sessions for planning that are impatient."""
    monkeypatch.setattr(oracle, "_PATIENCE", 0.5)
    made = OracleSession(shadow.dsn("taxi", ORACLE), left)
    yield made
    made.close()
    _until(lambda: _looked(left))


def test_who_left_too_many_constants_waits(sessions: OracleSession, left: LeftoverSessions) -> None:
    """Only they: others' constants are evaluated, and theirs are again when the sessions have ended."""
    ana, gus = (ShadowOracle(sessions, Settings(), user) for user in ("ana", "gus"))
    for _ in range(4):
        with pytest.raises(Unsupported, match="takes too long to evaluate"):
            ana.constant(SpelledSql(SPINNING))
    assert left.of("ana") == 4
    with pytest.raises(TooComplex, match="are still being evaluated"):
        ana.constant(SpelledSql("1"))
    assert gus.constant(SpelledSql("1")) == ("1", "integer")
    _until(lambda: _looked(left))
    assert ana.constant(SpelledSql("1")) == ("1", "integer")
