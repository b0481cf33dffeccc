"""What a unit's rows add up to is bounded where sums are asked, and their number where rows are counted, also beside sums."""

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import Measured, measurements, unnoised
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import of_unknown_size, with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Cell, Maker, Row

HEAVY = 40


def _forty(policy: Policy, **cells: Cell) -> Row:
    return Maker(4).row(policy.tables["rides"]) | {"rider": 1, "fare": 3.0, "seats": 0, **cells}


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("sum(fare)", [120]),
        ("sum(fare), sum(price)", [120, 40]),
        ("sum(fare), count(*)", [120, 2]),
        ("count(*), sum(fare), sum(price)", [2, 120, 40]),
        ("avg(fare), sum(fare), count(*)", [3, 120, 2]),
        ("count(*), sum(fare) FILTER (WHERE shared)", [2, 120]),
        ("count(*), sum(tip)", [2, -2 * 35]),
    ],
)
def test_small_values_of_a_heavy_unit_are_not_lost(
    select: str, expected: Sequence[float], policy: Policy, world: World
) -> None:
    """Forty rows of 3 are less than two rows may be, as forty of -5 are not; of the number of rows, two are left."""
    policy, engine = with_rows(policy, "rides", "passenger", 2), Memory(policy)
    engine.fill("rides", [_forty(policy, shared=True, price=Decimal(1), tip=-5.0)] * HEAVY)
    (found,) = unnoised(f"SELECT {select} FROM rides", policy, world, engine).values()
    assert found == pytest.approx(expected, rel=0.01)


def test_a_table_of_unknown_size_is_weighed_by_rows(policy: Policy, world: World) -> None:
    """Nothing says that noise will be less than what weights take off, so that sums are as noisy as they are today."""
    policy = with_rows(of_unknown_size(policy, "rides"), "rides", "passenger", 2)
    engine = Memory(policy)
    engine.fill("rides", [_forty(policy)] * HEAVY)
    (found,) = unnoised("SELECT sum(fare), count(*) FROM rides", policy, world, engine).values()
    assert found == pytest.approx([6, 2], rel=0.01)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("dialect", ENGINES)
def test_sums_beside_a_count_are_those_of_the_claim(
    dialect: str, most: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """A row weighs ⌊W·C / max(m, C)⌋ where it is counted, and in sums as much as the largest mean of a group allows."""
    policy, engine = with_rows(policy, "rides", "passenger", most), tiny[dialect]
    (part,) = measurements("SELECT stars, sum(fare), count(*) FROM rides GROUP BY stars", policy, world, engine)
    assert isinstance(part, Sums)
    maker, draw = Maker(5, dirt=0), random.Random(5)  # noqa: S311  (made-up records)
    rows = [
        maker.row(policy.tables["rides"])
        | {
            "rider": n % 7 % 5,
            "stars": draw.choice([1, 2]),
            "fare": 150 * draw.choice([0, 1, 3, 9, 700, 1024]) / 1024,
        }
        for n in range(60)
    ]
    engine.fill("rides", rows)
    found = {key: list(values) for key, values in Measured.of(part, engine, world).exact().items() if any(values)}
    assert found == _weighed(rows, part)


def _weighed(rows: Sequence[Row], part: Sums) -> dict[tuple[Cell, ...], list[int]]:
    """Return the sum and the count of every group, in steps of the lattice."""
    points, whole = part.lattice, part.bound.weight
    sums: dict[tuple[Cell, ...], list[int]] = {}
    for unit in {row["rider"] for row in rows}:
        own: dict[Cell, list[int]] = {}
        for row in rows:
            if row["rider"] == unit:
                own.setdefault(row["stars"], []).append(int(Fraction(str(row["fare"])) * points / 150))
        w = whole * part.bound.rows // max(sum(map(len, own.values())), part.bound.rows)
        v = max(w, min(whole, w * points // max(sum(steps) // len(steps) + 1 for steps in own.values())))
        for stars, steps in own.items():
            total = sums.setdefault((stars,), [0, 0])
            total[0] += v * sum(steps)
            total[1] += w * len(steps) * points
    return sums


@pytest.mark.parametrize("dialect", ENGINES)
def test_any_number_of_rows_of_zero_is_summed(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """They have no norm and so their full weight, and half of the lattice's steps; no engine's integer is too small."""
    policy, engine = with_rows(policy, "rides", "passenger", 2), tiny[dialect]
    one = Maker(4).row(policy.tables["rides"]) | {"rider": 1, "refund": 0.0}
    engine.fill("rides", [one] * 3_000)
    (part,) = measurements("SELECT sum(refund) FROM rides", policy, world, engine)
    assert isinstance(part, Sums)
    measured = Measured.of(replace(part, points=2**30), engine, world)
    assert {x for row in measured.exact().values() for x in row} == {0}
