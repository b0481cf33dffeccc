"""From the text of one statement to its query, and to what stands around the query.

Only SELECT and the statements that carry one are known here (DECLARE CURSOR, COPY … TO, CREATE TEMP TABLE AS, CREATE TEMP
VIEW, EXPLAIN); those that write are taken apart in `writing_statements.py`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice, pairwise

from sqlglot import exp

from dpsql.errors import DpsqlError, Unsupported
from dpsql.lexer.reader import Reader, Token, skip_explain_options, token_name, tokens
from dpsql.policy.model import TableName
from dpsql.rewrite.syntax.read.dialect import parse_query


class Wrap(Enum):
    """The statement that a query stands in."""

    NOTHING = "nothing"
    DECLARE = "declare"
    COPY = "copy"
    CREATE = "create"
    VIEW = "view"
    EXPLAIN = "explain"
    WRITE = "write"
    """INSERT, UPDATE, DELETE or MERGE, with any number of queries in it."""
    PARTS = "parts"
    """A query that is not understood as a whole, but has queries in it that are."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a statement, and the same parsed."""

    text: str
    tree: exp.Query
    offset: int
    """Where it begins in the statement; less, where the statement's CTEs were put before it."""


@dataclass(frozen=True, slots=True)
class AsWritten:
    """A query in a statement that stays as it was written, with the CTEs that it reads, and what stands around it."""

    query: Query
    before: str
    behind: str
    reads_row: bool
    """Whether it names the row that is written."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The text that was sent: its queries, and what stands before, between and behind them."""

    wrap: Wrap
    around: tuple[str, ...]
    queries: tuple[Query, ...]
    beside: tuple[AsWritten, ...] = ()

    @property
    def prefix(self) -> str:
        """Return what stands before the first query."""
        return self.around[0]

    def text(self, queries: Sequence[str]) -> str:
        """Return the statement with these texts in the places of its queries."""
        return "".join(part for pair in zip(self.around, (*queries, ""), strict=True) for part in pair)


ReadQuery = Callable[[str], exp.Query | None]
"""Returns the tree of a query, every name in it resolved; None where it is not understood."""
# The words that a query can begin with. TABLE trips is SELECT * FROM trips.
_FIRST = frozenset({"select", "with", "values", "table", "("})
_INTO = re.compile(r"(?i)\binto\b")


def parse(text: str, read: ReadQuery) -> Statement | None:
    """Return the statement, or None when it is not one query in one of the known wraps."""
    at = locate_lone_query(text)
    if at is None:
        return None
    wrap, start, end = at
    query = text[start:end]
    # SELECT … INTO TEMP t stands in the middle of a query, where its text is left out before PostgreSQL binds the
    # query, and put back into the tree.
    into = _into(query) if wrap is Wrap.NOTHING and _INTO.search(query) else None
    tree = read(query if into is None else f"{query[: into[0]]} {query[into[1] :]}")
    if tree is not None and into is not None:
        made = parse_query(f"SELECT 1 {query[into[0] : into[1]]}")
        leftmost: exp.Expr = tree
        while not isinstance(leftmost, exp.Select):
            leftmost = leftmost.this
        leftmost.set("into", None if made is None else made.args["into"])
    return Statement(wrap, (text[:start], text[end:]), (Query(query, tree, start),)) if tree is not None else None


def locate_lone_query(text: str) -> tuple[Wrap, int, int] | None:
    """Return what `locate_query` does of a text that is one query; None of another."""
    try:
        wrap, start, end = locate_query(text)
        begins = Reader(text[start:end]).word in _FIRST and _writes_nothing(text[start:end])
    except DpsqlError:
        return None
    # Blanks, brackets and comments are around it, so that nothing grows together with what stands there instead.
    apart = wrap is Wrap.NOTHING or text[start - 1] in " \t\n\r\f()/"
    return (wrap, start, end) if begins and apart else None


def _writes_nothing(text: str) -> bool:
    """Return whether WITH stands before a query, and not before what writes."""
    reader = Reader(text)
    if not reader.skip("with"):
        return True
    reader.skip("recursive")
    while not reader.is_at_end:
        if reader.skip_parentheses() is None and reader.take().word in {"insert", "update", "delete", "merge"}:
            return False
    return True


def _into(query: str) -> tuple[int, int] | None:
    """Return where INTO and its table stand; None where a query makes no table."""
    reader, before = Reader(query), ""
    while not reader.is_at_end:
        start, named = reader.token.start, before in ("as", ".")  # a column may be called so
        before = reader.word
        if not named and reader.skip("into"):
            reader.skip("temp", "temporary", "unlogged")
            reader.skip("table")
            end = reader.token.end
            while reader.name() is not None and reader.skip("."):
                end = reader.token.end
            return start, end
        if reader.skip_parentheses() is None:
            reader.take()
    return None


def locate_query(text: str) -> tuple[Wrap, int, int]:
    """Return what the query stands in, and where it begins and ends.

    Raises:
        DpsqlError: PostgreSQL would not read it.
    """
    reader = Reader(text)
    if reader.skip("explain"):
        skip_explain_options(reader)
        return Wrap.EXPLAIN, reader.token.start, len(text)
    # COPY (SELECT …) TO STDOUT. COPY trips TO STDOUT has no query in it.
    if reader.skip("copy") and (inside := reader.skip_parentheses()):
        return Wrap.COPY, *inside
    if reader.skip("declare") and _skip_declaration(reader):
        return Wrap.DECLARE, reader.token.start, len(text)
    if reader.skip("create") and (made := _skip_creation(reader)):
        start = reader.token.start
        return made, start, _before_tail(text, start)
    return Wrap.NOTHING, 0, len(text)


