"""The two requests to an LDAP server (RFC 4511) that tell whether a password is right: StartTLS, and a simple bind.

Promise: a bind always has a name and a password. With either left out a server accepts anybody (RFC 4513, 5.1).
"""

from collections.abc import Awaitable, Callable
from typing import NoReturn

_SEQUENCE, _INTEGER, _OCTETS, _ENUMERATED = 0x30, 0x02, 0x04, 0x0A
_BIND, _BOUND, _EXTENDED, _EXTENDED_ANSWER = 0x60, 0x61, 0x77, 0x78
_SIMPLE = _NAME = 0x80
_START_TLS = b"1.3.6.1.4.1.1466.20037"
_VERSION = 3
_LONGEST = 65_536
"""Bytes of an answer."""
SUCCESS = 0
WRONG = frozenset({19, 32, 34, 48, 49, 50, 53})
"""Results that say that nobody is let in: a wrong password, a name that is none, an account that is locked or may not."""
Read = Callable[[int], Awaitable[bytes]]
"""Reads exactly so many bytes.

Raises:
    EOFError: there are no more.
"""


class UnreadableAnswerError(Exception):
    """The message is no answer to the request."""


def start_tls(number: int) -> bytes:
    """Return the request to begin TLS, with its number."""
    return _message(number, _value(_EXTENDED, _value(_NAME, _START_TLS)))


def bind(number: int, name: str, password: str) -> bytes:
    """Return the request to bind as somebody, with its number.

    Raises:
        ValueError: the name or the password is empty.
    """
    if not name.strip() or not password:
        raise ValueError("nobody is let in without a name and a password")
    simple = _value(_SIMPLE, password.encode())
    return _message(number, _value(_BIND, _whole(_VERSION) + _value(_OCTETS, name.encode()) + simple))


async def bind_result(read: Read, number: int) -> int:
    """Return the result of a bind."""
    return await _result(read, number, _BOUND)


async def tls_may_start(read: Read, number: int) -> int:
    """Return the result of the request to begin TLS."""
    return await _result(read, number, _EXTENDED_ANSWER)


def escape_name(value: str) -> str:
    """Return a text as it may stand in a distinguished name (RFC 4514): no letter of it means anything there."""
    return "".join(letter if letter.isalnum() or letter in "-._" else _in_digits(letter) for letter in value)


def _in_digits(letter: str) -> str:
    return "".join(f"\\{byte:02x}" for byte in letter.encode())


async def _result(read: Read, number: int, kind: int) -> int:
    """Read one message, and return the result in it.

    Raises:
        UnreadableAnswerError: it is another than was waited for.
    """
    if (await read(1))[0] != _SEQUENCE:
        _give_up()
    size = (await read(1))[0]
    if size & 0x80:
        more = size & 0x7F
        size = int.from_bytes(await read(more)) if 1 <= more <= 3 else _LONGEST + 1
    if size > _LONGEST:
        _give_up()
    body = await read(size)
    told, body = _taken(body, _INTEGER)
    answer, _ = _taken(body, kind)
    result, _ = _taken(answer, _ENUMERATED)
    if int.from_bytes(told) != number or len(result) != 1:
        _give_up()
    return result[0]


def _taken(body: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the first value, which has that tag, and what is behind it."""
    if len(body) < 2 or body[0] != tag:
        _give_up()
    size, at = body[1], 2
    if size & 0x80:
        more = size & 0x7F
        size, at = int.from_bytes(body[2 : 2 + more]), 2 + more
    if at + size > len(body):
        _give_up()
    return body[at : at + size], body[at + size :]


def _give_up() -> NoReturn:
    raise UnreadableAnswerError("the answer is none of LDAP's")


def _message(number: int, operation: bytes) -> bytes:
    return _value(_SEQUENCE, _whole(number) + operation)


def _whole(number: int) -> bytes:
    return _value(_INTEGER, bytes([number]))


def _value(tag: int, content: bytes) -> bytes:
    """Return a value with its tag and its length, in as few bytes as that takes."""
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content
