"""The part of a session that both protocols share: the asker, the statement's class, prepared statements, the answer."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from dpsql.errors import (
    AuditFailed,
    DpsqlError,
    InternalError,
    ProtocolError,
    Refusal,
    ShuttingDown,
    SyntaxFailed,
    Unsupported,
)
from dpsql.gateway.request import Answers, Question
from dpsql.lexer.reader import statements
from dpsql.question import Cancellation
from dpsql.wire.backend.backend import (
    Backend,
    ShadowRefusedError,
    SkippedError,
    drop_position,
    refuse,
    shift_position,
)
from dpsql.wire.intercept.audit_lines import AuditedStatement, SessionAudit, written_parameters
from dpsql.wire.intercept.classify import (
    ClassifiedStatement,
    Cursors,
    Deallocate,
    ExecuteNamed,
    Fetch,
    Prepare,
    RefusedStatement,
    classify_statement,
    is_restoring,
    set_by,
)
from dpsql.wire.intercept.interceptor import EXPLAIN, NOBODYS, Answer, Interceptor, failed_probe, stopped_error
from dpsql.wire.intercept.prepared_statements import Allowance, Execution, PreparedStatement, PreparedStatements
from dpsql.wire.intercept.settings import codec_of, decode_exactly, undecodable_text, unread_encoding
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind, PendingReply

# Puts the answer to a private statement into the client's portal, or tells the client why not.

_LOG = logging.getLogger("dpsql.wire")
_T = TypeVar("_T")
_E = TypeVar("_E", ShadowRefusedError, DpsqlError)
_Told = Callable[[], None]
"""Tells the client an error."""


class Runner:
    """Runs private statements for one session."""

    def __init__(
        self, backend: Backend, interceptor: Interceptor, write: Callable[[bytes], None], audit: SessionAudit
    ) -> None:
        self._backend, self._audit = backend, audit
        self._interceptor = interceptor
        self.write = write
        self.working: Cancellation | None = None
        """Cancels the statement that is being answered; None when there is none."""

    async def planned(self, work: Callable[[Cancellation], _T]) -> _T:
        """Return what a worker makes of a text of the client's, unless it is cancelled or takes too long.

        Raises:
            DpsqlError: one of these.
        """
        cancellation = self.working = Cancellation()
        try:
            return await self._interceptor.planned(work, cancellation)
        finally:
            self.working = None

    # The order in here is the promise of the audit trail: the statement is answered (and paid for), its line is synced
    # to the disk, and only then does the client hear of it. A line that can't be written turns the answer into an
    # error, although it was paid for: an answer without a line would be one that nobody can find.
    async def install(self, run: Execution, codec: str) -> Answer | None:
        """Bind the answer to `run.portal`, and return it.

        None when the client was sent an error and the shadow ignores what comes before the next Sync. Before the client
        hears anything the statement's line is in the audit trail.
        """
        cancellation = self.working = Cancellation()
        try:
            answer = await self._audited(run, codec, cancellation)
        finally:
            self.working = None
        if not isinstance(answer, Answer):
            answer()
            return None
        # A cancel request goes to the shadow as well. One that comes when the shadow is idle is lost there, and counts here.
        if cancellation.requested:  # it came while the shadow had nothing to do
            refuse(self._backend, stopped_error(cancellation))
            return None
        for told in answer.notices:
            self.write(messages.notice(told))
        return answer

    async def _audited(self, run: Execution, codec: str, cancellation: Cancellation) -> Answer | _Told:
        """Return the answer that was installed, or what tells the client why not, once its line is on the disk."""
        asked = AuditedStatement(run.text, run.execute, parameters=written_parameters(run.rest, codec))
        try:
            self._audit.check()
        except AuditFailed as failed:  # a line would wait for the disk with all others
            return partial(self.refuse, failed, run.offset)
        try:
            answer = await self._install(run, codec, cancellation, asked)
        except SkippedError:  # nobody was asked: what the client has sent before has failed, and has its line
            raise
        except BaseException:
            # Also where the task is cancelled because the server stops: the line says that the statement was asked, and
            # not how it ended.
            asked.failed(ShuttingDown.sqlstate)
            self._audit.note(asked)
            raise
        try:
            await self._audit.write(asked)
        except AuditFailed as failed:
            return partial(self.refuse, failed, run.offset)
        return answer

    async def _install(
        self, run: Execution, codec: str, cancellation: Cancellation, asked: AuditedStatement
    ) -> Answer | _Told:
        try:
            answer = await self._interceptor.answer(self._backend, run, codec, cancellation, asked)
        except ShadowRefusedError as refused:
            asked.failed(refused.sqlstate)
            return partial(self.tell, _placed(_without_frames(refused), run))
        except DpsqlError as failed:
            asked.failed(failed.sqlstate, failed.because)
            return partial(self.refuse, _without_frames(failed), run.offset)
        try:
            await self._interceptor.install(self._backend, answer, run, codec)
        except ShadowRefusedError as refused:
            asked.failed(refused.sqlstate)
            return partial(self.tell, _of_answer(refused))
        except InternalError as failed:
            asked.failed(failed.sqlstate)
            return partial(refuse, self._backend, failed)
        return answer

    async def arguments(self, named: ExecuteNamed, codec: str, offset: int) -> tuple[str | None, ...] | None:
        """Evaluate the arguments of an EXECUTE; None when the client was sent an error instead."""
        try:
            return await self._interceptor.arguments(self._backend, named, codec)
        except ShadowRefusedError as refused:
            explained = any(kind == b"C" for kind, _ in refused.replies)
            self.tell(drop_position(refused.body) if explained else shift_position(refused.body, offset - len(EXPLAIN)))
            return None

    def tell(self, body: bytes) -> None:
        """Tell the client an error of the shadow's."""
        self.write(messages.message(b"E", self._backend.replies.presentable(body)))

    def refuse(self, failed: DpsqlError, offset: int | None) -> None:
        """Tell the client an error of ours, about a statement that begins at `offset` of what it sent."""
        placed = None if offset is None or failed.position is None else failed.position + offset
        refuse(self._backend, replace(Refusal.of(failed), position=placed).error())


