"""Made-up releases, with which a statement is tried before it is paid for: what fails with all of them is not asked.

INSERT INTO kept SELECT payment_type, count(*) FROM trips GROUP BY 1
→  the same over all public keys, with about 1,000 for each count; with 0; with -7; with a million; with NULL

They are read as what is released is read, so that a mean is within its bounds and a mode one of its values. Keys that
partition selection has yet to choose are not there. Nothing of it depends on data.
"""

from collections.abc import Iterator

from dpsql.errors import DpsqlError, QueryCanceled
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.pricing import Drawn, PricedPlan, is_declared
from dpsql.gateway.rehearsal import copied_as
from dpsql.gateway.request import StandIn
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.release import Draws, Release
from dpsql.rewrite.syntax.read.parse import Statement, Wrap, locate_query
from dpsql.shadow.splice import released_table

_MANY = (1_000, 1_000_000)
"""Rows of the first group; each that follows has one more, so that values differ."""
_FEW = (0, -7)
"""Rows of every group."""


def stand_ins(priced: PricedPlan, statement: Statement | None, text: str, reading: Reading) -> Iterator[StandIn]:
    """Yield what a statement may become, NULLs last; no more where an inner answer can't be made up."""
    if statement is None:
        return
    try:
        for rows in (_MANY[0], *_FEW, *_MANY[1:]):
            yield StandIn(_inside(statement, text, priced.plan.text(reading.tables(priced, _made_up(priced, rows)))))
        nulls = []
        for scope, lines in reading.rows(priced, _made_up(priced, _MANY[0])):
            keys = len(scope.plan.groups.keys)
            unknown = [[*line[:keys], *(None for _ in line[keys:])] for line in lines]
            nulls.append(released_table(scope.columns, scope.types, unknown))
        yield StandIn(_inside(statement, text, priced.plan.text(nulls)), of_nulls=True)
    except QueryCanceled:
        raise
    except DpsqlError:
        return


def _inside(statement: Statement, text: str, made: str) -> str:
    """Return what was made of a statement: that which writes as a whole, and else the query, converted as for the client."""
    _, start, end = locate_query(text)
    query, encoding = made[start : len(made) - (len(text) - end)], _encoding(statement)
    if encoding is None:
        return query
    return f'SELECT pg_catalog.convert_to("_dpsql"::pg_catalog.text, {encoding}) FROM ({query}\n) AS "_dpsql"'  # noqa: S608 # the client's own query


def _encoding(statement: Statement) -> str | None:
    """Return the encoding in which the rows of a query are sent, as an expression; None of what sends none of its own."""
    match statement.wrap:
        case Wrap.NOTHING if statement.queries[0].tree.args.get("into"):
            return None
        case Wrap.NOTHING | Wrap.DECLARE | Wrap.COPY:
            return copied_as(statement) or "pg_catalog.current_setting('client_encoding')"
        case Wrap.CREATE | Wrap.VIEW | Wrap.EXPLAIN | Wrap.WRITE | Wrap.PARTS:
            return None


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
