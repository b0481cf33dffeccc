"""How much ε a first look at an answer takes for the error that is aimed at, by public numbers alone."""

from collections.abc import Sequence
from fractions import Fraction

from dpsql.privacy.features.variance import noise_ratio
from dpsql.privacy.measurement.plan import Measurement, MeasurementPlan, StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.law import CubeLaw

_PILOT = 10
"""Where nothing public tells how much a target takes, the first look pays this part of the most."""


def first_look(plans: Sequence[MeasurementPlan], error: Fraction, most: Fraction, least: Fraction) -> Fraction:
    """Return the ε of a statement that public numbers promise to be enough for a relative error.

    Of a group of the expected size n the error is r at ε = C/(r·n), four times that for variances (the sound form of
    PyDPLib's levels); at `most`, and no less than the `least` for each part. n comes from the policy; where that does not
    say it, a tenth of the most finds out.
    """
    wanted = [_level_epsilon(plan, part, error) for plan in plans for part in plan.parts]
    costs = [epsilon for epsilon in wanted if epsilon is not None]
    if not costs or len(costs) < len(wanted):
        return max(most / _PILOT, min(most, least * len(wanted)))
    return min(most, max(*costs, least) * len(wanted))


def _level_epsilon(plan: MeasurementPlan, part: Measurement, error: Fraction) -> Fraction | None:
    rows = part.relation.expected_rows
    if rows is None:
        return None
    rows_of_group = Fraction(rows, max(len(part.groups.grouped), 1))
    exact = part.bound.rows / (error * rows_of_group)
    return _rounded_up(exact * _wider(plan, part) if isinstance(part, Sums) else exact)


def _wider(plan: MeasurementPlan, sums: Sums) -> Fraction:
    """Return how much more ε a measurement needs than a lone count for the same error.

    Four times as much for variances; and a cube of d statistics has noise sqrt((d + 1)(d + 2)/6) times a lone count's.
    The three cells of a value are taken where they are less noisy than a cube of three. A sum over blocks has the
    noise of all of them.
    """
    of_each = [CubeLaw(len(block.places)).variance for block in sums.blocks]
    readouts = [output.readout for output in plan.outputs if isinstance(output, StatisticOutput)]
    added_up = any(feature.block is None for readout in readouts for feature in readout.features)
    noise = noise_ratio(sum(of_each, Fraction(0)) if added_up else max(of_each))
    return max(noise, Fraction(1)) * (4 if sums.row_norm > sums.lattice else 1)


def _rounded_up(epsilon: Fraction) -> Fraction:
    """Return the next number with six digits after the point, which people can read in the ledger."""
    return Fraction(-(-epsilon * 10**6 // 1), 10**6)
