"""Puts the answer to a private statement into the client's portal, or tells the client why not."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from dpsql.errors import AuditFailed, DpsqlError, InternalError, Refusal, ShuttingDown
from dpsql.question import Cancellation
from dpsql.wire.backend.backend import Backend, ShadowRefusedError
from dpsql.wire.intercept.audited import AuditedStatement, SessionAudit, written_parameters
from dpsql.wire.intercept.classify import ExecuteNamed
from dpsql.wire.intercept.deadline import stopped
from dpsql.wire.intercept.interceptor import EXPLAIN, Answer, Interceptor, failed_probe
from dpsql.wire.intercept.prepared import Execution
from dpsql.wire.intercept.refusal import moved, refuse, unplaced
from dpsql.wire.intercept.trial import NOBODYS
from dpsql.wire.protocol import messages

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
        if cancellation.requested:  # it came while the shadow had nothing to do
            refuse(self._backend, stopped(cancellation))
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
        except BaseException:
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
            self.tell(unplaced(refused.body) if explained else moved(refused.body, offset - len(EXPLAIN)))
            return None

    def tell(self, body: bytes) -> None:
        """Tell the client an error of the shadow's."""
        self.write(messages.message(b"E", body))

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
        return unplaced(refused.body)
    probe = failed_probe(run, refused)
    if probe is None:
        return moved(refused.body, run.offset)
    at = run.text.find(probe) if probe else -1
    return unplaced(refused.body) if at < 0 else moved(refused.body, run.offset + at)


def _of_answer(refused: ShadowRefusedError) -> bytes:
    """Return the error for an answer that PostgreSQL rejects: an internal one, unless it was parsed or PostgreSQL stopped."""
    parsed = any(kind == b"1" for kind, _ in refused.replies)
    if not parsed and not refused.sqlstate.startswith(NOBODYS):
        _LOG.error("the shadow can't parse an answer: %s", refused)
        return messages.error_body(InternalError())
    return unplaced(refused.body)
