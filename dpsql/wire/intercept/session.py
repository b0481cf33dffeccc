"""A client's session after log-in: each message goes to the shadow, private statements by way of the gateway.

No sockets: frames come in through `Frames`, bytes leave through the context's `Backend` and the function it writes with.

An exchange of the extended protocol, as drivers have it; → goes to the shadow, ← comes back to the client:

    Parse    → Parse                      ← ParseComplete            its class is told here: `classify_statement`
    Bind     → Bind                       ← BindComplete             the portal and its parameters are remembered
    Describe → Describe                   ← RowDescription           of the client's own statement, which reads empty tables
    Execute  → Parse, Bind of the answer  ← (nothing)                a private one asks the gateway first: `_answer`
             → Execute                    ← DataRow …, CommandComplete
    Sync     → Sync                       ← ReadyForQuery

Between Describe and Execute nothing may change the columns: a client has been told them, and reads rows by them.
"""

import contextlib
from collections.abc import Callable
from typing import assert_never

from dpsql.errors import DpsqlError, LimitExceeded, ProtocolError, Unsupported
from dpsql.gateway.request import Question
from dpsql.wire.backend.backend import SkippedError, drop_position, leave_out, refuse
from dpsql.wire.backend.fair_share import FairShare
from dpsql.wire.intercept import simple
from dpsql.wire.intercept.classify import (
    Deallocate,
    ExecuteNamed,
    Fetch,
    LeftOut,
    Prepare,
    RefusedStatement,
    command_tag,
)
from dpsql.wire.intercept.context import SessionContext
from dpsql.wire.intercept.prepared_statements import Execution, Portal, PreparedStatement
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import Frame, Frames, Limits
from dpsql.wire.protocol.replies import MessageKind, PendingReply

# Kinds of messages are one byte. From a client: Q Query, P Parse, B Bind, D Describe, E Execute, C Close, S Sync, H
# Flush, F FunctionCall, X Terminate, and for COPY d data, c done, f failed. Q and P have a statement in them, and get
# its smaller limit.
_STATEMENTS = b"QP"
_LONG = 2**16  # bytes


