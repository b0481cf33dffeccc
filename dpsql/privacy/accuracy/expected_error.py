"""How noisy an answer will be, before anything is measured: from the plan and the expected number of rows alone."""

from dataclasses import dataclass

from dpsql.privacy.accuracy.margin import shown_half_width
from dpsql.privacy.features.feature import ONE, Shape
from dpsql.privacy.features.known_statistics import statistic
from dpsql.privacy.features.readout import Readout
from dpsql.privacy.measurement.plan import DistinctCountOutput, MeasurementPlan, Output, StatisticOutput
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.functions.table import describe
from dpsql.rewrite.translate.aggregates import Moment

_COUNT = Moment("count", ())


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected error of one output of a group of the expected size."""

    output: str
    margin: float
    """Half the width of the 95 % interval, in units of the output."""
    relative: float | None
    """That as a share of the expected value; None where no value can be expected."""


def expected(plan: MeasurementPlan) -> list[Expected]:
    """Return the expected errors of the outputs that are read off sums."""
    return [found for output in plan.outputs if (found := _of(plan, output)) is not None]


def _of(plan: MeasurementPlan, output: Output) -> Expected | None:
    match output:
        case StatisticOutput(part=part, readout=readout, margin=False) if part is not None and plan.parts:
            sums = plan.parts[part]
            return _statistic(sums, readout) if isinstance(sums, Sums) else None
        case DistinctCountOutput(part=part) if part is not None and plan.parts:
            sums = plan.parts[part]
            if not isinstance(sums, Sums):
                return None
            margin = shown_half_width(sums, Readout(_COUNT, ONE), {ONE: 0.0})
            return Expected(f"distinct {sums.distinct.value}", margin or 0.0, None)
    return None


def _statistic(sums: Sums, readout: Readout) -> Expected | None:
    rows = _rows(sums, readout)
    found = dict.fromkeys(readout.features, 0.0) | {f: rows or 0.0 for f in readout.features if f.shape is Shape.ONE}
    margin = shown_half_width(sums, readout, found)
    if margin is None:
        return None
    name = f"{readout.moment.name}({', '.join(describe(arg) for arg in readout.moment.args) or '*'})"
    return Expected(name, margin, _relative(readout, margin, rows))


def _rows(sums: Sums, readout: Readout) -> float | None:
    """Return how many rows a group is expected to have, or one of its blocks."""
    whole = sums.relation.protected.expected_rows
    blocks = len(sums.blocks) if any(feature.block is not None for feature in readout.features) else 1
    return None if whole is None else whole / max(len(sums.groups.grouped), 1) / blocks


def _relative(readout: Readout, margin: float, rows: float | None) -> float | None:
    """Compare a margin with the size that the statistic is expected to have."""
    typical = None if rows is None else statistic(readout.moment.name).typical(readout, rows)
    return margin / typical if typical else None
