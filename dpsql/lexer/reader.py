"""Statements of a text: where each begins and ends, its tokens from the left, and its kind in PostgreSQL's words."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from dpsql.errors import SyntaxFailed, Unsupported
from dpsql.lexer import pieces

# One text into PostgreSQL's tokens, and what literals mean; what PostgreSQL would not read is an error with words and place.
#
# Promise: reading takes time that grows with the text's length and no faster.


class TokenKind(Enum):
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


_SORTS = {sort.value: sort for sort in TokenKind}
TEXTS = frozenset({TokenKind.PLAIN, TokenKind.ESCAPED, TokenKind.UNICODE, TokenKind.DOLLARS})
"""Literals of strings."""


class Token(NamedTuple):
    """One token, and where it stands."""

    sort: TokenKind
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """Return a keyword or a name without quotes in small letters, or a sign; "" for anything else."""
        if self.sort is TokenKind.NAME:
            return fold_name(self.text)
        return self.text if self.sort in _SIGNS else ""


_SIGNS = (TokenKind.PUNCTUATION, TokenKind.OPERATOR)
_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def fold_name(name: str) -> str:
    """Return `name` in small letters, as PostgreSQL makes them: those of ASCII only."""
    return name.lower() if name.isascii() else name.translate(_SMALL)


def _one_of(plain: str, unicode: str) -> re.Pattern[str]:
    sorts = {
        # No two of these patterns match at one place. So their order decides nothing but how long the search takes:
        # frequent ones come first.
        TokenKind.NAME: pieces.NAME,
        TokenKind.PLAIN: plain,
        TokenKind.NUMBER: pieces.NUMBER,
        TokenKind.PUNCTUATION: pieces.PUNCTUATION,
        TokenKind.OPERATOR: pieces.OPERATOR,
        TokenKind.QUOTED: pieces.QUOTED,
        TokenKind.ESCAPED: pieces.ESCAPED,
        TokenKind.BITS: pieces.BITS,
        TokenKind.UNICODE: unicode,
        TokenKind.UNICODE_NAME: pieces.UNICODE_NAME,
        TokenKind.PARAMETER: pieces.PARAMETER,
        TokenKind.OTHER: pieces.OTHER,
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
# By how a place begins at which there is no token; the first that fits tells. Each such place has one, which
# `no_token_at` relies on.
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
    at = skip_blanks(text, 0)
    while at < size:
        match = find(text, at)
        if match is None:
            token = _quoted_by_dollars(text, at)
        else:
            sort = _SORTS[match.lastgroup or ""]
            end = match.end() if sort is not TokenKind.OPERATOR else at + _length(match[0])
            token = Token(sort, text[at:end], at, end)
        yield token
        at = token.end
        if at < size and text[at] in _MAY_BE_SKIPPED:
            at = skip_blanks(text, at)


def skip_blanks(text: str, at: int) -> int:
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
            raise too_long_to_read()
    raise syntax_error_at("unterminated /* comment", text, at)


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
        raise syntax_error_at("unterminated dollar-quoted string", text, at)
    return end + len(tag[0])


def no_token_at(text: str, at: int) -> SyntaxFailed:
    """Return the error for a place where no token begins."""
    told = next(words for pattern, words in _STUCK.items() if re.match(pattern, text[at : at + 4]))
    return syntax_error_at(told, text, at)


def too_long_to_read() -> Unsupported:
    """Return the error for a text that takes too long to read."""
    return Unsupported(
        "the statement has too many comments or quoted parts within each other", because="comments-in-comments"
    )


def syntax_error_at(words: str, text: str, at: int) -> SyntaxFailed:
    """Return PostgreSQL's error of these words about the token at `at`."""
    # PostgreSQL quotes all that is left of the text where something does not end, and else one token.
    near = text[at:] if words.startswith("unterminated") else next(iter(_JUNK.findall(text[at : at + _SHOWN])), "")
    return SyntaxFailed(f'{words} at or near "{near}"', position=at + 1)


def _quoted_by_dollars(text: str, at: int) -> Token:
    end = dollars_end(text, at)
    if end > at:
        return Token(TokenKind.DOLLARS, text[at:end], at, end)
    # A dollar that begins neither a tag nor a parameter is a token by itself, as in `scan.l`. No statement has a place
    # for it.
    if text[at] == "$" and not text[at + 1 : at + 2].isdecimal():
        return Token(TokenKind.OTHER, "$", at, at + 1)
    raise no_token_at(text, at)


