"""The plan of a statement as values: its measurements, and its text in pieces between which the answers stand."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.syntax.read.parse import Query
from dpsql.rewrite.syntax.whole.single_row import ReleasedRows


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """One scope: its measurements, and the names and types of the columns that its answer has."""

    plan: MeasurementPlan
    columns: tuple[str, ...]
    types: tuple[str, ...]
    waiting: Relation | None = None
    """Its rows, where they wait for inner answers: groups that these leave no row are none, even if nothing is measured."""

    @property
    def rows(self) -> ReleasedRows:
        """Return the facts about its answer's rows."""
        groups = self.plan.groups
        if self.plan.sets is not None:
            return ReleasedRows(None, None, self.columns)
        declared = all(key.shown is not None for key in groups.keys)
        keys = frozenset(self.columns[: len(groups.keys)])
        return ReleasedRows(len(groups.shown) if declared else None, keys, self.columns)


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """A whole statement: its scopes, and its text in pieces between which their answers stand."""

    scopes: tuple[ScopePlan, ...]
    pieces: tuple[str, ...]
    inner: tuple["StatementPlan", ...] = ()
    """The inner queries whose answers its measurements wait for; their texts are for the shadow that planning asks."""

    def text(self, tables: Sequence[str]) -> str:
        """Return the statement with a table for each scope's rows."""
        return "".join(part for pair in zip(self.pieces, (*tables, ""), strict=True) for part in pair)

    def stages(self) -> Iterator["StatementPlan"]:
        """Yield the plans of inner queries, each before what waits for it, and then this one."""
        for inner in self.inner:
            yield from inner.stages()
        yield self


def in_pieces(scopes: Sequence[tuple[str, ScopePlan]], text: str, inner: Sequence[StatementPlan] = ()) -> StatementPlan:
    """Cut a text wherever one of the names stands, and put the scopes in that order.

    A scope that stands nowhere is part of an inner query, and one in a CTE may stand in several places.
    """
    plans = dict(scopes)
    places = sorted((start, name) for name in plans for start in _places(name, text))
    ends = [0, *(start + len(name) for start, name in places)]
    starts = [*(start for start, _ in places), len(text)]
    pieces = tuple(text[end:start] for end, start in zip(ends, starts, strict=True))
    return StatementPlan(tuple(plans[name] for _, name in places), pieces, tuple(inner))


def _places(name: str, text: str) -> Iterator[int]:
    start = text.find(name)
    while start >= 0:
        yield start
        start = text.find(name, start + len(name))


# Names that stand in a query's text for what is put there later.

_NAME_LENGTH = 63


def placeholder(query: Query, label: object) -> str:
    """Return a name that no literal of the query's statement can contain: it depends on the whole of the query."""
    return f"_dpsql {label} {hashlib.sha256(f'{query.offset} {query.text}'.encode()).hexdigest()}"[:_NAME_LENGTH]
