"""A session for constants that does not answer is given up, and is nobody else's."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from dpsql.errors import QueryCanceled, Unsupported
from dpsql.interrupt import _WATCHDOG, _Call, called_when_overdue, ended_when_overdue
from dpsql.question import Cancellation, Settings
from dpsql.rewrite.ir.literal import SpelledSql
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions import oracle as questions_oracle
from dpsql.shadow.questions.oracle import OracleSession, ShadowOracle
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions

ONE = SpelledSql("1")
SOON = 3.0
"""Seconds on a busy machine."""


@pytest.fixture
def sessions(shadow: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleSession]:
    """Give sessions that are impatient."""
    monkeypatch.setattr(questions_oracle, "_PATIENCE", 0.3)
    made = OracleSession(shadow.dsn("taxi", ORACLE), LeftoverSessions())
    yield made
    made.close()


def _hanging(sessions: OracleSession) -> int:
    """Let the session that is asked next stand still; return its process."""
    ShadowOracle(sessions, Settings(), "ana").constant(ONE)
    process = next(session._connection.info.backend_pid for session in sessions._all if session._connection is not None)
    os.kill(process, signal.SIGSTOP)
    return process


def test_a_session_that_does_not_answer_is_replaced(sessions: OracleSession) -> None:
    """Whoever asked hears it soon, and the next question is answered by another one."""
    process = _hanging(sessions)
    try:
        since = time.monotonic()
        with pytest.raises(Unsupported, match="takes too long to evaluate"):
            ShadowOracle(sessions, Settings(), "ana").constant(ONE)
        assert ShadowOracle(sessions, Settings(), "ana").constant(ONE) == ("1", "integer")
        assert time.monotonic() - since < SOON
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_cancel_of_planning_is_heard_meanwhile(sessions: OracleSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the session is given up by itself."""
    monkeypatch.setattr(questions_oracle, "_PATIENCE", 60.0)
    process = _hanging(sessions)
    cancellation = Cancellation()
    cancellation.cancel()
    try:
        with pytest.raises(QueryCanceled):
            ended_when_overdue(lambda: ShadowOracle(sessions, Settings(), "ana").constant(ONE), cancellation)
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_session_that_is_given_up_at_once_is_not_asked_again(
    sessions: OracleSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where time was up before the question was sent, the connection is cut, and that is no shadow that was restarted."""
    ShadowOracle(sessions, Settings(), "ana").constant(ONE)

    @contextmanager
    def cut(stop: Callable[[], None], seconds: float) -> Iterator[None]:
        stop()
        with called_when_overdue(stop, seconds):
            yield

    monkeypatch.setattr(questions_oracle, "called_when_overdue", cut)
    with pytest.raises(Unsupported, match="takes too long to evaluate"):
        ShadowOracle(sessions, Settings(), "ana").constant(ONE)


@pytest.mark.parametrize("ask", [lambda oracle: oracle.constant(ONE), lambda oracle: oracle.canonical("SELECT 1", ())])
def test_the_end_of_the_stack_keeps_no_session(sessions: OracleSession, ask: Callable[[ShadowOracle], object]) -> None:
    """Nested to any depth, a question is asked or it is not: no session is lost, or goes on to be watched."""
    oracle, failed = ShadowOracle(sessions, Settings(), "ana"), 0
    limit = sys.getrecursionlimit()

    def at(depth: int) -> None:
        if depth:
            at(depth - 1)
        else:
            ended_when_overdue(lambda: ask(oracle), None)

    for depth in range(limit - 300, limit):
        try:
            at(depth)
        except RecursionError:
            failed += 1
    assert 0 < failed < 300
    assert sessions._free.qsize() == len(sessions._all)
    assert not any(isinstance(watched, _Call) for watched in _WATCHDOG._watched)
