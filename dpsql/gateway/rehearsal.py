"""The rehearsal of a statement in a session before it is paid for: the same statement around no rows.

DECLARE c CURSOR FOR SELECT count(*) FROM trips
→  DECLARE c CURSOR FOR SELECT * FROM (SELECT count(*) FROM trips) AS "_dpsql" LIMIT 0, and then CLOSE c

Whether PostgreSQL would do it may depend on the transaction, on names that are taken, on what stands around the query, and
on constants.
"""

import itertools
from dataclasses import dataclass, replace

from sqlglot import exp

from dpsql.gateway.plans.planning import trials_beside, trials_of_values
from dpsql.lexer.reader import Reader, token_name, tokens
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Query, Statement, Wrap
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, without_rows
from dpsql.rewrite.syntax.whole.constant_probes import constant_probes, has_constants, may_fail, probes_around
from dpsql.rewrite.syntax.whole.scopes import Kind
from dpsql.shadow.splice import shadow_literal

_TRIED = '"_dpsql_tried"'


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A statement to try before the answer is paid for: where PostgreSQL refuses it, nothing was charged."""

    text: str
    undone: str = ""
    """The statement that undoes it; empty if it leaves nothing behind."""
    trials: tuple[str, ...] = ()
    """The first texts to try: constants with which the statement can't but fail."""


def rehearsal(text: str, asked: AnalyzedStatement, policy: Policy) -> Rehearsal | None:
    """Return what is to be tried before the statement; None if describing it shows all that can be known."""
    statement = asked.statement
    if statement is None or asked.refusal is not None or asked.kind is not Kind.ANSWER:
        return None
    if statement.wrap is Wrap.EXPLAIN:
        return None
    rehearsed = _of_wrap(text, statement)
    inside = [
        found_scopes.alone or every(query.tree, exp.Expr)
        for query, found_scopes in zip(statement.queries, asked.found_scopes, strict=True)
    ]
    nested = (
        query
        for query, found_scopes in zip(statement.queries, asked.found_scopes, strict=True)
        if not found_scopes.alone
    )
    values = (trial for query in nested for trial in trials_of_values(query.tree, policy))
    beside = [every(piece.query.tree, exp.Expr) for piece in statement.beside]
    constants = (trial for nodes in (*inside, *beside) for trial in constant_probes(nodes))
    around = probes_around(statement.around) if statement.wrap in (Wrap.WRITE, Wrap.PARTS) else ()
    tried = tuple(dict.fromkeys((*constants, *around, *values, *trials_beside(statement, policy))))
    if rehearsed is None and any(map(has_constants, inside)):
        rehearsed = Rehearsal(f"EXPLAIN {text}")
    if not tried:
        return rehearsed
    return Rehearsal(tried[-1], trials=tried[:-1]) if rehearsed is None else replace(rehearsed, trials=tried)


def copied_as(statement: Statement) -> str | None:
    """Return the encoding that COPY is to write in, as a literal; None where it does not say."""
    if statement.wrap is not Wrap.COPY:
        return None
    words = list(tokens(statement.around[-1]))
    written = (value for word, value in itertools.pairwise(words) if word.word == "encoding")
    return next(
        (token.text if token_name(token) is None else shadow_literal(token_name(token) or "") for token in written),
        None,
    )


def is_tried(asked: AnalyzedStatement) -> bool:
    """Return whether the whole statement is tried, too, with made-up answers: parts of it may fail for what is public.

    That is what stands around queries, and is run as it was written, a temporary table's own constraints, and functions that
    the shadow has no other form of.
    """
    statement = asked.statement
    if statement is None or asked.refusal is not None or asked.kind is not Kind.ANSWER:
        return False
    if statement.wrap in (Wrap.WRITE, Wrap.PARTS) or copied_as(statement) is not None:
        return True
    return any(
        may_fail(found_scopes.alone or every(query.tree, exp.Expr))
        for query, found_scopes in zip(statement.queries, asked.found_scopes, strict=True)
    )


def _of_wrap(text: str, statement: Statement) -> Rehearsal | None:
    """Return what is to be tried because of what stands around the query."""
    match statement.wrap:
        case Wrap.WRITE:
            # Without rows it would say less: EXPLAIN checks the same, and whether there is what ON CONFLICT names.
            return Rehearsal(f"EXPLAIN {text}")
        case Wrap.DECLARE:
            return Rehearsal(_empty(statement), f"CLOSE {_name(statement.prefix)}")
        case Wrap.COPY:
            return Rehearsal(_empty(statement))
        case Wrap.CREATE:
            return Rehearsal(_empty(statement), f"DROP TABLE pg_temp.{_name(statement.prefix)}")
        case Wrap.VIEW:
            return _of_view(statement)
        case Wrap.PARTS:
            return Rehearsal(f"EXPLAIN {text}")
        case Wrap.NOTHING | Wrap.EXPLAIN:
            return _into(statement.queries[0]) if len(statement.queries) == 1 else None


def _empty(statement: Statement) -> str:
    return statement.text([without_rows(query.tree) for query in statement.queries])


def _of_view(statement: Statement) -> Rehearsal:
    """Return what is to be tried before a view is made: under another name if it may replace one, which would be empty."""
    prefix, (start, end) = statement.prefix, _named(statement.prefix)
    if Reader(prefix).ahead(1).word != "or":
        return Rehearsal(_empty(statement), f"DROP VIEW pg_temp.{prefix[start:end]}")
    return Rehearsal(f"CREATE TEMP VIEW {_TRIED} {_empty(statement)[end:]}", f"DROP VIEW pg_temp.{_TRIED}")


def _name(prefix: str) -> str:
    """Return the name of the made object, as the client writes it."""
    start, end = _named(prefix)
    return prefix[start:end]


def _named(prefix: str) -> tuple[int, int]:
    """Return where the name of what is made stands: before the word that says what it is, or behind it."""
    reader = Reader(prefix)
    if not reader.skip("declare"):
        while not reader.skip("table", "view"):
            reader.take()
        if reader.skip("if"):
            reader.take()
            reader.take()
    start = reader.token.start
    reader.name()
    return start, reader.token.start


def _into(query: Query) -> Rehearsal | None:
    """Return what is to be tried before SELECT … INTO, None if it is another query."""
    into = query.tree.args.get("into")
    if not isinstance(into, exp.Into):
        return None
    tree, name = query.tree.copy(), render(into.this)
    tree.set("into", None)
    sort = "TEMP " if into.args.get("temporary") else "UNLOGGED " if into.args.get("unlogged") else ""
    return Rehearsal(f"CREATE {sort}TABLE {name} AS {without_rows(tree)}", f"DROP TABLE {name}")
