"""The numbers of EXPLAIN (FORMAT JSON), for programs: the same as its lines say to people."""

from collections.abc import Mapping, Sequence

from dpsql.accounting.privacy_loss import compose, show_down
from dpsql.gateway.explaining.foreseen import NO_KNOWLEDGE, Knowledge, foreseen_bounds
from dpsql.gateway.pricing import PricedPlan
from dpsql.policy.model import Privacy
from dpsql.privacy.accuracy.expected_error import Expected, expected
from dpsql.privacy.features.feature import Scaled, Shape
from dpsql.privacy.measurement.beyond_bounds import BeyondBounds
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.key_search import KeySearch
from dpsql.privacy.measurement.pricing import PricedMeasurement
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from dpsql.rewrite.functions.table import describe

PlanValues = Mapping[str, object]
_CLAMPING = frozenset({Shape.VALUE, Shape.SIGNED, Shape.LOW})


def plan_values(priced: PricedPlan, known: Knowledge = NO_KNOWLEDGE) -> PlanValues:
    """Return what the statement costs, its measurements, and the expected errors; all of it follows from the plan alone.

    Amounts of ε and δ are texts, as exact as they are shown everywhere; an output without a share has null. A margin
    has a unit where it is not in the output's own. Where C will be chosen and nobody knows it, the margin is for the
    largest C that is thought of. A statement that aims at an error has that and the most ε for it;
    the others are then those of the first look.
    """
    outputs = [line for scope in priced.scopes for line in expected(scope.plan, foreseen_bounds(scope, known))]
    aim = priced.aim
    target = {} if aim is None else {"Target": float(aim.error), "At Most": show_down(aim.cap)}
    return {
        **_cost(compose(part.cost for part in priced.measurements)),
        **target,
        "Measurements": [_measurement(part) for part in priced.measurements],
        "Outputs": [
            {
                "Output": o.output,
                "Margin": o.up_to or o.margin,
                **({"Least Margin": o.margin} if o.up_to else {}),
                "Unit": o.unit.strip() or None,
                "Relative": None if o.up_to else o.relative,
                **_given(o),
            }
            for o in outputs
        ],
    }


def clamped(measurement: Sums) -> Sequence[Scaled]:
    """Return what is clamped to its interval before it is summed."""
    return list(dict.fromkeys(f.x for f in measurement.features if f.x is not None and f.shape in _CLAMPING))


def _measurement(part: PricedMeasurement) -> PlanValues:
    m = part.measurement
    common = {"Tables": [source.table.name for source in m.relation.sources], **_cost(part.cost)}
    match m:
        case KeySearch() | BeyondBounds():
            return common
        case RowsPerUnit():
            return {**common, "Up To": m.rungs[-1]}
        case Sums():
            return {**common, "Clamped": [_range(x) for x in clamped(m)]}
        case Histogram():
            points = [float(q) for q in m.points]
            chosen = {"Points": points, "Buckets": m.number, "Enough": m.enough(m.bound.rows)}
            return {**common, **chosen, "Chosen": _range(m.x)}


def _range(x: Scaled) -> PlanValues:
    return {"Expression": describe(x.expr), "Low": float(x.interval.low), "High": float(x.interval.high)}


def _given(line: Expected) -> PlanValues:
    return {"Given": line.given.removeprefix(", if ").removeprefix(", for ")} if line.given else {}


def _cost(cost: Privacy) -> PlanValues:
    delta = {"Delta": show_down(cost.delta)} if cost.delta else {}
    return {"Epsilon": show_down(cost.epsilon), **delta}
