"""One text into PostgreSQL's tokens, and what literals mean; what PostgreSQL would not read is an error with words and place.

Promise: reading takes time that grows with the text's length and no faster.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from dpsql.errors import SyntaxFailed, Unsupported
from dpsql.lexer import pieces


class Sort(Enum):
    """The kinds of tokens; the values name the groups that find them."""

    NAME = "name"
    """A keyword, or a name without quotes."""
    QUOTED = "quoted"
    UNICODE_NAME = "unicode_name"
    PLAIN = "plain"
    ESCAPED = "escaped"
    UNICODE = "unicode"
    BITS = "bits"
    DOLLARS = "dollars"
    NUMBER = "number"
    PARAMETER = "parameter"
    OPERATOR = "operator"
    PUNCTUATION = "punctuation"
    OTHER = "other"
    """A character that no statement has outside quotes."""


_SORTS = {sort.value: sort for sort in Sort}
TEXTS = frozenset({Sort.PLAIN, Sort.ESCAPED, Sort.UNICODE, Sort.DOLLARS})
"""Literals of strings."""


class Token(NamedTuple):
    """One token, and where it stands."""

    sort: Sort
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """Return a keyword or a name without quotes in small letters, or a sign; "" for anything else."""
        if self.sort is Sort.NAME:
            return folded(self.text)
        return self.text if self.sort in _SIGNS else ""


_SIGNS = (Sort.PUNCTUATION, Sort.OPERATOR)
_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def folded(name: str) -> str:
    """Return `name` in small letters, as PostgreSQL makes them: those of ASCII only."""
    return name.lower() if name.isascii() else name.translate(_SMALL)


def _one_of(plain: str, unicode: str) -> re.Pattern[str]:
    sorts = {
        Sort.NAME: pieces.NAME,
        Sort.PLAIN: plain,
        Sort.NUMBER: pieces.NUMBER,
        Sort.PUNCTUATION: pieces.PUNCTUATION,
        Sort.OPERATOR: pieces.OPERATOR,
        Sort.QUOTED: pieces.QUOTED,
        Sort.ESCAPED: pieces.ESCAPED,
        Sort.BITS: pieces.BITS,
        Sort.UNICODE: unicode,
        Sort.UNICODE_NAME: pieces.UNICODE_NAME,
        Sort.PARAMETER: pieces.PARAMETER,
        Sort.OTHER: pieces.OTHER,
    }
    return re.compile("|".join(f"(?P<{sort.value}>{pattern})" for sort, pattern in sorts.items()))


# Where backslashes count in plain literals PostgreSQL refuses those with Unicode escapes.
_TOKEN = {True: _one_of(pieces.PLAIN, pieces.UNICODE), False: _one_of(pieces.BACKSLASHED, "(?!)")}
_SKIPPED = re.compile(rf"(?:{pieces.SKIPPED}|{pieces.COMMENT})*+")
_MAY_BE_SKIPPED = frozenset(" \t\n\r\f-/")
"""The beginnings of blanks and comments."""
_TAG = re.compile(pieces.TAG)
_EDGES = re.compile(r"(?:/\*)++|\*/")
_JUNK = re.compile(r"""^(?:(?:[uU]&)?""|[$.]?[\w$.]+|[\s\S])""")
_SHOWN = 100  # characters of what can't be read
MANY = 10_000
"""Oddities of one text that are read one by one."""
_MAY_END_SO = frozenset("~!@#^&|`?%")  # what an operator has that ends in + or -
_STUCK = {
    r"(?:[uU]&|[eEnN])?'": "unterminated quoted string",
    r"[bB]'": "unterminated bit string literal",
    r"[xX]'": "unterminated hexadecimal string literal",
    r'(?:[uU]&)?""': "zero-length delimited identifier",
    r'(?:[uU]&)?"': "unterminated quoted identifier",
    r"\$[0-9]": "trailing junk after parameter",
    r"\$": "unterminated dollar-quoted string",
    r"\.?[0-9]": "trailing junk after numeric literal",
    r"[\x00\v]": "syntax error",
    pieces.SIGN: "operator too long",
}


def tokens(text: str, *, conforming: bool = True) -> Iterator[Token]:
    """Yield the tokens of `text`; `conforming` is the session's `standard_conforming_strings`.

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop, or in an operator of more than 63 characters.
        Unsupported: in a comment with too many comments in it.
    """
    find, size = _TOKEN[conforming].match, len(text)
    at = skipped(text, 0)
    while at < size:
        match = find(text, at)
        if match is None:
            token = _quoted_by_dollars(text, at)
        else:
            sort = _SORTS[match.lastgroup or ""]
            end = match.end() if sort is not Sort.OPERATOR else at + _length(match[0])
            token = Token(sort, text[at:end], at, end)
        yield token
        at = token.end
        if at < size and text[at] in _MAY_BE_SKIPPED:
            at = skipped(text, at)


def skipped(text: str, at: int) -> int:
    """Return where the next token begins, behind blanks and comments.

    Raises:
        SyntaxFailed: when a comment does not end.
    """
    while True:
        match = _SKIPPED.match(text, at)
        at = match.end() if match else at
        if not text.startswith("/*", at):
            return at
        at = comment_end(text, at)


def comment_end(text: str, at: int) -> int:
    """Return where the comment that begins at `at` ends; those in it are counted.

    Raises:
        SyntaxFailed: when it does not.
        Unsupported: when there are too many in it.
    """
    depth = 0
    for number, edge in enumerate(_EDGES.finditer(text, at)):
        depth += -1 if edge[0] == "*/" else len(edge[0]) // 2
        if depth == 0:
            return edge.end()
        if number > MANY:
            raise too_odd()
    raise failed("unterminated /* comment", text, at)


def dollars_end(text: str, at: int) -> int:
    """Return where the literal in dollars that begins at `at` ends; `at` if none begins there.

    Raises:
        SyntaxFailed: when it does not end.
    """
    tag = _TAG.match(text, at)
    if tag is None:
        return at
    end = text.find(tag[0], tag.end())
    if end < 0:
        raise failed("unterminated dollar-quoted string", text, at)
    return end + len(tag[0])


def stuck(text: str, at: int) -> SyntaxFailed:
    """Return the error for a place where no token begins."""
    told = next(words for pattern, words in _STUCK.items() if re.match(pattern, text[at : at + 4]))
    return failed(told, text, at)


def too_odd() -> Unsupported:
    """Return the error for a text that takes too long to read."""
    return Unsupported(
        "the statement has too many comments or quoted parts within each other", because="comments-in-comments"
    )


def failed(words: str, text: str, at: int) -> SyntaxFailed:
    """Return PostgreSQL's error of these words about the token at `at`."""
    near = text[at:] if words.startswith("unterminated") else next(iter(_JUNK.findall(text[at : at + _SHOWN])), "")
    return SyntaxFailed(f'{words} at or near "{near}"', position=at + 1)


