"""Nobody sees in a sum that values are rounded before they are added: a column with a step is not rounded at all."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy
from tests.support.exactness import unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import World
from tests.support.served import Filled

ROWS = 100_000
C, EPSILON = 20, Fraction(1, 2)
MARGIN = 1.5 * C / float(EPSILON)
"""What the noise of a sum is within in 95 %, in widths of its interval."""
FARES = {"2.75": Interval.of(0, 150), "0.3": Interval.of(0, 1), "7.1": Interval.of(7, 8)}


def declared(policy: Policy, bounds: Interval, step: str | None = None) -> Policy:
    """Return the policy with other bounds for fares, and a step."""
    rides = replace(policy.tables["rides"], expected_rows=ROWS)
    fare = replace(rides.columns["fare"], bounds=bounds, step=None if step is None else Fraction(step))
    tables = {**policy.tables, "rides": replace(rides, columns={**rides.columns, "fare": fare})}
    return with_epsilon(replace(policy, tables=tables), EPSILON)


def fill(engine: Filled, fares: Mapping[str, int]) -> None:
    """Let there be so many fares of each kind, each somebody else's."""
    engine.fill("rides", [])
    for number, (fare, rows) in enumerate(fares.items()):
        some = f"{number * ROWS} + i, CAST('{fare}' AS DOUBLE PRECISION) FROM generate_series(1, {rows}) AS t(i)"
        engine.execute(f"INSERT INTO rides (rider, fare) SELECT {some}")


def answer(sql: str, policy: Policy, world: World, engine: Filled) -> list[float | None]:
    """Return the statistics without noise."""
    ((estimates,),) = [unnoised(sql, policy, world, engine).values()]
    return list(estimates)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("fare", FARES)
def test_equal_values_do_not_all_round_the_same_way(
    fare: str, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """A hundred thousand equal fares are off by a tenth of the margin at most, in sums alone and beside others."""
    policy, width = declared(policy, FARES[fare]), float(FARES[fare].width)
    fill(tiny[dialect], {fare: ROWS})
    (alone,) = answer("SELECT sum(fare) FROM rides", policy, world, tiny[dialect])
    _, total, mean, spread = answer(
        "SELECT count(*), sum(fare), avg(fare), var_pop(fare) FROM rides", policy, world, tiny[dialect]
    )
    assert alone == pytest.approx(float(fare) * ROWS, abs=2 * MARGIN * float(FARES[fare].magnitude) / 10)  # from 0
    assert total == pytest.approx(float(fare) * ROWS, abs=MARGIN * float(FARES[fare].magnitude) / 10)
    assert mean == pytest.approx(float(fare), abs=MARGIN * width / ROWS / 10)
    assert spread == pytest.approx(0, abs=MARGIN * width**2 / ROWS / 10)


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(("fare", "step"), [("2.75", "0.01"), ("0.3", "0.1"), ("7.1", "0.02")])
def test_multiples_of_the_step_are_not_rounded(
    fare: str, step: str, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """Their sums, means and those of what is computed of them are exact; a value beside its step counts as the nearest."""
    on = float(Fraction(fare) // Fraction(step) * Fraction(step))
    policy = declared(policy, FARES[fare], step)
    # Off by less than half a step, far out of bounds, and no number at all.
    fill(tiny[dialect], {repr(on): 50_000, repr(on + float(step) / 3): 30_000, "Infinity": 7, "-1e300": 2, "NaN": 5})
    low, high = map(float, (FARES[fare].low, FARES[fare].high))
    expected = 80_000 * on + 7 * high + 2 * low
    sql = "SELECT count(fare), sum(fare), avg(fare), sum(-2 * fare), var_pop(fare), sum(fare + fare) FROM rides"
    count, total, mean, twice, spread, same = answer(sql, policy, world, tiny[dialect])
    squares = (80_000 * on**2 + 7 * high**2 + 2 * low**2) / 80_009
    assert count == 80_009
    assert total == pytest.approx(expected, rel=1e-12)
    assert mean == pytest.approx(expected / 80_009, rel=1e-12)
    assert spread == pytest.approx(squares - (expected / 80_009) ** 2, rel=1e-9)
    third = pytest.approx(2 * expected, abs=30_000 * 2 * float(step))
    assert -(twice or 0) == third
    assert same == third
    (alone,) = answer("SELECT sum(fare) FROM rides", policy, world, tiny[dialect])
    assert alone == pytest.approx(expected, rel=1e-12)
