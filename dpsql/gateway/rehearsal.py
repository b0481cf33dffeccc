"""What a session tries of a statement before it is paid for, free: the same statement around no rows, and over made-up ones.

DECLARE c CURSOR FOR SELECT count(*) FROM trips
→  DECLARE c CURSOR FOR SELECT * FROM (SELECT count(*) FROM trips) AS "_dpsql" LIMIT 0, and then CLOSE c

INSERT INTO kept SELECT payment_type, count(*) FROM trips GROUP BY 1
→  the same over all public keys, with about 1,000 for each count; with 0; with -7; with a million; with NULL

Whether PostgreSQL would do it may depend on the transaction, on names that are taken, on what stands around the query, and
on constants. Made-up releases are read as what is released is read, so that a mean is within its bounds and a mode one of
its values. Keys that partition selection has yet to choose are not there. Nothing of it depends on data.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

from sqlglot import exp

from dpsql.errors import DpsqlError, QueryCanceled
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.plans.planning import trials_beside, trials_of_values
from dpsql.gateway.pricing import Drawn, PricedPlan, is_declared
from dpsql.gateway.request import Rehearsal, StandIn
from dpsql.lexer.reader import Reader, token_name, tokens
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws, Release
from dpsql.rewrite.syntax.read.dialect import render
from dpsql.rewrite.syntax.read.parse import Query, Statement, Wrap, locate_query
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.analyze import AnalyzedStatement, over_no_rows, without_rows
from dpsql.rewrite.syntax.whole.constant_probes import constant_probes, has_constants, may_fail, probes_around
from dpsql.shadow.splice import shadow_literal

_TRIED = '"_dpsql_tried"'
_MANY = (1_000, 1_000_000)
"""Rows of the first group; each that follows has one more, so that values differ."""
_FEW = (0, -7)
"""Rows of every group."""


def rehearsal(text: str, asked: AnalyzedStatement, policy: Policy, priced: PricedPlan, reading: Reading) -> Rehearsal:
    """Return what is to be tried before a statement that measures something."""
    statement, nodes = asked.statement, nodes_of(asked)
    assert statement is not None
    nested = [q for q, found in zip(statement.queries, asked.found_scopes, strict=True) if not found.alone]
    values = (trial for query in nested for trial in trials_of_values(query.tree, policy))
    beside = [every(piece.query.tree, exp.Expr) for piece in statement.beside]
    constants = (trial for each in (*nodes, *beside) for trial in constant_probes(each))
    around = probes_around(statement.around) if statement.wrap in (Wrap.WRITE, Wrap.PARTS) else ()
    tried = dict.fromkeys((*constants, *around, *values, *trials_beside(statement, policy)))
    whole, undone = _around_no_rows(text, statement)
    # EXPLAIN computes constants while it plans: 1/0 fails there, and no row is asked for.
    if not whole and any(map(has_constants, nodes)):
        whole = f"EXPLAIN {text}"
    made_up = partial(_stand_ins, priced, statement, text, reading)
    return Rehearsal((*tried, whole) if whole else tuple(tried), undone, is_tried(statement, nodes), made_up)


def nodes_of(asked: AnalyzedStatement) -> list[Sequence[exp.Expr]]:
    """Return the nodes of each query of a statement."""
    queries = () if asked.statement is None else asked.statement.queries
    pairs = zip(queries, asked.found_scopes, strict=True)
    return [found.alone or every(query.tree, exp.Expr) for query, found in pairs]


def is_tried(statement: Statement, nodes: Sequence[Sequence[exp.Expr]]) -> bool:
    """Return whether a whole statement is tried, too, with made-up answers: parts of it may fail for what is public.

    That is what stands around queries, and is run as it was written, a temporary table's own constraints, and functions that
    the shadow has no other form of.
    """
    written = statement.wrap in (Wrap.WRITE, Wrap.PARTS) or _copied_as(statement) is not None
    return written or any(map(may_fail, nodes))


# Around no rows.


def _around_no_rows(text: str, statement: Statement) -> tuple[str, str]:
    """Return what is to be tried because of what stands around the query, and what undoes it; nothing of what is a query."""
    match statement.wrap:
        case Wrap.WRITE | Wrap.PARTS:
            # Without rows it would say less: EXPLAIN checks the same, and whether there is what ON CONFLICT names.
            return f"EXPLAIN {text}", ""
        case Wrap.DECLARE:
            return over_no_rows(statement), f"CLOSE {_name(statement.prefix)}"
        case Wrap.COPY:
            return over_no_rows(statement), ""
        case Wrap.CREATE:
            return over_no_rows(statement), f"DROP TABLE pg_temp.{_name(statement.prefix)}"
        case Wrap.VIEW:
            return _of_view(statement)
        case Wrap.NOTHING | Wrap.EXPLAIN:
            return _into(statement.queries[0]) if len(statement.queries) == 1 else ("", "")


def _of_view(statement: Statement) -> tuple[str, str]:
    """Return what is to be tried before a view is made: under another name if it may replace one, which would be empty."""
    prefix, (start, end) = statement.prefix, _named(statement.prefix)
    if Reader(prefix).ahead(1).word != "or":
        return over_no_rows(statement), f"DROP VIEW pg_temp.{prefix[start:end]}"
    return f"CREATE TEMP VIEW {_TRIED} {over_no_rows(statement)[end:]}", f"DROP VIEW pg_temp.{_TRIED}"


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


def _into(query: Query) -> tuple[str, str]:
    """Return what is to be tried before SELECT … INTO, nothing if it is another query."""
    into = query.tree.args.get("into")
    if not isinstance(into, exp.Into):
        return "", ""
    tree, name = query.tree.copy(), render(into.this)
    tree.set("into", None)
    sort = "TEMP " if into.args.get("temporary") else "UNLOGGED " if into.args.get("unlogged") else ""
    return f"CREATE {sort}TABLE {name} AS {without_rows(tree)}", f"DROP TABLE {name}"


# Over made-up releases: what fails with all of them is not asked.


def _stand_ins(priced: PricedPlan, statement: Statement, text: str, reading: Reading) -> Iterator[StandIn]:
    """Yield what a statement may become, NULLs last; no more where an inner answer can't be made up."""
    try:
        # Usual numbers first: the session stops at the first answers with which the statement works.
        for rows in (_MANY[0], *_FEW, *_MANY[1:]):
            yield StandIn(_inside(statement, text, reading.over(priced, _made_up(priced, rows))))
        nulls = []
        for scope, lines in reading.rows(priced, _made_up(priced, _MANY[0])):
            keys = len(scope.plan.groups.keys)
            nulls.append([[*line[:keys], *(None for _ in line[keys:])] for line in lines])
        yield StandIn(_inside(statement, text, priced.plan.over(nulls)), of_nulls=True)
    except QueryCanceled:
        raise
    except DpsqlError:
        return


