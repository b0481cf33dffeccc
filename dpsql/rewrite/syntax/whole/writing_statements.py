"""Statements of which only parts are understood: the queries in them that aggregate private rows are answered in place.

That is what writes into a client's own tables, and what the parser can't read, or would read as something else.

INSERT INTO kept SELECT count(*) FROM trips                          one query, up to ON CONFLICT or RETURNING
UPDATE kept SET n = (SELECT count(*) FROM trips)                     every query in parentheses
WITH a AS (SELECT count(*) AS n FROM trips) INSERT INTO kept SELECT n FROM a      the CTE's
WITH r AS (SELECT * FROM trips) INSERT INTO kept SELECT count(*) FROM r           with `r` put before it
VALUES ((SELECT count(*) FROM trips))
SELECT json_object('n': n) FROM (SELECT count(*) AS n FROM trips) AS t

Everything else of the statement stays as it was written. Where private rows would be read outside such a query it is refused.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dpsql.errors import AccessDenied, DpsqlError, Refusal, Unsupported
from dpsql.lexer.reader import Reader, token_name, tokens
from dpsql.policy.model import bare_names
from dpsql.rewrite.syntax.named.columns import fold
from dpsql.rewrite.syntax.read.parse import (
    AsWritten,
    Query,
    ReadQuery,
    Statement,
    Wrap,
    locate_query,
    named_in,
    not_understood,
)
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.previews import is_empty
from dpsql.rewrite.syntax.whole.scopes import Kind

# The parts of a statement that is understood in parts only: CTEs, queries, and the target of writing, by tokens.
#
# WITH a AS (…) UPDATE kept AS k SET n = (SELECT …)  →  the CTE a, the target kept AS k, the query SELECT …

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
        # ON CONFLICT … DO UPDATE SET n = excluded.n names the row that could not be written.
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
    # INSERT INTO kept (day, n) SELECT … has names in brackets, INSERT INTO kept (SELECT …) its query.
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
    if before in _BEFORE_TABLES and (table_name := token_name(reader.token)) is not None:
        parts.read.add(table_name)


def _piece(text: str, start: int, end: int) -> InnerQuery:
    """Return the query in this place, without the blanks and comments around it."""
    inside = [(token.start, token.end, token_name(token)) for token in tokens(text[start:end])]
    first, last = (inside[0][0], inside[-1][1]) if inside else (0, 0)
    names = frozenset(table_name for _, _, table_name in inside if table_name is not None)
    return InnerQuery(start + first, text[start + first : start + last], names)


_LONGEST = 64_000
_MOST = 100
_MOST_NAMED = 3
"""Characters of all queries together, each with the CTEs that it needs, and their number: everybody waits meanwhile."""

KindOf = Callable[[exp.Query], Kind]


def parse_writing(text: str, private: Collection[str], kind_of: KindOf, read: ReadQuery) -> Statement | None:
    """Return a statement with the queries in it that have to be answered; None if there is none.

    `private` are the names of tables for which it is worth while to ask `kind_of` what a query is.

    Raises:
        DpsqlError: private rows are read where they can't be followed, or PostgreSQL would not read the text.
    """
    wrap, start, end = locate_query(text)
    parts = parts_of(text[:end], start)
    if parts is None:
        return None
    refusal = rows_refused(private, text) if parts.writes else not_understood(text)
    named = bare_names(private)
    chooser = _Chooser(parts, named, kind_of, read, refusal)
    queries, rows = chooser.chosen()
    if not queries:
        return None
    # What is read there stays as it was written, and the shadow has no rows of protected tables: it would find none.
    if parts.read & (rows | named):
        raise refusal
    texts, at = [], 0
    for piece, _ in queries:
        texts.append(f"{text[at : piece.start]} ")
        at = piece.end
    if wrap is not Wrap.EXPLAIN:
        wrap = Wrap.WRITE if parts.writes else Wrap.PARTS
    beside = tuple(
        AsWritten(query, text[: piece.start], text[piece.end :], reads_row=of_row)
        for piece, query, of_row in chooser.beside()
    )
    return Statement(wrap, (*texts, f" {text[at:]}"), tuple(query for _, query in queries), beside)


def rows_refused(private: Collection[str], text: str, *, single_row: bool = False) -> AccessDenied:
    """Return the error for a query that asks for rows of protected tables, or for a `single_row`; `text` names some.

    The next step stands in the message: many tools show nothing else.
    """
    names = named_in(text, private)[:_MOST_NAMED]
    instead = " max(x) and min(x) are the last and the first; LIMIT 0 shows the columns." if single_row else ""
    return AccessDenied(
        f"rows of {', '.join(names) or 'tables'} are protected; ask for count(*), sum(x), avg(x) … GROUP BY",
        because="rows-of-protected-table",
        hint=f"SELECT count(*) FROM {names[0] if names else '…'} is answered; dpsql.columns has the columns, their bounds and"
        f" values.{instead}",
    )


def is_of_rows(refusal: Refusal) -> bool:
    """Return whether a query was refused since it asks for rows of protected tables."""
    return refusal.because == rows_refused((), "").because


@dataclass(slots=True)
class _Chooser:
    """Chooses the queries of a statement that have to be answered."""

    parts: StatementParts
    private: frozenset[str]
    kind_of: KindOf
    read: ReadQuery
    refusal: DpsqlError
    """The error for private rows that are not aggregated."""
    rows: set[str] = field(default_factory=set)
    """The CTEs of private rows."""
    others: list[tuple[InnerQuery, Sequence[CteText]]] = field(default_factory=list)
    """The queries that stay as they were written, and the CTEs before them."""
    left: int = _LONGEST
    number: int = 0

    def chosen(self) -> tuple[list[tuple[InnerQuery, Query]], frozenset[str]]:
        """Return the queries with what they are, in order, and the names of the CTEs that are private rows."""
        queries: list[tuple[InnerQuery, Query]] = []
        for index, cte in enumerate(self.parts.ctes):
            queries += self._answered(cte.body, self.parts.ctes[:index], cte.name)
        for piece in self.parts.queries:
            queries += self._answered(piece, self.parts.ctes, None)
        return queries, frozenset(self.rows)

    def beside(self) -> Iterator[tuple[InnerQuery, Query, bool]]:
        """Yield the queries that stay as they were written, as far as they can be read; each with whether it reads a row."""
        for piece, before in self.others[:_MOST]:
            try:
                query, reads_row = self._parsed(piece, before), False
            except Unsupported:  # it may name the row that is written
                query, reads_row = self._of_row(piece, before), True
            if query is not None:
                yield piece, query, reads_row

    def _of_row(self, piece: InnerQuery, before: Sequence[CteText]) -> Query | None:
        """Return a query that names the row that is written; None if it is no such.

        UPDATE kept SET n = (SELECT n FROM a WHERE a.p = kept.g)  →  SELECT 1 FROM kept, LATERAL (SELECT n …) AS piece
        """
        text, _ = self._with_ctes(f"SELECT FROM {self.parts.target}, LATERAL ({piece.text}\n) AS piece", piece, before)
        try:
            tree = self._read(text)
        except Unsupported:
            tree = None
        if tree is None:
            if piece.names & {cte.name for cte in before}:
                raise not_understood(piece.text)  # it may read what is released, and have several rows of it
            return None
        lateral = next(each for each in every(tree, exp.Lateral) if fold(each.args["alias"].this) == "piece")
        query = lateral.this.this
        query.set("with_", tree.args.get("with_"))
        return Query(piece.text, query, piece.start)

    def _answered(
        self, piece: InnerQuery, before: Sequence[CteText], cte: str | None
    ) -> Iterator[tuple[InnerQuery, Query]]:
        if not piece.names & (self.private | self.rows):
            self.others.append((piece, before))
            return
        self.number += 1
        query = self._query(piece, before)
        kind = self.kind_of(query.tree)
        if kind is Kind.ANSWER:
            yield piece, query
        # WITH r AS (SELECT * FROM trips): rows by themselves are answered nowhere. It stands before each query that reads
        # `r`.
        elif kind is Kind.ROWS and cte is not None:
            self.rows.add(cte)
        elif kind is Kind.ROWS and not is_empty(query.tree):
            raise self.refusal

    def _query(self, piece: InnerQuery, before: Sequence[CteText]) -> Query:
        query = self._parsed(piece, before)
        if query is None:
            raise not_understood(piece.text)
        if self.parts.writes and isinstance(query.tree, exp.Select):
            _untype(query.tree)
        return query

    def _parsed(self, piece: InnerQuery, before: Sequence[CteText]) -> Query | None:
        """Return a query with the CTEs that it needs put before it; None if it can't be read, or there are too many."""
        text, added = self._with_ctes(piece.text, piece, before)
        tree = self._read(text)
        return None if tree is None else Query(text, tree, piece.start - added)

    def _with_ctes(self, query: str, piece: InnerQuery, before: Sequence[CteText]) -> tuple[str, int]:
        """Return the text of a query with the CTEs before it that a piece needs, and by how much it is longer."""
        needed, names = [], piece.names
        # From the last one back: a CTE that is needed needs those that it names.
        for cte in reversed(before):
            if cte.name in names:
                needed.append(cte.definition)
                names |= cte.body.names
        own, ctes = Reader(query), ", ".join(reversed(needed))
        nested = bool(needed) and own.skip("with")
        recursive = "RECURSIVE " * (self.parts.recursive or (nested and own.skip("recursive")))
        context = f"WITH {recursive}{ctes}{', ' if nested else ' '}" if needed else ""
        text = context + (query[own.token.start :] if nested else query)
        return text, len(text) - len(query)

    def _read(self, text: str) -> exp.Query | None:
        self.left -= len(text)
        return self.read(text) if self.left >= 0 and self.number <= _MOST else None


def _untype(select: exp.Select) -> None:
    """Let literals among the outputs be of the type of the column that they are written into, as they were.

    INSERT INTO kept (day, n) SELECT NULL::text, count(*) …  →  INSERT INTO kept (day, n) SELECT NULL, count(*) …
    """
    for output in select.expressions:
        cast = output.unalias()
        if (
            isinstance(cast, exp.Cast)
            and cast.to.this is exp.DType.TEXT
            and isinstance(cast.this, (exp.Literal, exp.Null))
        ):
            cast.replace(cast.this)
