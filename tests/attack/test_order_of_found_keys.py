"""Keys that are found out come in an order of their own: what the engine's order tells of records goes no further."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest

from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.release.exact import exact_sums
from tests.support.exactness import Measured, measurements
from tests.support.fix_engines import ENGINES
from tests.support.fix_wide import KEYS, LARGE, Engines, Wide, plain
from tests.support.records import Cell, Row

FOUND: dict[str, Sequence[Cell]] = {
    "big": [LARGE, LARGE + 1, -LARGE - 1, -LARGE, 2**63 - 1, 2**63 - 2, None],
    "iv + 9007199254740992, txt": [0, 1, 2, 3],
    "moment": [*KEYS["moment"], None],
    "day": [*KEYS["day"], None],
    "txt": [*KEYS["txt"], None],
}


def _keys(wide: Wide, key: str) -> tuple[Sums, list[Row]]:
    column = "iv" if key.startswith("iv") else key
    rows = [plain("person", n, **{column: cell}) for n, cell in enumerate(FOUND[key])]
    sql = f"SELECT {key}, count(*) FROM visits GROUP BY {key}"
    (part,) = measurements(sql, wide.policy, wide.world, wide.engine, "explorer")
    assert isinstance(part, Sums)
    return replace(part, epsilon=Fraction(1)), rows


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("key", FOUND)
def test_no_order_of_rows_is_the_order_of_keys(key: str, dialect: str, wide: Engines) -> None:
    """Whole numbers beyond double precision, times and texts: in any order of the engine's rows the keys are as they were."""
    part, rows = _keys(wide[dialect], key)
    wide[dialect].engine.fill("visits", rows)
    answer = Measured.of(part, wide[dialect].engine, wide[dialect].world).rows()
    assert len(answer) == len(rows)
    shuffled = random.Random(1).sample(list(permutations(answer)), 20)  # noqa: S311  (an order)
    orders = {tuple(exact_sums(part, order).keys or ()) for order in [answer, answer[::-1], *shuffled]}
    assert len(orders) == 1


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("key", FOUND)
def test_no_unit_turns_others_keys_round(key: str, dialect: str, wide: Engines) -> None:
    """Without any one unit the keys that are left are in the order in which they were."""
    part, rows = _keys(wide[dialect], key)
    engine, world = wide[dialect].engine, wide[dialect].world
    engine.fill("visits", rows)
    every = list(Measured.of(part, engine, world).exact())
    for row in rows:
        engine.fill("visits", [other for other in reversed(rows) if other is not row])
        left = list(Measured.of(part, engine, world).exact())
        assert left == [key for key in every if key in left]
        assert len(left) == len(every) - 1
