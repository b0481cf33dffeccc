"""Python's codecs for clients' texts, for the encodings of PostgreSQL that both have.

ASCII is the same in all of them, and no character outside ASCII becomes one of it, so that what PostgreSQL makes of a
text has the tokens that we see (`tests/wire/protocol/test_encodings.py` asks PostgreSQL about every character).
"""

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


def decoded(raw: bytes, codec: str) -> str | None:
    """Return the text of `raw`; None when it has none, or one that would not be written so again."""
    if raw.isascii():
        return raw.decode("ascii")
    try:
        text = raw.decode(codec)
        return text if text.encode(codec) == raw else None
    except UnicodeError:
        return None
