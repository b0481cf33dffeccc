"""The first messages of a connection: encryption, a cancel request, or a start and the log-in."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from dpsql.errors import AuthFailed, EncryptionRequired, ProtocolError
from dpsql.wire.protocol import messages
from dpsql.wire.protocol.certificate import Certificate
from dpsql.wire.protocol.messages import Frames, Limits, message, text, uint32
from dpsql.wire.protocol.scram import BOUND, MECHANISM, Exchange, Verifier
from dpsql.wire.protocol.transport import ClientTransport

_CLEAR, _SASL, _SASL_CONTINUE, _SASL_FINAL, _OK = 3, 10, 11, 12, 0
_VERSION = 3


class StartupCode(IntEnum):
    """Codes of requests, in the place where a start packet has the protocol's version."""

    CANCEL = 80877102
    TLS = 80877103
    GSS = 80877104


@dataclass(frozen=True, slots=True)
class Start:
    """The requests of a client before it logs in."""

    options: Mapping[str, str]
    minor: int
    """The protocol's minor version."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """A request to cancel what another connection runs."""

    process: int
    key: bytes


async def read_start_packets(
    transport: ClientTransport, incoming: Frames, tls: Certificate | None, limits: Limits
) -> Start | Cancel:
    """Read the first packets, and turn on TLS where the client asks and there is a certificate.

    Raises:
        ProtocolError: when they are none.
        EncryptionRequired: when there is a certificate, and the client goes without.
        EOFError: when the client goes.
        OSError: when TLS fails.
    """
    while True:
        # The only messages without a kind byte: the protocol began without them. 8 bytes are the length itself and a
        # code.
        (length,) = struct.unpack("!I", await incoming.take(4))
        if not 8 <= length <= limits.startup:
            raise ProtocolError("invalid length of startup packet")
        packet = await incoming.take(length - 4)
        (code,) = struct.unpack_from("!I", packet)
        # A client may ask for TLS, then for GSS, then start: each request is answered by one byte, and the next packet
        # follows. What decides is where a start packet has its version: 3.0 is 196608, the codes below are higher than any
        # version.
        match code:
            case StartupCode.TLS if tls is not None and not transport.is_encrypted:
                # Bytes sent before the handshake would count as encrypted afterwards.
                if not (incoming.is_empty and transport.is_empty):
                    raise ProtocolError("unencrypted data after the request for TLS")
                transport.write(b"S")
                await transport.encrypt(tls.context, limits.login_timeout)
            # N means no, and the client decides whether it goes on in the clear. Encryption by GSSAPI we have none.
            case StartupCode.TLS | StartupCode.GSS:
                transport.write(b"N")
            case StartupCode.CANCEL:
                # A cancel comes on a connection of its own, because the first one waits for its answer. It proves by
                # the session's key that it may, gets no reply whatever happens, and is closed: whether the key was
                # right can't be seen.
                return Cancel(struct.unpack_from("!I", packet.ljust(8, b"\0"), 4)[0], packet[8:])
            case _ if tls is not None and not transport.is_encrypted:
                raise EncryptionRequired("connections without TLS are refused", hint="Connect with sslmode=require.")
            case _:
                return _start(code, packet[4:])


def _start(code: int, body: bytes) -> Start:
    if code >> 16 != _VERSION:
        raise ProtocolError(f"unsupported frontend protocol {code >> 16}.{code & 0xFFFF}")
    words = body.split(b"\0")
    if len(words) < 2 or words[-1] or words[-2]:
        raise ProtocolError("invalid startup packet layout")
    try:
        decoded = [word.decode() for word in words[:-2]]
    except UnicodeDecodeError:
        raise ProtocolError("startup packet is not UTF-8") from None
    if len(decoded) % 2:
        raise ProtocolError("invalid startup packet layout")
    return Start(dict(zip(decoded[::2], decoded[1::2], strict=True)), code & 0xFFFF)


def negotiation(start: Start) -> bytes:
    """Return the message that brings the client down to protocol 3.0 without extensions, if it asked for more."""
    unknown = [name for name in start.options if name.startswith("_pq_.")]
    if start.minor == 0 and not unknown:
        return b""
    return message(b"v", uint32(_VERSION << 16), uint32(len(unknown)), *map(text, unknown))


async def authenticate(
    transport: ClientTransport,
    incoming: Frames,
    verifier: Verifier,
    limits: Limits,
    barred: Callable[[], bool],
    end_point: bytes | None,
) -> None:
    """Ask for the password and check it, unless there were too many failures by then.

    With TLS a client may bind the log-in to the certificate's `end_point`.

    Raises:
        AuthFailed: when it is not the user's, or `barred`.
        ProtocolError: when the client sends something else.
        EOFError: when it goes.
    """
    # AuthenticationSASL → SASLInitialResponse → AuthenticationSASLContinue → SASLResponse → AuthenticationSASLFinal, Ok. The
    # password itself never comes; the server proves in the last step that it has the verifier.
    offered = [MECHANISM.encode()] if end_point is None else [BOUND.encode(), MECHANISM.encode()]
    transport.write(_authentication(_SASL, b"".join(map(text, offered)) + b"\0"))
    body = await _password_message(incoming, limits)
    # SASLInitialResponse: the mechanism's name, the length of what follows in four bytes, and the client's first
    # message.
    mechanism, rest = messages.strings(body, 1)
    if mechanism not in offered or len(rest) < 4:
        raise AuthFailed
    exchange = Exchange(verifier, end_point=end_point, bound=mechanism == BOUND.encode())
    transport.write(_authentication(_SASL_CONTINUE, exchange.challenge(rest[4:])))
    last = await _password_message(incoming, limits)
    if barred():  # others that began at the same time may have failed since
        raise AuthFailed
    final = exchange.conclude(last)
    transport.write(_authentication(_SASL_FINAL, final) + _authentication(_OK))


async def password_in_clear(transport: ClientTransport, incoming: Frames, limits: Limits) -> str:
    """Ask for the password itself, which nobody else may read on its way.

    Raises:
        AuthFailed: without TLS, or it is no text.
        ProtocolError: the client sends something else.
        EOFError: it goes.
    """
    if not transport.is_encrypted:
        raise AuthFailed
    transport.write(_authentication(_CLEAR))
    body = await _password_message(incoming, limits)
    if not body.endswith(b"\0"):
        raise ProtocolError("expected a password message")
    try:
        return body[:-1].decode()
    except UnicodeDecodeError:
        raise AuthFailed from None


def confirm_log_in(transport: ClientTransport) -> None:
    """Tell a client that its password is right."""
    transport.write(_authentication(_OK))


async def _password_message(incoming: Frames, limits: Limits) -> bytes:
    def admit(_: bytes, length: int) -> None:
        if length > limits.password:
            raise ProtocolError("message is too long")

    frame = await incoming.next(admit)
    if frame.kind != b"p":
        raise ProtocolError("expected a password message")
    return frame.body


def _authentication(step: int, body: bytes = b"") -> bytes:
    return message(b"R", uint32(step), body)
