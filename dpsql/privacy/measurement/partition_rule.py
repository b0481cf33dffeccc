"""The rule of partition selection, which groups are shown: fixed when a measurement is priced, before any data is read.

Thresholds and chances take the longer to compute the less ε there is. Computed after the engine has answered, and only for
groups that occur, their time and memory would tell whether some do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share
from dpsql.errors import InternalError
from dpsql.privacy.features.feature import ONE
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import KeySearch, Measurement, MeasurementPlan
from dpsql.privacy.measurement.rows_per_unit import SHARE
from dpsql.privacy.measurement.sums import CountOf, Sums
from dpsql.privacy.mechanisms.block import Norm
from dpsql.privacy.mechanisms.gaussian_selection import GaussianSelection
from dpsql.privacy.mechanisms.known_mechanisms import mechanism
from dpsql.privacy.mechanisms.partition_selection import chances, even


@dataclass(frozen=True, slots=True)
class FromCount:
    """A group is shown from a noisy count on."""

    least: int
    """τ for the first coordinate, in lattice units."""


@dataclass(frozen=True, slots=True)
class ByUnits:
    """A group is shown with a chance that depends on how many units have it; nothing else of it is released."""

    chances: bytes = b""
    """As `partition_selection.chances` packs them."""


SelectionRule = FromCount | ByUnits | GaussianSelection


def selection_rule(measurement: Measurement) -> SelectionRule | None:
    """Return the rule by which a measurement selects its groups, None if it selects none.

    Keys alone are chosen by their chances where these are few enough to be tabulated; else, as with so little ε the two
    hardly differ, by a noisy count of units that is not released.
    """
    if isinstance(measurement, KeySearch):
        return measurement.selection()
    if isinstance(measurement, Histogram) or not measurement.delta:
        return None
    table = b""
    if measurement.distinct is CountOf.UNITS:
        table = chances(measurement.epsilon, measurement.delta, measurement.bound.rows)
    return ByUnits(table) if table else FromCount(least_count(measurement))


def least_count(measurement: Sums) -> int:
    """Return the threshold τ for the first coordinate, in lattice units.

    Raises:
        InternalError: that coordinate is not one of a single cube, whose law the threshold is made for.
    """
    block, *others = measurement.blocks
    if others or block.norm is not Norm.LARGEST or measurement.features[0] != ONE:
        raise InternalError
    noise, rows = mechanism(measurement.mechanism), measurement.bound.rows
    return noise.threshold(measurement.scale, block, measurement.row_norm, rows, measurement.delta)


def units_needed(measurement: Sums | KeySearch, rule: SelectionRule) -> Fraction:
    """Return with how many units a group is as often shown as not, by public parameters alone.

    Each unit is taken to be in as many groups as it may, with one row in each.
    """
    match rule:
        case GaussianSelection():
            return rule.units
        case ByUnits(chances=table):
            return Fraction(even(table))
        case FromCount(least=least) if isinstance(measurement, Sums):
            return Fraction(least, measurement.steps_per_row)
        case _:
            raise InternalError


# By which of two ways the keys of a statement are found: the one that is predicted to show a group with fewer units.


def chosen(plans: Sequence[MeasurementPlan], epsilon: Fraction, least: Fraction) -> Sequence[MeasurementPlan]:
    """Return the plans in the ways that find most at the statement's ε, where each part pays at least `least`.

    Depends on ε, δ and the bounds only: on nothing that was measured.
    """
    best = [_better(plan, epsilon) for plan in plans]
    return best if equal_share(epsilon, sum(map(_parts, best))) >= least else plans


def _parts(plan: MeasurementPlan) -> int:
    """Return in how many parts a plan's ε is divided at most: choosing a C pays one, and others several."""
    choosing = sum(part.bound.up_to is not None for part in plan.parts)
    return len(plan.parts) * SHARE + choosing if choosing else len(plan.parts)


def _better(plan: MeasurementPlan, epsilon: Fraction) -> MeasurementPlan:
    by_units = plan.by_units
    if by_units is None:
        return plan
    return min((plan, by_units), key=lambda each: _units_needed(each, epsilon))


def _units_needed(plan: MeasurementPlan, epsilon: Fraction) -> Fraction:
    """Return with how many units a group is shown, were the plan the whole statement."""
    if plan.finder is None:
        return Fraction(0)
    finder = replace(plan.finder, epsilon=equal_share(epsilon, len(plan.parts)))
    rule = selection_rule(finder)
    return Fraction(0) if rule is None else units_needed(finder, rule)
