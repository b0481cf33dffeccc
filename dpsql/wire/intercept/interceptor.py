"""From a private statement to the one that the shadow runs in its place: describe, ask the gateway, try, compare.

In a failed transaction it ends with the first message: the shadow answers that with an error.
"""

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from dpsql.errors import AccessDenied, DpsqlError, InternalError, QueryCanceled, StatementTimeout, Unsupported
from dpsql.gateway.request import Answers, Rehearsal, Reply, Request, StandIn, Unpaid
from dpsql.question import Argument, Asker, Cancellation, ColumnDescription, Settings, TemporaryTable
from dpsql.rewrite.ir.literal import TYPES, quoted_name
from dpsql.rewrite.syntax.read.parse import Wrap, locate_query
from dpsql.shadow.contents.guard import PREPARED
from dpsql.wire.backend.backend import (
    Asked,
    Backend,
    ShadowLostError,
    ShadowRefusedError,
    TypeNames,
    drop_position,
    messages_to_bind,
    messages_to_describe,
    messages_to_run,
)
from dpsql.wire.backend.fair_share import Workers
from dpsql.wire.intercept.audit_lines import AuditedStatement
from dpsql.wire.intercept.classify import ExecuteNamed
from dpsql.wire.intercept.given_answers import Facts, GivenAnswer, GivenAnswers
from dpsql.wire.intercept.prepared_statements import Execution, PreparedStatement, SearchPath
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import describe_message, error_fields, join_error_fields, parameter_oids
from dpsql.wire.protocol.replies import Message, MessageKind

# Tries a statement with made-up answers in its session before it is paid for, and takes it back: see `gateway.rehearsal`.
#
# It is refused where it fails in the same way with all of them, in PostgreSQL's words. An answer may pass a CHECK, and be no
# duplicate, where no number that was made up is; so NULL, of which both hold, has to fail likewise. Not so where an error is
# about other values: NULL hides a division by 0.

_LOG = logging.getLogger("dpsql.wire")
_TRIED = PREPARED.encode()
_SKIPPED = b"CREATE TABLE AS\0"
"""The command tag where IF NOT EXISTS has left a table alone; one that is made has a number of rows."""
_TEXT_ARRAY = 1009
"""The type text[]."""
_HIDDEN_BY_NULL = ("22", "23502")
NOBODYS = ("53", "57", "58")
"""Classes of errors that no statement causes: too little memory, a cancel, the system."""
_OF_ROWS = ("23502", "23514")
"""Errors whose detail is the row that can't be, which has made-up values in it."""

# What is done before a statement is paid for, in this order:
#
# 1. describe     PostgreSQL's own errors: names, types, rights
# 2. plan         refusals of ours, with the rule and what to write instead
# 3. rehearse     the statement around no rows, in the client's session
# 4. stand-ins    the statement over made-up answers: what fails with all of them
# 5. trial        the engine's text on synthetic people
# 6. run through  the release of synthetic sums, described by PostgreSQL
# 7. charge       from here on an error has cost something
#
# Each sees only what the client may know anyhow: the statement, the policy, public rows.
_Said = tuple[str | None, ...]
"""PostgreSQL's error: SQLSTATE, message, detail, hint; names of schema, table, column, type and constraint."""
_CODE, _DETAIL, _NAMES = 0, 2, 4


