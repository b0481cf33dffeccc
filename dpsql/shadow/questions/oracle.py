"""The oracle of planning: constants and public values, spelled by us (`SpelledSql`), and queries as PostgreSQL binds them."""

import queue
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import adapters, pq, sql

from dpsql.errors import DpsqlError, InternalError, SyntaxFailed, TooComplex, Unsupported
from dpsql.hang_up import hang_up
from dpsql.interrupt import called_when_overdue, uninterruptible
from dpsql.lexer.reader import token_name, tokens
from dpsql.policy.model import SqlType, Value
from dpsql.question import USUAL_STYLE, ColumnDescription, Settings
from dpsql.rewrite.ir.literal import PublicAnswer, SpelledSql, format_value, literal, quoted_name
from dpsql.shadow.watch.warden import LeftoverSessions

# The sessions in the shadow that planning asks: without rights, and given up when they do not answer.
#
# One statement at a time goes to each, by the extended protocol, in a transaction that is rolled back and a session that is
# reset: nothing that one question does reaches another.

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

    def __init__(self, dsn: str, left: LeftoverSessions) -> None:
        """`left` takes those that don't answer."""
        self._left = left
        # Last in, first out: the session that was asked last has PostgreSQL's catalogue in its caches.
        self._free: queue.LifoQueue[_Session] = queue.LifoQueue()
        self._all = tuple(_Session(dsn, left) for _ in range(_SESSIONS))
        for session in self._all:
            self._free.put(session)

    def describe(
        self, user: str, settings: Settings, question: ConstantQuestion, *, in_iso: bool = False
    ) -> ConstantCursor:
        """Return the answer to a SELECT over public values for a user; times are written as in the session, or in ISO 8601.

        Raises:
            SyntaxFailed: PostgreSQL can't evaluate it; its message is about public values only.
            TooComplex: earlier ones of the user's are evaluated still, though nobody waits for them.
        """
        return self.ask(user, partial(_described, settings, question, in_iso))

    def ask(self, user: str, work: Callable[[OracleConnection], _T]) -> _T:
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
        with uninterruptible():
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

    def __init__(self, dsn: str, left: LeftoverSessions) -> None:
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
    wanted = {
        "TimeZone": settings.time_zone,
        "DateStyle": f"{dates}, {settings.date_order}",
        "IntervalStyle": intervals,
    }
    # PostgreSQL reports these three whenever they change: where one is right already, it need not be set.
    local = {key: value for key, value in wanted.items() if connection.info.parameter_status(key) != value}
    with connection.pipeline() as pipeline:  # one round trip, and never the simple protocol
        connection.execute("BEGIN READ ONLY")
        for key, value in local.items():
            connection.execute(sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(key), value))
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


# Has PostgreSQL bind a query, and say it in its own words: as the body of a function that is never called.
#
#     BEGIN; CREATE FUNCTION pg_temp.dpsql_query (integer) … BEGIN ATOMIC SELECT … $1 … ; END
#     SELECT pg_get_function_sqlbody(…); ROLLBACK
#
# This is the one place where a client's own text reaches planning. It is analyzed and never run: of all that it says only
# the input functions of types are called, for literals. It goes by the extended protocol, so it is one statement; the session
# has no rights but to make what is temporary, and is rolled back. A client's temporary tables are there as empty ones.

_LONGEST_QUERY = 200_000
"""Characters of a query in PostgreSQL's words: `*` may stand for many columns."""
_PLAIN_SETTINGS = {"search_path": "pg_catalog", "DateStyle": "ISO", "IntervalStyle": "iso_8601"}
"""How PostgreSQL is to write: so that no setting changes what is meant."""
_FUNCTION = "pg_temp.dpsql_query"
_BEGIN, _END = "BEGIN ATOMIC", "END"
_FIRST_OF_OTHERS = 16_384
"""The first number of a type that is not PostgreSQL's own."""
_NAMED: dict[tuple[int, int], str] = {}
"""The names of PostgreSQL's own types."""


