"""Messages of our own to the shadow, which a client sees nothing of."""

from dpsql.wire.protocol import messages
from dpsql.wire.protocol.replies import MessageKind

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
