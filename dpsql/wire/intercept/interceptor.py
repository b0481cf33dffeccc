"""From a private statement to the one that the shadow runs in its place: describe, ask the gateway, compare.

In a failed transaction it ends with the first message: the shadow answers that with an error.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from dpsql.errors import AccessDenied, DpsqlError, InternalError, Unsupported
from dpsql.gateway.request import Answers, Reply, Request
from dpsql.question import Argument, Asker, Cancellation, ColumnDescription, Settings, TemporaryTable
from dpsql.rewrite.syntax.read.parse import Wrap, place
from dpsql.wire.backend.backend import Backend, ShadowLostError, ShadowRefusedError
from dpsql.wire.backend.type_names import TypeNames
from dpsql.wire.intercept import own_lists
from dpsql.wire.intercept.audited import AuditedStatement
from dpsql.wire.intercept.classify import ExecuteNamed
from dpsql.wire.intercept.deadline import kept, seconds
from dpsql.wire.intercept.own_messages import Asked, described, forget_probe, ran
from dpsql.wire.intercept.prepared import Execution, Prepared, SearchPath
from dpsql.wire.intercept.trial import Trial, require_columns, require_writable
from dpsql.wire.intercept.workers import Workers
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import describe_message, parameter_oids
from dpsql.wire.protocol.replies import Message, MessageKind

_LOG = logging.getLogger("dpsql.wire")
_T = TypeVar("_T")

EXPLAIN = "EXPLAIN "
"""Put before a statement it has PostgreSQL check arguments and rights, and run nothing."""
_ANSWER = b"_dpsql_answer"

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
_ASK_PATH = ran(f"SELECT {', '.join(_FACTS[_PATH])}".encode())
_ASK_FACTS = ran(f"SELECT {', '.join(_FACTS)}".encode())
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


class Interceptor:
    """Asks the gateway on behalf of one session."""

    def __init__(self, answers: Answers, asker: Asker, workers: Workers, types: TypeNames) -> None:
        self._answers = answers
        self._asker = asker
        self._workers = workers
        self._types = types

    async def answer(
        self, backend: Backend, asked: Execution, codec: str, cancellation: Cancellation, line: AuditedStatement
    ) -> Answer:
        """Return what the shadow is to run; the price is noted in the statement's `line`.

        Raises: ShadowRefusedError: PostgreSQL's own error for the statement, position included. DpsqlError: what the
            gateway says instead of an answer.
        """
        since = asyncio.get_running_loop().time()
        if asked.takes_parameters and asked.prepared.oids is None:
            asked.prepared.oids = await self._parameter_types(backend, asked.prepared, codec)
        replies = await self._describe(backend, asked, codec)
        facts = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        if asked.path is not None:
            facts = (*facts[: _PATH.start], *asked.path, *facts[_PATH.stop :])
        settings, arguments = _settings(facts, codec, asked.text, self._asker.user), facts[len(_FACTS) :]
        settings = await self._with_lists(backend, settings, codec)
        described, *inner = (body if kind == b"T" else b"" for kind, body in replies if kind in (b"T", b"n"))
        columns = await self._types.columns(backend, described, codec) if described else ()
        types = await self._types.spell(backend, tuple((oid, -1) for oid in asked.oids))
        texts = tuple(None if value is None else value.decode(codec) for value in arguments)
        line.parameters = texts
        bound = tuple(Argument(value, kind) for value, kind in zip(texts, types, strict=True))
        with kept(seconds((facts[_TIMEOUT] or b"").decode("ascii")), since, cancellation):
            request = Request(asked.question, bound, settings, self._asker, cancellation, line.receipt)
            reply = await self._on_worker(request, Trial(backend, asked, texts, codec), columns)
        if reply is None:
            return Answer(asked.text, (), b"")
        require_writable(reply.text, codec)
        notices = () if facts[_LEVEL] in _SILENT else reply.notices
        return Answer(reply.text, columns, described, notices, next(iter(inner), b""), reply.released)

    async def planned(self, work: Callable[[Cancellation], _T], cancellation: Cancellation) -> _T:
        """Return what `work` makes of a text of the client's, on a thread for reading."""
        return await self._workers.reading.run(self._asker.user, partial(work, cancellation), cancellation)

    async def install(self, backend: Backend, answer: Answer, asked: Execution, codec: str) -> None:
        """Parse the answer in the shadow, compare its columns with the original's, and bind it to its portal.

        Raises:
            ShadowRefusedError: when PostgreSQL does not take it.
            InternalError: when the columns differ; a client that reads binary rows would misread them.
        """
        text = await self._with_rows_apart(backend, answer.text, codec) if answer.released else answer.text
        replies = await backend.ask(
            (MessageKind.CLOSE, messages.close_message(b"S", _ANSWER)),
            (MessageKind.PARSE, messages.parse_message(_ANSWER, text.encode(codec), asked.oids)),
            (MessageKind.DESCRIBE, describe_message(b"S", _ANSWER)),
            (MessageKind.CLOSE, messages.close_message(b"P", asked.portal)),
            (MessageKind.BIND, messages.bind_message(asked.portal, _ANSWER, asked.rest)),
            (MessageKind.CLOSE, messages.close_message(b"S", _ANSWER)),
        )
        require_columns(replies, answer.columns, codec)

    async def _with_rows_apart(self, backend: Backend, text: str, codec: str) -> str:
        """Return the statement that makes a temporary view, over a table of its rows, which is made; any other as it is.

        CREATE TEMP VIEW v AS SELECT * FROM unnest('{1,2}'::int[])  →  CREATE TEMP TABLE _dpsql_rows_1 AS SELECT … and
        CREATE TEMP VIEW v AS SELECT * FROM pg_temp._dpsql_rows_1

        Everybody may read the text of a view in the catalogue, and nobody else a temporary table. It shows the same rows,
        and is as little to be written to.
        """
        wrap, start, end = place(text)
        if wrap is not Wrap.VIEW:
            return text
        replies = await backend.ask(*ran(_ROWS_APART))
        (name,) = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        table = f"pg_temp.{(name or b'').decode('ascii')}"
        await backend.ask(*ran(f"CREATE TABLE {table} AS {text[start:end]}".encode(codec)))
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
        select = f"SELECT {calls} FROM (SELECT {named.arguments}\n) AS a ({names})" if types else "SELECT"  # noqa: S608
        replies = await backend.ask(*ran((EXPLAIN + named.text).encode(codec)), *ran(select.encode(codec)))
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
        replies = await backend.ask(*ran(_READING))
        encoding, strings = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        return (encoding or b"").decode("ascii"), (strings or b"").decode("ascii")

    async def _parameter_types(self, backend: Backend, prepared: Prepared, codec: str) -> tuple[int, ...]:
        """Return the types of a statement's parameters, as the shadow infers them."""
        replies = await backend.ask(*described(prepared.text.encode(codec), prepared.declared))
        return next(parameter_oids(body) for kind, body in replies if kind == b"t")

    async def _describe(self, backend: Backend, asked: Execution, codec: str) -> tuple[Message, ...]:
        """Describe the original, then each probe, and read the settings and the parameters, in one round trip."""
        wanted: list[tuple[MessageKind, bytes]] = []
        if asked.bound:
            wanted.append((MessageKind.DESCRIBE, describe_message(b"P", asked.portal)))
        else:
            wanted += described(asked.text.encode(codec), asked.oids)
        for probe in asked.question.probes:
            wanted += described(probe.encode(codec), asked.oids)
        wanted += forget_probe()
        wanted += _facts_and(asked) if asked.oids else _ASK_FACTS
        return await backend.ask(*wanted)

    async def _with_lists(self, backend: Backend, settings: Settings, codec: str) -> Settings:
        """Return the settings with the rows of those temporary tables that are lists."""
        asks = own_lists.asking(settings.temporary)
        if not asks:
            return settings
        replies = await backend.ask(*ran(asks.encode(codec)))
        row = next(messages.data_row(body) for kind, body in replies if kind == b"D")
        lists = [None if rows is None else rows.decode(codec) for rows in row]
        return replace(settings, temporary=own_lists.with_rows(settings.temporary, lists))

    async def _on_worker(self, request: Request, trial: Trial, columns: tuple[ColumnDescription, ...]) -> Reply | None:
        """Let the gateway answer on a thread, and try what will be paid for before it is; None if nothing is left to do.

        Exceptions other than DpsqlError and the shadow's are logged, and a fixed text is raised instead.
        """
        user, cancellation = request.asker.user, request.cancellation
        try:
            begun = await self._workers.planning.run(user, partial(self._answers.answer, request), cancellation)
            if isinstance(begun, Reply):
                return begun
            if begun.rehearsal is not None and await trial.is_done_already(begun.rehearsal):
                return None
            if trial.is_wanted(begun):
                made = begun.stand_ins()
                await trial.see(lambda: self._workers.planning.run(user, partial(next, made, None), cancellation))
            if begun.trial is not None:
                await self._workers.trying.run(user, begun.trial, cancellation)
            if begun.through is not None:
                made_up = await self._workers.planning.run(user, begun.through, cancellation)
                if made_up is not None and len(made_up) <= _MOST_DESCRIBED:
                    await trial.see_described(made_up, columns)
            return await self._workers.measuring.run(user, begun, cancellation)
        except (DpsqlError, ShadowRefusedError, ShadowLostError):
            raise
        except Exception as failed:
            _LOG.exception("the gateway failed")
            raise InternalError from failed