def _quoted_by_dollars(text: str, at: int) -> Token:
    end = dollars_end(text, at)
    if end > at:
        return Token(Sort.DOLLARS, text[at:end], at, end)
    if text[at] == "$" and not text[at + 1 : at + 2].isdecimal():
        return Token(Sort.OTHER, "$", at, at + 1)
    raise stuck(text, at)


def _length(signs: str) -> int:
    """Return how much of signs without anything between them is one operator."""
    length = len(signs)
    if _MAY_END_SO.isdisjoint(signs):
        return max(len(signs.rstrip("+-")), 1)
    while length > 1 and signs[length - 1] in "+-" and _MAY_END_SO.isdisjoint(signs[: length - 1]):
        length -= 1
    return length


# The meaning of names and string literals, as PostgreSQL keeps them.

NAME_LIMIT = 63
"""Bytes of a name that PostgreSQL keeps."""

_PREFIX = {Sort.ESCAPED: 1, Sort.UNICODE: 2, Sort.UNICODE_NAME: 2}
_SEGMENT = {True: re.compile(r"'((?:[^']|'')*+)'"), False: re.compile(r"'((?:[^'\\]|\\[\s\S]|'')*+)'")}
_JOIN = re.compile(pieces.CONTINUED.removesuffix("'"))
_BACKSLASH = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|([\s\S]))|('')|([^\\']+)"
)
_LAST_CODE = 0x10FFFF
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
    if not code or not 0 < int(code, 16) <= _LAST_CODE:
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