def _without_frames(failed: _E) -> _E:
    """Return an error that forgets the frames it came by, and the errors before it.

    Futures have it, and frames have them: what a client has sent would be held in a circle until the collector comes, which
    counts objects, however large they are.
    """
    failed.__cause__ = failed.__context__ = None
    return failed.with_traceback(None)


def _placed(refused: ShadowRefusedError, run: Execution) -> bytes:
    """Return the error with its position in what the client sent, if it has one there."""
    if run.offset is None:
        return drop_position(refused.body)
    probe = failed_probe(run, refused)
    if probe is None:
        return shift_position(refused.body, run.offset)
    at = run.text.find(probe) if probe else -1
    return drop_position(refused.body) if at < 0 else shift_position(refused.body, run.offset + at)


def _of_answer(refused: ShadowRefusedError) -> bytes:
    """Return the error for an answer that PostgreSQL rejects: an internal one, unless it was parsed or PostgreSQL stopped."""
    parsed = any(kind == b"1" for kind, _ in refused.replies)
    if not parsed and not refused.sqlstate.startswith(NOBODYS):
        _LOG.error("the shadow can't parse an answer: %s", refused)
        return messages.error_body(InternalError())
    return drop_position(refused.body)


# The event loop is shared by all clients, so that what takes noticeable time is done on a thread.
SHORT = 2_000
"""Characters of a text that takes no noticeable time to tell apart into tokens."""


