"""Settings that a client may not give itself: those that change how text is read, or who it is; and dpsql's own.

To PostgreSQL dpsql's own are names with any value, so they are read here, and given to the gateway to be looked at.
"""

import re
from collections.abc import Iterator, Mapping

from dpsql.errors import AccessDenied, DpsqlError, InvalidText, Unsupported
from dpsql.lexer.reader import Reader, fold_name
from dpsql.question import PREFIX

# Python's codecs for clients' texts, for the encodings of PostgreSQL that both have.
#
# ASCII is the same in all of them, and no character outside ASCII becomes one of it, so that what PostgreSQL makes of a
# text has the tokens that we see (`tests/wire/protocol/test_encodings.py` asks PostgreSQL about every character).

_CODECS = {
    "UTF8": "utf-8",
    "SQL_ASCII": "utf-8",  # not converted, so it has to be the server's own
    "BIG5": "cp950",
    "EUC_CN": "gb2312",
    "EUC_JIS_2004": "euc-jis-2004",
    "EUC_JP": "euc-jp",
    "EUC_KR": "euc-kr",
    "GB18030": "gb18030",
    "GBK": "gbk",
    "ISO_8859_5": "iso8859-5",
    "ISO_8859_6": "iso8859-6",
    "ISO_8859_7": "iso8859-7",
    "ISO_8859_8": "iso8859-8",
    "JOHAB": "johab",
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "LATIN1": "latin-1",
    "LATIN2": "iso8859-2",
    "LATIN3": "iso8859-3",
    "LATIN4": "iso8859-4",
    "LATIN5": "iso8859-9",
    "LATIN6": "iso8859-10",
    "LATIN7": "iso8859-13",
    "LATIN8": "iso8859-14",
    "LATIN9": "iso8859-15",
    "LATIN10": "iso8859-16",
    "SJIS": "cp932",
    "UHC": "cp949",
    "WIN866": "cp866",
    "WIN874": "cp874",
    "WIN1250": "cp1250",
    "WIN1251": "cp1251",
    "WIN1252": "cp1252",
    "WIN1253": "cp1253",
    "WIN1254": "cp1254",
    "WIN1255": "cp1255",
    "WIN1256": "cp1256",
    "WIN1257": "cp1257",
    "WIN1258": "cp1258",
}
_AS_WRITTEN = {"UNICODE": "UTF8"}
"""The one other name that PostgreSQL reports as the client wrote it; of all others it makes its own spelling."""
_UNREAD = frozenset({"EUC_TW", "MULE_INTERNAL", "SHIFT_JIS_2004"})


def codec_of(client_encoding: str) -> str | None:
    """Return the codec for a value of `client_encoding`; None if we have none, and can't look into the texts."""
    return _CODECS.get(_AS_WRITTEN.get(client_encoding, client_encoding))


def readable() -> tuple[str, ...]:
    """Return the values of `client_encoding` that are read, as PostgreSQL spells them."""
    return tuple(_CODECS)


def is_unread(name: str) -> bool:
    """Return whether PostgreSQL knows an encoding of this name, however it is spelt, and we don't read it."""
    return _plain(name) in {_plain(unread) for unread in _UNREAD} | {"shiftjis2004", "muleinternal", "euctw"}


def _plain(name: str) -> str:
    """Return a name of an encoding as PostgreSQL compares them: letters and digits only."""
    return "".join(char for char in name.lower() if char.isascii() and char.isalnum())


def decode_exactly(raw: bytes, codec: str) -> str | None:
    """Return the text of `raw`; None when it has none, or one that would not be written so again."""
    if raw.isascii():
        return raw.decode("ascii")
    try:
        text = raw.decode(codec)
        return text if text.encode(codec) == raw else None
    except UnicodeError:
        return None


# The settings that are refused, or dpsql's own.

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
    name = fold_name(reader.name() or "")
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
    return unread_encoding() if is_unread(value) else None


def _value(reader: Reader) -> tuple[str, bool]:
    """Return the next value in small letters, and whether nothing follows it."""
    number = reader.token.text
    value = reader.string() or reader.name()
    if value is None:
        value = number
        reader.take()
    reader.skip(";")
    return fold_name(value), reader.is_at_end


def own_setting(reader: Reader) -> tuple[str, str] | None:
    """Return the setting of dpsql's own that a statement sets, and its value; None if it sets none, or has it reset.

    Raises:
        DpsqlError: where it can't be read.
    """
    if not reader.skip("set"):
        return None
    if reader.ahead(1).word not in _AFTER_A_NAME:
        reader.skip("session", "local")
    name = fold_name(reader.name() or "")
    while reader.skip("."):
        name += "." + fold_name(reader.name() or "")
    if not name.startswith(PREFIX) or not reader.skip("to", "=") or reader.word == "default":
        return None
    sign = "-" if reader.skip("-") else ""
    literal = reader.string()
    value = reader.take().text if literal is None else literal
    reader.skip(";")
    return (name, sign + value) if reader.is_at_end else None


def start_settings(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield dpsql's own settings among the start options of a session, in PostgreSQL's order.

    `options` is one of them, as for the command line: `-c dpsql.error=0.05 --dpsql.epsilon=0.1`, a backslash before a space.
    """
    words = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(options.get("options", ""))]
    lines = [re.fullmatch(r"(?:-c|--)?([^=]+)=(.*)", word, re.DOTALL) for word in words]
    pairs = [(line[1].replace("-", "_"), line[2]) for line in lines if line is not None]
    for name, value in (*pairs, *options.items()):
        if name.lower().startswith(PREFIX):
            yield name, value


def unread_encoding() -> InvalidText:
    """Return the error for an encoding that isn't read."""
    return InvalidText("this client_encoding is not read by dpsql", hint=f"It reads: {', '.join(readable())}.")


def undecodable_text(encoding: str) -> InvalidText:
    """Return the error for bytes that are no text in an encoding."""
    return InvalidText(f'invalid byte sequence for encoding "{encoding}"')
