"""The replies that are still to come from the shadow, in order: which the client gets, which are for us, which are changed.

No input or output: bytes of the shadow go in, bytes for the client come out. Rows pass in the pieces in which they
come.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from dpsql.errors import AccessDenied
from dpsql.wire.protocol.messages import HEADER, error_body, error_fields, join_error_fields, message, text

# PostgreSQL's denials to clients in the shadow: each has a rule, as dpsql's own refusals have, and a next step.

_CODE, _MESSAGE, _HINT, _DETAIL = b"C", b"M", b"H", b"D"
_TOLD = error_fields(
    error_body(
        AccessDenied(
            "",
            because="privileges-of-clients",
            hint="Clients read the tables that their role may use, and write temporary tables of their own.",
        )
    )
)


def with_rule(body: bytes) -> bytes:
    """Return the body of an error; of one that says that a client may not do something, and no more, with its rule."""
    fields = error_fields(body)
    if fields.get(_CODE) != _TOLD[_CODE] or _DETAIL in fields:
        return body
    return join_error_fields({_HINT: _TOLD[_HINT], **fields, _DETAIL: _TOLD[_DETAIL]})


# PostgreSQL says what column may be meant, and of tables only that there is none.

_NO_TABLE = b"42P01"
_NAMED = re.compile(r'relation "(.*)" does not exist')
_ALIKE = 3
"""How many tables a hint names at most."""


def with_tables(body: bytes, tables: Callable[[], Mapping[str, str]]) -> bytes:
    """Return the body of an error; of one that says that there is no such table, with those that may be meant.

    `tables` returns bare names by the names that a statement has to have.
    """
    fields = error_fields(body)
    named = _NAMED.fullmatch(fields.get(_MESSAGE, b"").decode(errors="replace"))
    if fields.get(_CODE) != _NO_TABLE or _HINT in fields or named is None:
        return body
    there, bare = tables(), named[1].rpartition(".")[2].lower()
    # The same name in another schema, or with capitals, is what is meant most likely.
    alike = get_close_matches(bare, {name.lower() for name in there.values()}, n=_ALIKE)
    meant = [written for close in alike[:1] + alike for written, name in there.items() if name.lower() == close]
    # Where that is the very name, it is the search path that does not find it.
    listed = " or ".join(dict.fromkeys(f'"public".{one}' if one == f'"{named[1]}"' else one for one in meant[:_ALIKE]))
    hint = f"Perhaps you mean {listed}." if listed else "dpsql.columns lists the tables that you may ask about."
    return join_error_fields({_HINT: hint.encode(), **fields})


Message = tuple[bytes, bytes]
"""A reply's kind and body."""


class MessageKind(Enum):
    """The messages to the shadow, told apart by the replies that they bring: how each begins, and what ends its replies."""

    # An error (E) ends the replies to any message of the extended protocol, and what follows is dropped up to Sync. Of a
    # Query it ends only the statement: Z comes all the same. EXECUTE ends in C (CommandComplete), I
    # (EmptyQueryResponse) or s (PortalSuspended: `max_rows` of them came, and there are more).
    STARTUP = b"", b"Z"
    PARSE = b"P", b"1"
    BIND = b"B", b"2"
    CLOSE = b"C", b"3"
    DESCRIBE = b"D", b"Tn"
    EXECUTE = b"E", b"CIs"
    SYNC = b"S", b"Z"
    QUERY = b"Q", b"Z"

    def __init__(self, _: bytes, last: bytes) -> None:
        self.last = last
        """The kinds of message that end the replies to one sent."""


_NAMING = (MessageKind.PARSE, MessageKind.BIND, MessageKind.DESCRIBE)
_CHANGING = (MessageKind.EXECUTE, MessageKind.SYNC, MessageKind.QUERY)
"""Messages that may change settings: the end of a transaction does too."""
# Above it a client that only sends would fill memory here with what is to be done for each reply.
_MANY = 64
_STREAMED = b"Dd"  # rows and copied data: large, perhaps, and for the client alone


@dataclass(slots=True)
class PendingReply:
    """The replies to one message."""

    kind: MessageKind
    collect: list[Message] | None = None
    """Where they are collected, if they are not for the client."""
    hide: bytes = b""
    """The kinds of reply that the client did not ask for; errors are never hidden."""
    error: Callable[[bytes], bytes] | None = None
    """Rewrites the body of an error for the client."""
    rows: Callable[[bytes], bytes] | None = None
    """Rewrites the body of a RowDescription for the client."""
    tag: bytes | None = None
    """The command tag for the client, if not the shadow's own."""
    notice: bytes = b""
    """A notice that comes before the tag, where the shadow's own says that there was a row."""
    of_answer: bool = False
    """Whether what is run are released rows, which change nothing."""
    confirmed: Callable[[], object] | None = None
    """Called when the shadow has done what was asked."""

    @property
    def runs(self) -> bool:
        """Return whether something of the client's is run."""
        return self.kind in (MessageKind.EXECUTE, MessageKind.QUERY) and self.collect is None and not self.of_answer


