"""Where the statements of one text begin and end.

PostgreSQL's grammar has semicolons within a statement only in the bodies of functions and rules; what begins like one of
these is nobody's to run here, so that every semicolon may count as an end.
"""

import re

from dpsql.errors import Unsupported
from dpsql.lexer import pieces
from dpsql.lexer.tokens import MANY, comment_end, dollars_end, skipped, stuck, too_odd

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
