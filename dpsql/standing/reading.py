"""What is read off standing questions: months of their days, the term so far, days of several terms, some of their keys.

Released: count(*) by day and ward, for 2025 and for 2026. Read off it: by month, of one ward, since January, both years.

Nothing is measured for it but what the questions measure themselves, as their periods close; all else is post-processing of
releases that the role has paid for. A lens says which cells each number is made of (`dpsql.privacy.reuse.lens`). What it has
to be sure of is that all periods that are asked for are among them, or are said to be missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from dpsql.errors import InternalError
from dpsql.policy.growth import Grows, Term
from dpsql.policy.model import Table
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.analysis.groups import Groups
from dpsql.rewrite.ir.expr import Expr, Ref, both
from dpsql.standing.questions import Ordinary, StandingPart, asked_span, compared_with, rows_weighed


@dataclass(frozen=True, slots=True)
class WantedSums:
    """A measurement that is to be read off: whole periods of a growing table, from one up to another."""

    measured: Sums
    """As it would be if accounts weighed its rows."""
    table: Table
    grows: Grows
    first: date
    until: date

    @property
    def terms(self) -> tuple[Term, ...]:
        """Return the terms that its periods are in."""
        terms = [self.grows.term_of(self.first)]
        while terms[-1].end < self.until:
            terms.append(self.grows.term_of(terms[-1].end))
        return tuple(terms)


def wanted_sums(
    plan: MeasurementPlan, part: PricedMeasurement, kind: str, now: datetime
) -> WantedSums | Ordinary | None:
    """Return a measurement as one that may be read off standing questions; None where it reads no growing table alone."""
    measured = part.measurement
    if not isinstance(measured, Sums):
        return None
    found = rows_weighed(plan, part, measured, kind)
    if found is None or isinstance(found, Ordinary):
        return found
    table, bound = found
    grows = table.grows
    assert grows is not None
    by = Ref(0, table.name, grows.by, table.columns[grows.by])
    span = asked_span(measured.relation.where, by, grows)
    if isinstance(span, Ordinary):
        return span
    today = grows.term_of(now.date())
    until = today.end if span.end is None else span.end
    if not span.first < until <= today.end:
        return Ordinary(f"it asks for what comes after {today}")
    within = _within(by, span.first, until)
    relation = replace(measured.relation, where=both(measured.relation.where, within))
    return WantedSums(replace(measured, relation=relation, bound=bound), table, grows, span.first, until)


def told_sums(wanted: WantedSums, parts: Sequence[StandingPart], periods: Sequence[Sequence[date]]) -> Sums:
    """Return some periods of questions that differ in their terms alone as one measurement, in the order of the parts."""
    if len(parts) != len(periods):
        raise InternalError
    first = parts[0]
    every = [part.groups(days) for part, days in zip(parts, periods, strict=True)]
    groups = Groups(
        first.asked.groups.keys,
        tuple(group for some in every for group in some.grouped),
        tuple(group for some in every for group in some.shown),
    )
    within = _within(first.by, wanted.first, wanted.until)
    relation = replace(first.asked.relation, where=both(first.asked.relation.where, within))
    return replace(first.asked, relation=relation, groups=groups)


def _within(by: Ref, first: date, until: date) -> Expr:
    """Return what is said of the time on both sides: so it holds of the rows of both, and no other time need be tried."""
    return both(compared_with(by, "ge", first), compared_with(by, "lt", until))
