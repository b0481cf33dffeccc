"""The C that will be chosen for a statement, as far as its role knows it, so that EXPLAIN can say how far answers err."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpsql.errors import InternalError
from dpsql.privacy.accuracy.expected_error import ForeseenBound
from dpsql.privacy.measurement.contribution import Form
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.pricing import PricedMeasurement, PricedScope
from dpsql.privacy.measurement.rows_per_unit import ChosenBound, RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.noisy_pairs import chosen_by
from dpsql.privacy.release.profile import NOTHING_KNOWN, Profile
from dpsql.privacy.release.release import Release
from dpsql.rewrite.ir.relation import reads_all

_LEAST, _MUCH = 2, 256
"""Where nothing tells: C where units have a row or two each, and where some have a hundred and more."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a role has paid for in this epoch: its profile, and releases of a statement by its measurements' identities."""

    profile: Profile = NOTHING_KNOWN
    releases: Mapping[str, bytes] = field(default_factory=dict)


NO_KNOWLEDGE = Knowledge()


def foreseen_bounds(scope: PricedScope, known: Knowledge) -> Mapping[int, ForeseenBound]:
    """Return the C of the parts for which one is chosen, by their places.

    Where a release says how many of these rows units have, it is known which C will follow. A profile tells of all rows of
    its table. Otherwise C is between two numbers, which are said to be assumed.
    """
    bounds = ((place, _foreseen(part, known)) for place, part in enumerate(scope.parts))
    return {place: bound for place, bound in bounds if bound is not None}


def _foreseen(part: PricedMeasurement, known: Knowledge) -> ForeseenBound | None:
    measured, search = part.measurement, part.bound_by
    if not isinstance(measured, (Sums, Histogram)) or search is None:
        return None
    paid, groups = float(measured.epsilon), max(len(measured.groups.grouped), 1)
    if (release := known.releases.get(search.identity)) is not None:
        if not isinstance(search.measurement, RowsPerUnit):
            raise InternalError
        cells = Release.from_bytes(release).numbers[0]
        chosen = chosen_by(search.measurement, cells, measured, groups, paid=paid)
        return ForeseenBound(chosen, None, "as released for these rows before")
    last = search.measurement.rungs[-1] if isinstance(search.measurement, RowsPerUnit) else _MUCH
    of_table = known.profile.of(measured.bound.unit.table) if measured.bound.once else None
    told = measured.bounds_rows and measured.bound.form is not Form.EUCLIDEAN  # of lengths a profile says nothing
    if of_table is None or of_table.ladder is None or not told:
        least, most = (ChosenBound(min(rows, last), 0) for rows in (_LEAST, _MUCH))
        return ForeseenBound(least, most, f"{_LEAST} if units have a row or two each, {_MUCH} if some have a hundred")
    chosen = of_table.ladder.chosen(measured, groups, paid=paid)
    if reads_all(measured.relation, measured.where):
        return ForeseenBound(chosen, None, "by the profile")
    return ForeseenBound(ChosenBound(min(_LEAST, chosen.rows), 0), chosen, "that of all rows at most, by the profile")
