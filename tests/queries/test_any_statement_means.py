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
from dpsql.privacy.feature import Feature, Shape
from dpsql.privacy.outline import Counted, Output, Statistic
from dpsql.privacy.statistics import Reading
from dpsql.rewrite.function import Dialect
from tests.exactness import plans
from tests.fix_dirty import NewUser
from tests.fix_world import World
from tests.memory import Memory
from tests.reference import Reference
from tests.strategies import computable

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)
LATTICE = 2048
"""Twice the number of steps on either side of an interval's middle, at least."""
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
        answers = [pieces.user("ana", dialect).ask(sql) for dialect in Dialect]
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
        found = _by_key(answer.rows, width)
        assert (answer.names, answer.types) == (expected.names, expected.types)
        assert wanted.keys() <= found.keys()
        for key, row in found.items():
            triples = zip(plan.outputs, row, wanted.get(key, nothing), strict=True)
            for output, value, right in triples:
                assert _alike(output, value, right, _number(row[-1])), (key, value, right)


def _by_key(rows: Sequence[tuple[object, ...]], width: int) -> Rows:
    return {row[:width]: row[width:] for row in rows}


def _number(value: object) -> float:
    assert value is None or isinstance(value, (int, float, Decimal))
    return float(value or 0)


def _alike(output: Output, value: object, right: object, rows: float) -> bool:
    """Say whether a value is the right one, as nearly as it can be with so many rows; no rows may have the sum 0."""
    if isinstance(output, Counted) or (isinstance(output, Statistic) and output.reading.moment.name == "count"):
        return _number(value) == _number(right)
    assert isinstance(output, Statistic)
    if (value is None or right is None) and output.reading.moment.name != "sum":
        return value is right
    whole = 0.5 if isinstance(value, int) else 0.0
    return math.isclose(_number(value), _number(right), rel_tol=1e-9, abs_tol=_allowed(output.reading, rows) + whole)


def _allowed(reading: Reading, rows: float) -> float:
    """Return how far a statistic may be from its value, when each row is off by half a step at most."""
    x, y = _spread(reading.x), _spread(reading.y)
    step = x / LATTICE
    match reading.moment.name:
        case "sum":
            return (rows + 1e-3) * step
        case "avg":
            return step * (1 + 1e-3)
        case "covar_pop":
            return 4 * x * y / LATTICE
        case "stddev_pop":
            return math.sqrt(4 * x * step)
        case _:
            return 4 * x * step


def _spread(feature: Feature | None) -> float:
    """Return half the width of the interval in which a feature lives, as it is or made symmetric."""
    if feature is None or feature.x is None:
        return 0.0
    interval = feature.x.interval
    return float(max(interval.width / 2, interval.magnitude if feature.shape is Shape.SIGNED else 0))


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