def _length(signs: str) -> int:
    """Return how much of signs without anything between them is one operator."""
    # SQL's own operators have to be read apart without blanks: 2*-1 is 2 * (-1). So one of several signs ends in + or -
    # only if it has a sign that these lack, as @- has.
    length = len(signs)
    if _MAY_END_SO.isdisjoint(signs):
        return max(len(signs.rstrip("+-")), 1)
    while length > 1 and signs[length - 1] in "+-" and _MAY_END_SO.isdisjoint(signs[: length - 1]):
        length -= 1
    return length


# The meaning of names and string literals, as PostgreSQL keeps them.

NAME_LIMIT = 63
"""Bytes of a name that PostgreSQL keeps."""

_PREFIX = {TokenKind.ESCAPED: 1, TokenKind.UNICODE: 2, TokenKind.UNICODE_NAME: 2}
_SEGMENT = {True: re.compile(r"'((?:[^']|'')*+)'"), False: re.compile(r"'((?:[^'\\]|\\[\s\S]|'')*+)'")}
_JOIN = re.compile(pieces.CONTINUED.removesuffix("'"))
_BACKSLASH = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})|([\s\S]))|('')|([^\\']+)"
)
_LAST_CODE = 0x10FFFF
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# The sign behind UESCAPE is one byte, and no part of a code, no quote and no blank.
_NO_ESCAPE = re.compile(r"[0-9A-Fa-f+'\" \t\n\r\f\v]|[^\x00-\x7f]")


def token_name(token: Token, escape: str = "\\") -> str | None:
    """Return the name that a token is, cut to what PostgreSQL keeps; None if it is none.

    Raises:
        SyntaxFailed: when its escapes are none.
    """
    match token.sort:
        case TokenKind.NAME:
            whole = fold_name(token.text)
        case TokenKind.QUOTED:
            whole = token.text[1:-1].replace('""', '"')
        case TokenKind.UNICODE_NAME:
            whole = _unescaped(token.text[3:-1].replace('""', '"'), escape, token)
        case _:
            return None
    # 15 characters have 60 bytes at most, and need not be counted. PostgreSQL cuts at 63 bytes, and never within a
    # character.
    return whole if len(whole) <= NAME_LIMIT // 4 else whole.encode()[:NAME_LIMIT].decode(errors="ignore")


def literal_value(token: Token, escape: str = "\\", *, conforming: bool = True) -> str | None:
    """Return the string that a literal stands for; None if it is none.

    Raises:
        SyntaxFailed: when its escapes are none.
    """
    match token.sort:
        case TokenKind.DOLLARS:
            tag = token.text.index("$", 1) + 1
            return token.text[tag:-tag]
        case TokenKind.PLAIN if conforming:
            return _joined(token, plain=True).replace("''", "'")
        case TokenKind.PLAIN | TokenKind.ESCAPED:
            return _without_backslashes(_joined(token, plain=False), token)
        case TokenKind.UNICODE:
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
    # Bytes and not characters: E'\xC3\xA9' is one letter, é, of two escapes. Halves of surrogate pairs pass here;
    # `_paired` joins them, or refuses one that is alone.
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
        # The last alternative, which is empty, finds a mark with no code behind it: `_character` refuses that.
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
    # In UTF-16 both halves of a pair stand beside each other, so that a strict reading makes one character of them, and
    # refuses one half alone.
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _invalid(token: Token) -> SyntaxFailed:
    return SyntaxFailed("invalid escape in a literal or name", position=token.start + 1)


MOST_TOKENS = 32_000
"""Tokens that are looked at to tell what a statement does."""


class Reader:
    """Takes tokens one after the other; behind the last one there are more, of no word.

    Every method raises SyntaxFailed where PostgreSQL's lexer would stop, and Unsupported behind `MOST_TOKENS` tokens.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._left = MOST_TOKENS
        self._held: list[Token] = []

    @property
    def token(self) -> Token:
        """Return the next token without taking it."""
        return self.ahead(0)

    @property
    def word(self) -> str:
        """Return the next token's word without taking it; "" at the end, and for what is quoted."""
        return self.token.word

    @property
    def is_at_end(self) -> bool:
        """Return whether no token is left."""
        return self.token.start == len(self._text)

    def ahead(self, count: int) -> Token:
        """Return the token behind the next `count`, without taking any."""
        while len(self._held) <= count:
            self._held.append(self._next())
        return self._held[count]

    def take(self) -> Token:
        """Take the next token."""
        taken = self.token
        del self._held[0]
        return taken

    def skip(self, *words: str) -> bool:
        """Take the next token if it is one of these words; return whether it was."""
        is_next = self.word in words and not self.is_at_end
        if is_next:
            self.take()
        return is_next

    def skip_parentheses(self) -> tuple[int, int] | None:
        """Take what stands in parentheses; return where their inside begins and ends, None if there are none."""
        if self.word != "(":
            return None
        start, depth = self.token.end, 0
        while not self.is_at_end:
            token = self.take()
            depth += {"(": 1, ")": -1}.get(token.word, 0)
            if depth == 0:
                return start, token.start
        return None

    def name(self) -> str | None:
        """Take a name; return it as PostgreSQL keeps it, None (and nothing taken) if there is none."""
        if self.token.sort not in (TokenKind.NAME, TokenKind.QUOTED, TokenKind.UNICODE_NAME):
            return None
        token = self.take()
        return token_name(token, self._escape())

    def string(self) -> str | None:
        """Take a string literal; return its value, None (and nothing taken) if there is none."""
        if self.token.sort not in TEXTS:
            return None
        token = self.take()
        return literal_value(token, self._escape())

    def _escape(self) -> str:
        """Take `UESCAPE 'x'`, if it is there."""
        if self.word == "uescape" and self.ahead(1).sort in TEXTS:
            self.take()
            return literal_value(self.take()) or ""
        return "\\"

    def _next(self) -> Token:
        self._left -= 1
        if self._left < 0:
            raise Unsupported("the statement is too long to see what it does", because="statement-too-long")
        end = len(self._text)
        return next(self._tokens, Token(TokenKind.OTHER, "", end, end))


# The kind of statement that a text is, in the words of PostgreSQL's command tags.

_ONE_WORD = {
    "(": "SELECT", "select": "SELECT", "values": "SELECT", "table": "SELECT", "with": "WITH", "insert": "INSERT",
    "update": "UPDATE", "delete": "DELETE", "merge": "MERGE", "begin": "BEGIN", "start": "START TRANSACTION",
    "commit": "COMMIT", "end": "COMMIT", "rollback": "ROLLBACK", "abort": "ROLLBACK", "savepoint": "SAVEPOINT",
    "release": "RELEASE", "set": "SET", "reset": "RESET", "show": "SHOW", "discard": "DISCARD", "prepare": "PREPARE",
    "execute": "EXECUTE", "deallocate": "DEALLOCATE", "declare": "DECLARE CURSOR", "fetch": "FETCH", "move": "MOVE",
    "close": "CLOSE CURSOR", "copy": "COPY", "explain": "EXPLAIN", "truncate": "TRUNCATE TABLE", "listen": "LISTEN",
    "notify": "NOTIFY", "unlisten": "UNLISTEN", "lock": "LOCK TABLE", "call": "CALL", "do": "DO", "load": "LOAD",
    "checkpoint": "CHECKPOINT", "vacuum": "VACUUM", "analyze": "ANALYZE", "analyse": "ANALYZE", "cluster": "CLUSTER",
    "reindex": "REINDEX", "comment": "COMMENT", "grant": "GRANT", "revoke": "REVOKE", "security": "SECURITY LABEL",
    "import": "IMPORT FOREIGN SCHEMA", "refresh": "REFRESH MATERIALIZED VIEW", "reassign": "REASSIGN OWNED",
}  # fmt: skip
_BEFORE_KIND = (
    "or", "replace", "local", "global", "temp", "temporary", "unlogged", "recursive", "unique", "constraint", "trusted",
    "procedural", "default",
)  # fmt: skip
_SECOND = {
    "access": ("method",), "event": ("trigger",), "foreign": ("table", "data"), "materialized": ("view",),
    "text": ("search",), "user": ("mapping",), "large": ("object",), "default": ("privileges",),
}  # fmt: skip


def statement_kind(reader: Reader) -> str | None:
    """Return the kind of the statement whose first token is next; None if none begins so. Only its first words are taken.

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop.
    """
    word = reader.word
    if word not in ("create", "alter", "drop"):
        statement_kind = _ONE_WORD.get(word)
        if statement_kind is not None and word != "(":
            reader.take()
        return statement_kind
    reader.take()
    verb = word.upper()
    if word == "create":
        while reader.skip(*_BEFORE_KIND):
            pass
    first = reader.take().word
    if reader.word in _SECOND.get(first, ()):
        return f"{verb} {first.upper()} {reader.take().word.upper()}"
    return f"{verb} {first.upper()}".rstrip()


def skip_explain_options(reader: Reader) -> None:
    """Take what stands between EXPLAIN and its statement: not what a query in brackets begins with."""
    if _ONE_WORD.get(reader.ahead(1).word) not in ("SELECT", "WITH"):
        reader.skip_parentheses()
    while reader.skip("analyze", "analyse", "verbose"):
        pass


_FILLING = frozenset({"insert", "update", "delete", "merge"})


def asks_only(text: str) -> bool:
    """Return whether a statement is a query that makes and fills nothing, by SELECT … INTO or WITH … AS (INSERT …).

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop.
    """
    before = ""
    for token in tokens(text):
        if not before and _ONE_WORD.get(token.word) not in ("SELECT", "WITH"):
            return False
        makes = token.word == "into" and before not in ("as", ".")  # else it is a column's name
        if makes or (token.word in _FILLING and before in ("(", ")")):
            return False
        before = token.word or token.text
    return bool(before)


# Where the statements of one text begin and end.
#
# PostgreSQL's grammar has semicolons within a statement only in the bodies of functions and rules; what begins like one of
# these is nobody's to run here, so that every semicolon may count as an end.

MOST_STATEMENTS = 10_000
"""Statements in one text."""

_AT_ONCE = 2_000
"""Tokens that are read before other threads have their turn, since `re` lets nobody else work meanwhile."""
# Whole numbers between commas, as in IN (1, 2, …) and VALUES, are read up to a hundred at a time: a long list of them
# is a loop of `re`'s own.
_PLENTY = r"[ \t\n\r\f,()\[\]]++"
_SHORT = r"[0-9]++(?![^\x00-#%-\x2d/:-@\[-^`{-\x7f])"


def tokens_in_a_row(most: int) -> re.Pattern[str]:
    """Return what matches so many tokens that are no semicolon; `re` stays in its own loop over them."""
    return re.compile(  # frequent ones come first
        rf"(?:{_PLENTY}(?:{_SHORT}{_PLENTY}){{0,99}}+|{pieces.OPERATOR}|{pieces.NAME}|{pieces.PLAIN}|{pieces.NUMBER}"
        rf"|{pieces.ESCAPED}|{pieces.BITS}|{pieces.UNICODE}|{pieces.UNICODE_NAME}|{pieces.QUOTED}|{pieces.PARAMETER}"
        rf"|{pieces.SKIPPED}|{pieces.COMMENT}|{pieces.UNTAGGED}|:|\.\.|\.(?![0-9])|{pieces.OTHER}){{1,{most}}}+"
    )


_RUN = tokens_in_a_row(_AT_ONCE)
_MANY_SIGNS = re.compile(rf"{pieces.SIGNS}{{{pieces.LONGEST_RUN},}}+")
_ENDS = re.compile(rf"(?:;++|{pieces.SKIPPED}|{pieces.COMMENT})*+")


def statements(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each statement that is not empty begins, with its first token, and ends, before its semicolon.

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop.
        Unsupported: when there are more than `MOST_STATEMENTS`, or it takes too long to tell.
    """
    if "/*" in text and any("/*" in run[0] for run in _MANY_SIGNS.finditer(text)):
        raise too_long_to_read()
    spans: list[tuple[int, int]] = []
    at = _begin(text, 0)
    while at < len(text):
        end = _end(text, at)
        spans.append((at, end))
        if len(spans) > MOST_STATEMENTS:
            raise Unsupported(
                f"more than {MOST_STATEMENTS} statements in one message",
                because="statements-in-a-message",
                hint="Send them in several.",
            )
        at = _begin(text, end)
    return tuple(spans)


def _begin(text: str, at: int) -> int:
    """Return where the next token stands that is no semicolon."""
    for _ in range(MANY):
        match = _ENDS.match(text, at)
        at = skip_blanks(text, at if match is None else match.end())
        if not text.startswith(";", at):
            return at
    raise too_long_to_read()


def _end(text: str, at: int) -> int:
    """Return where the statement ends that is read from `at` on."""
    # `_RUN` takes nearly everything. A turn of the outer loop is one of the rest: a comment that nests deeply, a
    # literal with a tag in its dollars, a lone dollar. Only these are counted.
    for _ in range(MANY):
        while (match := _RUN.match(text, at)) is not None:
            at = match.end()
        if at == len(text) or text[at] == ";":
            return at
        if text.startswith("/*", at):
            at = comment_end(text, at)
            continue
        after = dollars_end(text, at) if text[at] == "$" else at
        if after == at and (text[at] != "$" or text[at + 1 : at + 2].isdecimal()):
            raise no_token_at(text, at)
        at = max(after, at + 1)
    raise too_long_to_read()
