"""Whole statements that nobody thought of mean what PostgreSQL says they mean, on the clamped tables.

Counts are equal. What is summed was rounded to a lattice, so that each row may be off by half a step of the interval that
its expression was found to have; for sums, means and moments no more is allowed than that comes to.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, note, settings

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.privacy.features.feature import Feature, PartialSum, Readout, Shape
from dpsql.privacy.measurement.plan import DistinctCountOutput, KnownOutput, Output, StatisticOutput, VoteOutput
from tests.support.dialects import DIALECTS
from tests.support.exactness import plans
from tests.support.fix_dirty import NewUser
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.reference import Reference
from tests.support.strategies import computable

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)
LATTICE = 1024
"""How many steps an interval has, at least."""
NOISE = 1e-6
"""What is left of it at the largest ε, for one row."""
Rows = Mapping[tuple[object, ...], Sequence[object]]


@dataclass(frozen=True, slots=True, repr=False)
class Pieces:
    """What a comparison needs."""

    user: NewUser
    world: World
    engine: Memory
    reference: Reference


@pytest.fixture(scope="module")
def pieces(user: NewUser, world: World, dirty: Memory, reference: Reference) -> Pieces:
    """The pieces over the dirty records."""
    return Pieces(user, world, dirty, reference)


def check(sql: str, pieces: Pieces) -> None:
    """Compare both engines; what dpsql refuses, and what PostgreSQL can't compute for some row, is nothing to compare."""
    note(sql)
    try:
        (plan,) = plans(sql, pieces.world.policy, pieces.world, pieces.engine)
        expected = pieces.reference.answer(sql, "passenger")
        answers = [pieces.user("ana", dialect).ask(sql) for dialect in DIALECTS]
    except (EngineFailed, InternalError):
        raise
    except (DpsqlError, psycopg.Error) as error:
        note(str(error))
        assume(False)
        return
    assert len(expected.names) >= len(plan.outputs)
    width = len(expected.names) - len(plan.outputs)
    wanted = _by_key(expected.rows, width)
    nothing = (None,) * len(plan.outputs)
    for answer in answers:
        answered = _by_key(answer.rows, width)
        assert (answer.names, answer.types) == (expected.names, expected.types)
        assert wanted.keys() <= answered.keys()
        for key, row in answered.items():
            assert _alike_rows(plan.outputs, row, wanted.get(key, nothing)), (key, row, wanted.get(key))


def _by_key(rows: Sequence[tuple[object, ...]], width: int) -> Rows:
    return {row[:width]: row[width:] for row in rows}


def _number(value: object) -> float:
    assert value is None or isinstance(value, (int, float, Decimal))
    return float(value or 0)


def _alike_rows(outputs: Sequence[Output], row: Sequence[object], wanted: Sequence[object]) -> bool:
    """Compare the aggregates of a group, each knowing how many rows it is about."""
    numbers = {
        output.readout.count: _number(right)
        for output, right in zip(outputs, wanted, strict=True)
        if isinstance(output, StatisticOutput) and output.readout.moment.name == "count"
    }
    triples = zip(outputs, row, wanted, strict=True)
    return all(_alike(output, value, right, numbers) for output, value, right in triples)


def _alike(output: Output, value: object, right: object, numbers: Mapping[Feature | None, float]) -> bool:
    """Return whether a value is the right one, as nearly as it can be; what is about no rows may have the sum 0."""
    if isinstance(output, (DistinctCountOutput, VoteOutput, KnownOutput)) or (
        isinstance(output, StatisticOutput) and output.readout.moment.name == "count"
    ):
        # The sum of a constant is a count, too, and no whole number where that is in double precision.
        nearly = NOISE if isinstance(value, float) else 0.0
        return math.isclose(_number(value), _number(right), rel_tol=0, abs_tol=nearly)
    assert isinstance(output, StatisticOutput)
    if (value is None or right is None) and output.readout.moment.name != "sum":
        # The least noise makes one row less than one, which has no mean. Of two columns the number may not be asked for.
        counted = (numbers[count],) if (count := output.readout.count) in numbers else numbers.values()
        return right is value or (value is None and 1 in counted)
    whole = 0.5 if isinstance(value, int) else 0.0
    allowed = _allowed(output.readout, max(numbers.values())) + whole + 1e-6
    return math.isclose(_number(value), _number(right), rel_tol=1e-9, abs_tol=allowed)


def _allowed(readout: Readout, rows: float) -> float:
    """Return how far a statistic may be from its value: half a step for each row, and what noise there is."""
    sums = dict(readout.sums)
    x, y = _reach(sums.get(PartialSum.U)), _reach(sums.get(PartialSum.V))
    match readout.moment.name:
        case "sum":
            return x * (rows / LATTICE + NOISE)
        case "avg":
            return x * (1 / LATTICE + NOISE)
        case "covar_pop":
            return 4 * x * y * (1 / LATTICE + NOISE)
        case "stddev_pop":
            return 2 * x * math.sqrt(1 / LATTICE + NOISE)
        case _:
            return 4 * x * x * (1 / LATTICE + NOISE)


def _reach(feature: Feature | None) -> float:
    """Return half the width of the interval in which a feature lives, as it is or made symmetric."""
    if feature is None or feature.x is None:
        return 0.0
    interval = feature.x.interval
    return float(interval.magnitude if feature.shape is Shape.SIGNED else interval.width / 2)


@_SETTINGS
@given(sql=computable())
def test_any_whole_statement(sql: str, pieces: Pieces) -> None:
    """Any statement of keys, conditions, filters and expressions."""
    check(sql, pieces)


@pytest.mark.slow
@settings(_SETTINGS, derandomize=False, max_examples=5_000)
@given(sql=computable())
def test_many_more_whole_statements(sql: str, pieces: Pieces) -> None:
    """The same for thousands, others each time."""
    check(sql, pieces)
