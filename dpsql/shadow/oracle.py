"""The oracle that planning asks: one session in the shadow with a client's rights, for constants and public values."""

import queue
import re
from collections.abc import Sequence

import psycopg
from psycopg import sql

from dpsql.errors import InternalError, SyntaxFailed, Unsupported
from dpsql.policy.model import SqlType, Value
from dpsql.question import Settings
from dpsql.rewrite.literal import format_value

_MOST_VALUES = 10_000
_SESSIONS = 4
_MOVING = re.compile(
    r"\b(now|today|tomorrow|yesterday|current_|localtime|statement_timestamp|transaction_timestamp|age)", re.IGNORECASE
)
_OPTIONS = "-c statement_timeout=2000 -c datestyle=ISO -c intervalstyle=iso_8601 -c search_path=pg_catalog,public"
_LONGEST = 1_000_000
"""Characters of one constant; `lpad` alone could write a thousand times as many."""
_LONGEST_OF_MANY = 10_000
"""Characters of a function's result for one of many values."""

Rows = list[tuple[str | None, ...]]
Question = sql.SQL | sql.Composed


class OracleSession:
    """A few sessions that any thread may use; one that asks something slow does not keep the others waiting."""

    def __init__(self, dsn: str) -> None:
        self._free: queue.LifoQueue[_Session] = queue.LifoQueue()
        self._all = tuple(_Session(dsn) for _ in range(_SESSIONS))
        for session in self._all:
            self._free.put(session)

    def ask(self, settings: Settings, question: Question) -> Rows:
        """Return the rows of a SELECT over public values.

        Raises:
            SyntaxFailed: PostgreSQL can't evaluate it; its message is about public values only.
        """
        session = self._free.get()
        try:
            return session.ask(settings, question)
        finally:
            self._free.put(session)

    def close(self) -> None:
        """End the sessions."""
        for session in self._all:
            session.close()


class _Session:
    """One session, for one question at a time; it comes back after the shadow was restarted."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[tuple[str | None, ...]] | None = None

    def ask(self, settings: Settings, question: Question) -> Rows:
        """Return the rows; see `OracleSession.ask`."""
        try:
            return self._ask(settings, question)
        except psycopg.errors.QueryCanceled:
            raise Unsupported(
                "a constant of this statement takes too long to evaluate",
                hint="Compute it before, and write the result.",
            ) from None
        except psycopg.OperationalError:
            self.close()
            return self._ask(settings, question)
        except psycopg.Error as error:
            raise SyntaxFailed(error.diag.message_primary or "this constant can't be evaluated") from None

    def _ask(self, settings: Settings, question: Question) -> Rows:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._dsn, autocommit=True, options=_OPTIONS)
        zone = sql.SQL("SET TimeZone = {}").format(settings.time_zone)
        self._connection.execute(zone)
        return self._connection.execute(question).fetchall()

    def close(self) -> None:
        """End the session."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class ShadowOracle:
    """An `Oracle` for one statement of one client's session."""

    def __init__(self, session: OracleSession, settings: Settings) -> None:
        self._session, self._settings = session, settings
        self.moving = False

    def constant(self, expression: str) -> tuple[str | None, str]:
        """Return the value and the type of a constant expression."""
        self.moving = self.moving or _MOVING.search(expression) is not None
        question = sql.SQL("SELECT left(v::text, {}), pg_typeof(v)::text FROM (SELECT {}) AS c (v)").format(
            _LONGEST + 1, _text(expression)
        )
        ((value, type_),) = self._session.ask(self._settings, question)
        if type_ is None:
            raise InternalError
        return _not_too_long(value, _LONGEST), type_

    def column(self, query: str) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values and the type of a query's one column.

        Raises:
            Unsupported: there are too many.
        """
        self.moving = self.moving or _MOVING.search(query) is not None
        question = sql.SQL(
            "SELECT DISTINCT left(v::text, {}), pg_typeof(v)::text FROM ({}) AS q (v) ORDER BY 1 LIMIT {}"
        ).format(_LONGEST_OF_MANY + 1, _text(query), _MOST_VALUES + 1)
        rows = self._session.ask(self._settings, question)
        if len(rows) > _MOST_VALUES:
            raise Unsupported(
                f"a list has more than {_MOST_VALUES:,} values, which is the limit",
                hint="Ask for a part of it at a time.",
            )
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(rows[0][1]) if rows else "text"

    def over(
        self, expression: str, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the values and the type of an expression in `x` over public values."""
        self.moving = self.moving or _MOVING.search(expression) is not None
        given = [None if v is None else format_value(v, type_) for v in values]
        question = sql.SQL(
            "SELECT left(v::text, {}), pg_typeof(v)::text "
            "FROM (SELECT n, {} FROM unnest({}::{}[]) WITH ORDINALITY AS u (x, n)) AS c (n, v) ORDER BY n"
        ).format(_LONGEST_OF_MANY + 1, _text(expression), given, sql.SQL(type_.value))
        rows = self._session.ask(self._settings, question)
        types = {t for _, t in rows}
        if len(types) > 1:
            raise InternalError
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(types.pop()) if types else "text"


def _not_too_long(value: str | None, most: int) -> str | None:
    if value is not None and len(value) > most:
        raise Unsupported(
            f"a constant of this statement is longer than {most:,} characters",
            hint="Compare with something shorter.",
        )
    return value


def _text(expression: str) -> sql.SQL:
    """Return text that was rendered from a tree of allowed functions."""
    return sql.SQL(expression)