@dataclass(frozen=True, slots=True)
class Trial:
    """The checks of one execution before it is paid for."""

    backend: Backend
    asked: Execution
    arguments: tuple[str | None, ...]
    codec: str

    def is_wanted(self, rehearsal: Rehearsal) -> bool:
        """Return whether anything may be found: what the statement fails with, or a character that the client can't have."""
        return rehearsal.is_tried or self.codec != "utf-8"

    async def is_done_already(self, rehearsal: Rehearsal) -> bool:
        """Rehearse; return whether IF NOT EXISTS finds its table there, so that nothing is left to do.

        Raises:
            ShadowRefusedError: the statement would fail with any answer.
        """
        given = (self.asked.oids, self.asked.values + b"\0\0")
        try:
            replies = await self.backend.ask(
                *(frame for text in rehearsal.texts for frame in messages_to_run(text.encode(self.codec), *given))
            )
        except ShadowRefusedError as refused:
            raise ShadowRefusedError(drop_position(refused.body), ()) from None
        if not rehearsal.undone:
            return False
        if [body for kind, body in replies if kind == b"C"][-1:] == [_SKIPPED]:
            return True
        await self.backend.ask(*messages_to_run(rehearsal.undone.encode(self.codec)))
        return False

    async def see(self, following: Callable[[], Awaitable[StandIn | None]]) -> None:
        """See that the statement does not fail in the same way with all stand-ins, which `following` returns one by one.

        Raises:
            ShadowRefusedError: it does, or PostgreSQL was stopped.
            Unsupported: client_encoding lacks characters of public keys.
        """
        first: _Said | None = None
        # An error that all of them meet is the statement's own, and is told before anything is paid. The first that works, or
        # fails in another way, ends the search: then it depends on the values.
        while (made := await following()) is not None:
            require_writable(made.text, self.codec)
            # A NULL hides errors of class 22 (division by zero, out of range): that the statement works over NULLs alone
            # tells nothing about the values that it will meet.
            if first is not None and made.of_nulls and (first[_CODE] or "").startswith(_HIDDEN_BY_NULL):
                break
            said = await self._failed(made.text)
            if said is None or (first is not None and _kind(said) != _kind(first)):
                return
            first = first or said
        if first is not None:
            await self._fail(first)

    async def require_described(self, text: str, columns: tuple[ColumnDescription, ...]) -> None:
        """See that PostgreSQL reads what an answer will look like, and finds the columns of the client's statement in it.

        Raises:
            InternalError: it does not.
            ShadowRefusedError: PostgreSQL was stopped.
        """
        try:
            replies = await self.backend.ask(*messages_to_describe(text.encode(self.codec), self.asked.oids))
        except ShadowRefusedError as refused:
            if refused.sqlstate.startswith(NOBODYS):
                raise
            _LOG.error("the shadow can't parse an answer: %s", refused)
            raise ShadowRefusedError(messages.error_body(InternalError()), ()) from None
        require_columns(replies, columns, self.codec)

    async def _failed(self, text: str) -> _Said | None:
        """Return what a text fails with, None if it does not."""
        forget = (MessageKind.CLOSE, messages.close_message(b"S", _TRIED))
        try:
            replies = await self.backend.ask(
                forget,
                (MessageKind.PARSE, messages.parse_message(_TRIED, text.encode(self.codec), self.asked.oids)),
                *self._called("SELECT pg_catalog.unnest(pg_dpsql.tried($1))", self.arguments),
                forget,
            )
        except ShadowRefusedError as refused:
            if any(kind == b"1" for kind, _ in refused.replies):
                raise
            _LOG.error("the shadow can't parse what stands in for an answer: %s", refused)
            raise ShadowRefusedError(messages.error_body(InternalError()), refused.replies) from None
        rows = [messages.data_row(body) for kind, body in replies if kind == b"D"]
        return tuple(None if cell is None else cell.decode(self.codec) for (cell,) in rows) or None

    # The error was caught in the shadow by `pg_dpsql.tried`, so the client's transaction is whole still. It has to fail
    # now as it would have without us: the same error is raised again, in the session itself.
    async def _fail(self, said: _Said) -> None:
        """Let the shadow fail with what was said."""
        shown = [None if place == _DETAIL and said[_CODE] in _OF_ROWS else part for place, part in enumerate(said)]
        try:
            await self.backend.ask(*self._called("SELECT pg_dpsql.fail($1)", [part or "" for part in shown]))
        except ShadowRefusedError as refused:
            fields = error_fields(refused.body)
            told = {name: value for name, value in fields.items() if value and name not in b"WPpq"}
            raise ShadowRefusedError(join_error_fields(told), ()) from None

    def _called(self, call: str, texts: tuple[str | None, ...] | list[str]) -> tuple[tuple[MessageKind, bytes], ...]:
        return messages_to_run(call.encode(), (_TEXT_ARRAY,), messages.bind_texts((_array(texts),), self.codec))


def require_columns(replies: tuple[Message, ...], columns: tuple[ColumnDescription, ...], codec: str) -> None:
    """See that PostgreSQL has described these columns: a client that reads binary rows would misread others.

    Raises:
        InternalError: it has not.
    """
    seen = next((messages.row_description(body, codec) for kind, body in replies if kind == b"T"), ())
    if [(c.name, c.oid) for c in seen] != [(c.name, c.oid) for c in columns]:
        _LOG.error("the answer has the columns %s instead of %s", seen, columns)
        raise InternalError