class Replies:
    """The replies that are still to come, and the state of the shadow's session as the others have shown it."""

    def __init__(
        self,
        ready: Callable[[bool], None],
        noted: Callable[[bytes], bool],
        tables: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`ready` is called at each ReadyForQuery with whether a transaction goes on; `noted` with each notice.

        It returns whether that was ours, and is nothing for the client. `tables` returns the bare names of the tables that
        the client may read, by those that a statement has.
        """
        self._tables = tables
        self._ready = ready
        self._noted = noted
        self._owed: deque[PendingReply] = deque()
        self._held: list[bytes] = []
        self._size = 0
        self._need = HEADER
        self._passing = 0
        self.status = b"I"
        """The transaction's: I idle, T inside, E failed."""
        self.skipping = False
        """Whether the shadow ignores everything until a Sync that was not yet sent."""
        self.copying = False
        """Whether the shadow waits for copied data."""
        self.is_certain = True
        """Whether the session's settings are known: nothing that may change them was sent since they were last reported."""
        self.was_used = True
        """Whether settings, or tables of the session's own, may be others than were read last: something was run since."""
        self._is_used = False
        """Whether something of the client's was run in this transaction."""
        self.ended = False
        """Whether the shadow has said that it ends the session, and why."""
        self.since = 0.0
        """When it began with what is still to come, on the monotonic clock."""
        self.passed = 0
        """Bytes that have come since."""
        self.parameters: dict[str, str] = {}

    @property
    def is_working(self) -> bool:
        """Return whether the shadow has something to do."""
        return bool(self._owed) and not self.copying

    @property
    def is_between(self) -> bool:
        """Return whether the client has had only whole messages."""
        return not self._passing

    @property
    def are_many(self) -> bool:
        """Return whether so many replies are to come that they should be waited for before more is sent."""
        return len(self._owed) > _MANY

    @property
    def is_settled(self) -> bool:
        """Return whether no reply will come before something more is sent."""
        return not self._owed or self.copying

    @property
    def are_of_names(self) -> bool:
        """Return whether all that are to come say only that a statement was read, or a portal bound, or described."""
        return all(owed.kind in _NAMING for owed in self._owed)

    def owe(self, owed: PendingReply) -> None:
        """Note a message that is sent; never while the shadow ignores messages."""
        if not self._owed:
            self._begin()
        if owed.kind is MessageKind.SYNC:
            self.skipping = False
        self.is_certain = self.is_certain and owed.kind not in _CHANGING
        if owed.runs:
            self.was_used = self._is_used = True
        self._owed.append(owed)

    def note_settings(self) -> None:
        """Note that the session's settings were read now, which stay as they are unless something is run.

        Where something was run in the same transaction they may change back at its end: these are not known for longer.
        """
        self.was_used = self._is_used

    def sort(self, data: bytes) -> bytes:
        """Return the part of `data` that the client gets; an incomplete message is kept until the rest comes."""
        if self._passing:
            if self._passing >= len(data):
                self._passing -= len(data)
                return data
            # The rest of a row whose beginning has gone to the client already.
            head, data = data[: self._passing], data[self._passing :]
            self._passing = 0
            return head + self.sort(data)
        self._held.append(data)
        self._size += len(data)
        if self._size < self._need:
            return b""
        whole = data if len(self._held) == 1 else b"".join(self._held)
        return self._cut(whole)

    def _cut(self, data: bytes) -> bytes:
        """Take the complete messages out of `data` and keep the rest."""
        out: list[bytes] = []
        start = at = 0  # data[start:at] goes to the client unchanged
        end = len(data)
        while end - at >= HEADER:
            after = at + 1 + int.from_bytes(data[at + 1 : at + HEADER], "big")
            # Rows are passed on as they come, also half a one: a row may have a gigabyte, and is kept nowhere.
            if data[at] in _STREAMED and self._owed and self._owed[0].collect is None and not self._hides(data[at]):
                at = after
                continue
            if after > end:
                break
            out += (data[start:at], self._reply(data[at : at + 1], data[at:after]))
            start = at = after
        out.append(data[start:at])
        self._passing = max(at - end, 0)
        rest = data[at:]
        self._held, self._size = ([rest] if rest else []), len(rest)
        self._need = HEADER if len(rest) < HEADER else 1 + int.from_bytes(rest[1:HEADER], "big")
        return b"".join(out)

    def _hides(self, kind: int) -> bool:
        return kind in self._owed[0].hide

    def _reply(self, kind: bytes, raw: bytes) -> bytes:
        """Note what a message says, and return the client's part of it."""
        if kind == b"S":
            self._note_parameter(raw)
        # LISTEN and NOTIFY work across all sessions of a database: with them one role could tell another what it has
        # seen.
        if kind == b"A":  # a notification would carry words from one user to another
            return b""
        if kind == b"N" and self._noted(raw[HEADER:]):
            return b""
        owed = self._owed[0] if self._owed else None
        shown = self._shown(owed, kind, raw)
        match kind:
            case b"E":
                self.ended = b"\0VFATAL\0" in raw or self.ended
                self._failed(owed)
            case b"Z":
                self._is_ready(owed, raw[HEADER:])
            case b"G":
                self._begins_copying(owed)
            case b"N" | b"S":
                pass
            case _ if owed is not None and kind in owed.kind.last:
                self._done(owed)
        return shown

    def _shown(self, owed: PendingReply | None, kind: bytes, raw: bytes) -> bytes:
        if owed is not None and owed.collect is not None and (kind != b"S" or owed.kind is MessageKind.STARTUP):
            owed.collect.append((kind, raw[HEADER:]))
            return b""
        if kind == b"E":
            body = raw[HEADER:] if owed is None or owed.error is None else owed.error(raw[HEADER:])
            return message(b"E", self.presentable(body))
        if owed is not None and kind in owed.hide:
            return b""
        if owed is not None and owed.rows is not None and kind == b"T":
            return message(b"T", owed.rows(raw[HEADER:]))
        if owed is not None and owed.tag is not None and kind == b"C":
            told = owed.notice if raw.endswith(b" 1\0") else b""
            return told + message(b"C", text(owed.tag))
        return raw

    def presentable(self, body: bytes) -> bytes:
        """Return the body of an error of the shadow's as the client gets it: with a next step, and nothing of our own."""
        inside = b"dpsql." in body
        body = with_tables(with_rule(body), self._tables)
        if not inside:
            return body
        # It is not shown where in our own functions it was raised.
        return join_error_fields({name: value for name, value in error_fields(body).items() if name not in b"WFLR"})

    def _failed(self, owed: PendingReply | None) -> None:
        self.copying = False
        if owed is None or owed.kind in (MessageKind.SYNC, MessageKind.QUERY):
            return
        # The shadow has dropped what was sent behind the message that failed, up to the next Sync: no reply to it will come.
        while self._owed and self._owed[0].kind is not MessageKind.SYNC:
            self._owed.popleft()
        self.skipping = not self._owed and owed.kind is not MessageKind.STARTUP

    def _is_ready(self, owed: PendingReply | None, status: bytes) -> None:
        self.status, self.skipping, self.copying = status, False, False
        if owed is not None and owed.kind.last == b"Z":
            self._done(owed)
        # The shadow tells what has changed before each ReadyForQuery.
        self.is_certain = not any(owed.kind in _CHANGING for owed in self._owed)
        if status == b"I":
            self._is_used = any(owed.runs for owed in self._owed)
        self._ready(status != b"I")

    def _begins_copying(self, owed: PendingReply | None) -> None:
        self.copying = True
        if owed is not None and owed.kind is MessageKind.EXECUTE:
            # The shadow ignores a Sync that it finds among copied data.
            while len(self._owed) > 1 and self._owed[1].kind is MessageKind.SYNC:
                del self._owed[1]

    def _done(self, owed: PendingReply) -> None:
        self.copying = False
        # ROLLBACK, COMMIT (which rolls back) and ROLLBACK TO SAVEPOINT; whether a transaction goes on is in the next Z.
        if self.status == b"E" and owed.kind is MessageKind.EXECUTE:
            self.status = b"T"  # all that can be done in a failed transaction ends that, or goes back in it
        self._owed.popleft()
        self._begin()
        if owed.confirmed is not None:
            owed.confirmed()

    def _begin(self) -> None:
        # Whoever asks how long the shadow has worked asks about the message that it works on now, not about those behind it.
        self.since = time.monotonic()
        self.passed = 0

    def _note_parameter(self, raw: bytes) -> None:
        name, value, _ = raw[HEADER:].split(b"\0", 2)
        self.parameters[name.decode()] = value.decode("utf-8", "replace")
