"""Tries a statement with made-up answers in its session before it is paid for, and takes it back: see `gateway.stand_ins`.

It is refused where it fails in the same way with all of them, in PostgreSQL's words. An answer may pass a CHECK, and be no
duplicate, where no number that was made up is; so NULL, of which both hold, has to fail likewise. Not so where an error is
about other values: NULL hides a division by 0.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dpsql.errors import InternalError, Unsupported
from dpsql.gateway.rehearsal import Rehearsal
from dpsql.gateway.request import StandIn, Unpaid
from dpsql.question import ColumnDescription
from dpsql.shadow.contents.trial import PREPARED
from dpsql.wire.backend.backend import Backend, ShadowRefusedError
from dpsql.wire.intercept.own_messages import described, ran
from dpsql.wire.intercept.prepared import Execution
from dpsql.wire.intercept.refusal import unplaced
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import error_fields, join_error_fields
from dpsql.wire.protocol.replies import Message, MessageKind

_LOG = logging.getLogger("dpsql.wire")
_NAME = PREPARED.encode()
_SKIPPED = b"CREATE TABLE AS\0"
"""The command tag where IF NOT EXISTS has left a table alone; one that is made has a number of rows."""
_TEXTS = 1009
"""The type text[]."""
_HIDDEN_BY_NULL = ("22", "23502")
NOBODYS = ("53", "57", "58")
"""Classes of errors that no statement causes: too little memory, a cancel, the system."""
_OF_ROWS = ("23502", "23514")
"""Errors whose detail is the row that can't be, which has made-up values in it."""

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

    def is_wanted(self, begun: Unpaid) -> bool:
        """Return whether anything may be found: what the statement fails with, or a character that the client can't have."""
        return begun.tried or self.codec != "utf-8"

    async def is_done_already(self, rehearsal: Rehearsal) -> bool:
        """Rehearse; return whether IF NOT EXISTS finds its table there, so that nothing is left to do.

        Raises: ShadowRefusedError: the statement would fail with any answer.
        """
        given = (self.asked.oids, self.asked.values + b"\0\0")
        texts = (*rehearsal.trials, rehearsal.text)
        try:
            replies = await self.backend.ask(
                *(frame for text in texts for frame in ran(text.encode(self.codec), *given))
            )
        except ShadowRefusedError as refused:
            raise ShadowRefusedError(unplaced(refused.body), ()) from None
        if not rehearsal.undone:
            return False
        if [body for kind, body in replies if kind == b"C"][-1:] == [_SKIPPED]:
            return True
        await self.backend.ask(*ran(rehearsal.undone.encode(self.codec)))
        return False

    async def see(self, following: Callable[[], Awaitable[StandIn | None]]) -> None:
        """See that the statement does not fail in the same way with all stand-ins, which `following` returns one by one.

        Raises:
            ShadowRefusedError: it does, or PostgreSQL was stopped.
            Unsupported: client_encoding lacks characters of public keys.
        """
        first: _Said | None = None
        while (made := await following()) is not None:
            require_writable(made.text, self.codec)
            if first is not None and made.of_nulls and (first[_CODE] or "").startswith(_HIDDEN_BY_NULL):
                break
            said = await self._failed(made.text)
            if said is None or (first is not None and _kind(said) != _kind(first)):
                return
            first = first or said
        if first is not None:
            await self._fail(first)

    async def see_described(self, text: str, columns: tuple[ColumnDescription, ...]) -> None:
        """See that PostgreSQL reads what an answer will look like, and finds the columns of the client's statement in it.

        Raises:
            InternalError: it does not.
            ShadowRefusedError: PostgreSQL was stopped.
        """
        try:
            replies = await self.backend.ask(*described(text.encode(self.codec), self.asked.oids))
        except ShadowRefusedError as refused:
            if refused.sqlstate.startswith(NOBODYS):
                raise
            _LOG.error("the shadow can't parse an answer: %s", refused)
            raise ShadowRefusedError(messages.error_body(InternalError()), ()) from None
        require_columns(replies, columns, self.codec)

    async def _failed(self, text: str) -> _Said | None:
        """Return what a text fails with, None if it does not."""
        forget = (MessageKind.CLOSE, messages.close_message(b"S", _NAME))
        try:
            replies = await self.backend.ask(
                forget,
                (MessageKind.PARSE, messages.parse_message(_NAME, text.encode(self.codec), self.asked.oids)),
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
        return ran(call.encode(), (_TEXTS,), messages.bind_texts((_array(texts),), self.codec))


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