def require_writable(text: str, codec: str) -> None:
    """See that the client's encoding has all characters of an answer.

    Raises:
        Unsupported: it lacks some.
    """
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        raise Unsupported(
            "the answer has characters that client_encoding lacks",
            because="answer-not-in-encoding",
            hint="SET client_encoding = 'UTF8'",
        ) from None


def _kind(said: _Said) -> tuple[str | None, ...]:
    """Return what errors have in common that are the same."""
    return said[_CODE], *said[_NAMES:]


def _array(texts: tuple[str | None, ...] | list[str]) -> str:
    """Return texts as PostgreSQL reads an array of them."""
    return "{" + ",".join(map(_element, texts)) + "}"


def _element(text: str | None) -> str:
    return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# The rows of a session's own temporary tables, where these are lists: short, and of plain values.
#
# A list stands beside private rows as constants do (`rewrite.syntax.whole.scopes`). What is in it is its client's to know,
# who has written it, or to whom it was released.

_MOST_LISTS = 10
"""Of one statement: what they hold is sent, and is a part of what the statement is remembered by."""
_MOST_COLUMNS = 50
_MOST_ROWS = 1_000
_MOST_CHARACTERS = 100_000
"""Of the rows of one table."""


def select_of_lists(tables: Iterable[TemporaryTable]) -> str:
    """Return the SELECT of the rows of those tables that may be lists, one column each; nothing if there are none."""
    columns = [f"({_rows_of(table)})" for table in _lists(tables)]
    return f"SELECT {', '.join(columns)}" if columns else ""


def with_list_rows(tables: Iterable[TemporaryTable], told: Sequence[str | None]) -> tuple[TemporaryTable, ...]:
    """Return the tables with the rows that `asking` was answered; those that are no lists go without."""
    tables = tuple(tables)
    rows = dict(zip((table.name for table in _lists(tables)), told, strict=True))
    return tuple(replace(table, rows=_rows_read(rows.get(table.name))) for table in tables)


def _lists(tables: Iterable[TemporaryTable]) -> Iterator[TemporaryTable]:
    """Yield those that may be lists: of few tables, that one statement names."""
    return islice(filter(_may_be_list, tables), _MOST_LISTS)


def _may_be_list(table: TemporaryTable) -> bool:
    short = 0 < len(table.columns) <= _MOST_COLUMNS
    return table.stores and short and all(_without_length(type_) in TYPES for _, type_ in table.columns)


def _without_length(type_: str) -> str:
    """Return the name of a type without what limits its length: character varying(20)  →  character varying."""
    before, bracket, behind = type_.partition("(")
    return f"{before}{behind.partition(')')[2]}" if bracket else type_


def _rows_of(table: TemporaryTable) -> str:
    """Return the SELECT of a table's rows, as lists of texts in JSON; NULL where that is long, which is not even made.

    Times in it are in ISO 8601, whatever the session says.
    """
    # This runs in the client's session with the client's rights, and under the client's search path. So each function
    # and operator has its schema before it: what that path finds first is not ours to trust.
    names = [quoted_name(name) for name, _ in table.columns]
    rows = f"(SELECT {', '.join(names)} FROM pg_temp.{quoted_name(table.name)} LIMIT {_MOST_ROWS + 1}) AS l"  # noqa: S608  # quoted
    lengths = " + ".join(f"coalesce(pg_catalog.length({name}::pg_catalog.text), 0)" for name in names)
    cells = ", ".join(f"pg_catalog.to_jsonb({name}) OPERATOR(pg_catalog.#>>) '{{}}'" for name in names)
    made = (
        f"SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_array({cells}))::pg_catalog.text, '[]') FROM {rows}"  # noqa: S608  # ours
    )
    return f"SELECT CASE WHEN (SELECT pg_catalog.sum({lengths}) FROM {rows}) > {_MOST_CHARACTERS} THEN NULL ELSE ({made}) END"  # noqa: S608  # ours


def _rows_read(told: str | None) -> tuple[tuple[str | None, ...], ...] | None:
    rows = None if told is None else json.loads(told)
    return None if rows is None or len(rows) > _MOST_ROWS else tuple(map(tuple, rows))


# `statement_timeout` while the gateway works on a private statement, of which the shadow knows nothing.

