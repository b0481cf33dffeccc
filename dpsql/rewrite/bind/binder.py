"""The questions of binding to the shadow: PostgreSQL's own words for a query, and the columns that queries have.

    SELECT d, (SELECT count(*) FROM trips s WHERE s.fare > d) FROM (VALUES (1), (20)) v (d)
    →  SELECT v.d, ( SELECT count(*) AS count FROM public.trips s WHERE (s.fare > (v.d)::double precision)) AS count
       FROM ( VALUES (1), (20)) v(d)

Every name, star, ordinal and type is resolved; nothing is run.
"""

from collections.abc import Sequence
from typing import Protocol

from dpsql.question import ColumnDescription
from dpsql.rewrite.ir.evaluator import ConstantEvaluator


class Binder(Protocol):
    """Sessions in the shadow that read queries as a client's session does."""

    def canonical(self, query: str, types: Sequence[str], *, again: bool = False) -> str:
        """Return a query as PostgreSQL writes it; `types` are those of its parameters.

        With `again` the query is in such words already, which no setting of the client's changes.

        Raises:
            DpsqlError: PostgreSQL refuses it, or it is none.
        """

    def described(self, queries: Sequence[str], types: Sequence[str]) -> tuple[tuple[ColumnDescription, ...], ...]:
        """Return the columns of queries in such words."""


class PlanningShadow(Binder, ConstantEvaluator, Protocol):
    """All that planning asks the shadow for one statement."""
