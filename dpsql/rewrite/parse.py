"""From the text of one statement to its query, and to what stands around the query.

Only SELECT and the statements that carry one are known here (DECLARE CURSOR, COPY … TO, CREATE TEMP TABLE AS, EXPLAIN).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dpsql.errors import DpsqlError
from dpsql.rewrite.dialect import Client, TooComplexError, with_marked_parameters

# Each character can be read in one way only: a text that does not match must not be tried in all the others.
SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)"
_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_DECLARE = rf"DECLARE\s+{_NAME}\s+(?:\w+\s+)*?CURSOR\s+(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\s"
_COPY = r"COPY\s*\("
_CREATE = (
    rf"CREATE\s+(?:LOCAL\s+|GLOBAL\s+)?TEMP(?:ORARY)?\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*(?:\([^)]*\)\s*)?"
    r"(?:ON\s+COMMIT\s+\w+(?:\s+ROWS)?\s+|WITHOUT\s+OIDS\s+)?AS\s"
)
_EXPLAIN = r"EXPLAIN\s+(?:\([^)]*\)\s*)?(?:ANALYZE\s+)?(?:VERBOSE\s+)?"
_PREFIX = re.compile(
    rf"{SPACE}*(?:(?P<declare>{_DECLARE})|(?P<copy>{_COPY})|(?P<create>{_CREATE})|(?P<explain>{_EXPLAIN}))",
    re.IGNORECASE | re.DOTALL,
)
_CREATE_TAIL = re.compile(r"(?<!\s)\s+WITH\s+(?P<no>NO\s+)?DATA\s*;?\s*$", re.IGNORECASE)


class Wrap(Enum):
    """What a query stands in."""

    NOTHING = "nothing"
    DECLARE = "declare"
    COPY = "copy"
    CREATE = "create"
    EXPLAIN = "explain"


@dataclass(frozen=True, slots=True)
class Statement:
    """`prefix` + `query` + `suffix` is the text that was sent; `tree` is the query parsed."""

    wrap: Wrap
    prefix: str
    query: str
    suffix: str
    tree: exp.Query


def statements(text: str) -> tuple[tuple[int, int], ...]:
    """Return the span of every non-empty statement of a simple query; one span when the text has no tokens to tell."""
    try:
        tokens = Client().tokenize(text)
    except SqlglotError:
        return ((0, len(text)),)
    cuts = [0, *(t.end + 1 for t in tokens if t.token_type is TokenType.SEMICOLON), len(text)]
    spans = pairwise(cuts)
    return tuple((a, b) for a, b in spans if text[a:b].strip(" \t\r\n;")) or ((0, len(text)),)


def parse(text: str) -> Statement | None:
    """Return the statement, or None when it is not one query in one of the known wraps."""
    match = _PREFIX.match(text)
    if match is None:
        tree = _query(text)
        return Statement(Wrap.NOTHING, "", text, "", tree) if tree else None
    wrap = Wrap(match.lastgroup)
    prefix, rest = text[: match.end()], text[match.end() :]
    query, suffix = _cut(wrap, rest)
    tree = _query(query)
    return Statement(wrap, prefix, query, suffix, tree) if tree else None


def _cut(wrap: Wrap, rest: str) -> tuple[str, str]:
    if wrap is Wrap.COPY:
        end = _closing(rest)
        return rest[:end], rest[end:]
    if wrap is Wrap.CREATE and (tail := _CREATE_TAIL.search(rest)):
        return rest[: tail.start()], rest[tail.start() :]
    return rest, ""


def _closing(text: str) -> int:
    """Return where the parenthesis that was open before `text` closes."""
    depth = 1
    try:
        for token in Client().tokenize(with_marked_parameters(text)):
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            if depth == 0:
                return int(token.start)
    except (SqlglotError, DpsqlError):
        pass
    return len(text)


def _query(text: str) -> exp.Query | None:
    dialect = Client()
    try:
        text = with_marked_parameters(text)
        tokens = dialect.tokenize(text)
        if _has_odd_number(text, tokens):
            return None
        trees = [t for t in dialect.parser().parse(tokens, text) if t is not None]
    except (SqlglotError, DpsqlError, RecursionError, TooComplexError):
        return None
    return trees[0] if len(trees) == 1 and isinstance(trees[0], exp.Query) else None


def _has_odd_number(text: str, tokens: Sequence[Token]) -> bool:
    """Say whether a number is written as 0x1F, 0o7, 0b1 or 1_000, which would be read as something else."""
    if any(text[t.start] == "0" for t in tokens if t.token_type in {TokenType.HEX_STRING, TokenType.BIT_STRING}):
        return True
    pairs = pairwise(tokens)
    return any(
        a.token_type is TokenType.NUMBER and b.token_type is TokenType.VAR and b.start == a.end + 1 for a, b in pairs
    )