def canonical_text(
    query: str, types: Sequence[str], settings: Settings, connection: OracleConnection, *, again: bool
) -> str:
    """Return a query in PostgreSQL's words; see `Binder`."""
    _begin(connection, settings, again=again)
    head = f"CREATE FUNCTION {_FUNCTION} ({', '.join(types)}) RETURNS void LANGUAGE sql {_BEGIN} "
    # The line break ends a comment that the query may end with. What PostgreSQL refuses here is told as an error of the
    # client's own statement (`not_bound`).
    _one(connection, head + query + f"\n; {_END}")
    plain = [] if again else [_set_config(key, value) for key, value in _PLAIN_SETTINGS.items()]
    result = _ours(connection, [*plain, f"SELECT pg_get_function_sqlbody('{_FUNCTION}'::regproc)"])
    _ours(connection, ["ROLLBACK"])
    text = result.get_value(0, 0)
    return _inside(None if text is None else text.decode())


def described_columns(
    queries: Sequence[str], types: Sequence[str], settings: Settings, connection: OracleConnection
) -> tuple[tuple[ColumnDescription, ...], ...]:
    """Return the columns of queries in PostgreSQL's words; see `Binder`."""
    server = connection.pgconn
    _begin(connection, settings, again=True)
    oids = list[int]()
    if types:
        given = _ours(connection, [f"SELECT {', '.join(f'{literal(type_)}::regtype::oid::text' for type_ in types)}"])
        oids = [int(given.get_value(0, place) or 0) for place, _ in enumerate(types)]
    described = []
    for query in queries:
        _seen(connection, server.prepare(b"", query.encode(), oids))
        result = _seen(connection, server.describe_prepared(b""))
        described.append([(result.fname(i), result.ftype(i), result.fmod(i)) for i in range(result.nfields)])
    names = _names(connection, {(type_, modifier) for columns in described for _, type_, modifier in columns})
    _ours(connection, ["ROLLBACK"])
    return tuple(
        tuple(
            ColumnDescription((column or b"").decode(), type_, modifier, names[type_, modifier])
            for column, type_, modifier in columns
        )
        for columns in described
    )


def _begin(connection: OracleConnection, settings: Settings, *, again: bool) -> None:
    """Make a session one in which a query is bound: as the client has it, or as PostgreSQL is to write."""
    set_ = [_set_config(key, value) for key, value in _PLAIN_SETTINGS.items()]
    if not again:
        # An empty path is "", which is no name.
        path = (
            ()
            if settings.search_path == '""'
            else (token_name(token) for token in tokens(settings.search_path) if token.word != ",")
        )
        names = [quoted_name(schema) for schema in path if schema]
        style = f"{settings.date_style}, {settings.date_order}"
        set_ = [f"SET LOCAL search_path = {', '.join(names) or 'pg_catalog'}", _set_config("DateStyle", style)]
    _ours(connection, ["BEGIN", *set_, _set_config("TimeZone", settings.time_zone)])
    for table in settings.temporary:
        parts = [f"{quoted_name(column)} {type_}" for column, type_ in table.columns]
        if table.key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted_name, table.key))})")
        _one(connection, f"CREATE TEMP TABLE {quoted_name(table.name)} ({', '.join(parts)})")


def _set_config(key: str, value: str) -> str:
    return f"SET LOCAL {key} = {literal(value)}"


def _ours(connection: OracleConnection, statements: Sequence[str]) -> pq.abc.PGresult:
    """Return the result of the last of some statements, which are ours: they go as one text, in one round trip."""
    return _seen(connection, connection.pgconn.exec_("; ".join(statements).encode()))


def _one(connection: OracleConnection, statement: str) -> None:
    """Run one statement, for any text: by the extended protocol."""
    _seen(connection, connection.pgconn.exec_params(statement.encode(), None))


