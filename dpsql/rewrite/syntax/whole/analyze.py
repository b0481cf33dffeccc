"""One statement that may read protected tables: what kind it is by its words alone, and what it asks once it is bound.

COPY (SELECT zone, avg(fare) FROM trips GROUP BY zone) TO STDOUT  →  the query in COPY (…), and its one scope
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlglot import exp

from dpsql.errors import DpsqlError, InternalError, Refusal, TooComplex
from dpsql.lexer.reader import Reader, kind
from dpsql.lexer.tokens import Token, tokens
from dpsql.policy.model import Policy, bare_names
from dpsql.question import TemporaryTable
from dpsql.rewrite.syntax.forms.simplify import simplify
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import ReadQuery, Statement, Wrap, not_understood, parse, query_place, reads
from dpsql.rewrite.syntax.read.trees import every as every_node
from dpsql.rewrite.syntax.read.trees import take_apart
from dpsql.rewrite.syntax.whole.known_rows import put_known_rows
from dpsql.rewrite.syntax.whole.previews import TablePreview, is_column_probe, is_empty, limit_of, preview_of
from dpsql.rewrite.syntax.whole.scopes import FoundScopes, Kind, find
from dpsql.rewrite.syntax.whole.views import expand_views
from dpsql.rewrite.syntax.whole.writing import rows_refused, written

_QUERIES = frozenset({"SELECT", "WITH", "DECLARE CURSOR", "COPY", "EXPLAIN"})
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "CREATE TABLE", "CREATE VIEW"})
_LONGEST = 32_000
"""Characters of a statement over private rows: taking it apart keeps everybody else waiting."""


@dataclass(frozen=True, slots=True)
class AskedStatement:
    """A statement that names a protected table, before it is bound."""

    text: str
    probes: tuple[str, ...] = ()
    """Its query, where the shadow does not look at that when it describes the statement."""


@dataclass(frozen=True, slots=True)
class AnalyzedStatement:
    """A statement with its queries bound; `refusal` is what to say instead of an answer.

    It owns the trees of its queries: a reader of one keeps it.
    """

    statement: Statement | None
    kind: Kind
    refusal: Refusal | None = None
    found_scopes: tuple[FoundScopes, ...] = field(default=(), compare=False, repr=False)
    """The scopes of each query, where there is to be an answer."""
    preview: TablePreview | None = field(default=None, compare=False, repr=False)
    """The table that it is a preview of, where it is one."""
    told_tables: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The tables of which the policy itself has told something, and what clients are told of that."""

    def __del__(self) -> None:
        """Take the trees apart: thousands of them, forgotten one by one, would stop everybody while they are collected."""
        for query in () if self.statement is None else self.statement.queries:
            take_apart(every_node(query.tree, exp.Expr))


def tokens_of(text: str) -> Sequence[Token] | None:
    """Return the tokens of a text that can be read, and is not too long to be taken apart."""
    try:
        return None if len(text) > _LONGEST else tuple(tokens(text))
    except DpsqlError:
        return None


def asked_statement(text: str) -> AskedStatement | None:
    """Return a statement that names a protected table; None when it is the shadow's own business by its first words."""
    try:
        verb, of_query = kind(reader := Reader(text)), reader.word == "("
    except DpsqlError:
        return AskedStatement(text)
    if verb not in _QUERIES | _WRITING or (verb == "COPY" and not of_query):
        return None
    placed = query_place(text)
    # PostgreSQL looks at the query in COPY, and in a view, when it runs that; of a cursor's it describes nothing.
    unseen = placed is not None and placed[0] in (Wrap.COPY, Wrap.VIEW, Wrap.DECLARE)
    return AskedStatement(text, (text[placed[1] : placed[2]],) if placed and unseen else ())


def analyze(
    text: str, policy: Policy, read: ReadQuery, lists: Sequence[TemporaryTable] = ()
) -> AnalyzedStatement | None:
    """Return the questions about protected tables; None when the statement is the shadow's own business.

    `lists` are the session's temporary tables.

    Raises:
        TooComplex: it is not known yet, because that took too long.
        InternalError: it is not known because the shadow is not there.
    """
    protected = policy.protected
    try:
        statement = None if len(text) > _LONGEST else _statement(text, protected, policy, read)
        if statement is not None:
            return _understood(statement, policy, lists)
    except (TooComplex, InternalError):
        raise  # what this moment refuses, or who else asks, says nothing of the statement: nobody may remember it
    except DpsqlError as error:
        return AnalyzedStatement(None, Kind.ROWS, Refusal.of(error))
    # A text that only has the name of a protected table in it may do so: the shadow's tripwire stands behind.
    return _not_understood(text) if _is_query(text) and reads(text, bare_names(protected)) else None


