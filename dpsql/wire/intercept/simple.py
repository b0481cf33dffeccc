"""Simple queries with private statements in them, run by the messages of the extended protocol.

All statements of one message then share one implicit transaction, as PostgreSQL has it, and each private one is asked
when the statements before it have taken effect. Messages that the client has not asked for (ParseComplete and the
like) are hidden from it.

    Query "BEGIN; SELECT count(*) FROM trips; COMMIT"
    → Parse, Bind, Describe, Execute of BEGIN; the answer, which is bound to the portal without a name, and its Execute;
      Parse, Bind, Describe, Execute of COMMIT; Sync
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from dpsql.errors import DpsqlError, Refusal, UndefinedParameter
from dpsql.gateway.request import Question
from dpsql.lexer.reader import Reader, TokenKind, statement_kind, statements, tokens
from dpsql.question import Cancellation
from dpsql.wire.backend.backend import (
    ShadowRefusedError,
    SkippedError,
    drop_position,
    leave_out,
    refuse,
    shift_position,
)
from dpsql.wire.intercept.classify import (
    ClassifiedStatement,
    Deallocate,
    ExecuteNamed,
    Fetch,
    LeftOut,
    Prepare,
    RefusedStatement,
    classify_statement,
    command_tag,
)
from dpsql.wire.intercept.context import SHORT, SessionContext
from dpsql.wire.intercept.prepared_statements import Execution, PreparedStatement
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind, PendingReply

_PROBE = b""
_SYNTAX = "PREPARE _dpsql_syntax AS "
_PREPARABLE = frozenset({"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE"})
# `CREATE TEMP TABLE t …; EXPLAIN SELECT * FROM t` would fail if all of it were analyzed before any of it runs.
_LOOKED_AT = frozenset({"CREATE TABLE", "DECLARE CURSOR", "EXPLAIN"})
"""Statements that Parse also analyzes: they may name what earlier statements of the message make."""
_FEW = 10
"""Statements of one message that are told apart in no noticeable time."""
_NOTHING = bytes(6)  # no parameters, all results as text
_NO_COPY = messages.message(b"f", messages.text("COPY FROM STDIN needs a message of its own"))


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a simple query."""

    text: str
    start: int
    """Where it begins in the query, in characters."""
    statement: ClassifiedStatement | None


async def split_query(context: SessionContext, text: str) -> tuple[Part, ...] | None:
    """Return the statements of a query; None if all of them are the shadow's alone.

    Raises:
        DpsqlError: when they can't be told apart.
    """
    if len(text) > SHORT or text.count(";") > _FEW:
        return await context.on_worker(partial(_parts_of, context, text), lambda refused: (Part(text, 0, refused),))
    spans = _spans(text)
    return _as_refused([Part(text[start:end], start, await context.inspect(text[start:end])) for start, end in spans])


def _parts_of(context: SessionContext, text: str, cancellation: Cancellation) -> tuple[Part, ...] | None:
    return _as_refused(
        Part(text[start:end], start, context.inspected(text[start:end], cancellation)) for start, end in _spans(text)
    )


def _spans(text: str) -> tuple[tuple[int, int], ...]:
    spans = statements(text)
    # Tools put what matters to them into a comment before the statement, such as a request's number; the trail has it.
    if len(spans) == 1 and ";" not in text[: spans[0][0]]:
        return ((0, spans[0][1]),)  # with the comments before it
    return spans


def _as_refused(pieces: Iterable[Part]) -> tuple[Part, ...] | None:
    read_ = tuple(pieces)
    if all(part.statement is None for part in read_):
        return None
    return tuple(replace(part, statement=_undefined(part.text) or part.statement) for part in read_)


def _undefined(text: str) -> RefusedStatement | None:
    """Return the error for a parameter outside of PREPARE; None if there is none."""
    if "$" not in text or isinstance(classify_statement(text), Prepare):
        return None
    parameter = next((token for token in tokens(text) if token.sort is TokenKind.PARAMETER), None)
    if parameter is None:
        return None
    error = UndefinedParameter(f"there is no parameter {parameter.text}", position=parameter.start + 1)
    return RefusedStatement(Refusal.of(error))


async def run_statements(context: SessionContext, pieces: tuple[Part, ...]) -> None:
    """Run the statements of one message; those after a failure are left out."""
    backend = context.backend
    await context.settle()
    if backend.replies.skipping:  # an earlier message failed, and the shadow would ignore this one
        return
    for part in pieces if await _parses(context, pieces) else ():
        with contextlib.suppress(SkippedError):
            await _run_part(context, part)
        if part is pieces[-1] and isinstance(part.statement, Question):
            break  # nothing of the message is left, and no rows are waited for: Sync goes with it
        await backend.settle()
        if backend.replies.copying:
            # Rows for COPY would come between statements that are here already, all in one message.
            backend.replies.copying = False
            backend.send(_NO_COPY)
            await backend.settle()
        if backend.replies.skipping:
            break
    # One Sync for all statements: it ends their transaction, as the end of a simple query does.
    backend.send(messages.SYNC, PendingReply(MessageKind.SYNC))
    _forget(context)
    # Sync makes the shadow flush by itself. The Close messages behind it would stay in its buffer.
    backend.send(messages.FLUSH)


def _forget(context: SessionContext) -> None:
    """Close the unnamed statement and portal, which no simple query leaves behind."""
    for what in (b"S", b"P"):
        context.backend.send(messages.close_message(what, b""), PendingReply(MessageKind.CLOSE, hide=b"3"))


