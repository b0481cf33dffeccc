"""What a unit's rows add up to is bounded where sums are asked, and their number where rows are counted, also beside sums."""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
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
from tests.support.mutants import norms_without_blocks
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
    (estimates,) = unnoised(f"SELECT {select} FROM rides", policy, world, engine).values()
    assert estimates == pytest.approx(expected, rel=0.01)


def test_a_table_of_unknown_size_is_weighed_by_rows(policy: Policy, world: World) -> None:
    """Nothing says that noise will be less than what weights take off, so that sums are as noisy as they are today."""
    policy = with_rows(of_unknown_size(policy, "rides"), "rides", "passenger", 2)
    engine = Memory(policy)
    engine.fill("rides", [_forty(policy)] * HEAVY)
    (estimates,) = unnoised("SELECT sum(fare), count(*) FROM rides", policy, world, engine).values()
    assert estimates == pytest.approx([6, 2], rel=0.01)


@dataclass(frozen=True, slots=True)
class _Keys:
    """What rows are grouped by."""

    names: Sequence[str]
    scatter: bool
    """Whether they have so many values that a unit's largest row stands for the mean of each of its groups."""

    def of(self, row: Row) -> tuple[Cell, ...]:
        return tuple(row[name] for name in self.names)

    def most_added(self, groups: Collection[Sequence[int]]) -> int:
        """Return what no row adds more than on average in any group, of one unit's steps."""
        return max(max(steps) if self.scatter else sum(steps) // len(steps) for steps in groups)


# Of stars there are 3, of stars and seats 21: eight for each row of one or two that a unit may have, and not of three.
@pytest.mark.parametrize(
    ("most", "keys"),
    [
        (1, _Keys(["stars"], scatter=False)),
        (3, _Keys(["stars"], scatter=False)),
        (3, _Keys(["stars", "seats"], scatter=False)),
        (2, _Keys(["stars", "seats"], scatter=True)),
        (1, _Keys(["stars", "seats"], scatter=True)),
    ],
)
@pytest.mark.parametrize("dialect", ENGINES)
def test_sums_beside_a_count_are_those_of_the_claim(
    dialect: str, most: int, keys: _Keys, policy: Policy, world: World, tiny: Engines
) -> None:
    """A row weighs ⌊W·C / max(m, C)⌋ where it is counted, and in sums as much as the largest mean of a group allows.

    Where there are many groups, as much as the largest row does.
    """
    policy, engine = with_rows(policy, "rides", "passenger", most), tiny[dialect]
    by = ", ".join(keys.names)
    (part,) = measurements(f"SELECT {by}, sum(fare), count(*) FROM rides GROUP BY {by}", policy, world, engine)
    assert isinstance(part, Sums)
    maker, draw = Maker(5, dirt=0), random.Random(5)  # noqa: S311  (synthetic records)
    rows = [
        maker.row(policy.tables["rides"])
        | {
            "rider": n % 7 % 5,
            "stars": draw.choice([1, 2]),
            "seats": draw.choice([0, 6]),
            "fare": 150 * draw.choice([0, 1, 3, 9, 700, 1024]) / 1024,
        }
        for n in range(60)
    ]
    engine.fill("rides", rows)
    sums = {key: list(values) for key, values in Measured.of(part, engine, world).exact().items() if any(values)}
    assert sums == _weighed(rows, keys, part)


BLOCKS = (
    "SELECT count(*) FILTER (WHERE shared), sum(fare) FILTER (WHERE shared), "
    "count(*) FILTER (WHERE NOT shared), sum(fare) FILTER (WHERE NOT shared) FROM rides"
)


def _moved_by_one_of_two_blocks(dialect: str, policy: Policy, world: World, tiny: Engines) -> tuple[int, int]:
    """Return how far one unit moves both blocks, which has one large row in one of them, and the claim."""
    policy, engine = with_rows(policy, "rides", "passenger", 2), tiny[dialect]
    (part,) = measurements(BLOCKS, policy, world, engine)
    assert isinstance(part, Sums)
    assert len(part.blocks) == 2
    rows = [_forty(policy, shared=n == 0, fare=150.0 if n == 0 else 0.0) for n in range(HEAVY)]
    measured = Measured.of(part, engine, world)
    return max(measured.moves("rides", rows, "rider")), measured.claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_large_row_beside_small_ones_of_another_block(
    dialect: str, policy: Policy, world: World, tiny: Engines
) -> None:
    """A mean is of a block's rows: those of the other are no reason to let the large one weigh more."""
    moved, claim = _moved_by_one_of_two_blocks(dialect, policy, world, tiny)
    assert 0 < moved <= claim


@pytest.mark.parametrize("dialect", ENGINES)
def test_means_over_blocks_would_move_it_too_far(
    dialect: str, policy: Policy, world: World, tiny: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the means of all rows it weighs as much as if it were small."""
    norms_without_blocks(monkeypatch)
    moved, claim = _moved_by_one_of_two_blocks(dialect, policy, world, tiny)
    assert moved > claim


def _weighed(rows: Sequence[Row], keys: _Keys, part: Sums) -> dict[tuple[Cell, ...], list[int]]:
    """Return the sum and the count of every group, in steps of the lattice."""
    points, whole = part.lattice, part.bound.weight
    sums: dict[tuple[Cell, ...], list[int]] = {}
    for unit in {row["rider"] for row in rows}:
        own: dict[tuple[Cell, ...], list[int]] = {}
        for row in rows:
            if row["rider"] == unit:
                own.setdefault(keys.of(row), []).append(int(Fraction(str(row["fare"])) * points / 150))
        w = whole * part.bound.rows // max(sum(map(len, own.values())), part.bound.rows)
        v = max(w, min(whole, w * points // (keys.most_added(own.values()) + 1)))
        for group, steps in own.items():
            total = sums.setdefault(group, [0, 0])
            total[0] += v * sum(steps)
            total[1] += w * len(steps) * points
    return sums


@pytest.mark.parametrize("dialect", ENGINES)
def test_any_number_of_rows_of_zero_is_summed(dialect: str, policy: Policy, world: World, tiny: Engines) -> None:
    """They have no norm and so their full weight, and half of the lattice's steps; no engine's integer is too small."""
    policy, engine = with_rows(policy, "rides", "passenger", 2), tiny[dialect]
    zero = Maker(4).row(policy.tables["rides"]) | {"rider": 1, "refund": 0.0}
    engine.fill("rides", [zero] * 3_000)
    (part,) = measurements("SELECT sum(refund) FROM rides", policy, world, engine)
    assert isinstance(part, Sums)
    measured = Measured.of(replace(part, points=2**30), engine, world)
    assert {x for row in measured.exact().values() for x in row} == {0}
