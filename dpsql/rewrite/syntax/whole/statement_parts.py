"""The parts of a statement that is understood in parts only: CTEs, queries, and the target of writing, by tokens.

WITH a AS (…) UPDATE kept AS k SET n = (SELECT …)  →  the CTE a, the target kept AS k, the query SELECT …
"""

from dataclasses import dataclass, field

from dpsql.lexer.reader import Reader
from dpsql.lexer.tokens import name, tokens

_BEFORE_TARGET = {"insert": ("into",), "update": ("only",), "delete": ("from", "only"), "merge": ("into", "only")}
_BEHIND_TARGET = frozenset({"set", "using", "where", "returning", ";"})
_BEGINNING = ("select", "with", "table")
_READING = ("select", "values", "table", "(")
_BEFORE_TABLES = frozenset({"from", "join", "only", "table", "using", ".", ","})


@dataclass(frozen=True, slots=True)
class InnerQuery:
    """A query in the statement, and the names in it."""

    start: int
    text: str
    names: frozenset[str]

    @property
    def end(self) -> int:
        """Return where it ends."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class CteText:
    """A query of WITH."""

    name: str
    definition: str
    body: InnerQuery


@dataclass(slots=True)
class StatementParts:
    """The parts of a statement."""

    writes: bool = False
    recursive: bool = False
    ctes: list[CteText] = field(default_factory=list)
    queries: list[InnerQuery] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    """The names that stand, outside of queries, where a table is read."""
    target: str = ""
    """The target of writing, with its alias, as it may stand in FROM."""


def parts_of(text: str, start: int) -> StatementParts | None:
    """Return what the statement that begins at `start` consists of; None if it is of another kind."""
    reader, parts = Reader(text), StatementParts()
    while reader.token.start < start and not reader.is_at_end:
        reader.take()
    if reader.skip("with") and not _skip_ctes(text, reader, parts):
        return None
    verb = reader.word
    parts.writes = verb in _BEFORE_TARGET
    if parts.writes:
        _skip_target(text, reader, verb, parts)
    elif verb not in _READING:
        return None
    while not reader.is_at_end:
        _skip_one(text, reader, parts)
    return parts


def _skip_target(text: str, reader: Reader, verb: str, parts: StatementParts) -> None:
    """Take what is written into, and in INSERT all up to the query, and the query if it stands in no parentheses."""
    reader.take()
    reader.skip(*_BEFORE_TARGET[verb])
    reader.skip("only")
    start = reader.token.start
    while reader.name() is not None and reader.skip("."):
        pass
    named = text[start : reader.token.start]
    if reader.skip("as") or (verb != "insert" and reader.word not in _BEHIND_TARGET):
        reader.name()
    parts.target = text[start : reader.token.start]
    if verb == "insert":
        parts.target += f", {named} AS excluded"
        _skip_source(text, reader, parts)


def _skip_ctes(text: str, reader: Reader, parts: StatementParts) -> bool:
    parts.recursive = reader.skip("recursive")
    while True:
        start, cte_name = reader.token.start, reader.name()
        reader.skip_parentheses()
        if cte_name is None or not reader.skip("as"):
            return False
        reader.skip("not")
        reader.skip("materialized")
        body = reader.skip_parentheses()
        if body is None:
            return False
        parts.ctes.append(CteText(cte_name, text[start : body[1] + 1], _piece(text, *body)))
        if not reader.skip(","):
            return True


def _skip_source(text: str, reader: Reader, parts: StatementParts) -> None:
    """Take what stands behind INSERT's target up to its query, and the query if it stands in no parentheses."""
    if reader.word == "(" and reader.ahead(1).word not in (*_BEGINNING, "values", "("):
        reader.skip_parentheses()
    if reader.skip("overriding"):
        reader.take()
        reader.take()
    if reader.word not in (*_BEGINNING, "("):
        return
    start, end = reader.token.start, reader.token.start
    while not (reader.is_at_end or reader.word in ("returning", ";")):
        if reader.word == "on" and reader.ahead(1).word == "conflict":
            break
        end = reader.token.end
        if (inside := reader.skip_parentheses()) is not None:
            end = inside[1] + 1
        elif reader.token.end == end:
            reader.take()
    parts.queries.append(_piece(text, start, end))


def _skip_one(text: str, reader: Reader, parts: StatementParts) -> None:
    """Take a query in parentheses, or else one token."""
    if reader.word == "(" and reader.ahead(1).word in _BEGINNING and (inside := reader.skip_parentheses()):
        parts.queries.append(_piece(text, *inside))
        return
    before = reader.take().word
    if before in _BEFORE_TABLES and (table_name := name(reader.token)) is not None:
        parts.read.add(table_name)


def _piece(text: str, start: int, end: int) -> InnerQuery:
    """Return the query in this place, without the blanks and comments around it."""
    inside = [(token.start, token.end, name(token)) for token in tokens(text[start:end])]
    first, last = (inside[0][0], inside[-1][1]) if inside else (0, 0)
    names = frozenset(table_name for _, _, table_name in inside if table_name is not None)
    return InnerQuery(start + first, text[start + first : start + last], names)
