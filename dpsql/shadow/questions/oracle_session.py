"""The sessions in the shadow that planning asks: without rights, and given up when they do not answer.

One statement at a time goes to each, by the extended protocol, in a transaction that is rolled back and a session that is
reset: nothing that one question does reaches another.
"""

import queue
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import sql

from dpsql.errors import InternalError, SyntaxFailed, TooComplex, Unsupported
from dpsql.hang_up import hang_up
from dpsql.interrupt import called_when_overdue, undivided
from dpsql.question import Settings
from dpsql.shadow.watch.warden import LeftBehind

_SESSIONS = 8
_PATIENCE = 3.0
"""Seconds for one question: a little more than the shadow gives itself, which some functions don't look at."""
_WAIT = 10.0
"""Seconds until a session must be free."""
_LONG = 0.5
"""Seconds of a question after which its session is replaced: it may have been told to stand back (`Priorities`)."""
_MOST_LEFT = 4
"""Sessions of one user that were left behind before no more constants of theirs are evaluated."""
_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "statement_timeout": 2000,
        "search_path": "pg_catalog,public",
        "standard_conforming_strings": "on",
        "array_nulls": "on",
        "extra_float_digits": 1,
        "bytea_output": "hex",
    }.items()
)
_SHOWN = 300
"""Characters of what PostgreSQL says."""

_IN_ISO = ("ISO", "iso_8601")
"""The styles of dates and of intervals that planning reads."""

OracleConnection = psycopg.Connection[tuple[str | None, ...]]
ConstantCursor = psycopg.Cursor[tuple[str | None, ...]]
ConstantQuestion = sql.SQL | sql.Composed
_T = TypeVar("_T")


class OracleSession:
    """A few sessions that any thread may use; one that asks something slow does not keep the others waiting."""

    def __init__(self, dsn: str, left: LeftBehind) -> None:
        """`left` takes those that don't answer."""
        self._left = left
        # Last in, first out: the session that was asked last has PostgreSQL's catalogue in its caches.
        self._free: queue.LifoQueue[_Session] = queue.LifoQueue()
        self._all = tuple(_Session(dsn, left) for _ in range(_SESSIONS))
        for session in self._all:
            self._free.put(session)

    def described(
        self, user: str, settings: Settings, question: ConstantQuestion, *, in_iso: bool = False
    ) -> ConstantCursor:
        """Return the answer to a SELECT over public values for a user; times are written as in the session, or in ISO 8601.

        Raises:
            SyntaxFailed: PostgreSQL can't evaluate it; its message is about public values only.
            TooComplex: earlier ones of the user's are evaluated still, though nobody waits for them.
        """
        return self.asked(user, partial(_described, settings, question, in_iso))

    def asked(self, user: str, work: Callable[[OracleConnection], _T]) -> _T:
        """Return what comes of asking one of the sessions for a user; `work` leaves its connection as it has found it.

        Raises:
            SyntaxFailed: what PostgreSQL says that is no fault of the session's.
            TooComplex: earlier ones of the user's are evaluated still, though nobody waits for them.
        """
        if self._left.of(user) >= _MOST_LEFT:
            raise TooComplex(
                "constants of earlier statements, which took too long, are still being evaluated",
                because="constants-left-behind",
                hint="Try again when they have ended, in a few seconds, and write long computations as their results.",
            )
        with undivided():
            session = self._taken()
            session.given_up, session.user = False, user
            try:
                with called_when_overdue(session.hang_up, _PATIENCE):
                    return session.ask(work)
            finally:
                self._free.put(session)

    def _taken(self) -> "_Session":
        try:
            return self._free.get(timeout=_WAIT)
        except queue.Empty:
            raise _too_costly("waits for others for too long") from None

    def close(self) -> None:
        """End the sessions."""
        for session in self._all:
            session.close()


class _Session:
    """One session, for one question at a time; it comes back after the shadow was restarted."""

    def __init__(self, dsn: str, left: LeftBehind) -> None:
        self._dsn, self._left = dsn, left
        self._connection: psycopg.Connection[tuple[str | None, ...]] | None = None
        self.given_up = False
        """Whether nobody waits for what it was asked last."""
        self.user = ""
        """For whom it was asked."""
        self._process = 0

    def hang_up(self) -> None:
        """Leave the question to itself: the waiting thread is told so at once, and the next question gets a new session."""
        self.given_up = True
        if self._process:
            self._left.add(self._process, self.user)
        hang_up(self._connection)

    def ask(self, work: Callable[[OracleConnection], _T]) -> _T:
        """Return the answer; see `OracleSession.asked`."""
        since = time.monotonic()
        try:
            answered = self._again(work)
        except BaseException:
            self.close()  # in a state that nobody has to think about
            raise
        if time.monotonic() - since > _LONG:
            self.close()
        return answered

    def _again(self, work: Callable[[OracleConnection], _T], *, first: bool = True) -> _T:
        try:
            return work(self._opened())
        except psycopg.errors.QueryCanceled:
            raise _too_costly("takes too long to evaluate") from None
        except psycopg.errors.ProgramLimitExceeded:
            raise _too_costly("is made of texts or numbers that are too long") from None
        except psycopg.OperationalError:
            if self.given_up:
                raise _too_costly("takes too long to evaluate") from None
            if self._connection is not None and not self._connection.closed:
                raise _too_costly("takes too much memory to evaluate") from None
            # A session may have ended between two questions, with the server that was started again: once more, by a new one.
            if not first:
                raise InternalError from None
            self.close()
            return self._again(work, first=False)
        except psycopg.Error as error:
            said = error.diag.message_primary or "this constant can't be evaluated"
            raise SyntaxFailed(said if len(said) <= _SHOWN else f"{said[:_SHOWN]} …") from None

    def _opened(self) -> OracleConnection:
        if self._connection is None or self._connection.closed:
            # PostgreSQL plans a text that it prepares by itself once for all: `'now'::timestamp` would stand still.
            opened = psycopg.connect(
                self._dsn, autocommit=True, options=_OPTIONS, prepare_threshold=None, connect_timeout=10
            )
            self._connection, self._process = opened, opened.info.backend_pid
            if opened.info.parameter_status("standard_conforming_strings") != "on":
                raise InternalError
        return self._connection

    def close(self) -> None:
        """End the session."""
        if self._connection is not None:
            self._connection.close()
            self._connection, self._process = None, 0


def _described(
    settings: Settings, question: ConstantQuestion, in_iso: bool, connection: OracleConnection
) -> ConstantCursor:
    dates, intervals = _IN_ISO if in_iso else (settings.date_style, settings.interval_style)
    local = {
        "SET LOCAL TimeZone = {}": settings.time_zone,
        "SET LOCAL DateStyle = {}": f"{dates}, {settings.date_order}",
        "SET LOCAL IntervalStyle = {}": intervals,
    }
    with connection.pipeline() as pipeline:  # one round trip, and never the simple protocol
        connection.execute("BEGIN READ ONLY")
        for text, value in local.items():
            connection.execute(sql.SQL(text).format(value))
        answered = connection.execute(question)
        connection.execute("ROLLBACK")
        pipeline.sync()  # which ends the transaction that PostgreSQL takes a pipeline for: DISCARD must stand in none
        connection.execute("DISCARD ALL")
    return answered


def _too_costly(why: str) -> Unsupported:
    return Unsupported(
        f"a constant of this statement {why}",
        because="constant-too-costly",
        hint="Compute it before, and write the result.",
    )
