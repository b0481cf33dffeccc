"""Messages of the PostgreSQL protocol, version 3: building them, and cutting a client's bytes into them."""

import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dpsql.errors import DpsqlError, ProtocolError
from dpsql.question import ColumnDescription

HEADER = 5
"""Bytes before a message's body: its kind, and a length that counts itself but not the kind."""

SYNC = b"S\x00\x00\x00\x04"
FLUSH = b"H\x00\x00\x00\x04"
TERMINATE = b"X\x00\x00\x00\x04"

_UINT32 = struct.Struct("!I")
_UINT16 = struct.Struct("!H")
_COLUMN = struct.Struct("!IhIhih")  # table, attribute, type, size, modifier, format


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may send, and how long it may take; more is refused."""

    startup: int = 10_000
    password: int = 4_096
    statement: int = 1 << 20
    message: int = 16 << 20
    kept_by_session: int = 64 << 20
    kept_by_user: int = 256 << 20
    kept_by_all: int = 512 << 20
    """Bytes of prepared statements, bound parameters and long messages that are kept between messages."""
    unauthenticated: int = 512
    """Connections that have not logged in; half of them from one place."""
    connections: int = 10_000
    """Connections that have, of all users."""
    connections_per_user: int = 64
    """Where all of them compute, others wait now and then for what one of them holds: four milliseconds for each."""
    failures_per_user: int = 10
    failures_per_address: int = 100
    """How often a log-in may fail within `failure_window` seconds, before nothing more is tried."""
    failure_window: float = 60.0
    sessions: int = 290
    """Sessions in the shadow: of PostgreSQL's 340, those that dpsql does not need itself. Those left behind count."""
    unasked: int = 100
    """From so many sessions in the shadow on, a client that logs in gets its own with its first statement."""
    login_timeout: float = 30.0
    """Seconds until a client must have logged in, or the shadow must have come back."""
    statement_time: float = 330.0
    """Seconds that the shadow may work for one message, for any statement_timeout."""
    result: int = 4 << 30
    """Bytes of the replies to one message."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message as it came: header and body."""

    kind: bytes
    raw: bytes

    @property
    def body(self) -> bytes:
        """Return what follows the header."""
        return self.raw[HEADER:]


class Frames:
    """Cuts what `read` gives into frames; `read` gives nothing more than b"" once the client has gone."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read
        self._kept = bytearray()

    @property
    def is_empty(self) -> bool:
        """Return whether all bytes that have come were taken."""
        return not self._kept

    async def first(self) -> bytes:
        """Return the next byte without taking it.

        Raises:
            EOFError: when the client went before it came.
        """
        while not self._kept:
            await self._more()
        return bytes(self._kept[:1])

    async def take(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            EOFError: when the client went before they came.
        """
        # A bytearray grows and loses its head in amortised constant time a byte, however small the pieces are.
        while len(self._kept) < count:
            await self._more()
        taken = bytes(self._kept[:count])
        del self._kept[:count]
        return taken

    async def next(self, admit: Callable[[bytes, int], None]) -> Frame:
        """Return the next frame; `admit` raises where a body of a kind may not have so many bytes.

        Raises:
            ProtocolError: when the length is impossible.
            EOFError: when the client went.
        """
        header = await self.take(HEADER)
        kind, length = header[:1], _UINT32.unpack_from(header, 1)[0]
        if length < 4:
            raise ProtocolError("invalid message length")
        admit(kind, length - 4)
        return Frame(kind, header + await self.take(length - 4))

    async def _more(self) -> None:
        piece = await self._read()
        if not piece:
            raise EOFError
        self._kept += piece


def message(kind: bytes, *parts: bytes) -> bytes:
    """Build one message."""
    body = b"".join(parts)
    return kind + _UINT32.pack(len(body) + 4) + body


def text(value: str | bytes) -> bytes:
    """Return `value` as the protocol writes strings: with a zero byte at the end."""
    return (value.encode() if isinstance(value, str) else value) + b"\0"


def uint32(value: int) -> bytes:
    """Return `value` in four bytes."""
    return _UINT32.pack(value)


def strings(body: bytes, count: int) -> list[bytes]:
    """Return the `count` strings at the beginning of a body, and what follows them.

    Raises:
        ProtocolError: when there are fewer.
    """
    parts = body.split(b"\0", count)
    if len(parts) != count + 1:
        raise ProtocolError("malformed message")
    return parts


def error(failed: DpsqlError, severity: str = "ERROR") -> bytes:
    """Build the ErrorResponse that tells `failed`."""
    return message(b"E", error_body(failed, severity))


def error_body(failed: DpsqlError, severity: str = "ERROR") -> bytes:
    """Build the body of the ErrorResponse that tells `failed`."""
    fields = {"S": severity, "V": severity, "C": failed.sqlstate, "M": failed.message}
    if failed.detail is not None:
        fields["D"] = failed.detail
    if failed.hint is not None:
        fields["H"] = failed.hint
    if failed.position is not None:
        fields["P"] = str(failed.position)
    # A zero byte inside a text would end the field early.
    return b"".join(name.encode() + text(value.replace("\0", "")) for name, value in fields.items()) + b"\0"


