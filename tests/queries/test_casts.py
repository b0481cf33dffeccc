"""Casts with a precision round as PostgreSQL does, whose numeric has the decimal digits that a double shows."""

from decimal import ROUND_HALF_UP, Decimal

import pytest

from dpsql.policy.model import Policy
from tests.support.exactness import unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_world import World


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("digits", [0, 1, 2])
def test_halves_are_rounded_away_from_zero(
    digits: int, dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """2.675, whose double is a little less, is 2.68; every half of so many digits in [0, 150] is rounded up."""
    step = Decimal(1).scaleb(-digits)
    halves = [step / 2 + step * i for i in range(0, int(150 / step), 7)]
    tiny[dialect].fill("rides", [])
    first, width = step / 2, step * 7
    rows = f"i, CAST('{first}' AS DECIMAL(12, 4)) + (i - 1) * CAST('{width}' AS DECIMAL(12, 4))"
    tiny[dialect].execute(
        f"INSERT INTO rides (rider, fare) SELECT {rows} FROM generate_series(1, {len(halves)}) AS t(i)"
    )
    sql = f"SELECT sum(fare::numeric(6, {digits})), sum(round(fare::numeric, {digits})) FROM rides"
    ((cast, rounded),) = unnoised(sql, policy, world, tiny[dialect]).values()
    expected = sum(half.quantize(step, ROUND_HALF_UP) for half in halves)
    assert cast == rounded == pytest.approx(float(expected), rel=1e-12)
