"""Settings that a client may not give itself: those that change how text is read, or who it is; and dpsql's own.

To PostgreSQL dpsql's own are names with any value, so they are read here, and given to the gateway to be looked at.
"""

import re
from collections.abc import Iterator, Mapping

from dpsql.errors import AccessDenied, DpsqlError, InvalidText, Unsupported
from dpsql.lexer.reader import Reader
from dpsql.lexer.tokens import folded
from dpsql.question import PREFIX
from dpsql.wire.protocol.encodings import is_unread, readable

_ON = frozenset({"on", "true", "tru", "tr", "t", "yes", "ye", "y", "1", "default"})
_NOBODY = frozenset({"none", "default"})
_READING = ("standard_conforming_strings", "array_nulls")
_AFTER_A_NAME = ("to", "=", ".", "authorization", "characteristics")
_IDENTITY = ("role", "session_authorization")
_WORD = re.compile(r"(?:[^\s\\]|\\.)+", re.DOTALL)


def refused_setting(reader: Reader) -> DpsqlError | None:
    """Return why what follows SET may not be set; None if it may.

    Raises:
        DpsqlError: where it can't be read.
    """
    if reader.ahead(1).word not in _AFTER_A_NAME:
        reader.skip("session", "local")
    if reader.word == "session" and reader.ahead(1).word in ("authorization", "characteristics"):
        reader.take()
    if reader.skip("characteristics"):
        return None
    if reader.skip("authorization"):
        return _identity("session_authorization", reader)
    if reader.word in ("transaction", "constraints", "time", "xml", "schema") and reader.ahead(1).word not in (
        "to",
        "=",
    ):
        return None
    name = folded(reader.name() or "")
    if name == "names":
        return _encoding(reader)
    if reader.skip("to", "=") or name == "role":
        return _refused(name, reader)
    return None


def _refused(name: str, reader: Reader) -> DpsqlError | None:
    if name in _READING:
        value, alone = _value(reader)
        return (
            None
            if alone and value in _ON
            else Unsupported(f'setting "{name}" can\'t be changed', because="setting-fixed")
        )
    if name in _IDENTITY:
        return _identity(name, reader)
    return _encoding(reader) if name == "client_encoding" else None


def _identity(name: str, reader: Reader) -> DpsqlError | None:
    value, alone = _value(reader)
    return (
        None
        if alone and value in _NOBODY
        else AccessDenied(f"permission denied to set {name}", because="setting-not-for-clients")
    )


def _encoding(reader: Reader) -> DpsqlError | None:
    value, _ = _value(reader)
    return unread() if is_unread(value) else None


def _value(reader: Reader) -> tuple[str, bool]:
    """Return the next value in small letters, and whether nothing follows it."""
    number = reader.token.text
    value = reader.string() or reader.name()
    if value is None:
        value = number
        reader.take()
    reader.skip(";")
    return folded(value), reader.is_at_end


def own_setting(reader: Reader) -> tuple[str, str] | None:
    """Return the setting of dpsql's own that a statement sets, and its value; None if it sets none, or has it reset.

    Raises:
        DpsqlError: where it can't be read.
    """
    if not reader.skip("set"):
        return None
    if reader.ahead(1).word not in _AFTER_A_NAME:
        reader.skip("session", "local")
    name = folded(reader.name() or "")
    while reader.skip("."):
        name += "." + folded(reader.name() or "")
    if not name.startswith(PREFIX) or not reader.skip("to", "=") or reader.word == "default":
        return None
    sign = "-" if reader.skip("-") else ""
    literal = reader.string()
    value = reader.take().text if literal is None else literal
    reader.skip(";")
    return (name, sign + value) if reader.is_at_end else None


def started_with(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield dpsql's own settings among the start options of a session, in PostgreSQL's order.

    `options` is one of them, as for the command line: `-c dpsql.error=0.05 --dpsql.epsilon=0.1`, a backslash before a space.
    """
    words = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(options.get("options", ""))]
    lines = [re.fullmatch(r"(?:-c|--)?([^=]+)=(.*)", word, re.DOTALL) for word in words]
    pairs = [(line[1].replace("-", "_"), line[2]) for line in lines if line is not None]
    for name, value in (*pairs, *options.items()):
        if name.lower().startswith(PREFIX):
            yield name, value


def unread() -> InvalidText:
    """Return the error for an encoding that isn't read."""
    return InvalidText("this client_encoding is not read by dpsql", hint=f"It reads: {', '.join(readable())}.")


def not_in(encoding: str) -> InvalidText:
    """Return the error for bytes that are no text in an encoding."""
    return InvalidText(f'invalid byte sequence for encoding "{encoding}"')