def _seen(connection: OracleConnection, result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        if result.error_field(pq.DiagnosticField.SQLSTATE) is None:  # no word of PostgreSQL's: the connection is lost
            connection.close()
            raise psycopg.OperationalError
        raise psycopg.errors.error_from_result(result)
    return result


def _inside(text: str | None) -> str:
    if text is None or not text.startswith(_BEGIN) or not text.endswith(_END):
        raise InternalError
    inside = text[len(_BEGIN) : -len(_END)].strip().removesuffix(";")
    if len(inside) > _LONGEST_QUERY:
        raise TooComplex(
            f"this statement has {len(inside):,} characters when it is written out, the limit is {_LONGEST_QUERY:,}",
            because="written-out-too-long",
            hint="Name the columns that you need instead of *.",
        )
    return inside


def _names(connection: OracleConnection, types: set[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the names of types as PostgreSQL spells them."""
    names = {pair: _NAMED[pair] for pair in types if pair in _NAMED}
    missing = [pair for pair in types if pair not in names]
    if missing:
        asked = ", ".join(f"format_type({type_}, {modifier})" for type_, modifier in missing)
        row = _ours(connection, [f"SELECT {asked}"])
        names |= {pair: (row.get_value(0, place) or b"").decode() for place, pair in enumerate(missing)}
        _NAMED.update({pair: spelled for pair, spelled in names.items() if pair[0] < _FIRST_OF_OTHERS})
    return names


def not_bound(failed: DpsqlError) -> DpsqlError:
    """Return the error for a query that PostgreSQL does not bind, which it has taken from the client."""
    if not isinstance(failed, SyntaxFailed):
        return TooComplex(
            "this statement takes too long to bind",
            because="binding-too-long",
            hint="Shorten it: fewer operations in each other, fewer subqueries.",
        )
    return Unsupported(
        f"this statement over a protected table can't be bound: {failed.message}",
        because="statement-not-bound",
        hint="docs/sql.md says which SQL is answered.",
    )


# The oracle, with one statement's settings.

_MOST_VALUES = 10_000
_LONGEST_CONSTANT = 1_000_000
"""Characters of one constant; `lpad` alone could write a thousand times as many."""
_LONGEST_OF_MANY = 10_000
"""Characters of a function's result for one of many values."""

_DATES = ("date", "timestamp", "range")
_INTERVALS = ("interval",)
"""Parts of the names of types whose values are written in the style of dates, or of intervals."""

ConstantRows = list[tuple[str | None, ...]]


class ShadowOracle:
    """An `ConstantEvaluator` for one statement of one client's session."""

    def __init__(self, session: OracleSession, settings: Settings, user: str) -> None:
        self._session, self._settings, self._user = session, settings, user
        self.volatile = False

    @property
    def time_zone(self) -> str:
        """Return the session's TimeZone."""
        return self._settings.time_zone

    @property
    def dates_in_iso(self) -> bool:
        """Return whether the session writes dates as 2019-03-01."""
        return self._settings.date_style == USUAL_STYLE

    def _asked(self, question: ConstantQuestion) -> ConstantRows:
        """Return values with their types: times in ISO 8601, and all else as in the session, where texts may be of times."""
        rows = self._session.describe(self._user, self._settings, question).fetchall()
        if not self._has_own_style(type_ or "" for _, type_ in rows):
            return rows
        return self._session.describe(self._user, self._settings, question, in_iso=True).fetchall()

    def _has_own_style(self, types: Iterable[str]) -> bool:
        """Return whether the session writes values of one of these types in another style than planning reads."""
        words = _DATES * (not self.dates_in_iso) + _INTERVALS * (self._settings.interval_style != "iso_8601")
        return any(word in type_ for type_ in types for word in words)

    def constant(self, expression: SpelledSql) -> tuple[str | None, str]:
        """Return the value and the type of a constant expression."""
        self.volatile = self.volatile or expression.volatile
        question = sql.SQL("SELECT left(v::text, {}), pg_typeof(v)::text FROM (SELECT {}) AS c (v)").format(
            _LONGEST_CONSTANT + 1, _text(expression)
        )
        ((value, type_),) = self._asked(question)
        if type_ is None:
            raise InternalError
        return _not_too_long(value, _LONGEST_CONSTANT), type_

    def column(self, query: SpelledSql) -> tuple[tuple[str | None, ...], str]:
        """Return the distinct values and the type of a query's one column.

        Raises:
            Unsupported: there are too many.
        """
        self.volatile = self.volatile or query.volatile
        question = sql.SQL(
            "SELECT DISTINCT left(v::text, {}), pg_typeof(v)::text FROM ({}) AS q (v) ORDER BY 1 LIMIT {}"
        ).format(_LONGEST_OF_MANY + 1, _text(query), _MOST_VALUES + 1)
        rows = self._asked(question)
        if len(rows) > _MOST_VALUES:
            raise _too_many()
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(rows[0][1]) if rows else "text"

    def rows(self, query: SpelledSql) -> PublicAnswer:
        """Return the rows of a query, as PostgreSQL writes them.

        Raises:
            Unsupported: there are too many.
        """
        self.volatile = self.volatile or query.volatile
        question = sql.SQL("SELECT * FROM ({}) AS q LIMIT {}").format(_text(query), _MOST_VALUES + 1)
        shown = self._described(question, in_iso=False)
        if not self._has_own_style(shown.types):
            return shown
        answer = self._described(question, in_iso=True)
        _require_same(answer, shown)
        return answer

    def _described(self, question: ConstantQuestion, *, in_iso: bool) -> PublicAnswer:
        answer = self._session.describe(self._user, self._settings, question, in_iso=in_iso)
        columns, result = answer.description or (), answer.pgresult
        if result is None:
            raise InternalError
        if result.ntuples > _MOST_VALUES:
            raise _too_many()
        types = (adapters.types.get(column.type_code) for column in columns)
        return PublicAnswer(
            tuple(column.name for column in columns),
            tuple("?" if type_ is None else type_.name for type_ in types),
            tuple(
                tuple(_cell(result.get_value(row, place)) for place, _ in enumerate(columns))
                for row in range(result.ntuples)
            ),
        )

    def over(
        self, expression: SpelledSql, values: Sequence[Value | None], type_: SqlType
    ) -> tuple[tuple[str | None, ...], str]:
        """Return the values and the type of an expression in `x` over public values."""
        self.volatile = self.volatile or expression.volatile
        given = [None if v is None else format_value(v, type_) for v in values]
        question = sql.SQL(
            "SELECT left(v::text, {}), pg_typeof(v)::text "
            "FROM (SELECT n, {} FROM unnest({}::{}[]) WITH ORDINALITY AS u (x, n)) AS c (n, v) ORDER BY n"
        ).format(_LONGEST_OF_MANY + 1, _text(expression), given, sql.SQL(type_.spelled))
        rows = self._asked(question)
        types = {t for _, t in rows}
        if len(types) > 1:
            raise InternalError
        return tuple(_not_too_long(value, _LONGEST_OF_MANY) for value, _ in rows), str(types.pop()) if types else "text"

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return a query as PostgreSQL writes it; see `Binder`."""
        try:
            return self._session.ask(self._user, partial(canonical_text, query, types, self._settings, again=again))
        except (SyntaxFailed, Unsupported) as failed:
            raise not_bound(failed) from None

    def describe(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Return the columns of queries in such words; see `Binder`."""
        try:
            return self._session.ask(self._user, partial(described_columns, queries, types, self._settings))
        except (SyntaxFailed, Unsupported) as failed:
            raise not_bound(failed) from None


def _is_of_times(type_: str) -> bool:
    """Return whether values of a type are written in the style of dates or of intervals."""
    return any(word in type_ for word in _DATES + _INTERVALS)


def _require_same(answer: PublicAnswer, shown: PublicAnswer) -> None:
    """Refuse texts of dates beside dates, and of intervals beside intervals, which are read in one style.

    Raises:
        Unsupported: a value that is no time has another text in the session's style.
    """
    others = [place for place, type_ in enumerate(answer.types) if not _is_of_times(type_)]
    texts, written = ([[row[place] for place in others] for row in each.rows] for each in (answer, shown))
    if texts != written:
        raise Unsupported(
            "texts of dates or intervals beside such are read in ISO style only",
            because="texts-beside-dates",
            hint="SET datestyle = 'ISO'; SET intervalstyle = 'iso_8601'",
        )


def _too_many() -> Unsupported:
    return Unsupported(
        f"a list has more than {_MOST_VALUES:,} values, which is the limit",
        because="list-too-long",
        hint="Ask for a part of it at a time.",
    )


def _cell(value: bytes | None) -> str | None:
    return _not_too_long(None if value is None else value.decode(), _LONGEST_OF_MANY)


def _not_too_long(value: str | None, most: int) -> str | None:
    if value is not None and len(value) > most:
        raise Unsupported(
            f"a constant of this statement is longer than {most:,} characters",
            because="constant-too-long",
            hint="Compare with something shorter.",
        )
    return value


def _text(expression: SpelledSql) -> sql.SQL:
    return sql.SQL(expression.text)
