"""Messages of our own to the shadow, which a client sees nothing of."""

from dpsql.errors import DpsqlError
from dpsql.shadow.contents.guard import REFUSAL
from dpsql.wire.backend.backend import Backend
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.messages import error_body, error_fields, join_error_fields
from dpsql.wire.protocol.replies import MessageKind, PendingReply

_PROBE = b"_dpsql_probe"
_OWN = b"_dpsql_own"
Asked = tuple[tuple[MessageKind, bytes], ...]


def forget_probe() -> Asked:
    """Close what was described last."""
    return ((MessageKind.CLOSE, messages.close_message(b"S", _PROBE)),)


def described(text: bytes, oids: tuple[int, ...]) -> Asked:
    """Close what an earlier error may have left, then parse and describe."""
    return (
        (MessageKind.CLOSE, messages.close_message(b"S", _PROBE)),
        (MessageKind.PARSE, messages.parse_message(_PROBE, text, oids)),
        (MessageKind.DESCRIBE, messages.describe_message(b"S", _PROBE)),
    )


def ran(text: bytes, oids: tuple[int, ...] = (), rest: bytes = bytes(6)) -> Asked:
    """Parse, bind and execute under a name of our own, and close both."""
    return (
        (MessageKind.CLOSE, messages.close_message(b"S", _OWN)),
        (MessageKind.PARSE, messages.parse_message(_OWN, text, oids)),
        (MessageKind.BIND, messages.bind_message(_OWN, _OWN, rest)),
        (MessageKind.EXECUTE, messages.execute_message(_OWN)),
        (MessageKind.CLOSE, messages.close_message(b"P", _OWN)),
        (MessageKind.CLOSE, messages.close_message(b"S", _OWN)),
    )


# Errors of dpsql raised in the shadow, whose transaction fails then and skips to the next Sync; statements left out.

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


def moved(body: bytes, characters: int) -> bytes:
    """Return an error's body with its position moved, for a statement that stood inside a longer text."""
    fields = error_fields(body)
    if b"P" in fields:
        fields[b"P"] = b"%d" % (int(fields[b"P"]) + characters)
    return join_error_fields(fields)


def unplaced(body: bytes) -> bytes:
    """Return an error's body without positions, for a statement that the client has not written."""
    return join_error_fields({name: value for name, value in error_fields(body).items() if name not in b"Ppq"})
