"""The meaning of names and string literals, as PostgreSQL keeps them."""

import re

from dpsql.errors import SyntaxFailed
from dpsql.lexer import pieces
from dpsql.lexer.tokens import Sort, Token, folded

NAME_LIMIT = 63
"""Bytes of a name that PostgreSQL keeps."""

_PREFIX = {Sort.ESCAPED: 1, Sort.UNICODE: 2, Sort.UNICODE_NAME: 2}
_SEGMENT = {True: re.compile(r"'((?:[^']|'')*+)'"), False: re.compile(r"'((?:[^'\\]|\\[\s\S]|'')*+)'")}
_JOIN = re.compile(pieces.CONTINUED.removesuffix("'"))
_BACKSLASH = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|([\s\S]))|('')|([^\\']+)"
)
_LAST = 0x10FFFF
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_NO_ESCAPE = re.compile(r"[0-9A-Fa-f+'\" \t\n\r\f\v]|[^\x00-\x7f]")


def name(token: Token, escape: str = "\\") -> str | None:
    """Return the name that a token is, cut to what PostgreSQL keeps; None if it is none.

    Raises:
        SyntaxFailed: when its escapes are none.
    """
    match token.sort:
        case Sort.NAME:
            whole = folded(token.text)
        case Sort.QUOTED:
            whole = token.text[1:-1].replace('""', '"')
        case Sort.UNICODE_NAME:
            whole = _unescaped(token.text[3:-1].replace('""', '"'), escape, token)
        case _:
            return None
    return whole if len(whole) <= NAME_LIMIT // 4 else whole.encode()[:NAME_LIMIT].decode(errors="ignore")


def value(token: Token, escape: str = "\\", *, conforming: bool = True) -> str | None:
    """Return the string that a literal stands for; None if it is none.

    Raises:
        SyntaxFailed: when its escapes are none.
    """
    match token.sort:
        case Sort.DOLLARS:
            tag = token.text.index("$", 1) + 1
            return token.text[tag:-tag]
        case Sort.PLAIN if conforming:
            return _joined(token, plain=True).replace("''", "'")
        case Sort.PLAIN | Sort.ESCAPED:
            return _without_backslashes(_joined(token, plain=False), token)
        case Sort.UNICODE:
            return _unescaped(_joined(token, plain=True).replace("''", "'"), escape, token)
        case _:
            return None


def _joined(token: Token, *, plain: bool) -> str:
    """Return what stands between the quotes of a literal's parts."""
    at, parts = _PREFIX.get(token.sort, 0), []
    while segment := _SEGMENT[plain].match(token.text, at):
        parts.append(segment[1])
        join = _JOIN.match(token.text, segment.end())
        at = len(token.text) if join is None else join.end()
    return "".join(parts)


def _without_backslashes(text: str, token: Token) -> str:
    out = bytearray()
    for octal, hexadecimal, code, other, quote, plain in _BACKSLASH.findall(text):
        if octal or hexadecimal:
            out.append(int(octal, 8) & 0xFF if octal else int(hexadecimal, 16))
        elif code:
            out += _character(code[1:], token).encode("utf-8", "surrogatepass")
        else:
            out += (_CONTROLS.get(other, other) or ("'" if quote else plain)).encode()
    try:
        return _paired(out.decode("utf-8", "surrogatepass"))
    except UnicodeError:
        raise _invalid(token) from None


def _unescaped(text: str, escape: str, token: Token) -> str:
    if len(escape) != 1 or _NO_ESCAPE.match(escape):
        raise SyntaxFailed("invalid Unicode escape character", position=token.start + 1)
    mark = re.escape(escape)

    def character(match: re.Match[str]) -> str:
        code = match[1].lstrip("+")
        return escape if code == escape else _character(code, token)

    try:
        return _paired(re.sub(rf"{mark}({mark}|[0-9A-Fa-f]{{4}}|\+[0-9A-Fa-f]{{6}}|)", character, text))
    except UnicodeError:
        raise _invalid(token) from None


def _character(code: str, token: Token) -> str:
    """Return the character of a code in hexadecimal digits."""
    if not code or not 0 < int(code, 16) <= _LAST:
        raise _invalid(token)
    return chr(int(code, 16))


def _paired(text: str) -> str:
    """Join the halves of surrogate pairs.

    Raises:
        UnicodeError: when there is one without the other.
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _invalid(token: Token) -> SyntaxFailed:
    return SyntaxFailed("invalid escape in a literal or name", position=token.start + 1)
