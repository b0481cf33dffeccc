"""By which of two ways the keys of a statement are found: the one that is predicted to show a group with fewer units."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.privacy_loss import equal_share
from dpsql.privacy.measurement.partition_rule import selection_rule, units_needed
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.rows_per_unit import SHARE


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
