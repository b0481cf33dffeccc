"""Statements of a text: where each begins and ends, its tokens from the left, and its kind in PostgreSQL's words."""

import re

from dpsql.errors import Unsupported
from dpsql.lexer import pieces
from dpsql.lexer import tokens as lexer_tokens
from dpsql.lexer.tokens import MANY, TEXTS, Sort, Token, comment_end, dollars_end, skipped, stuck, tokens, too_odd

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
        if self.token.sort not in (Sort.NAME, Sort.QUOTED, Sort.UNICODE_NAME):
            return None
        token = self.take()
        return lexer_tokens.name(token, self._escape())

    def string(self) -> str | None:
        """Take a string literal; return its value, None (and nothing taken) if there is none."""
        if self.token.sort not in TEXTS:
            return None
        token = self.take()
        return lexer_tokens.value(token, self._escape())

    def _escape(self) -> str:
        """Take `UESCAPE 'x'`, if it is there."""
        if self.word == "uescape" and self.ahead(1).sort in TEXTS:
            self.take()
            return lexer_tokens.value(self.take()) or ""
        return "\\"

    def _next(self) -> Token:
        self._left -= 1
        if self._left < 0:
            raise Unsupported("the statement is too long to see what it does", because="statement-too-long")
        end = len(self._text)
        return next(self._tokens, Token(Sort.OTHER, "", end, end))


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


def kind(reader: Reader) -> str | None:
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


# Where the statements of one text begin and end.
#
# PostgreSQL's grammar has semicolons within a statement only in the bodies of functions and rules; what begins like one of
# these is nobody's to run here, so that every semicolon may count as an end.

MOST_STATEMENTS = 10_000
"""Statements in one text."""

_AT_ONCE = 2_000
"""Tokens that are read before other threads have their turn, since `re` lets nobody else work meanwhile."""
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
_SIGNS = re.compile(rf"{pieces.SIGNS}{{{pieces.LONGEST_RUN},}}+")
_ENDS = re.compile(rf"(?:;++|{pieces.SKIPPED}|{pieces.COMMENT})*+")


def statements(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each statement that is not empty begins, with its first token, and ends, before its semicolon.

    Raises:
        SyntaxFailed: where PostgreSQL's lexer would stop.
        Unsupported: when there are more than `MOST_STATEMENTS`, or it takes too long to tell.
    """
    if "/*" in text and any("/*" in run[0] for run in _SIGNS.finditer(text)):
        raise too_odd()
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
        at = skipped(text, at if match is None else match.end())
        if not text.startswith(";", at):
            return at
    raise too_odd()


def _end(text: str, at: int) -> int:
    """Return where the statement ends that is read from `at` on."""
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
            raise stuck(text, at)
        at = max(after, at + 1)
    raise too_odd()
