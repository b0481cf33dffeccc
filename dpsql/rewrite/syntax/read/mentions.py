"""Whether a statement names certain tables, by its tokens: what stands in literals, comments and longer words does not.

SELECT '{int}'::regtype[] FROM pg_class WHERE relname = 'trips'  →  names no table trips
SELECT id::bigserial FROM "big"                                  →  names the table big, once
"""

from collections.abc import Collection, Iterable

from dpsql.errors import DpsqlError
from dpsql.lexer.tokens import Token, name, tokens
from dpsql.policy.model import TableName

_BEFORE_TABLES = frozenset({"from", "join", "only", "table", "."})


def mentions(text: str, names: Collection[str], read: Iterable[Token] | None = None) -> bool:
    """Return whether a name of `names` is a name in `text`; True for a text that can't be read.

    `read` are its tokens, if they are known.
    """
    try:
        return any(name(token) in names for token in (tokens(text) if read is None else read))
    except DpsqlError:
        return True


def named_in(text: str, tables: Collection[str]) -> list[str]:
    """Return those of the tables that a text names, sorted: of several with one name those whose schema it names, too."""
    try:
        words = {name(token) for token in tokens(text)}
    except DpsqlError:
        return sorted(tables)
    found = [table for table in sorted(tables) if TableName.of(table).name in words]
    exact = [table for table in found if TableName.of(table).schema in words]
    others = {TableName.of(table).name for table in exact}
    return [table for table in found if table in exact or TableName.of(table).name not in others]


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