class Session:
    """The messages of one client."""

    def __init__(self, context: SessionContext, limits: Limits, share: FairShare) -> None:
        """`share` is what the user's connections have of the event loop."""
        self._context = context
        self._share = share
        self._backend = context.backend
        self._names = context.names
        self._limits = limits
        self._message = 0
        """Bytes of the long message that is being handled; 0 if it is a short one."""

    async def run(self, incoming: Frames) -> None:
        """Serve until the client sends Terminate.

        Raises:
            EOFError: when it hangs up instead.
            ProtocolError: when it sends what is not the protocol.
            LimitExceeded: when there is no room for a message.
            ShadowLostError: when the shadow goes.
        """
        while True:
            frame = await incoming.next(self._admit)
            if frame.kind == b"X":
                return
            with await self._share.begin(), contextlib.suppress(SkippedError):
                await self._take(frame)
            await self._backend.drain()
            if self._backend.replies.are_many:
                # Their replies come all at once, with something to do about each.
                await self._backend.settle()
            if self._message:
                self._context.allowance.give(self._message)
                self._message = 0

    def ready(self, in_transaction: bool) -> None:
        """Note a ReadyForQuery."""
        self._context.ready(in_transaction)

    def _admit(self, kind: bytes, length: int) -> None:
        """Refuse a message that is too long; count a long one while it is handled."""
        if length > (self._limits.statement if kind in _STATEMENTS else self._limits.message):
            raise ProtocolError("message is too long")
        if length > _LONG:
            self._context.allowance.take(length)
            self._message = length

    async def _take(self, frame: Frame) -> None:
        """Handle one message, unless the shadow would ignore it."""
        replies = self._backend.replies
        # After an error PostgreSQL ignores all messages up to the next Sync. We have to do the same, or a reply would be
        # awaited that never comes.
        if replies.skipping and frame.kind != b"S":
            return
        if frame.kind in (b"H", b"d", b"c", b"f"):
            await self._relay(frame)
        elif not replies.copying:
            await self._take_statement(frame)
        elif frame.kind != b"S":
            self._context.refuse_during_copy()

    # What the shadow is sent here it answers later, and in order: nobody waits for it. `PendingReply` says what happens
    # with each answer when it comes. So a client that sends a hundred messages before it reads one (a pipeline) is
    # served at the shadow's pace. Only a private statement has to know how those before it ended, and waits: `settle`.
    async def _take_statement(self, frame: Frame) -> None:
        match frame.kind:
            case b"Q":
                await self._query(frame)
            case b"P":
                await self._parse(frame)
            case b"B":
                await self._bind(frame)
            case b"E":
                await self._execute(frame)
            case b"S":
                self._backend.send(frame.raw, PendingReply(MessageKind.SYNC))
            case b"D":
                what, name = frame.body[:1], frame.body[1:].removesuffix(b"\0")
                owed = PendingReply(MessageKind.DESCRIBE, rows=lambda body: self._described(what, name, body))
                self._backend.send(frame.raw, owed)
            case b"C":
                self._close(frame)
            # Such a call names a function by its number and has no statement that could be read; libpq calls it
            # obsolete.
            case b"F":
                refused = Unsupported("function calls by message are not supported", because="call-by-message")
                await simple.refuse_alone(self._context, refused, "")
            case _:
                raise ProtocolError("unexpected message")

    # COPY … FROM STDIN goes on between two messages of a client: the shadow says G, the client sends d … and then c or
    # f. These have no reply; the one to the Execute comes when they have ended. Only temporary tables can be filled so.
    async def _relay(self, frame: Frame) -> None:
        """Send a message that has no reply of its own; the end of copied data lets the replies go on."""
        if frame.kind in (b"c", b"f"):
            # It may have been sent before the shadow has said that it copies, and ends nothing that begins later.
            await self._backend.settle()
            self._backend.replies.copying = False
        self._backend.send(frame.raw)

    async def _query(self, frame: Frame) -> None:
        await self._keep_paths(b"")  # the portal without a name ends with it
        if self._backend.replies.skipping:
            return
        try:
            text = await self._context.text(messages.query_text(frame.body))
            parts = await simple.split_query(self._context, text)
            self._context.audit.check()
        except ProtocolError:
            raise
        except DpsqlError as failed:
            await simple.refuse_alone(self._context, failed, _shown(messages.query_text(frame.body)))
            return
        if parts is None:
            passing = self._context.audit.passing(text)
            self._backend.send(
                frame.raw, PendingReply(MessageKind.QUERY, error=passing.refused, confirmed=passing.taken)
            )
        else:
            await simple.run_statements(self._context, parts)

    async def _parse(self, frame: Frame) -> None:
        name, statement, oids = messages.parse_parts(frame.body)
        try:
            text = await self._context.text(statement)
            classified = await self._context.inspect_alone(text)
            self._context.audit.check()
            if isinstance(classified, RefusedStatement):
                # To see why a statement was refused: DETAIL has the code of its rule, and docs/errors.md the rule.
                # Not even parsed: EXECUTE would run it under its name.
                raise classified.refusal.error()
        except DpsqlError as failed:
            self._context.audit.refused(_shown(statement), failed)
            refuse(self._backend, failed)
            return
        prepared = None if classified is None else PreparedStatement(text, oids, classified)
        if prepared is not None and not await self._fits(lambda: self._names.expect_statement(name, prepared.size)):
            return
        passing = self._context.audit.passing(text)
        sent = self._names.sent(name, prepared, first=self._backend.replies.are_of_names)

        def parsed() -> None:
            self._names.parsed(name, prepared, sent)
            if prepared is None or not isinstance(prepared.statement, Question | ExecuteNamed):
                passing.taken()  # the others have a line each time that they are executed

        self._backend.send(frame.raw, PendingReply(MessageKind.PARSE, error=passing.refused, confirmed=parsed))

    async def _bind(self, frame: Frame) -> None:
        portal, statement, rest = messages.strings(frame.body, 2)
        if self._names.may_be_statement(statement):
            if not await self._fits(lambda: self._names.expect_portal(portal, len(rest))):
                return
        elif not self._names.may_be_portal(portal):
            self._backend.send(frame.raw, PendingReply(MessageKind.BIND))
            return
        sent = self._names.sent_portal(portal, statement, rest, first=self._backend.replies.are_of_names)
        self._backend.send(
            frame.raw,
            PendingReply(MessageKind.BIND, confirmed=lambda: self._names.bound(portal, statement, rest, sent)),
        )

    async def _fits(self, expect: Callable[[], None]) -> bool:
        """Return whether there is room for what is expected; if not, the client was sent an error."""
        with contextlib.suppress(LimitExceeded):
            expect()
            return True
        # Messages that were sent and are not yet done may replace those that are kept.
        await self._context.settle()
        if self._backend.replies.skipping:
            return False
        try:
            expect()
        except LimitExceeded as failed:
            refuse(self._backend, failed)
            return False
        return True

    def _close(self, frame: Frame) -> None:
        what, name = frame.body[:1], frame.body[1:].removesuffix(b"\0")
        self._backend.send(frame.raw, PendingReply(MessageKind.CLOSE, confirmed=lambda: self._names.closed(what, name)))

    # A FETCH is described by the shadow as reading a cursor, whose columns come from no table. Drivers that let rows be
    # changed ask for the table and the attribute of each column, as the query of the cursor has them.
    def _described(self, what: bytes, name: bytes, body: bytes) -> bytes:
        """Return a statement's or a portal's columns for the client, by the time that the shadow has told them."""
        portal, statement = self._names.portals.get(name), self._names.statements.get(name)
        prepared = statement if what == b"S" else None if portal is None else portal.prepared
        return body if prepared is None else self._context.cursors.shown(prepared.text, body)

    async def _keep_paths(self, portal: bytes) -> None:
        """Have portals keep the path that they were bound by, before `portal` or a Query runs, which may set another.

        PostgreSQL has looked up the names of what is bound, and runs it as it is.
        """
        if not self._names.may_have_beside(portal):
            return
        await self._context.settle()
        # In a failed transaction nothing can be asked, and nothing was run since it failed.
        if not self._backend.replies.skipping and self._backend.replies.status != b"E":
            await self._context.keep_paths(portal)

    async def _execute(self, frame: Frame) -> None:
        name, _ = messages.strings(frame.body, 1)
        await self._keep_paths(name)
        if self._backend.replies.skipping:
            return
        if not self._names.may_be_portal(name):
            self._again(frame, name)
            return
        if await self._execute_unconfirmed(frame, name):
            return
        await self._context.settle()
        if self._backend.replies.skipping:
            return
        # A client that fetches a few rows at a time executes one portal again and again (`max_rows` of Execute).
        # Only the first execution is intercepted: afterwards the portal holds the answer.
        portal = self._names.take_portal(name)
        if portal is None:
            self._again(frame, name)
            return
        await self._execute_ours(frame, name, portal)

    async def _execute_unconfirmed(self, frame: Frame, name: bytes) -> bool:
        """Answer a private statement of which nothing but its names is on the way yet, which needs no round trip of its own.

        Return whether that is so. Where the shadow does not take the names, nobody is asked (`SkippedError`), and an
        older portal of that name may be there still.
        """
        portal = self._names.portal_to_be(name) if self._backend.replies.are_of_names else None
        if portal is None or not isinstance(portal.prepared.statement, Question):
            return False
        await self._execute_ours(frame, name, portal)
        self._names.take_portal(name)  # it was confirmed meanwhile, and holds the answer
        return True

    async def _execute_ours(self, frame: Frame, name: bytes, portal: Portal) -> None:
        try:
            codec = await self._context.codec()
        except DpsqlError as failed:
            refuse(self._backend, failed)
            return
        match portal.prepared.statement:
            case Question() as question:
                await self._answer(
                    frame,
                    Execution(question, portal.prepared, name, portal.rest, bound=True, offset=0, path=portal.path),
                    codec,
                )
            case Prepare() as prepare:
                await self._context.run_prepare(frame.raw, prepare, codec)
            case Deallocate() as deallocate:
                self._context.run_deallocate(frame.raw, deallocate, codec)
            case ExecuteNamed() as execute:
                await self._execute_named(frame, name, portal, execute, codec)
            case Fetch():
                self._again(frame, name)
            case LeftOut(said, notice):
                leave_out(self._backend, name, said, notice)
            case RefusedStatement(refusal):  # which `_parse` has not let pass
                refuse(self._backend, refusal.error())
            case _ as never:
                assert_never(never)

    async def _execute_named(
        self, frame: Frame, name: bytes, portal: Portal, execute: ExecuteNamed, codec: str
    ) -> None:
        named = await self._context.named(execute, codec)
        if named is None:
            passing = self._context.audit.passing(execute.text)
            self._backend.send(
                frame.raw, PendingReply(MessageKind.EXECUTE, error=passing.refused, confirmed=passing.taken)
            )
            return
        arguments = await self._context.runner.arguments(execute, codec, 0)
        if arguments is None:
            return
        # A Bind's rest is: formats of the parameters, their values, formats of the results. The parameters are those of
        # the EXECUTE, evaluated; the formats of the results are those that this client has asked for in its own Bind.
        values = messages.bind_texts(arguments, codec).removesuffix(b"\0\0")
        formats = portal.rest[len(messages.bind_parameters(portal.rest)[0]) :]
        run = Execution(*named, name, values + formats, bound=True, offset=None, execute=execute.text)
        await self._answer(frame, run, codec)

    async def _answer(self, frame: Frame, run: Execution, codec: str) -> None:
        answer = await self._context.runner.install(run, codec)
        if answer is None:
            return
        self._context.cursors.declare(run.text, answer.inner)
        said = command_tag(run.prepared.text)
        # CREATE TABLE … AS and the like run as another kind of statement in the shadow. The client is told the tag of
        # what it sent, also when it executes the same portal again.
        if said is not None:
            self._names.tags[run.portal] = said
        self._backend.send(
            frame.raw,
            PendingReply(MessageKind.EXECUTE, error=drop_position, tag=said, of_answer=bool(answer.described)),
        )

    def _again(self, frame: Frame, portal: bytes) -> None:
        """Execute a portal that needs no answer, or holds it already."""
        self._backend.send(frame.raw, PendingReply(MessageKind.EXECUTE, tag=self._names.tags.get(portal)))


def _shown(statement: bytes) -> str:
    """Return a statement for the audit trail, which may not be readable."""
    return statement.decode("utf-8", "replace")
