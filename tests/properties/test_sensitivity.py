"""Exhaustive, without statistics: no unit moves a measurement further than its noise is made for.

For every statement here, on many tiny databases full of edge cases, each unit's rows are taken away, and the exact
coordinates move by at most `Sums.sensitivity` in the norm Σ_groups max|coordinate|. The claim is attained on one of the
databases, so that it is not kept by being larger than need be, nor by a measurement that sees nothing.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest

from dpsql.policy.model import Policy, Table, UnitBound
from dpsql.privacy.measurement.plan import Measurement
from dpsql.privacy.measurement.sums import Sums
from dpsql.privacy.mechanisms.gaussian_selection import weights
from tests.support.exactness import Measured, key_searches, measurements, moves_of_each
from tests.support.fix_engines import ENGINES, Engines
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.records import Maker, Row
from tests.support.samples import slow, spread
from tests.support.schema import of
from tests.support.shapes import ATTAINED, FOUND, SHAPES


def databases(table: Table, unit: str, most: int, seed: str) -> Iterator[Sequence[Row]]:
    """Yield databases of up to three units with none to twice as many rows as they may have, and of nobody's rows."""
    draw = random.Random(seed)  # noqa: S311  (synthetic records)
    for number in range(3):
        maker = Maker(draw.randrange(2**32), dirt=(0.0, 0.1, 0.5)[number], edges=(1.0, 0.5, 0.5)[number])
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


Planned = Callable[[str, int, str], tuple[Measurement, ...]]


@pytest.fixture(scope="module")
def planned(policy: Policy, world: World) -> Iterator[Planned]:
    """Give a function that plans a statement for a bound and a role, once for all engines, whose constraints are alike."""
    engine = Memory(policy)

    @cache
    def planned(sql: str, most: int, role: str) -> tuple[Measurement, ...]:
        return measurements(sql, with_rows(policy, "rides", "passenger", most), world, engine, role)

    yield planned
    engine.close()


QUICK = (("duckdb", 1), ("postgres", 3))
"""Engines and bounds that are always tried; the others are slow."""
EACH = [pytest.param(e, n, marks=() if (e, n) in QUICK else slow) for e in ENGINES for n in (1, 3)]


ATTAINING = 3
"""Databases by this number let each shape attain its claim that can."""


def _shapes() -> Iterator[pytest.ParameterSet]:
    """Yield shapes, ten on the same databases, with each engine and bound.

    One row a unit is tried on one engine, three on the faster one.
    """
    for place, own_engine in enumerate(ENGINES):
        shapes = [sql for sql in SHAPES if spread(sql, len(ENGINES)) == place]
        quick = (("postgres", 3), (own_engine, 1))
        for first, e, n in itertools.product(range(0, len(shapes), 10), ENGINES, (1, 3)):
            name, marks = f"{own_engine}'s {first}-{e}-{n}", () if (e, n) in quick else slow
            yield pytest.param(shapes[first : first + 10], e, n, id=name, marks=marks)


@pytest.mark.parametrize(("shapes", "dialect", "most"), list(_shapes()))
def test_no_unit_moves_it_further_than_claimed(
    shapes: Sequence[str], dialect: str, most: int, world: World, tiny: Engines, planned: Planned
) -> None:
    """Taking one passenger's rows away moves the coordinates by at most the sensitivity."""
    asked = [(sql, part) for sql in shapes for part in planned(sql, most, "owner")]
    measured = [Measured.of(part, tiny[dialect], world) for _, part in asked]
    filled = databases(world.policy.tables[of("rides")], "rider", most, f"{shapes[0]} {ATTAINING}")
    moves = [moved for rows in filled for moved in moves_of_each(measured, "rides", rows, "rider")]
    for (sql, _), each, moved in zip(asked, measured, zip(*moves, strict=True), strict=True):
        assert max(moved) <= each.claim, sql
        assert max(moved) == each.claim or sql not in ATTAINED or most > 1, sql


@pytest.mark.parametrize(("dialect", "most"), EACH)
@pytest.mark.parametrize("sql", FOUND, ids=range(len(FOUND)))
def test_a_unit_is_in_few_of_the_groups_found_out(
    sql: str, dialect: str, most: int, world: World, tiny: Engines, planned: Planned
) -> None:
    """Where keys are not declared a unit is in at most C groups, the number that the threshold is made for."""
    engine = tiny[dialect]
    (sums,) = planned(sql, most, "explorer")
    measured, seen = Measured.of(sums, engine, world), []
    for rows in databases(world.policy.tables[of("rides")], "rider", most, sql):
        assert max(measured.moves("rides", rows, "rider")) <= measured.claim
        for unit in (1, 2, 3):
            engine.fill("rides", [row for row in rows if row["rider"] == unit])
            seen.append(len(measured.exact()))
    assert max(seen) == sums.bound.rows == most