class SessionContext:
    """One client's session in the shadow, as the parts of the wire that run statements see it."""

    def __init__(
        self,
        backend: Backend,
        interceptor: Interceptor,
        answers: Answers,
        audit: SessionAudit,
        write: Callable[[bytes], None],
        allowance: Allowance,
    ) -> None:
        """`write` sends to the client, `allowance` counts what is kept for it, `audit` what it asks."""
        self.backend = backend
        self.allowance = allowance
        self.names = PreparedStatements(allowance)
        self.cursors = Cursors()
        self.audit = audit
        self.runner = Runner(backend, interceptor, write, audit)
        self._interceptor = interceptor
        self._answers = answers
        self._asker = audit.asker
        self._asked: tuple[str, str] | None = None

    def ready(self, in_transaction: bool) -> None:
        """Note a ReadyForQuery."""
        self._asked = None
        self.names.ready(in_transaction, settled=self.backend.replies.is_settled)

    async def text(self, raw: bytes) -> str:
        """Return what the client wrote, with the tokens that PostgreSQL sees in it.

        Raises:
            DpsqlError: it can't be read, or the session's settings let nothing be read.
            SkippedError: the shadow would ignore it.
            ShadowLostError: when the shadow goes.
        """
        # Nearly all texts: ASCII without a backslash means the same in every encoding, and nobody has to be asked.
        if self._reads and raw.isascii() and b"\\" not in raw:
            return raw.decode("ascii")
        await self._be_certain()
        if (
            not self._reads
            and raw.isascii()
            and b"\\" not in raw
            and len(raw) <= SHORT
            and is_restoring(raw.decode("ascii"))
        ):
            return raw.decode("ascii")
        codec = self._codec()
        text = decode_exactly(raw, codec)
        if text is None:
            raise undecodable_text(self._reading[0])
        return text

    async def codec(self) -> str:
        """Return the codec of the client's texts.

        Raises:
            DpsqlError: the session's settings let nothing be read.
            SkippedError: the shadow would ignore it.
            ShadowLostError: when the shadow goes.
        """
        await self._be_certain()
        return self._codec()

    def check(self) -> None:
        """Check that the texts of a new session can be read.

        Raises:
            DpsqlError: they can't.
        """
        self._codec()

    async def inspect(self, text: str) -> ClassifiedStatement | None:
        """Return what dpsql has to do with a statement; None if the shadow runs it unchanged."""
        # What was examined before is known by its text, or is short; all else is read on a thread, since the loop is
        # everybody's.
        kept = self._answers.recall(text) if len(text) <= SHORT else None
        if kept is not None:
            return self._inspected(text, lambda: kept[0])
        return await self.on_worker(partial(self.inspected, text), lambda refused: refused)

    async def inspect_alone(self, text: str) -> ClassifiedStatement | None:
        """Return the same of a text that is to be one statement."""
        if len(text) > SHORT:
            return await self.on_worker(partial(self._inspected_alone, text), lambda refused: refused)
        several = _several(text)
        return several or await self.inspect(text)

    def _inspected_alone(self, text: str, cancellation: Cancellation) -> ClassifiedStatement | None:
        return _several(text) or self.inspected(text, cancellation)

    async def on_worker(self, work: Callable[[Cancellation], _T], cancelled: Callable[[RefusedStatement], _T]) -> _T:
        """Return what `work` makes of a text of the client's, which is read on no event loop; or of a cancel.

        Raises:
            SkippedError: meanwhile something before it has failed.
            ProtocolError: or copies, and waits for data.
        """
        try:
            result = await self.runner.planned(work)
        except DpsqlError as failed:
            result = cancelled(RefusedStatement(Refusal.of(failed)))
        if self.backend.replies.skipping:
            raise SkippedError
        self.refuse_during_copy()
        return result

    def inspected(self, text: str, cancellation: Cancellation) -> ClassifiedStatement | None:
        """Return what dpsql has to do with a statement, as `inspect` does; takes its time."""
        return self._inspected(text, lambda: self._answers.examine(text, self._asker, cancellation))

    def _inspected(self, text: str, examine: Callable[[], Question | None]) -> ClassifiedStatement | None:
        statement = classify_statement(text)
        if isinstance(statement, Deallocate) and not self.names.may_have(statement.name):
            return None
        if isinstance(statement, Fetch) and not self.cursors.may_have(statement.cursor):
            return None
        if statement is not None:
            return statement
        try:
            own = set_by(text)
            if own is not None:
                self._answers.check_setting(*own, self._asker)
            # `examine` says whether a statement names a protected table, by its words: at this point nothing is bound.
            # Whatever it does not recognize goes to the shadow, where protected tables have no records and raise when
            # they are read (shadow/contents/schema.py). So a mistake here gives an error, and no rows.
            question = examine()
            if question is None:
                self.cursors.declare(text)
        except DpsqlError as failed:
            return RefusedStatement(Refusal.of(failed))
        except Exception:  # noqa: BLE001 # the seam: a bug of the gateway must not end the session
            _LOG.exception("a statement could not be examined")
            return RefusedStatement(Refusal.of(InternalError()))
        else:
            return question

    async def keep_paths(self, but: bytes) -> None:
        """Have the portals that are bound, but for one, remember the search path of now."""
        await self.names.keep_paths(but, partial(self._interceptor.searched, self.backend))

    async def settle(self) -> None:
        """Wait for the replies to all that the client has sent so far.

        Raises:
            ProtocolError: the shadow waits for copied data, and was sent something else.
        """
        await self.backend.settle()
        self.refuse_during_copy()

    def refuse_during_copy(self) -> None:
        """Return if the shadow is not waiting for copied data: what else comes it takes for the end of the session.

        Raises:
            ProtocolError: it is. It may have given up by the time, and would run a statement that was not examined.
        """
        if self.backend.replies.copying:
            raise ProtocolError("unexpected message during COPY from stdin")

    async def run_prepare(self, raw: bytes, prepare: Prepare, codec: str) -> None:
        """Send the Execute of a PREPARE, and remember what it prepared once the shadow has done it.

        Raises:
            LimitExceeded: there is no room for it.
        """
        # The shadow prepares the client's own text under that name, so that types, errors and catalogues are PostgreSQL's.
        inner = await self.inspect(prepare.inner)
        prepared = PreparedStatement(prepare.inner, (), inner) if isinstance(inner, Question) else None
        name = prepare.name.encode(codec)
        if prepared is not None:
            self.names.expect_statement(name, prepared.size)
        owed = PendingReply(MessageKind.EXECUTE, confirmed=lambda: self.names.parsed(name, prepared))
        self.backend.send(raw, owed)

    def run_deallocate(self, raw: bytes, deallocate: Deallocate, codec: str) -> None:
        """Send the Execute of a DEALLOCATE, and forget what it named once the shadow has."""
        name = None if deallocate.name is None else deallocate.name.encode(codec)
        self.backend.send(raw, PendingReply(MessageKind.EXECUTE, confirmed=lambda: self.names.forgotten(name)))

    async def named(self, execute: ExecuteNamed, codec: str) -> tuple[Question, PreparedStatement] | None:
        """Return the private statement that an EXECUTE names; None if the shadow runs it unchanged."""
        # SQL's PREPARE and the protocol's Parse share one name space in PostgreSQL, and so here.
        prepared = self.names.statements.get(execute.name.encode(codec))
        if prepared is None or not isinstance(prepared.statement, Question):
            return None
        if not execute.explain:
            return prepared.statement, prepared
        text = execute.explain + prepared.text
        explained = await self.inspect(text)
        return (
            (explained, replace(prepared, text=text, statement=explained)) if isinstance(explained, Question) else None
        )

    @property
    def _reading(self) -> tuple[str, str]:
        """Return the encoding and `standard_conforming_strings`, as far as they are known."""
        told = self.backend.replies.parameters
        return self._asked or (told.get("client_encoding", ""), told.get("standard_conforming_strings", ""))

    @property
    def _reads(self) -> bool:
        encoding, strings = self._reading
        return codec_of(encoding) is not None and strings == "on"

    def _codec(self) -> str:
        encoding, strings = self._reading
        codec = codec_of(encoding)
        if codec is None:
            raise unread_encoding()
        if strings != "on":
            raise Unsupported(
                "statements are read with standard_conforming_strings = on only",
                because="strings-conform-to-standard",
                hint="SET standard_conforming_strings = on",
            )
        return codec

    # The bytes of a statement mean what `client_encoding` and `standard_conforming_strings` say at the moment when the
    # shadow parses them. A client may send `SET client_encoding = sjis` and the next statement without waiting. If we
    # read that one as UTF-8, and PostgreSQL as Shift-JIS, where a backslash may be the second byte of a character, then
    # we would see another end of a literal than PostgreSQL does, and a protected table could be named in what we take
    # for text. So whatever may change a setting makes these uncertain until the shadow has reported them.
    async def _be_certain(self) -> None:
        """Find out how the session reads texts now; statements that are still running may change it."""
        replies = self.backend.replies
        if replies.is_certain:
            return
        await self.settle()
        if replies.skipping:
            raise SkippedError
        if replies.is_certain:
            return
        try:
            self._asked = await self._interceptor.reading(self.backend)
        except ShadowRefusedError as refused:
            self.runner.tell(refused.body)
            raise SkippedError from None
        replies.is_certain = True


def _several(text: str) -> RefusedStatement | None:
    """Return the error for more statements than one; None if there is none."""
    try:
        several = len(statements(text)) > 1
    except DpsqlError as failed:
        return RefusedStatement(Refusal.of(failed))
    if not several:
        return None
    return RefusedStatement(Refusal.of(SyntaxFailed("cannot insert multiple commands into a prepared statement")))
