"""One statement that reads protected tables, taken apart as far as names alone allow."""

from dataclasses import dataclass

from sqlglot import exp

from dpsql.errors import AccessDenied, DpsqlError, Refusal, Unsupported
from dpsql.lexer.kinds import kind
from dpsql.lexer.reader import Reader
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.column_probes import is_empty, limit_of
from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.mentions import reads
from dpsql.rewrite.syntax.parse import Statement, Wrap, parse
from dpsql.rewrite.syntax.scopes import Kind, find, probe
from dpsql.rewrite.syntax.simplify import simplify

_QUERIES = frozenset({"SELECT", "WITH", "DECLARE CURSOR", "COPY", "EXPLAIN"})
_PROBE_ROWS = 1
_LONGEST = 32_000
"""Characters of a statement over private rows: taking it apart keeps everybody else waiting."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement with its query parsed; `refusal` is what to say instead of an answer."""

    statement: Statement | None
    kind: Kind
    probes: tuple[str, ...]
    """The query, then one probe for each scope: what the shadow is to describe."""
    refusal: Refusal | None = None


def take_apart(text: str, policy: Policy) -> Asked | None:
    """Return what is asked of protected tables; None when the statement is the shadow's own business."""
    statement = None if len(text) > _LONGEST else parse(text)
    if statement is None:
        # What only has the name of a protected table in it may do so: the shadow's tripwire stands behind.
        protected = {table.name for table in policy.tables.values() if not table.public}
        return _not_understood(text) if _is_query(text) and reads(text, protected) else None
    try:
        return _understood(statement, policy)
    except RecursionError:
        return _not_understood(text)


def _is_query(text: str) -> bool:
    reader = Reader(text)
    try:
        found, of_query = kind(reader), reader.word == "("
    except DpsqlError:
        return True
    return found in _QUERIES and (found != "COPY" or of_query)


def _understood(statement: Statement, policy: Policy) -> Asked | None:
    simplify(statement.tree)
    try:
        found = find(statement.tree, policy)
    except DpsqlError as error:
        return Asked(statement, Kind.ROWS, (statement.query,), Refusal.of(error))
    if found.kind is Kind.PUBLIC:
        return None
    if found.kind is Kind.ROWS:
        return _rows(statement)
    if statement.wrap is not Wrap.EXPLAIN and is_empty(statement.tree):
        return Asked(statement, Kind.ROWS, (statement.query,))
    return Asked(statement, found.kind, (statement.query, *(probe(scope) for scope in found.scopes)))


def _not_understood(text: str) -> Asked:
    error = Unsupported(
        "this statement over a protected table is not understood, or too long",
        hint="docs/sql.md says which SQL is answered.",
    )
    return Asked(None, Kind.ROWS, (text,), Refusal.of(error))


def _rows(statement: Statement) -> Asked:
    """Return the answer to a query for rows: none, or an empty one to a tool that only wants to know the columns."""
    answered = _is_column_probe(statement.tree) and statement.wrap is not Wrap.EXPLAIN
    refusal = None if answered else Refusal.of(rows_refused())
    return Asked(statement, Kind.ROWS, (statement.query,), refusal)


def rows_refused() -> AccessDenied:
    """Return the error for a query that asks for rows of a protected table."""
    return AccessDenied(
        "rows of a protected table can't be read",
        hint="Ask for aggregates: count(*), sum(x), avg(x) … with GROUP BY.",
    )


def _is_column_probe(tree: exp.Query) -> bool:
    """Say whether a query for rows returns next to nothing whatever the table holds."""
    limit = limit_of(tree)
    return (limit is not None and limit <= _PROBE_ROWS) or is_empty(tree)


def column_probe(statement: Statement) -> str:
    """Return the statement with no rows."""
    return f'{statement.prefix}SELECT * FROM ({render(statement.tree)}) AS "_dpsql" LIMIT 0{statement.suffix}'