@pytest.mark.parametrize(("dialect", "most"), EACH)
@pytest.mark.parametrize("sql", FOUND, ids=range(len(FOUND)))
def test_a_unit_adds_no_more_than_one_to_its_keys(
    sql: str, dialect: str, most: int, policy: Policy, world: World, tiny: Engines
) -> None:
    """Where keys are found by units, a unit moves at most C of them, by squares that come to W² at most.

    Alone it adds ⌊W/√g⌋ to each of its g keys: what the threshold is made for.
    """
    policy, engine = with_rows(policy, "rides", "passenger", most), tiny[dialect]
    (search,) = key_searches(sql, policy, world, engine, "explorer")
    measured, seen, added = Measured.of(search, engine, world), [], set[int]()
    for rows in databases(policy.tables[of("rides")], "rider", most, sql):
        moves = list(measured.moves("rides", rows, "rider"))
        assert max(moves) <= measured.claim
        added |= set(moves)
        for unit in (1, 2, 3):
            engine.fill("rides", [row for row in rows if row["rider"] == unit])
            alone = [number for (number,) in measured.exact().values()]
            assert set(alone) <= {_weight(most, len(alone))}
            seen.append(len(alone))
    assert max(seen) == search.bound.rows == most
    assert most > 1 or max(added) == measured.claim


def _weight(most: int, keys: int) -> int:
    """Return what a unit may add to each of so many keys."""
    return next((step.weight for step in weights(most) if keys <= step.keys), 0)


@pytest.mark.parametrize(("role", "alone"), [("owner", False), ("auditor", True)])
def test_a_scale_is_never_rounded_down(role: str, *, alone: bool, policy: Policy, world: World) -> None:
    """Noise is made for the sensitivity, or for that of every statistic by itself, and for less than one step more."""
    (sums,) = measurements("SELECT count(*), sum(fare), avg(tip) FROM rides", policy, world, Memory(policy), role)
    for epsilon in (Fraction(1, 3), Fraction(7, 11), Fraction(10**9 + 7), Fraction(10**30)):
        paid = replace(sums, epsilon=epsilon)
        assert isinstance(paid, Sums)
        claim = paid.sensitivity * (len(paid.features) if alone else 1)
        assert (paid.scale - 1) * epsilon < claim <= paid.scale * epsilon


@pytest.mark.parametrize("one_of", [len(ENGINES), pytest.param(1, marks=slow)], ids=["half", "all"])
@pytest.mark.parametrize("dialect", ENGINES)
def test_rows_of_nobody_change_nothing(
    dialect: str, one_of: int, policy: Policy, world: World, tiny: Engines, planned: Planned
) -> None:
    """A row without a unit, were it in a list or a window, could change what other units count for."""
    every = [*((sql, "owner") for sql in SHAPES), *((sql, "explorer") for sql in FOUND)]
    asked = [(sql, role) for sql, role in every if spread(sql, one_of) == ENGINES.index(dialect) % one_of]
    parts = [part for sql, role in asked for part in planned(sql, 3, role)]
    rows = [row for filled in databases(policy.tables[of("rides")], "rider", 3, "nobody") for row in filled]
    exact = []
    for filled in (rows, [row for row in rows if row["rider"] is not None]):
        tiny[dialect].fill("rides", filled)
        exact.append([Measured.of(part, tiny[dialect], world).exact() for part in parts])
    assert len(filled) < len(rows)
    assert exact[0] == exact[1]


def test_units_that_double_precision_can_not_tell_apart(policy: Policy, world: World) -> None:
    """Units of type numeric are compared as they are stored: a light one keeps its weight beside a heavy one."""
    rides = policy.tables[of("rides")]
    policy = replace(
        policy, tables={**policy.tables, rides.name: replace(rides, units={"passenger": UnitBound("price", 2)})}
    )
    engine = Memory(policy)
    (sums,) = measurements("SELECT shared, count(*) FROM rides GROUP BY shared", policy, world, engine)
    heavy, light = Decimal("99999999999999.9999"), Decimal("99999999999999.9998")
    rows = [Maker(1).row(rides) | {"price": price, "shared": price == light} for price in [*[heavy] * 40, *[light] * 2]]
    assert float(heavy) == float(light)
    measured = Measured.of(sums, engine, world)
    assert max(measured.moves("rides", rows, "price")) <= measured.claim


def test_units_with_one_row_by_constraint(policy: Policy, world: World) -> None:
    """Where the engine itself keeps a unit to one row nothing is weighed, and the claim is one row."""
    engine = Memory(policy, unique=["rider"])
    (sums,) = measurements("SELECT paid, count(*), sum(fare) FROM rides GROUP BY paid", policy, world, engine)
    rows = [Maker(n, edges=0.5).row(policy.tables[of("rides")]) | {"rider": n} for n in range(6)]
    measured = Measured.of(sums, engine, world)
    assert isinstance(sums, Sums)
    assert max(measured.moves("rides", rows, "rider")) == measured.claim == sums.row_norm


def test_a_constraint_of_another_schema_bounds_nothing(policy: Policy, world: World) -> None:
    """A table of the same name elsewhere in the file says nothing about this one."""
    engine = Memory(policy)
    engine.execute("CREATE SCHEMA other; CREATE TABLE other.rides (rider INTEGER PRIMARY KEY)")
    (sums,) = measurements("SELECT count(*) FROM rides", policy, world, engine)
    assert sums.bound.rows == 20


def test_other_kinds_of_unit(policy: Policy, world: World) -> None:
    """The bound is that of the kind that the role protects; its unit may be a text."""
    policy = with_rows(policy, "rides", "driver", 2)
    engine = Memory(policy)
    (sums,) = measurements("SELECT shared, count(*) FROM rides GROUP BY 1", policy, world, engine, "third_party")
    filled = databases(policy.tables[of("rides")], "driver", 2, "drivers")
    measured = Measured.of(sums, engine, world)
    moves = [move for rows in filled for move in measured.moves("rides", rows, "driver")]
    assert max(moves) == measured.claim