def _inside(statement: Statement, text: str, made: str) -> str:
    """Return what was made of a statement: that which writes as a whole, and else the query, converted as for the client."""
    # The query alone was replaced, so that what stands around it is as long as it was.
    _, start, end = locate_query(text)
    query, encoding = made[start : len(made) - (len(text) - end)], _encoding(statement)
    if encoding is None:
        return query
    # A letter that the client's encoding lacks fails when its row is sent, which is after the charge. So rows are
    # converted here. The line feed ends a comment that the query may close with.
    return f'SELECT pg_catalog.convert_to("_dpsql"::pg_catalog.text, {encoding}) FROM ({query}\n) AS "_dpsql"'  # noqa: S608 # the client's own query


def _encoding(statement: Statement) -> str | None:
    """Return the encoding in which the rows of a query are sent, as an expression; None of what sends none of its own."""
    match statement.wrap:
        case Wrap.NOTHING if statement.queries[0].tree.args.get("into"):
            return None
        case Wrap.NOTHING | Wrap.DECLARE | Wrap.COPY:
            return _copied_as(statement) or "pg_catalog.current_setting('client_encoding')"
        case Wrap.CREATE | Wrap.VIEW | Wrap.EXPLAIN | Wrap.WRITE | Wrap.PARTS:
            return None


def _copied_as(statement: Statement) -> str | None:
    """Return the encoding that COPY is to write in, as a literal; None where it does not say."""
    if statement.wrap is not Wrap.COPY:
        return None
    words = list(tokens(statement.around[-1]))
    written = (value for word, value in itertools.pairwise(words) if word.word == "encoding")
    return next(
        (token.text if token_name(token) is None else shadow_literal(token_name(token) or "") for token in written),
        None,
    )


def _made_up(priced: PricedPlan, rows: int) -> Drawn:
    return {part.identity: Draws.of((part.measurement, _release(part, rows))) for part in priced.measurements}


def _release(part: PricedMeasurement, rows: int) -> Release:
    """Return a release as of so many rows in each group."""
    measured = part.measurement
    if not is_declared(part):
        return Release((), ())
    groups = [rows + (place if rows in _MANY else 0) for place, _ in enumerate(measured.groups.shown)]
    match measured:
        case Sums():
            return Release([[n * measured.steps_per_row] * len(measured.features) for n in groups])
        case Histogram():
            points = [n % measured.number if rows in _MANY else measured.number for n in groups]
            return Release([[point] * len(measured.points) + [1] * measured.margin for point in points])
        case KeySearch() | RowsPerUnit() | BeyondBounds():
            return Release((), ())