async def _parses(context: SessionContext, pieces: tuple[Part, ...]) -> bool:
    """Return whether PostgreSQL's grammar takes every statement; if not, the client was sent an error, and nothing may run.

    PostgreSQL reads the whole message before it runs any of it: a slip at the end must not cost what stands before it.
    A query is put behind PREPARE, whose query is parsed at once and looked at only when it runs:

        SELECT nope FROM t   →   PREPARE _dpsql_syntax AS SELECT nope FROM t
    """
    if len(pieces) == 1:
        return True
    await context.backend.settle()
    if context.backend.replies.status == b"E":
        return True
    read = [(part, _SYNTAX if _kind(part) in _PREPARABLE else "") for part in pieces if _kind(part) not in _LOOKED_AT]
    try:
        codec = await context.codec()
        asked = [messages.parse_message(_PROBE, f"{prefix}{part.text}".encode(codec)) for part, prefix in read]
        await context.backend.ask(*((MessageKind.PARSE, ask) for ask in asked))
    except ShadowRefusedError as refused:
        # So many of them were answered before the one that PostgreSQL does not read.
        part, prefix = read[len(refused.replies)]
        context.audit.note_taken(part.text, refused.sqlstate)
        context.runner.tell(shift_position(refused.body, part.start - len(prefix)))
        return False
    except (DpsqlError, SkippedError, UnicodeError):  # the client hears it when the statement's turn comes
        return True
    return True


def _kind(part: Part) -> str | None:
    try:
        return statement_kind(Reader(part.text))
    except DpsqlError:
        return None


async def refuse_alone(context: SessionContext, failed: DpsqlError, text: str) -> None:
    """Answer a message that is a transaction of its own with an error."""
    await context.settle()
    if context.backend.replies.skipping:
        return
    context.audit.refused(text, failed)
    refuse(context.backend, failed)
    context.backend.send(messages.SYNC, PendingReply(MessageKind.SYNC))


async def _run_part(context: SessionContext, part: Part) -> None:
    is_plain = part.text.isascii() and "\\" not in part.text
    try:
        # Earlier statements may have changed how texts are read.
        codec = "ascii" if is_plain and part.statement is None else await context.codec()
    except SkippedError:
        return
    except DpsqlError as unreadable:
        refuse(context.backend, unreadable)
        return
    match part.statement:
        case None | Fetch():
            _bind(context, part, codec)
            context.backend.send(
                messages.execute_message(b""), PendingReply(MessageKind.EXECUTE, hide=b"I", error=_moving(part))
            )
        case Prepare() as prepare:
            _bind(context, part, codec)
            await context.run_prepare(messages.execute_message(b""), prepare, codec)
        case Deallocate() as deallocate:
            _bind(context, part, codec)
            context.run_deallocate(messages.execute_message(b""), deallocate, codec)
        case Question() as question:
            prepared = PreparedStatement(part.text, (), question, oids=())
            await _answer(context, Execution(question, prepared, b"", _NOTHING, bound=False, offset=part.start), codec)
        case ExecuteNamed() as execute:
            await _execute_named(context, part, execute, codec)
        case LeftOut(said, notice):
            _bind(context, part, codec)
            leave_out(context.backend, b"", said, notice)
        case RefusedStatement(refusal):
            context.audit.refused(part.text, refusal.error())
            context.runner.refuse(refusal.error(), part.start)
        case _ as never:
            assert_never(never)


def _bind(context: SessionContext, part: Part, codec: str) -> None:
    """Parse, bind and describe a statement that the shadow runs unchanged."""
    error = _moving(part)
    parse, passing = messages.parse_message(b"", part.text.encode(codec)), context.audit.passing(part.text)
    owed = PendingReply(
        MessageKind.PARSE, hide=b"1", error=lambda body: error(passing.refused(body)), confirmed=passing.taken
    )
    context.backend.send(parse, owed)
    context.backend.send(
        messages.bind_message(b"", b"", _NOTHING), PendingReply(MessageKind.BIND, hide=b"2", error=error)
    )
    rows = partial(context.cursors.shown, part.text)
    context.backend.send(
        messages.describe_message(b"P", b""), PendingReply(MessageKind.DESCRIBE, hide=b"n", error=error, rows=rows)
    )


async def _answer(context: SessionContext, asked: Execution, codec: str) -> None:
    answer = await context.runner.install(asked, codec)
    if answer is None:
        return
    context.cursors.declare(asked.text, answer.inner)
    if answer.described:
        # The statement's own: the answer's columns come from no table.
        context.runner.write(messages.message(b"T", answer.described))
    context.backend.send(
        messages.execute_message(b""),
        PendingReply(
            MessageKind.EXECUTE,
            error=drop_position,
            tag=command_tag(asked.prepared.text),
            of_answer=bool(answer.described),
        ),
    )


async def _execute_named(context: SessionContext, part: Part, execute: ExecuteNamed, codec: str) -> None:
    named = await context.named(execute, codec)
    if named is None:
        _bind(context, part, codec)
        context.backend.send(messages.execute_message(b""), PendingReply(MessageKind.EXECUTE, error=_moving(part)))
        return
    arguments = await context.runner.arguments(execute, codec, part.start)
    if arguments is not None:
        rest = messages.bind_texts(arguments, codec)
        run = Execution(*named, b"", rest, bound=False, offset=None, execute=execute.text)
        await _answer(context, run, codec)


def _moving(part: Part) -> Callable[[bytes], bytes]:
    """Return what moves an error's position from the statement to the whole query."""
    return lambda body: shift_position(body, part.start) if part.start else body
