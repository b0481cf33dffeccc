"""What must hold of a statement over the shop: refused in time, or it means and moves what it should.

Without its noise it is PostgreSQL's own answer over the clamped tables on both engines, and no unit moves a measurement
further than its noise is made for. What an inner answer was is the same for neighbours, as it is where it was released.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import psycopg

from dpsql.errors import DpsqlError, EngineFailed, InternalError
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.sums import Sums
from tests.support.exactness import Exact, Measured
from tests.support.fix_engines import ENGINES
from tests.support.fix_shop import USERS, Shops, paying
from tests.support.fix_world import Answer, fetched
from tests.support.served import Served
from tests.support.shop_desk import Asked, Completed, Desk, cost
from tests.support.shop_generator import Written, written
from tests.support.shop_worlds import MODEST, NEIGHBOURS, VERSIONS, WHOLE, asked_of, meant, put

WORLDS = 5
MEDIAN = """
CREATE OR REPLACE FUNCTION middle(float8[]) RETURNS float8 LANGUAGE sql AS
  'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest($1) AS u (x)';
CREATE OR REPLACE AGGREGATE median(float8) (sfunc = array_append, stype = float8[], finalfunc = middle, initcond = '{}');
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """Both engines with the worlds."""

    shops: Shops
    desks: Mapping[str, Desk]
    reference: psycopg.Connection


_EXPLORED = 1_000
"""The ε of those who find keys."""


@contextmanager
def benched(shops: Shops, change: Callable[[Policy], Policy] = lambda policy: policy) -> Iterator[Bench]:
    """Make the worlds, and sessions, under the shop's policy with a change."""
    sessions, desks = [], {}
    for name, shop in shops.items():
        for world in range(WORLDS):
            put(shop, world, world)
        client, owner = (shop.world.connect(user, "shop") for user in ("ana", "dpsql_owner"))
        sessions += [client, owner]
        # Where keys are found much of it takes long, and of little nothing is told; elsewhere fractions have finer steps.
        desks[name] = Desk(shop, change(paying(shop.policy, _EXPLORED, "explorer")), client, owner)
    engine = shops["postgres"].engine
    assert isinstance(engine, Served)
    engine.execute(MEDIAN)
    yield Bench(shops, desks, engine._owner)
    for session in sessions:
        session.close()


_CUT = 0.3
"""The share of a group's rows that a chosen C may take off in a world of a few people, of whom one has more than others."""


def check(number: int, bench: Bench, versions: Sequence[str] = VERSIONS) -> tuple[Written, str]:
    """Ask the statement of a number; return it, and by which rule it was refused, if it was."""
    statement, world = written(number), number // 2 % WORLDS
    first, second = (bench.shops[name] for name in (ENGINES if number % 2 else ENGINES[::-1]))
    desk = bench.desks[ENGINES[not number % 2]]
    try:
        asked = Asked(desk, desk.priced(statement.sql, statement.user))
    except (EngineFailed, InternalError):
        raise
    except DpsqlError as refused:
        return statement, str(refused.because)
    assert cost(asked.priced) <= desk.policy.roles[USERS[statement.user]].per_query.epsilon
    for part in asked.measurements():
        own, *answers = asked_of(first, part.sql(first), world, (MODEST, *versions))
        moves(part, dict(zip(versions, map(part.exact, answers), strict=True)))
        (other,) = asked_of(second, part.sql(second), world, [MODEST])
        assert list(part.exact(own).items()) == list(part.exact(other).items())
        part.release(own)
    units = [unit for table in desk.policy.tables.values() for unit in table.units.values()]
    expected = fetched(bench.reference, meant(statement.sql, desk.policy, world))
    compare(statement, asked.answer(), expected, cut=any(unit.up_to for unit in units))
    return statement, ""


def moves(completed: Completed, exacts: Mapping[str, Exact]) -> None:
    """See that neither an order of rows, nor nobody's rows, move anything, and no unit further than claimed."""
    measured, whole = Measured(completed.part.measurement, completed.asked.desk.shop.engine, ""), exacts[WHOLE]
    for version, other in exacts.items():
        if version in NEIGHBOURS:
            assert measured.distance(whole, other) <= measured.claim
            assert [key for key in other if key in whole] == [key for key in whole if key in other]
            assert _found(completed, whole, other)
        else:
            assert list(other.items()) == list(whole.items())


def _found(completed: Completed, whole: Exact, other: Exact) -> bool:
    """Return whether a unit is in no more groups that are found than it may be."""
    part = completed.part.measurement
    return not isinstance(part, Sums) or not part.delta or len(whole.keys() - other.keys()) <= part.bound.rows


def compare(statement: Written, answer: Answer, expected: Answer, *, cut: bool) -> None:
    """Compare group by group; what has no rows is nothing, and a C that is chosen may `cut` rows of a unit that has more."""
    assert answer.names == expected.names
    assert answer.types == expected.types
    answered, wanted = _by_key(statement, answer.rows), _by_key(statement, expected.rows)
    assert wanted.keys() <= answered.keys()
    nothing = (None,) * len(statement.exact)
    for key, row in answered.items():
        pairs = zip(row, wanted.get(key, nothing), statement.exact, strict=True)
        near = _CUT if cut else 1e-4 if statement.user == "ana" else 0.05
        assert all(_alike(value, right, near) for value, right, exact in pairs if exact), (key, row, wanted.get(key))


def _by_key(statement: Written, rows: Sequence[tuple[object, ...]]) -> dict[tuple[object, ...], tuple[object, ...]]:
    by_key = {row[: statement.keys]: row[statement.keys :] for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def _alike(value: object, right: object, near: float) -> bool:
    if value is None or right is None:
        return not value and not right
    if isinstance(value, timedelta) and isinstance(right, timedelta):
        value, right = value.total_seconds(), right.total_seconds()
    if isinstance(value, float | Decimal) and isinstance(right, float | Decimal):
        return math.isclose(value, right, rel_tol=near, abs_tol=10 * near)
    if near == _CUT and isinstance(value, int) and isinstance(right, int):
        return math.isclose(value, right, rel_tol=near, abs_tol=2)
    return value == right
