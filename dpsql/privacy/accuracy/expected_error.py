"""How noisy an answer will be, before anything is measured: from the plan and the expected number of rows alone."""

from dataclasses import dataclass

from dpsql.privacy.accuracy.margin import half_width
from dpsql.privacy.features.feature import ONE, Shape
from dpsql.privacy.features.statistic import Reading
from dpsql.privacy.measurement.plan import Counted, Output, Plan, Statistic
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.ir.expr import describe
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


def expected(plan: Plan) -> list[Expected]:
    """Return the expected errors of the outputs that are read off sums."""
    return [found for output in plan.outputs if (found := _of(plan, output)) is not None]


def _of(plan: Plan, output: Output) -> Expected | None:
    match output:
        case Statistic(part=part, reading=reading, margin=False) if part is not None and plan.parts:
            sums = plan.parts[part]
            return _statistic(sums, reading) if isinstance(sums, Sums) else None
        case Counted(part=part) if part is not None and plan.parts:
            sums = plan.parts[part]
            if not isinstance(sums, Sums):
                return None
            margin = half_width(sums, Reading(_COUNT, ONE), {ONE: 0.0})
            return Expected(f"distinct {sums.distinct.value}", margin or 0.0, None)
    return None


def _statistic(sums: Sums, reading: Reading) -> Expected | None:
    rows = _rows(sums, reading)
    found = dict.fromkeys(reading.features, 0.0) | {f: rows or 0.0 for f in reading.features if f.shape is Shape.ONE}
    margin = half_width(sums, reading, found)
    if margin is None:
        return None
    name = f"{reading.moment.name}({', '.join(describe(arg) for arg in reading.moment.args) or '*'})"
    return Expected(name, margin, _relative(reading, margin, rows))


def _rows(sums: Sums, reading: Reading) -> float | None:
    """Return how many rows a group is expected to have, or one of its blocks."""
    whole = sums.relation.protected.expected_rows
    blocks = len(sums.blocks) if any(feature.block is not None for feature in reading.features) else 1
    return None if whole is None else whole / max(len(sums.groups.grouped), 1) / blocks


def _relative(reading: Reading, margin: float, rows: float | None) -> float | None:
    """Compare a margin with the count, or with a sum or mean of values in the middle of their interval."""
    if rows is None:
        return None
    if reading.moment.name == "count":
        return margin / rows
    scaled = reading.x.x if reading.x is not None else None
    if scaled is None or reading.moment.name not in {"sum", "avg"}:
        return None
    typical = float(max(abs(scaled.interval.low + scaled.interval.high) / 2, scaled.interval.width / 4))
    return margin / (typical * (rows if reading.moment.name == "sum" else 1)) if typical else None
