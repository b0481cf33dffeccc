"""Groups that may have no rows, and of which nothing is told: their noisy count is within the reach of noise alone."""

from collections.abc import Callable, Mapping, Sequence

from dpsql.privacy.accuracy.margin import Margins
from dpsql.privacy.accuracy.noise_quantile import LEVEL
from dpsql.privacy.features.estimate import row_count
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.features.gradient import count_weights
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Estimates, Readout
from dpsql.privacy.measurement.plan import MeasurementPlan
from dpsql.privacy.measurement.sums import Sums

MayBeEmpty = Callable[[Sequence[Mapping[Feature, float]]], bool]
"""Whether a group may be empty, by the noisy sums of each part."""

_HALF_A_ROW = 0.5
"""Less than this is no row, however little noise there is."""


def within_noise(plan: MeasurementPlan, groups: int, margins: Mapping[int, Margins] | None = None) -> float | None:
    """Return the count up to which a group may be empty, in rows; None where no count is measured.

    `margins` are those of the parts, where they are not what the measurement alone has.

    The counts of so many empty groups are all below it in 95 of 100 answers or more: each is with probability
    1 − (1 − 0.95)/groups at least, and none of it depends on data but through the released counts.
    """
    sums = None if plan.count is None or plan.count.part is None or not plan.parts else plan.parts[plan.count.part]
    if plan.count is None or not isinstance(sums, Sums):
        return None
    of_count = (margins or {}).get(plan.count.part or 0) or Margins.of(sums)
    return least_told(of_count, plan.count.readout, groups)


def is_told(margins: Margins, readout: Readout, estimates: Estimates) -> bool:
    """Return whether anything is told of where values lie: that there are rows is known with 95 %."""
    if not statistic(readout.moment.name).located:
        return True
    return row_count(readout, estimates) > margins.reached(estimates)(count_weights(readout))


def least_told(margins: Margins | None, readout: Readout, groups: int) -> float:
    """Return the noisy count above which some row is counted, in all of so many groups together with 95 %."""
    nothing = dict.fromkeys(readout.features, 0.0)
    width = None if margins is None else margins.half_width(readout, nothing, 1 - (1 - LEVEL) / max(groups, 1))
    return max(width or 0.0, _HALF_A_ROW)


def emptiness(plan: MeasurementPlan, groups: int, margins: Mapping[int, Margins] | None = None) -> MayBeEmpty:
    """Return the test of one of so many groups; where no row can be in any of them, all may be empty."""
    least, count = within_noise(plan, groups, margins), plan.count

    def may_be_empty(estimates: Sequence[Mapping[Feature, float]]) -> bool:
        if least is None or count is None or count.part is None:
            return True
        value = statistic(count.readout.moment.name).estimate(count.readout, estimates[count.part])
        return value is None or value <= least

    return may_be_empty
