"""Which of Python's codecs reads a client's texts."""

_CODECS = {
    "UTF8": "utf-8",
    "SQL_ASCII": "utf-8",
    "LATIN1": "latin-1",
    "LATIN2": "iso8859-2",
    "LATIN9": "iso8859-15",
    "WIN1250": "cp1250",
    "WIN1251": "cp1251",
    "WIN1252": "cp1252",
    "KOI8R": "koi8-r",
    "EUC_JP": "euc-jp",
    "EUC_KR": "euc-kr",
}


def codec_of(client_encoding: str) -> str | None:
    """Return the codec for a value of `client_encoding`; None if we have none, and can't look into the texts."""
    return _CODECS.get(client_encoding)
