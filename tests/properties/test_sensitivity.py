"""Exhaustive, without statistics: no unit moves a measurement further than its noise is made for.

For every statement here, on many tiny databases full of edge cases, each unit's rows are taken away, and the exact
coordinates move by at most `Sums.sensitivity` in the norm Σ_groups max|coordinate|. The claim is attained on one of the
databases, so that it is not kept by being larger than need be, nor by a measurement that sees nothing.
"""

import random
from collections.abc import Iterator, Sequence

import pytest

from dpsql.policy.model import Policy, Table
from tests.exactness import Measured, measurements
from tests.fix_policy import with_rows
from tests.fix_world import World
from tests.memory import Memory
from tests.records import Maker, Row
from tests.shapes import ATTAINED, SHAPES

DATABASES = 5


def tiny(table: Table, unit: str, most: int, seed: str) -> Iterator[Sequence[Row]]:
    """Yield databases of up to three units with none to twice as many rows as they may have, and of nobody's rows."""
    draw = random.Random(seed)  # noqa: S311  (made-up records)
    for number in range(DATABASES):
        maker = Maker(draw.randrange(2**32), dirt=(0.0, 0.1, 0.5)[number % 3], edges=0.5)
        sizes = {"1": most, "2": draw.choice([1, most + 1, 2 * most + 1]), "3": draw.randrange(most + 1)}
        rows = [
            maker.row(table) | {"rider": None, "driver": None, unit: _named(table, unit, name)}
            for name, size in (*sizes.items(), (None, 1))
            for _ in range(size)
        ]
        draw.shuffle(rows)
        yield rows


def _named(table: Table, unit: str, name: str | None) -> str | int | None:
    return name if name is None or not table.columns[unit].type.is_integer else int(name)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("sql", SHAPES, ids=range(len(SHAPES)))
def test_no_unit_moves_it_further_than_claimed(sql: str, most: int, policy: Policy, world: World) -> None:
    """Taking one passenger's rows away moves the coordinates by at most the sensitivity."""
    policy = with_rows(policy, "rides", "passenger", most)
    engine = Memory(policy)
    for sums in measurements(sql, policy, world, engine):
        measured = Measured.of(sums, engine, world)
        databases = tiny(policy.tables["rides"], "rider", most, sql)
        moves = [move for rows in databases for move in measured.moves("rides", rows, "rider")]
        assert max(moves) <= sums.sensitivity
        assert max(moves) == sums.sensitivity or sql not in ATTAINED or most > 1
