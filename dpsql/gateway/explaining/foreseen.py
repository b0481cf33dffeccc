"""The C that will be chosen for a statement, as a profile of its table tells, so that EXPLAIN can say how far answers err."""

from collections.abc import Mapping

from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.rows_per_unit import ChosenBound
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.profile import Profile
from dpsql.rewrite.ir.relation import reads_all


def foreseen_bounds(plan: MeasurementPlan, profile: Profile) -> Mapping[int, ChosenBound]:
    """Return the C of parts by their places: of those that read all rows of a table whose units' rows are told."""
    of_parts = ((place, _foreseen(part, profile)) for place, part in enumerate(plan.parts))
    return {place: bound for place, bound in of_parts if bound is not None}


def _foreseen(part: object, profile: Profile) -> ChosenBound | None:
    if not isinstance(part, (Sums, Histogram)) or part.bound.up_to is None or not part.epsilon:
        return None
    told = profile.of(part.bound.unit.table)
    if told is None or told.ladder is None or not part.bounds_rows or not reads_all(part.relation, part.where):
        return None
    return told.ladder.chosen(part, max(len(part.groups.grouped), 1), paid=float(part.epsilon))