def _facts_and(asked: Execution) -> Asked:
    """Return what asks for the settings and for the parameters of a statement."""
    parameters = (f"pg_dpsql.spell(${number})" for number, _ in enumerate(asked.oids, start=1))
    select = f"SELECT {', '.join((*_FACTS, *parameters))}"
    return ran(select.encode(), asked.oids, asked.values + b"\0\0")


def _settings(facts: tuple[bytes | None, ...], codec: str, text: str, user: str) -> Settings:
    """Read the settings.

    Raises:
        DpsqlError: when the session reads names or literals differently from the gateway.
    """
    told = ["" if fact is None else fact.decode(codec) for fact in facts[:_TIMEOUT]]
    own, more = told[:_OWN], told[_OWN:]
    zone, path, searched, dates, intervals, strings, nulls, equals, abbreviations, estimates, masked, made = more
    _require_read_alike(strings, nulls, equals, abbreviations, intervals)
    if masked != "f":
        raise AccessDenied(
            "a temporary table bears the name of a declared table",
            because="table-hidden-by-temporary",
            hint="Drop it, or give it another name.",
        )
    style, _, order = dates.rpartition(", ")
    tables = tuple(temporary(made, text)) if made else ()
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


def temporary(told: str, text: str) -> Iterator[TemporaryTable]:
    """Yield those of a session's temporary tables that a statement may name."""
    written = text.lower()
    for name, columns, key, stores in json.loads(told):
        if '"' in name or 'u&"' in written or name.lower() in written:
            yield TemporaryTable(name, tuple((column, type_) for column, type_ in columns), tuple(key or ()), stores)


def failed_probe(asked: Execution, refused: ShadowRefusedError) -> str | None:
    """Return the probe that an error of `answer` is about; None where it is about the client's whole statement."""
    before = sum(kind in (b"T", b"n") for kind, _ in refused.replies)
    if before == 0:
        return None
    return asked.question.probes[before - 1] if before <= len(asked.question.probes) else ""
