"""Rows that are compared with constants and counted once between these: no unit moves it further than its own rows may.

The claim is C and no multiple of it, on tiny databases full of edge cases: NULL, NaN, both infinities, values beyond bounds,
constants that are equal, NULL, beyond all values, or in the other order.
"""

import pytest

from dpsql.policy.model import Policy
from tests.gateway.test_compared_once import FORMS
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, moves_of_each, plans
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World

_MORE = """
SELECT v.a, count(*), sum(r.tip)
  FROM (VALUES (5, NULL), (NULL, 3), (9, 2), (2, 9)) AS v(a, b) JOIN rides r ON r.tip BETWEEN v.a AND v.b GROUP BY 1;
SELECT v.d, count(*) FROM (VALUES (1e9), (-1e9), (0), (-0.0)) AS v(d) JOIN rides r ON NOT r.tip < v.d GROUP BY 1;
SELECT v.d, avg(r.price), count(*) FROM (VALUES (0.1), (64), (128), (129)) AS v(d) JOIN rides r ON r.price <= v.d GROUP BY 1;
SELECT v.d, variance(r.fare) FROM (VALUES (1), (1), (75)) AS v(d) JOIN rides r ON r.refund + r.fare > v.d GROUP BY 1;
SELECT v.d, r.paid, r.late, count(*) FROM (VALUES (1), (5)) AS v(d) JOIN rides r ON r.age >= v.d GROUP BY 1, 2, 3;
SELECT v.d, count(*) FILTER (WHERE r.late), sum(r.weight) FILTER (WHERE NOT r.late)
  FROM (VALUES (timestamp '2019-03-01'), ('2019-03-20'), (NULL)) AS v(d) JOIN rides r ON r.dropped < v.d GROUP BY 1
"""
MORE = tuple(map(str.strip, _MORE.split(";")))


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("dialect", ENGINES)
def test_no_unit_moves_it_further_than_claimed(
    dialect: str, most: int, tiny: Engines, policy: Policy, world: World
) -> None:
    """Whichever rows it has; and the claim is that of its own rows."""
    bounded, engine = with_rows(policy, "rides", "passenger", most), tiny[dialect]
    planned = [(sql, plan) for sql in (*FORMS, *MORE) for plan in plans(sql, bounded, world, engine)]
    assert [sql for sql, plan in planned if plan.added_up is None] == []
    measured = [Measured.of(part, engine, world) for _, plan in planned for part in plan.parts]
    far = [0] * len(measured)
    for rows in databases(policy.tables["rides"], "rider", most, f"compared {dialect}"):
        for moves in moves_of_each(measured, "rides", rows, "rider"):
            far = [max(a, b) for a, b in zip(far, moves, strict=True)]
    assert [part.sql for part, move in zip(measured, far, strict=True) if move > part.claim] == []
    assert sum(move == part.claim for part, move in zip(measured, far, strict=True)) > len(measured) / 3
