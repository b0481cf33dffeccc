"""One session in the shadow, as a client's session uses it."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import cast

from dpsql.byte_limited_cache import ByteLimitedCache
from dpsql.errors import DpsqlError
from dpsql.question import ColumnDescription
from dpsql.shadow.contents import guard
from dpsql.shadow.contents.guard import REFUSAL
from dpsql.wire.backend.fair_share import FairShare
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import (
    FLUSH,
    TERMINATE,
    error_body,
    error_fields,
    join_error_fields,
    message,
    text,
    uint32,
)
from dpsql.wire.protocol.replies import Message, MessageKind, PendingReply, Replies

_PROTOCOL = 0x30000
_PIECE, _PIECES = 2**16, 64
"""Bytes, and how many times so many: a socket holds no more."""
_STOP, _END = guard.SIGNAL_CODE.encode(), guard.END.encode()


class ShadowLostError(ConnectionError):
    """The shadow ended the session."""


class SkippedError(Exception):
    """The shadow has failed and the client was told; everything before the next Sync is ignored."""


class ShadowRefusedError(Exception):
    """The shadow answered one of our own messages with an error, and now ignores what comes before a Sync."""

    def __init__(self, body: bytes, replies: tuple[Message, ...]) -> None:
        """`body` is the ErrorResponse's, `replies` what came before it."""
        super().__init__(error_fields(body).get(b"M", b"").decode(errors="replace"))
        self.body = body
        self.replies = replies

    @property
    def sqlstate(self) -> str:
        """Return the error's code."""
        return error_fields(self.body).get(b"C", b"XX000").decode()


