"""Whether a statement names certain tables, by its tokens: what stands in literals, comments and longer words does not.

SELECT '{int}'::regtype[] FROM pg_class WHERE relname = 'trips'  →  names no table trips
SELECT id::bigserial FROM "big"                                  →  names the table big, once
"""

from collections.abc import Collection, Iterable

from dpsql.errors import DpsqlError
from dpsql.lexer.literals import name
from dpsql.lexer.tokens import Token, tokens

_BEFORE_TABLES = frozenset({"from", "join", "only", "table", "."})


def mentions(text: str, names: Collection[str], read: Iterable[Token] | None = None) -> bool:
    """Return whether a name of `names` is a name in `text`; True for a text that can't be read.

    `read` are its tokens, if they are known.
    """
    try:
        return any(name(token) in names for token in (tokens(text) if read is None else read))
    except DpsqlError:
        return True


def reads(text: str, names: Collection[str]) -> bool:
    """Return whether a name of `names` stands where a table is read; True for a text that can't be read."""
    before = ""
    try:
        for token in tokens(text):
            if before in _BEFORE_TABLES and name(token) in names:
                return True
            before = token.word
    except DpsqlError:
        return True
    return False
