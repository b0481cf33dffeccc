"""The sums that the outputs of a plan are read off."""

from collections.abc import Iterator

from dpsql.privacy.features.feature import ONE, Feature
from dpsql.privacy.measurement.plan import (
    DistinctCountOutput,
    DistinctMarginOutput,
    MeasurementPlan,
    StatisticOutput,
    VoteOutput,
)


def needed_sums(plan: MeasurementPlan, place: int) -> tuple[Feature, ...]:
    """Return the sums that outputs read of one part, and those that tell which groups may be empty."""
    return tuple(dict.fromkeys(_needed(plan, place)))


def _needed(plan: MeasurementPlan, place: int) -> Iterator[Feature]:
    for output in (*plan.outputs, *([] if plan.count is None else [plan.count])):
        match output:
            case StatisticOutput(part=part, readout=readout) if part == place:
                yield from readout.features
            case VoteOutput(part=part, readouts=readouts) if part == place:
                for each in readouts:
                    yield from each.features
            case DistinctCountOutput(part=part) | DistinctMarginOutput(part=part) if part == place:
                yield ONE
            case _:
                pass