def _statement(text: str, protected: Collection[str], policy: Policy, read: ReadQuery) -> Statement | None:
    return parse(text, read) or written(text, protected, partial(_kind, policy), read)


def _kind(policy: Policy, tree: exp.Query) -> Kind:
    tree = tree.copy()
    nodes = expand_views(tree, policy)
    simplify(nodes)
    return find(tree, policy, nodes).kind


def _is_query(text: str) -> bool:
    reader = Reader(text)
    try:
        verb, of_query = kind(reader), reader.word == "("
    except DpsqlError:
        return True
    return verb in _QUERIES and (verb != "COPY" or of_query)


def _understood(statement: Statement, policy: Policy, lists: Sequence[TemporaryTable]) -> AnalyzedStatement | None:
    every, preview = [], preview_of(statement, policy)
    told_tables = dict[str, str]()
    read = {table.name for query in statement.queries for table in every_node(query.tree, exp.Table)}
    for query in statement.queries:
        try:
            told_tables |= put_known_rows(query.tree, policy)
            nodes = expand_views(query.tree, policy)
            simplify(nodes)
            every.append(find(query.tree, policy, nodes, lists))
        except DpsqlError as error:
            for query_read in statement.queries:
                take_apart(every_node(query_read.tree, exp.Expr))
            return AnalyzedStatement(None, Kind.ROWS, Refusal.of(error))
    kinds = {scopes.kind for scopes in every}
    if kinds == {Kind.PUBLIC}:
        return AnalyzedStatement(statement, Kind.PUBLIC, told_tables=told_tables) if told_tables else None
    if kinds == {Kind.ROWS}:
        return _rows(statement, policy.protected & read or policy.protected, preview)
    if statement.wrap not in (Wrap.EXPLAIN, Wrap.WRITE, Wrap.PARTS) and _needs_no_rows(statement):
        return AnalyzedStatement(statement, Kind.ROWS)
    return AnalyzedStatement(statement, Kind.ANSWER, found_scopes=tuple(every), told_tables=told_tables)


def _needs_no_rows(statement: Statement) -> bool:
    made_empty = statement.wrap is Wrap.CREATE and "no" in (token.word for token in tokens(statement.around[1]))
    return made_empty or is_empty(statement.queries[0].tree)


def _not_understood(text: str) -> AnalyzedStatement:
    return AnalyzedStatement(None, Kind.ROWS, Refusal.of(not_understood(text)))


def _rows(statement: Statement, private: Collection[str], preview: TablePreview | None) -> AnalyzedStatement:
    """Return the answer to a query for rows of `private`: none, or an empty one to a tool that asks for the columns alone."""
    (query,) = statement.queries
    empty = is_empty(query.tree)
    if statement.wrap is Wrap.VIEW or (statement.wrap is not Wrap.EXPLAIN and (empty or is_column_probe(query))):
        return AnalyzedStatement(statement, Kind.ROWS, preview=None if empty else preview)
    refused = rows_refused(private, query.text, single_row=limit_of(query.tree) == 1)
    return AnalyzedStatement(statement, Kind.ROWS, Refusal.of(refused), preview=preview)


def known_text(statement: Statement) -> str:
    """Return a statement over rows that are known."""
    return statement.text([render(query.tree) for query in statement.queries])


def untold(analyzed: AnalyzedStatement) -> Iterator[str]:
    """Yield what a client has to be told of an answer without rows that it might take for one that found none."""
    if analyzed.statement is None or all(is_empty(query.tree) for query in analyzed.statement.queries):
        return
    if analyzed.statement.wrap is Wrap.VIEW:
        yield "rows are protected: this view shows its columns, and no statement may read it; write its query in WITH instead"
    else:
        yield "rows are protected: these are the columns alone, and no row; ask for count(*), sum(x), avg(x) … GROUP BY"


def column_probe(statement: Statement) -> str:
    """Return the statement with no rows; a view of rows stays what it is, which the shadow lets nobody read."""
    if statement.wrap is Wrap.VIEW and not is_empty(statement.queries[0].tree):
        return statement.text([query.text for query in statement.queries])
    return statement.text([without_rows(query.tree) for query in statement.queries])


def without_rows(tree: exp.Query) -> str:
    """Return a query for the same columns and no rows, of which nothing is read."""
    return f'SELECT * FROM ({render(tree)}) AS "_dpsql" LIMIT 0'