def _skip_declaration(reader: Reader) -> bool:
    """Take what follows DECLARE, up to FOR; return whether it was all there."""
    reader.name()
    while reader.skip("binary", "asensitive", "insensitive", "no", "scroll"):
        pass
    complete = reader.skip("cursor")
    if reader.skip("with", "without"):
        complete = reader.skip("hold") and complete
    return reader.skip("for") and complete


def _skip_creation(reader: Reader) -> Wrap | None:
    """Take what follows CREATE, up to AS; return what is made, if it is temporary and nothing is special about it."""
    replaces = reader.skip("or") and reader.skip("replace")
    reader.skip("local", "global")
    if not reader.skip("temp", "temporary"):
        return None
    if reader.skip("view"):
        return Wrap.VIEW if _skip_view(reader) else None
    return Wrap.CREATE if not replaces and reader.skip("table") and _skip_table(reader) else None


def _skip_view(reader: Reader) -> bool:
    complete = reader.name() is not None
    reader.skip_parentheses()
    if reader.skip("with"):
        complete = reader.skip_parentheses() is not None and complete
    return reader.skip("as") and complete


def _skip_table(reader: Reader) -> bool:
    complete = True
    if reader.skip("if"):
        complete = reader.skip("not") and reader.skip("exists")
    complete = reader.name() is not None and complete
    reader.skip_parentheses()
    if reader.skip("on"):
        complete = reader.skip("commit") and reader.skip("drop", "delete", "preserve") and complete
        reader.skip("rows")
    if reader.skip("without"):
        complete = reader.skip("oids") and complete
    return reader.skip("as") and complete


def _before_tail(text: str, start: int) -> int:
    """Return where WITH [NO] DATA begins that ends the text; the text's end if nothing does."""
    # CREATE TEMP TABLE t AS SELECT … WITH NO DATA: the tail belongs to CREATE, though it stands behind the query.
    words = [token for token in tokens(text[start:]) if token.word != ";"]
    if [token.word for token in words[-2:]] == ["with", "data"]:
        return start + words[-3].end if len(words) > 2 else len(text)
    if [token.word for token in words[-3:]] == ["with", "no", "data"]:
        return start + words[-4].end if len(words) > 3 else len(text)
    return len(text)


# The gaps of the parser: PostgreSQL's words that it can't read, each with a name and a way around it.

_LOOKED_AT = 10_000
"""Tokens of a text that is refused anyway."""
_OBJECT = "JSON_OBJECT", "json_build_object('a', x) or json_object_agg(a, x)"
_ARRAY = "JSON_ARRAY", "json_build_array(x) or json_agg(x)"
_READER = "this function of JSON", "->, ->> or #>"
_CALLED: Mapping[str, tuple[str, str]] = {
    "json_object": _OBJECT, "json_objectagg": _OBJECT, "json_array": _ARRAY, "json_arrayagg": _ARRAY,
    **dict.fromkeys(("json_value", "json_query", "json_exists", "json_table"), _READER),
}  # fmt: skip
_WORDS: Mapping[str, tuple[str, str]] = {
    "normalized": ("IS NORMALIZED", "x = normalize(x)"),
    "similar": ("SIMILAR in substring", "substring(x FROM 'a regular expression')"),
    "variadic": ("VARIADIC", "the elements one by one"),
}
"""Functions of JSON, and other words, with what to call them and what to write instead."""


def not_understood(text: str) -> Unsupported:
    """Return the error for a text that PostgreSQL understands, and whose words the parser can't read.

    Raises:
        SyntaxFailed: PostgreSQL would not read it.
    """
    for token, following in pairwise(islice(tokens(text), _LOOKED_AT)):
        gap = _CALLED.get(token.word) if following.word == "(" else None
        if gap := gap or _WORDS.get(token.word):
            name, instead = gap
            return Unsupported(
                f"{name} is not understood in a statement over a protected table",
                because="construct-not-understood",
                hint=f"Write {instead}, or aggregate in a subquery and write it around that.",
            )
    return Unsupported(
        "this statement over a protected table is not understood, or too long",
        because="statement-not-understood",
        hint="docs/sql.md says which SQL is answered. Aggregate in a subquery: any SQL may stand around it.",
    )


# Whether a statement names certain tables, by its tokens: what stands in literals, comments and longer words does not.
#
# SELECT '{int}'::regtype[] FROM pg_class WHERE relname = 'trips'  →  names no table trips
# SELECT id::bigserial FROM "big"                                  →  names the table big, once

_BEFORE_TABLES = frozenset({"from", "join", "only", "table", "."})


def mentions(text: str, names: Collection[str], read: Iterable[Token] | None = None) -> bool:
    """Return whether a name of `names` is a name in `text`; True for a text that can't be read.

    `read` are its tokens, if they are known.
    """
    try:
        return any(token_name(token) in names for token in (tokens(text) if read is None else read))
    except DpsqlError:
        return True


def named_in(text: str, tables: Collection[str]) -> list[str]:
    """Return those of the tables that a text names, sorted: of several with one name those whose schema it names, too."""
    try:
        words = {token_name(token) for token in tokens(text)}
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
            if before in _BEFORE_TABLES and token_name(token) in names:
                return True
            before = token.word
    except DpsqlError:
        return True
    return False