LONGEST_TIMEOUT = 300.0
"""Seconds that a measurement may take, for any setting of a session; one that takes longer is stored as failed."""
_TIMEOUT_SHOWN = re.compile(r"(\d+)(ms|s|min|h|d)?")
_TIMEOUT_UNITS = {None: 0.001, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def timeout_seconds(shown: str) -> float | None:
    """Return how long a statement may take, as PostgreSQL shows the setting; None if it makes no difference."""
    match = _TIMEOUT_SHOWN.fullmatch(shown)
    if match is None:
        return None
    limit = int(match[1]) * _TIMEOUT_UNITS[match[2]]
    return limit if 0 < limit < LONGEST_TIMEOUT else None


@contextmanager
def within_timeout(limit: float | None, since: float, cancellation: Cancellation) -> Iterator[None]:
    """Cancel the work of the block `limit` seconds after `since` on the loop's clock.

    Raises:
        StatementTimeout: instead of QueryCanceled, when the limit was the cause.
    """
    loop = asyncio.get_running_loop()

    # PostgreSQL's statement_timeout counts from when the statement arrives, planning included; `since` is that moment.
    def expire() -> None:
        # To stop an engine may take a moment, which must not hold up the event loop.
        loop.run_in_executor(None, cancellation.expire)

    timer = None if limit is None else loop.call_at(since + limit, expire)
    try:
        yield
    except QueryCanceled:
        raise stopped_error(cancellation) from None
    finally:
        if timer is not None:
            timer.cancel()


def stopped_error(cancellation: Cancellation) -> QueryCanceled:
    """Return the error for a statement that was stopped, by a cancel request or by the time limit."""
    return StatementTimeout() if cancellation.late else QueryCanceled()


_T = TypeVar("_T")

# EXPLAIN binds and plans, so that types, names and privileges are checked, and evaluates nothing but constants.
EXPLAIN = "EXPLAIN "
"""Put before a statement it has PostgreSQL check arguments and rights, and run nothing."""

# All that an answer depends on in the session, asked for in one SELECT in the same round trip that describes the
# statement. A setting that is missing here would be a hole in what answers are remembered by: two sessions that read a
# statement differently would share one answer.
_FACTS = (
    "pg_catalog.current_setting('dpsql.epsilon', true)",
    "pg_catalog.current_setting('dpsql.empty_groups', true)",
    "pg_catalog.current_setting('dpsql.error', true)",
    "pg_catalog.current_setting('dpsql.clamp', true)",
    "pg_catalog.current_setting('dpsql.reuse', true)",
    "pg_catalog.current_setting('dpsql.digits', true)",
    "pg_catalog.current_setting('dpsql.renew', true)",
    "pg_catalog.current_setting('TimeZone')",
    "pg_catalog.current_setting('search_path')",
    "pg_catalog.array_to_json(pg_catalog.current_schemas(true))",
    "pg_catalog.current_setting('DateStyle')",
    "pg_catalog.current_setting('IntervalStyle')",
    "pg_catalog.current_setting('standard_conforming_strings')",
    "pg_catalog.current_setting('array_nulls')",
    "pg_catalog.current_setting('transform_null_equals')",
    "pg_catalog.current_setting('timezone_abbreviations')",
    "pg_catalog.current_setting('application_name') = 'postgres_fdw'",
    "pg_dpsql.masked()",
    "pg_dpsql.temporary()",
    "pg_catalog.current_setting('statement_timeout')",
    "pg_catalog.current_setting('client_min_messages')",
)
_PATH = slice(8, 10)
"""Where the search path is in them."""
_ASK_PATH = messages_to_run(f"SELECT {', '.join(_FACTS[_PATH])}".encode())
_ASK_FACTS = messages_to_run(f"SELECT {', '.join(_FACTS)}".encode())
_TEMPORARY = _FACTS.index("pg_dpsql.temporary()")
_OWN = 7
"""The first of them are settings of dpsql's own, in the order of `Settings`."""
_TIMEOUT, _LEVEL = len(_FACTS) - 2, len(_FACTS) - 1
_NAME = r'(?:[a-z_][a-z0-9_]*|"[^"]*")'
_PLAIN_PATH = re.compile(rf"{_NAME}(?:, ?{_NAME})*")
"""A search path that the lexer and PostgreSQL, which takes all up to a comma for a name, read alike."""
_SILENT = (b"warning", b"error")
"""The values of client_min_messages with which no notice is wanted."""
_MOST_DESCRIBED = 2**20
"""Characters of a statement over made-up releases that PostgreSQL is asked about before the answer is paid for."""
_ROWS_APART = b"SELECT pg_dpsql.name_for_rows()"
_READING = (
    b"SELECT pg_catalog.current_setting('client_encoding'), pg_catalog.current_setting('standard_conforming_strings')"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The statement that the shadow runs instead, and the columns that it must have."""

    text: str
    columns: tuple[ColumnDescription, ...]
    described: bytes
    """The same as the shadow sent it; b"" if the client's statement has no rows."""
    notices: tuple[str, ...] = ()
    """The notices that the client gets before the rows."""
    inner: bytes = b""
    """The columns of the query in a statement that has no rows itself, as the shadow sent them."""
    released: bool = False
    """Whether released values may stand in the text."""
    installed: tuple[Message, ...] = ()
    """What the shadow said when it took the text, if it was sent that already."""


class Interceptor:
    """Asks the gateway on behalf of one session."""

    def __init__(self, answers: Answers, asker: Asker, workers: Workers, types: TypeNames, given: GivenAnswers) -> None:
        self._answers = answers
        self._asker = asker
        self._workers = workers
        self._types = types
        self._given = given
        self._row: tuple[bytes, Facts] = b"", ()
        self._session: Facts = ()
        """What was read of the session last."""
        self._read: tuple[Facts, str, Settings] | None = None
        """The settings that were read last, and what of."""

    async def answer(
        self, backend: Backend, asked: Execution, codec: str, cancellation: Cancellation, line: AuditedStatement
    ) -> Answer:
        """Return what the shadow is to run; the price is noted in the statement's `line`.

        Raises:
            ShadowRefusedError: PostgreSQL's own error for the statement, position included.
            DpsqlError: what the gateway says instead of an answer.
        """
        since = asyncio.get_running_loop().time()
        if asked.takes_parameters and asked.prepared.oids is None:
            asked.prepared.oids = await self._parameter_types(backend, asked.prepared, codec)
        # One round trip to the shadow: the columns that the client was told, or will be, and the settings that the statement
        # is read by. Whatever PostgreSQL itself would refuse is refused by it here, before anything is planned.
        given = None if backend.replies.was_used else self._given.of(self._asker, asked, codec)
        if given is not None and given.facts != self._session:
            given = None
        try:
            replies, installed = await self._describe(backend, asked, codec, given)
        except ShadowRefusedError:
            if given is not None:  # which may be why
                self._given.forget(self._asker, asked, codec)
            raise
        facts = self._facts(next(body for kind, body in replies if kind == b"D"))
        self._session = facts[: len(_FACTS)]
        if asked.path is not None:
            facts = (*facts[: _PATH.start], *asked.path, *facts[_PATH.stop :])
        settings, arguments = self._settings(facts[: len(_FACTS)], codec, asked.text), facts[len(_FACTS) :]
        settings = await self._with_lists(backend, settings, codec)
        described, *inner = (body if kind == b"T" else b"" for kind, body in replies if kind in (b"T", b"n"))
        columns = await self._types.columns(backend, described, codec) if described else ()
        types = await self._types.spell(backend, tuple((oid, -1) for oid in asked.oids))
        texts = tuple(None if value is None else value.decode(codec) for value in arguments)
        line.parameters = texts
        bound = tuple(Argument(value, kind) for value, kind in zip(texts, types, strict=True))
        # From here on the gateway works on a thread; the event loop is free for other clients until `_on_worker` comes back.
        with within_timeout(timeout_seconds((facts[_TIMEOUT] or b"").decode("ascii")), since, cancellation):
            request = Request(asked.question, bound, settings, self._asker, cancellation, line.receipt)
            reply = await self._on_worker(request, Trial(backend, asked, texts, codec), columns)
        if reply is None:
            return Answer(asked.text, (), b"")
        require_writable(reply.text, codec)
        notices = () if facts[_LEVEL] in _SILENT else reply.notices
        if given is None or given != GivenAnswer(reply.text, self._session, described, installed):
            installed = ()
        return Answer(reply.text, columns, described, notices, next(iter(inner), b""), reply.released, installed)

    async def planned(self, work: Callable[[Cancellation], _T], cancellation: Cancellation) -> _T:
        """Return what `work` makes of a text of the client's, on a thread for reading."""
        return await self._workers.reading.run(self._asker.user, partial(work, cancellation), cancellation)

    async def install(self, backend: Backend, answer: Answer, asked: Execution, codec: str) -> None:
        """Parse the answer in the shadow, compare its columns with the original's, and bind it to its portal.

        Raises:
            ShadowRefusedError: when PostgreSQL does not take it.
            InternalError: when the columns differ; a client that reads binary rows would misread them.
        """
        if answer.installed:
            return
        # A view is made by a statement that has no rows itself.
        is_view = answer.released and not answer.described
        text = await self._with_rows_apart(backend, answer.text, codec) if is_view else answer.text
        replies = await backend.ask(*messages_to_bind(text.encode(codec), asked.oids, asked.portal, asked.rest))
        require_columns(replies, answer.columns, codec)
        if answer.described:
            self._given.keep(self._asker, asked, codec, GivenAnswer(text, self._session, answer.described, replies))

    async def _with_rows_apart(self, backend: Backend, text: str, codec: str) -> str:
        """Return the statement that makes a temporary view, over a table of its rows, which is made; any other as it is.

        CREATE TEMP VIEW v AS SELECT * FROM unnest('{1,2}'::int[])  →  CREATE TEMP TABLE _dpsql_rows_1 AS SELECT … and
        CREATE TEMP VIEW v AS SELECT * FROM pg_temp._dpsql_rows_1

        Everybody may read the text of a view in the catalogue, and nobody else a temporary table. It shows the same rows,
        and is as little to be written to.
        """
        wrap, start, end = locate_query(text)
        if wrap is not Wrap.VIEW:
            return text
        replies = await backend.ask(*messages_to_run(_ROWS_APART))
        (name,) = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        table = f"pg_temp.{(name or b'').decode('ascii')}"
        await backend.ask(*messages_to_run(f"CREATE TABLE {table} AS {text[start:end]}".encode(codec)))
        return f"{text[:start]} SELECT * FROM {table} OFFSET 0 {text[end:]}"  # noqa: S608 # a name of our own

    async def arguments(self, backend: Backend, named: ExecuteNamed, codec: str) -> tuple[str | None, ...]:
        """Evaluate the arguments of `EXECUTE name (…)`, once, as text of the parameters' types.

        Raises:
            ShadowRefusedError: what PostgreSQL finds wrong with them.
        """
        replies = await backend.ask((MessageKind.DESCRIBE, describe_message(b"S", named.name.encode(codec))))
        oids = next(parameter_oids(body) for kind, body in replies if kind == b"t")
        types = await self._types.spell(backend, tuple((oid, -1) for oid in oids))
        calls = ", ".join(f"pg_dpsql.spell(a{place}::{name})" for place, name in enumerate(types))
        names = ", ".join(f"a{place}" for place, _ in enumerate(types))
        # The arguments are the client's own text, run with the client's own rights.
        # The line feed ends a comment that the arguments may close with: EXECUTE q (1 -- one) would hide the bracket.
        select = f"SELECT {calls} FROM (SELECT {named.arguments}\n) AS a ({names})" if types else "SELECT"  # noqa: S608
        replies = await backend.ask(
            *messages_to_run((EXPLAIN + named.text).encode(codec)), *messages_to_run(select.encode(codec))
        )
        row = [messages.data_row(body) for kind, body in replies if kind == b"D"][-1]
        return tuple(None if value is None else value.decode(codec) for value in row)

    async def searched(self, backend: Backend) -> SearchPath:
        """Return the session's search path, as it is now.

        Raises:
            ShadowRefusedError: when the shadow says nothing, in a failed transaction.
        """
        replies = await backend.ask(*_ASK_PATH)
        return next(messages.data_row(body) for kind, body in replies if kind == b"D")

    async def reading(self, backend: Backend) -> tuple[str, str]:
        """Return the session's encoding and its `standard_conforming_strings`, as they are now.

        Raises:
            ShadowRefusedError: when the shadow says nothing, in a failed transaction.
        """
        replies = await backend.ask(*messages_to_run(_READING))
        encoding, strings = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        return (encoding or b"").decode("ascii"), (strings or b"").decode("ascii")

    async def _parameter_types(self, backend: Backend, prepared: PreparedStatement, codec: str) -> tuple[int, ...]:
        """Return the types of a statement's parameters, as the shadow infers them."""
        replies = await backend.ask(*messages_to_describe(prepared.text.encode(codec), prepared.declared))
        return next(parameter_oids(body) for kind, body in replies if kind == b"t")

    async def _describe(
        self, backend: Backend, asked: Execution, codec: str, given: GivenAnswer | None
    ) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Describe the original, then each probe, and read the settings and the parameters, in one round trip.

        In the same one an answer that was given before takes the portal: what the shadow says of that is returned apart.
        """
        wanted: list[tuple[MessageKind, bytes]] = []
        if asked.bound:
            wanted.append((MessageKind.DESCRIBE, describe_message(b"P", asked.portal)))
        else:
            wanted += messages_to_describe(asked.text.encode(codec), asked.oids)
        for probe in asked.question.probes:
            wanted += messages_to_describe(probe.encode(codec), asked.oids)
        wanted += _facts_and(asked) if asked.oids else _ASK_FACTS
        if given is not None:
            wanted += messages_to_bind(given.text.encode(codec), asked.oids, asked.portal, asked.rest)
        replies = await backend.ask(*wanted)
        backend.replies.note_settings()
        # What reads the settings ends with two names that are closed; an answer is parsed behind that.
        row = next(place for place, (kind, _) in enumerate(replies) if kind == b"D")
        closed = [place for place, (kind, _) in enumerate(replies) if kind == b"3" and place > row]
        return replies[: closed[1] + 1], replies[closed[1] + 1 :]

    def _facts(self, row: bytes) -> Facts:
        """Return what a row says of the session, which seldom changes."""
        if self._row[0] != row:
            self._row = row, messages.data_row(row)
        return self._row[1]

    def _settings(self, facts: Facts, codec: str, text: str) -> Settings:
        """Return the session's settings, which seldom change."""
        if self._read is not None and self._read[:2] == (facts, codec):
            return self._read[2]
        settings = _settings(facts, codec, text, self._asker.user)
        # Which temporary tables are named is another question for each text.
        if not settings.temporary and not facts[_TEMPORARY]:
            self._read = facts, codec, settings
        return settings

    async def _with_lists(self, backend: Backend, settings: Settings, codec: str) -> Settings:
        """Return the settings with the rows of those temporary tables that are lists."""
        asks = select_of_lists(settings.temporary)
        if not asks:
            return settings
        replies = await backend.ask(*messages_to_run(asks.encode(codec)))
        row = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        lists = [None if rows is None else rows.decode(codec) for rows in row]
        return replace(settings, temporary=with_list_rows(settings.temporary, lists))

    def _begun(self, request: Request, trial: Trial) -> tuple[Reply | Unpaid, str | None]:
        """Return what answers, run through where nothing is to be tried before that: on the same thread, without a change."""
        begun = self._answers.answer(request)
        if isinstance(begun, Reply) or begun.through is None or begun.rehearsal.texts or begun.trial is not None:
            return begun, _NOT_YET
        return begun, _NOT_YET if trial.is_wanted(begun.rehearsal) else begun.through()

    async def _on_worker(self, request: Request, trial: Trial, columns: tuple[ColumnDescription, ...]) -> Reply | None:
        """Let the gateway answer on a thread, and try what will be paid for before it is; None if nothing is left to do.

        Exceptions other than DpsqlError and the shadow's are logged, and a fixed text is raised instead.
        """
        user, cancellation = request.asker.user, request.cancellation
        try:
            # What was told before goes on at once, without a thread.
            told = self._answers.recalled(request)
            if told is not None:
                return told
            # `answer` plans and prices. What it returns is an answer that costs nothing, or an `Unpaid`, which pays when it
            # is called. Between the two lies all that can fail for free: whoever has paid shall not get an error that could
            # be known before.
            begun, made_up = await self._workers.planning.run(user, partial(self._begun, request, trial), cancellation)
            if isinstance(begun, Reply):
                return begun
            if begun.rehearsal.texts and await trial.is_done_already(begun.rehearsal):
                return None
            if trial.is_wanted(begun.rehearsal):
                made = begun.rehearsal.stand_ins()
                await trial.see(lambda: self._workers.planning.run(user, partial(next, made, None), cancellation))
            if begun.trial is not None:
                await self._workers.trying.run(user, begun.trial, cancellation)
            if begun.through is not None and made_up is _NOT_YET:
                made_up = await self._workers.planning.run(user, begun.through, cancellation)
            if made_up and len(made_up) <= _MOST_DESCRIBED:
                await trial.require_described(made_up, columns)
            # The point of no return: the charge is durable before an engine is asked.
            return await self._workers.measuring.run(user, begun, cancellation)
        except (DpsqlError, ShadowRefusedError, ShadowLostError):
            raise
        except Exception as failed:
            _LOG.exception("the gateway failed")
            raise InternalError from failed


_NOT_YET = ""
"""Stands for what was made up until the plan is run through."""


def _facts_and(asked: Execution) -> Asked:
    """Return what asks for the settings and for the parameters of a statement."""
    parameters = (f"pg_dpsql.spell(${number})" for number, _ in enumerate(asked.oids, start=1))
    select = f"SELECT {', '.join((*_FACTS, *parameters))}"
    return messages_to_run(select.encode(), asked.oids, asked.values + b"\0\0")


def _settings(facts: Facts, codec: str, text: str, user: str) -> Settings:
    """Read the settings.

    Raises:
        DpsqlError: when the session reads names or literals differently from the gateway.
    """
    told = ["" if fact is None else fact.decode(codec) for fact in facts[:_TIMEOUT]]
    own, more = told[:_OWN], told[_OWN:]
    zone, path, searched, dates, intervals, strings, nulls, equals, abbreviations, estimates, masked, made = more
    # The gateway plans with sessions of its own, which have PostgreSQL's defaults. Settings that change what a text
    # means are either copied to them (the path, the time zone, date and interval styles) or must be the defaults.
    _require_read_alike(strings, nulls, equals, abbreviations, intervals)
    # PostgreSQL looks into pg_temp before all other schemas. A client's temporary table `trips` would then be described
    # for a statement whose answer is about the declared one.
    if masked != "f":
        raise AccessDenied(
            "a temporary table bears the name of a declared table",
            because="table-hidden-by-temporary",
            hint="Drop it, or give it another name.",
        )
    style, _, order = dates.rpartition(", ")
    tables = tuple(named_temporary_tables(made, text)) if made else ()
    epsilon, empty, error, clamp, reuse, digits, renew = (value or None for value in own)
    return Settings(
        epsilon,
        empty,
        error,
        clamp,
        reuse,
        digits,
        renew,
        time_zone=zone,
        search_path=_read_alike(path, json.loads(searched), user),
        date_order=order,
        date_style=style,
        interval_style=intervals,
        temporary=tables,
        estimates=estimates == "t",
    )


def _read_alike(path: str, searched: Sequence[str], user: str) -> str:
    """Return a search path that planning, which is another user, reads as the session does.

    Where there is a schema of the user's, or the path has more than names, it is the schemas that PostgreSQL says it has
    searched: in whatever way a path is written, there is one who reads it.
    """
    if _PLAIN_PATH.fullmatch(path) and user not in searched:
        return path
    names = ("pg_temp" if name.startswith("pg_temp_") else name for name in searched)
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _require_read_alike(strings: str, nulls: str, equals: str, abbreviations: str, intervals: str) -> None:
    """See that a session reads names and literals as planning does.

    Raises:
        Unsupported: it reads them otherwise.
    """
    if (strings, nulls) != ("on", "on"):
        raise Unsupported(
            "private statements need standard_conforming_strings and array_nulls",
            because="session-reads-otherwise",
            hint="Set both to on.",
        )
    if (equals, abbreviations) != ("off", "Default"):
        raise Unsupported(
            "private statements can't be read with transform_null_equals or other timezone_abbreviations",
            because="session-reads-otherwise",
            hint="RESET transform_null_equals; RESET timezone_abbreviations",
        )
    if intervals == "sql_standard":
        raise Unsupported(
            "private statements can't read intervals with IntervalStyle sql_standard",
            because="session-reads-otherwise",
            hint="SET intervalstyle = 'postgres'",
        )


def named_temporary_tables(told: str, text: str) -> Iterator[TemporaryTable]:
    """Yield those of a session's temporary tables that a statement may name."""
    written = text.lower()
    for name, columns, key, stores in json.loads(told):
        # U&"\0074rips" is another way to write "trips". Where there may be one, no table is left out.
        if '"' in name or 'u&"' in written or name.lower() in written:
            yield TemporaryTable(name, tuple((column, type_) for column, type_ in columns), tuple(key or ()), stores)


def failed_probe(asked: Execution, refused: ShadowRefusedError) -> str | None:
    """Return the probe that an error of `answer` is about; None where it is about the client's whole statement."""
    before = sum(kind in (b"T", b"n") for kind, _ in refused.replies)
    if before == 0:
        return None
    return asked.question.probes[before - 1] if before <= len(asked.question.probes) else ""