def notice(told: str, sqlstate: str = "00000") -> bytes:
    """Build a NoticeResponse."""
    fields = {"S": "NOTICE", "V": "NOTICE", "C": sqlstate, "M": told}
    return message(b"N", b"".join(name.encode() + text(value) for name, value in fields.items()) + b"\0")


def error_fields(body: bytes) -> dict[bytes, bytes]:
    """Return the fields of an ErrorResponse by their one-letter names."""
    return {part[:1]: part[1:] for part in body.split(b"\0") if part}


def join_error_fields(fields: dict[bytes, bytes]) -> bytes:
    """Build an ErrorResponse's body."""
    return b"".join(name + value + b"\0" for name, value in fields.items()) + b"\0"


def row_description(body: bytes, codec: str) -> tuple[ColumnDescription, ...]:
    """Read a RowDescription; the spelling of the types is left empty."""
    fields, at = [], 2
    for _ in range(_UINT16.unpack_from(body)[0]):
        end = body.index(b"\0", at)
        _, _, oid, _, typmod, _ = _COLUMN.unpack_from(body, end + 1)
        fields.append(ColumnDescription(body[at:end].decode(codec, "replace"), oid, typmod, ""))
        at = end + 1 + _COLUMN.size
    return tuple(fields)


def query_text(body: bytes) -> bytes:
    """Read a Query.

    Raises:
        ProtocolError: when its text does not end where the message does.
    """
    text, rest = strings(body, 1)
    if rest:
        raise ProtocolError("invalid message format")
    return text


def parse_parts(body: bytes) -> tuple[bytes, bytes, tuple[int, ...]]:
    """Read the name, the text and the types of the parameters of a Parse.

    Raises:
        ProtocolError: when they don't fill the message.
    """
    name, text, rest = strings(body, 2)
    oids = parameter_oids(rest)
    if len(rest) != 2 + 4 * len(oids):
        raise ProtocolError("invalid message format")
    return name, text, oids


def parameter_oids(body: bytes) -> tuple[int, ...]:
    """Read a ParameterDescription, or the end of a Parse.

    Raises:
        ProtocolError: when it is too short.
    """
    count = _UINT16.unpack_from(body)[0] if len(body) >= 2 else 0
    if len(body) < 2 + 4 * count:
        raise ProtocolError("malformed message")
    return struct.unpack_from(f"!{count}I", body, 2)


def data_row(body: bytes) -> tuple[bytes | None, ...]:
    """Read a DataRow."""
    values: list[bytes | None] = []
    at = 2
    for _ in range(_UINT16.unpack_from(body)[0]):
        (size,) = struct.unpack_from("!i", body, at)
        at += 4
        values.append(None if size < 0 else body[at : at + size])
        at += max(size, 0)
    return tuple(values)


def parse_message(name: bytes, statement: bytes, oids: tuple[int, ...] = ()) -> bytes:
    """Build a Parse."""
    return message(b"P", text(name), text(statement), _UINT16.pack(len(oids)), *map(_UINT32.pack, oids))


def bind_message(portal: bytes, statement: bytes, rest: bytes) -> bytes:
    """Build a Bind; `rest` has formats, values and result formats as a client wrote them."""
    return message(b"B", text(portal), text(statement), rest)


def bind_texts(values: tuple[str | None, ...], codec: str) -> bytes:
    """Build what follows the names in a Bind: `values` as text, results as text."""
    parts = [_UINT16.pack(0), _UINT16.pack(len(values))]
    for value in values:
        encoded = None if value is None else value.encode(codec)
        parts.append(b"\xff\xff\xff\xff" if encoded is None else _UINT32.pack(len(encoded)) + encoded)
    return b"".join(parts) + _UINT16.pack(0)


def bind_parameters(rest: bytes) -> tuple[bytes, int]:
    """Return the part of a Bind's `rest` before the result formats, and how many parameters it has."""
    (formats,) = _UINT16.unpack_from(rest)
    at = 2 + 2 * formats
    (count,) = _UINT16.unpack_from(rest, at)
    at += 2
    for _ in range(count):
        (size,) = struct.unpack_from("!i", rest, at)
        at += 4 + max(size, 0)
    return rest[:at], count


def describe_message(what: bytes, name: bytes) -> bytes:
    """Build a Describe of a statement (`S`) or portal (`P`)."""
    return message(b"D", what, text(name))


def close_message(what: bytes, name: bytes) -> bytes:
    """Build a Close of a statement (`S`) or portal (`P`)."""
    return message(b"C", what, text(name))


def execute_message(portal: bytes) -> bytes:
    """Build an Execute without a row limit."""
    return message(b"E", text(portal), _UINT32.pack(0))