class Backend(asyncio.Protocol):
    """A connection to the shadow: `send` passes on what the client sent, `ask` sends messages of our own."""

    def __init__(
        self,
        deliver: Callable[[bytes], None],
        ready: Callable[[bool], None],
        lost: Callable[[], None],
        stop: Callable[[int, bool], None],
        share: FairShare,
        tables: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`deliver` takes bytes for the client, `ready` hears of each ReadyForQuery, `lost` of the end.

        `stop` hears which session a statement has asked the shadow to stop, by its number, and whether to end it; `share` is
        what its user has of the event loop, and `tables` are those that it may read, as for `Replies`.
        """
        self.replies = Replies(ready, self._noted, tables)
        self._stop = stop
        self._share = share
        self._unsorted: deque[bytes] = deque()
        """Bytes that have come, and wait for their turn."""
        self._is_full = False
        """Whether the client takes nothing more."""
        self.key = b""
        """The key that a cancel request has to carry."""
        self._deliver = deliver
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_littered = False
        """Whether statements may be there under names of our own: an error has come, or a client has used them."""
        self._unsent: list[bytes] = []
        """Messages that go with those behind them, in one write."""
        self._unsent_size = 0

    # Methods that asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        self._transport = cast("asyncio.Transport", transport)

    # All bytes of the shadow come by here. A user who has had its share of the event loop waits with what has come, and
    # nothing more is read of its socket: TCP then slows the shadow's process down, and nothing piles up in memory.
    def data_received(self, data: bytes) -> None:  # noqa: D102
        self.replies.passed += len(data)
        if self._share.has_time and not self._unsorted:
            self._sort(data)
            return
        self._unsorted.append(data)
        if len(self._unsorted) == 1:
            self._share.wait(self._go_on)
        self._read_or_not()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: D102
        # A FATAL error and the end of the connection come together. If our own write fails first, asyncio drops what
        # was sent before the end, and the client would never hear why.
        if isinstance(exc, OSError) and self._transport is not None:
            self._unsorted.append(_unread(self._transport))
        self._transport = None
        self._unsent.clear()
        self._unsent_size = 0
        while self._unsorted:
            self._sort(self._unsorted.popleft())
        self._writable.set()
        self._wake(ShadowLostError("the shadow ended the session"))
        self._lost()

    def pause_writing(self) -> None:  # noqa: D102
        self._writable.clear()

    def resume_writing(self) -> None:  # noqa: D102
        self._writable.set()

    # Methods that the session calls.

    @property
    def number(self) -> int:
        """Return the session's number, which is its process's in the shadow; 0 before it has begun."""
        return int.from_bytes(self.key[:4], "big")

    async def start(self, options: dict[str, str], secret: str) -> None:
        """Begin the session; `secret` is what the shadow asks for, and is sent before it does.

        Raises:
            ShadowRefusedError: when the shadow does not want it.
            ShadowLostError: when it goes.
        """
        # The password is sent with the start packet: the shadow asks everybody for one, and so a round trip is saved.
        collected: list[Message] = []
        self.replies.owe(PendingReply(MessageKind.STARTUP, collected))
        body = b"".join(text(part) for pair in options.items() for part in pair) + b"\0"
        self._write(uint32(len(body) + 8) + uint32(_PROTOCOL) + body + message(b"p", text(secret)))
        await self._wait()
        _raise_error(collected)
        self.key = next(body for kind, body in collected if kind == b"K")

    def send(self, raw: bytes, owed: PendingReply | None = None) -> None:
        """Send a message; `owed` says what is done with its replies."""
        if owed is not None:
            self.replies.owe(owed)
        self._write(raw)

    async def settle(self) -> None:
        """Wait until all replies have come (or copied data is waited for).

        Raises:
            ShadowLostError: when the shadow goes.
        """
        if self.replies.is_settled:
            return
        self._write(FLUSH)  # replies may otherwise stay in the shadow's buffer for ever
        await self._wait()

    async def ask(self, *messages: tuple[MessageKind, bytes]) -> tuple[Message, ...]:
        """Send messages of our own and return their replies; the client sees nothing of it.

        They may go behind messages of the client's whose replies have not come yet, but for those that run something.

        Raises:
            ShadowRefusedError: on the first error.
            SkippedError: when the shadow fails for what the client has sent before.
            ShadowLostError: when the shadow goes.
        """
        if self._is_littered:
            # Closing what is not there is no error in the protocol, unlike DEALLOCATE in SQL.
            for raw in _CLEARED:
                self.send(raw, PendingReply(MessageKind.CLOSE, hide=b"3"))
        collected: list[Message] = []
        missing = list(messages)
        # Each message that is answered takes itself from `missing`; what is left at the end got no answer.
        # A pipeline of our own: one write and one round trip for all of them. Flush, and no Sync, asks for the replies,
        # since a Sync would end a transaction that the client has begun by Execute alone.
        for kind, _ in messages:
            self.replies.owe(PendingReply(kind, collected, confirmed=missing.pop))
        self._is_littered = True
        self._write(b"".join(raw for _, raw in messages) + FLUSH)
        await self._wait()
        _raise_error(collected)
        if missing and self.replies.skipping and not self.replies.ended:
            raise SkippedError
        if missing:  # the end of the session came for something before them
            raise ShadowLostError("the shadow ended the session")
        self._is_littered = False
        return tuple(collected)

    async def drain(self) -> None:
        """Wait until the shadow takes more."""
        if not self._writable.is_set():
            await self._writable.wait()

    def pause(self) -> None:
        """Read nothing more until `resume`: the client is slow."""
        self._is_full = True
        self._read_or_not()

    def resume(self) -> None:
        """Read again."""
        self._is_full = False
        self._read_or_not()

    def close(self) -> None:
        """End the session."""
        if self._transport is not None:
            self._unsent.append(TERMINATE)
            self._send_all()
            self._transport.close()

    def _sort(self, data: bytes) -> None:
        """Pass on what the client gets of what has come."""
        with self._share.taken():
            out = self.replies.sort(data)
            if out:
                self._deliver(out)
            if self._waiting is not None and self.replies.is_settled:
                self._wake(None)

    def _go_on(self) -> bool:
        """Sort what has waited longest, when it is its turn; return whether there was anything."""
        if not self._unsorted:
            return False
        first = self._unsorted.popleft()
        if self._unsorted:
            self._share.wait(self._go_on)
        self._sort(first)
        self._read_or_not()
        return True

    def _read_or_not(self) -> None:
        """Read what comes while the client takes it, and none of it waits."""
        if self._transport is None:
            return
        if self._is_full or self._unsorted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _noted(self, body: bytes) -> bool:
        """Read a notice that one of our functions has raised; return whether it is one."""
        fields = error_fields(body)
        if fields.get(b"C") != _STOP:
            return False
        number, _, what = fields[b"M"].partition(b" ")
        self._stop(int(number), what == _END)
        return True

    def _write(self, raw: bytes) -> None:
        if self._transport is None:
            raise ShadowLostError("the shadow ended the session")
        # Each write wakes the shadow's process. So messages that are sent one after the other go together: when replies
        # are waited for, and at the latest in the loop's next turn.
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._send_all)
        self._unsent.append(raw)
        self._unsent_size += len(raw)
        if self._unsent_size > _PIECE:
            self._send_all()

    def _send_all(self) -> None:
        """Send what was written."""
        if self._transport is not None and self._unsent:
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._unsent_size = 0

    async def _wait(self) -> None:
        if self.replies.is_settled:
            return
        self._share.suspend()
        self._send_all()
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def _wake(self, failed: Exception | None) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return
        if failed is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(failed)


def _unread(transport: asyncio.Transport) -> bytes:
    """Return what has come and was not read, such as why the session ended: asyncio reads nothing once it can't send."""
    socket, pieces = transport.get_extra_info("socket"), list[bytes]()
    with suppress(OSError):  # nothing more is there
        while len(pieces) < _PIECES and (piece := os.read(socket.fileno(), _PIECE)):
            pieces.append(piece)
    return b"".join(pieces)


def _raise_error(collected: list[Message]) -> None:
    for place, (kind, body) in enumerate(collected):
        if kind == b"E":
            raise ShadowRefusedError(body, tuple(collected[:place]))


# PostgreSQL's own spelling of types, asked once for each type and modifier.

_MOST_NAMES = 10_000  # names that are remembered
# PostgreSQL's FirstNormalObjectId (access/transam.h).
_FIRST_OF_USERS = 16384  # oids from here on belong to things made in the database, and may change
_MOST_COLUMNS = 2**20
"""Bytes of the row descriptions that are remembered."""
_PER_COLUMN = 300


class TypeNames:
    """The spellings known so far, for all sessions of one shadow."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}
        self._columns: ByteLimitedCache[tuple[ColumnDescription, ...]] = ByteLimitedCache(_MOST_COLUMNS, _size)
        """Columns by row description and codec, where none has a type that was made in the database."""

    async def spell(self, backend: Backend, types: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
        """Return `format_type(oid, typmod)` for each pair, under any search path; ask the shadow for those that are new.

        Raises:
            ShadowRefusedError: when the shadow can't be asked.
        """
        missing = [pair for pair in dict.fromkeys(types) if pair not in self._known]
        names = {pair: self._known[pair] for pair in types if pair in self._known}
        fresh = await _ask_types(backend, missing) if missing else {}
        names |= fresh
        if len(self._known) > _MOST_NAMES:  # clients choose the modifiers
            self._known.clear()
        self._known |= {pair: name for pair, name in fresh.items() if pair[0] < _FIRST_OF_USERS}
        return tuple(names[pair] for pair in types)

    async def columns(self, backend: Backend, body: bytes, codec: str) -> tuple[ColumnDescription, ...]:
        """Read a RowDescription, its types spelled.

        Raises:
            ShadowRefusedError: when the shadow can't be asked.
        """
        kept = self._columns.get((body, codec))
        if kept is not None:
            return kept
        fields = messages.row_description(body, codec)
        names = await self.spell(backend, tuple((field.oid, field.typmod) for field in fields))
        spelled = tuple(replace(field, type=name) for field, name in zip(fields, names, strict=True))
        if all(field.oid < _FIRST_OF_USERS for field in fields):
            self._columns.keep((body, codec), spelled)
        return spelled


async def _ask_types(backend: Backend, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
    calls = (f"pg_dpsql.spell_type({oid}, {typmod})" for oid, typmod in pairs)
    replies = await backend.ask(*messages_to_run(f"SELECT {', '.join(calls)}".encode()))
    row = next(messages.data_row(body) for kind, body in replies if kind == b"D")
    return {pair: (name or b"text").decode() for pair, name in zip(pairs, row, strict=True)}


def _size(value: object) -> int:
    """Return the bytes of a row description, with its codec, or of the columns in one."""
    match value:
        case (bytes() as body, str()):
            return len(body)
        case tuple() as columns:
            return sum(_PER_COLUMN + 4 * len(column.name) for column in columns)
        case _:
            return 0


# Messages of our own to the shadow, which a client sees nothing of.

_PROBE_STATEMENT = b"_dpsql_probe"
_OWN_STATEMENT = b"_dpsql_own"
_ANSWER = b"_dpsql_answer"
_CLEARED = (
    *(messages.close_message(b"S", name) for name in (_PROBE_STATEMENT, _OWN_STATEMENT, _ANSWER)),
    messages.close_message(b"P", _OWN_STATEMENT),
)
"""Closes what an error may have left of them."""
Asked = tuple[tuple[MessageKind, bytes], ...]


def messages_to_describe(text: bytes, oids: tuple[int, ...]) -> Asked:
    """Parse and describe under a name of our own, and close it."""
    return (
        (MessageKind.PARSE, messages.parse_message(_PROBE_STATEMENT, text, oids)),
        (MessageKind.DESCRIBE, messages.describe_message(b"S", _PROBE_STATEMENT)),
        (MessageKind.CLOSE, messages.close_message(b"S", _PROBE_STATEMENT)),
    )


def messages_to_bind(text: bytes, oids: tuple[int, ...], portal: bytes, rest: bytes) -> Asked:
    """Parse and describe an answer under a name of our own, bind it in the place of what a portal has, and close the name."""
    return (
        (MessageKind.PARSE, messages.parse_message(_ANSWER, text, oids)),
        (MessageKind.DESCRIBE, messages.describe_message(b"S", _ANSWER)),
        # The client's portal is bound anew, to our statement: a driver that executes it by its name gets the answer's
        # rows.
        (MessageKind.CLOSE, messages.close_message(b"P", portal)),
        (MessageKind.BIND, messages.bind_message(portal, _ANSWER, rest)),
        (MessageKind.CLOSE, messages.close_message(b"S", _ANSWER)),
    )


def messages_to_run(text: bytes, oids: tuple[int, ...] = (), rest: bytes = bytes(6)) -> Asked:
    """Parse, bind and execute under a name of our own, and close both."""
    return (
        (MessageKind.PARSE, messages.parse_message(_OWN_STATEMENT, text, oids)),
        (MessageKind.BIND, messages.bind_message(_OWN_STATEMENT, _OWN_STATEMENT, rest)),
        (MessageKind.EXECUTE, messages.execute_message(_OWN_STATEMENT)),
        (MessageKind.CLOSE, messages.close_message(b"P", _OWN_STATEMENT)),
        (MessageKind.CLOSE, messages.close_message(b"S", _OWN_STATEMENT)),
    )


# Errors of dpsql raised in the shadow, whose transaction fails then and skips to the next Sync; statements left out.

# Why the shadow has to raise our errors: the client's transaction is its own. If we only sent an ErrorResponse, the
# client would think that its transaction has failed, and the shadow would go on in it, so that the next COMMIT would
# commit.
_REFUSAL = b"_dpsql_refusal"
_NOTICES_WANTED = b"SELECT WHERE pg_catalog.current_setting('client_min_messages') NOT IN ('warning', 'error')"
_DUPLICATE_OBJECT = "42710"


def refuse(backend: Backend, failed: DpsqlError) -> None:
    """Have the shadow raise the SQLSTATE of `failed`; the client gets our text with it."""

    def in_our_words(body: bytes) -> bytes:
        # Any other error is the shadow's own, and the client gets that.
        return error_body(failed) if error_fields(body).get(b"M") == REFUSAL.encode() else body

    select = f"SELECT pg_dpsql.refuse('{failed.sqlstate}')".encode()
    _run_hidden(backend, select, PendingReply(MessageKind.EXECUTE, hide=b"DC", error=in_our_words))


def leave_out(backend: Backend, portal: bytes, tag: bytes, told: str) -> None:
    """Have the shadow do nothing instead of a portal's work, which is gone then; once it has, the client is told that."""
    backend.send(messages.close_message(b"P", portal), PendingReply(MessageKind.CLOSE, hide=b"3"))
    notice = messages.notice(told, _DUPLICATE_OBJECT) if told else b""
    _run_hidden(backend, _NOTICES_WANTED, PendingReply(MessageKind.EXECUTE, hide=b"D", tag=tag, notice=notice))


def _run_hidden(backend: Backend, select: bytes, owed: PendingReply) -> None:
    backend.send(messages.close_message(b"S", _REFUSAL), PendingReply(MessageKind.CLOSE, hide=b"3"))
    backend.send(messages.parse_message(_REFUSAL, select), PendingReply(MessageKind.PARSE, hide=b"1"))
    backend.send(messages.bind_message(_REFUSAL, _REFUSAL, bytes(6)), PendingReply(MessageKind.BIND, hide=b"2"))
    backend.send(messages.execute_message(_REFUSAL), owed)


def shift_position(body: bytes, characters: int) -> bytes:
    """Return an error's body with its position moved, for a statement that stood inside a longer text."""
    fields = error_fields(body)
    # The position counts characters from 1, whatever the encoding is.
    if b"P" in fields:
        fields[b"P"] = b"%d" % (int(fields[b"P"]) + characters)
    return join_error_fields(fields)


def drop_position(body: bytes) -> bytes:
    """Return an error's body without positions, for a statement that the client has not written."""
    return join_error_fields({name: value for name, value in error_fields(body).items() if name not in b"Ppq"})
