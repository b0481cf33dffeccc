"""Rows of heavy units that are kept beside the records change no claim and no integer: tried as in `test_sensitivity`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.measurement.plan import Measurement, as_chosen
from dpsql.privacy.measurement.rows_per_unit import RowsPerUnit
from dpsql.privacy.measurement.sums import Sums
from tests.properties.test_sensitivity import databases
from tests.support.beside import Beside, Way
from tests.support.exactness import Measured, measurements
from tests.support.fix_dirty import Records
from tests.support.fix_policy import with_chosen_rows, with_rows
from tests.support.fix_shop import PUBLIC, Shops, completed, read_shop
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.samples import slow, spread
from tests.support.shapes import SHAPES

MOST, OF = 3, 40
"""The bound, and of how many statements `make test-long` tries one in each way."""


@pytest.fixture(scope="module")
def bounded(policy: Policy) -> Policy:
    """Give the policy with a bound that units pass."""
    return with_rows(policy, "rides", "passenger", MOST)


@pytest.fixture(scope="module")
def usual(bounded: Policy) -> Memory:
    """Give tables with nothing beside them."""
    return Memory(bounded)


@pytest.fixture(scope="module")
def beside(bounded: Policy) -> Callable[[Way], Beside]:
    """Give tables with their heavy rows beside them, kept in a way."""
    made: dict[Way, Beside] = {}

    def beside(way: Way) -> Beside:
        made[way] = made.get(way) or Beside(bounded, way)
        return made[way]

    return beside


def _measured(sql: str, policy: Policy, world: World, engine: Memory) -> Sequence[Measured]:
    parts: Sequence[Measurement] = measurements(sql, policy, world, engine)
    return [Measured.of(part, engine, world) for part in parts]


def _shapes() -> Iterator[pytest.ParameterSet]:
    for sql in SHAPES:
        for place, way in enumerate(Way):
            yield pytest.param(sql, way, marks=() if spread(sql, OF) == place else slow)


@pytest.mark.parametrize(("sql", "way"), list(_shapes()))
def test_no_unit_moves_what_is_summed_further_than_claimed(
    sql: str, way: Way, bounded: Policy, world: World, beside: Callable[[Way], Beside], usual: Memory
) -> None:
    """The integers are those of the tables alone, and taking a unit away moves them by at most the sensitivity."""
    for kept, plain in zip(*(_measured(sql, bounded, world, memory) for memory in (beside(way), usual)), strict=True):
        for rows in databases(bounded.tables["rides"], "rider", MOST, sql):
            assert max(kept.moves("rides", rows, "rider")) <= kept.claim
            for engine in (kept.engine, plain.engine):
                engine.fill("rides", rows)
            assert kept.exact() == plain.exact()


@pytest.mark.parametrize("way", Way)
def test_dirty_records_have_the_same_integers(
    policy: Policy, records: Records, world: World, way: Way, tmp_path: Path
) -> None:
    """For passengers and for drivers, whatever their rows hold, in statements of each kind."""
    asked = (
        ("owner", "SELECT count(*), sum(fare), avg(tip) FROM trips"),
        ("owner", "SELECT payment_type, count(*), sum(fare) FROM trips GROUP BY 1"),
        ("owner", "SELECT sum(fare) FROM trips WHERE tip > 1"),
        ("owner", "SELECT median(fare) FROM trips"),
        (
            "third_party",
            "SELECT z.borough, count(*), avg(fare) FROM trips JOIN zones z ON zone_id = pickup_zone GROUP BY 1",
        ),
        ("owner", "SELECT paid, count(*), sum(fare) FROM rides GROUP BY 1"),
    )
    low = with_rows(
        with_rows(with_rows(policy, "trips", "passenger", 5), "trips", "driver", 9), "rides", "passenger", 2
    )
    engines = (Beside(low, way), Memory(low))
    for engine in engines:
        for table, rows in records.items():
            engine.load(table, rows, tmp_path)
    for role, sql in asked:
        parts = measurements(sql, low, world, engines[0], role)
        kept, plain = ([Measured.of(part, engine, world) for part in parts] for engine in engines)
        assert all('FROM kept.main."' in part.sql for part in kept)
        assert [part.exact() for part in kept] == [part.exact() for part in plain]
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize(("missed", "within"), [(0, True), (1, False)], ids=["kept", "not kept"])
def test_a_unit_of_one_row_too_many_has_to_be_kept(
    bounded: Policy, world: World, way: Way, missed: int, *, within: bool
) -> None:
    """It moves a count by what is claimed; were it taken for one that keeps to its bound, by more."""
    engine = Beside(bounded, way, missed=missed)
    (measured,) = _measured("SELECT count(*) FROM rides", bounded, world, engine)
    rows = [row for row in next(databases(bounded.tables["rides"], "rider", MOST + 1, "")) if row["rider"] == 1]
    assert len(rows) == MOST + 1
    assert (max(measured.moves("rides", rows, "rider")) <= measured.claim) is within
    engine.close()


@pytest.mark.parametrize(("missed", "within"), [(0, True), (1, False)], ids=["kept", "not kept"])
def test_kept_rows_serve_a_join_along_the_key_of_units(
    shops: Shops, tmp_path: Path, missed: int, *, within: bool
) -> None:
    """Whichever table stands first: each order is in one joined row, so that its buyer has no more of these than orders."""
    policy = read_shop(tmp_path)
    engine = Beside(policy, missed=missed, public=PUBLIC)
    shop = replace(next(iter(shops.values())).world, policy=policy, public=read_public(policy, engine))
    sql = "SELECT count(*) FROM customers AS c JOIN orders AS o ON c.customer = o.buyer"
    (measured,) = _measured(sql, policy, shop, engine)
    assert 'kept.main."orders by buyer"' in measured.sql
    engine.fill("customers", completed(policy, "customers", [{"customer": 1}]))
    most = policy.tables["orders"].units["customer"].max_rows
    rows = completed(policy, "orders", [{"order_id": order, "buyer": 1} for order in range(most + 1)])
    assert (max(measured.moves("orders", rows, "buyer")) <= measured.claim) is within
    engine.close()


def test_kept_rows_serve_where_no_row_is_doubled(
    bounded: Policy, world: World, beside: Callable[[Way], Beside]
) -> None:
    """Conditions and joins along keys add no rows; a join that does, or a lower bound, finds heavy units itself."""
    engine = beside(Way.ROWS)

    def kept(sql: str, policy: Policy = bounded) -> bool:
        (measured,) = _measured(sql, policy, world, engine)
        return 'kept.main."rides by rider"' in measured.sql

    assert kept("SELECT count(*) FROM rides WHERE fare > 10")
    assert kept("SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.zone_id = r.from_zone GROUP BY 1")
    assert not kept("SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.borough = r.paid GROUP BY 1")
    assert not kept("SELECT count(*) FROM (SELECT rider, fare FROM rides UNION ALL SELECT rider, fare FROM rides) AS u")
    assert not kept("SELECT count(*) FROM rides", with_rows(bounded, "rides", "passenger", MOST - 1))
    assert kept("SELECT count(*) FROM rides", with_rows(bounded, "rides", "passenger", MOST + 1))


@pytest.mark.parametrize("way", [way if way is Way.SOME else pytest.param(way, marks=slow) for way in Way])
def test_bounds_are_chosen_by_the_same_cells(policy: Policy, world: World, way: Way) -> None:
    """Those of a whole table are read off the numbers that are kept, others off rows of units with several. So are sums."""
    chosen = with_chosen_rows(policy, "rides", "passenger", most=MOST)
    engines = (Beside(chosen, way), Memory(chosen))
    for sql, is_kept in (
        ("SELECT count(*), sum(fare) FROM rides", True),
        ("SELECT paid, count(*) FROM rides GROUP BY 1", True),
        ("SELECT median(fare) FROM rides", True),
        ("SELECT sum(fare) FROM rides", False),
        ("SELECT count(*) FROM rides WHERE fare > 10", False),
        ("SELECT count(DISTINCT rider), max(fare) FROM rides GROUP BY paid", False),
        ("SELECT count(*) FROM rides JOIN zones ON zone_id = from_zone", False),
    ):
        for part in measurements(sql, chosen, world, engines[0]):
            assert isinstance(part, (Sums, Histogram))
            if part.bound.up_to is None:
                continue
            for measurement in (RowsPerUnit(part), *(as_chosen(part, rows) for rows in (2, MOST, MOST + 1))):
                kept, plain = (Measured.of(measurement, engine, world) for engine in engines)
                if isinstance(measurement, RowsPerUnit):
                    assert 'kept.main."rides by rider' in kept.sql
                    assert ('kept.main."rides by rider: numbers"' in kept.sql) is is_kept
                for rows in databases(policy.tables["rides"], "rider", 2 * MOST, sql):
                    assert max(kept.moves("rides", rows, "rider")) <= kept.claim
                    for engine in engines:
                        engine.fill("rides", rows)
                    assert kept.exact() == plain.exact()
    for engine in engines:
        engine.close()


def _moves_as_claimed(search: RowsPerUnit, policy: Policy, world: World, engines: Sequence[Memory], name: str) -> None:
    """See that no unit moves a measurement further than claimed, and that what is kept changes no integer."""
    kept, plain = (Measured.of(search, engine, world) for engine in engines)
    for rows in databases(policy.tables["rides"], "rider", 2 * MOST, name):
        assert max(kept.moves("rides", rows, "rider")) <= kept.claim
        for engine in engines:
            engine.fill("rides", rows)
        assert kept.exact() == plain.exact()


@pytest.mark.parametrize("way", [Way.ROWS, Way.ALL])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM rides JOIN zones ON zone_id >= from_zone",
        "SELECT borough, sum(fare) FROM rides JOIN zones ON zone_id >= from_zone WHERE fare > 0 GROUP BY 1",
    ],
)
def test_bounds_are_chosen_where_a_row_becomes_several(policy: Policy, world: World, way: Way, sql: str) -> None:
    """A unit with one row in the table may have many measured ones: it is told apart, and moves the ladder no further."""
    chosen = with_chosen_rows(policy, "rides", "passenger", most=4 * MOST)
    engines = (Beside(chosen, way), Memory(chosen))
    for part in measurements(sql, chosen, world, engines[0]):
        assert isinstance(part, Sums)
        assert part.bound.up_to is not None
        _moves_as_claimed(RowsPerUnit(part), chosen, world, engines, sql)
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM rides WHERE fare > 10", "SELECT sum(fare) FROM rides"])
def test_a_ladder_beyond_the_declared_bound_misses_nobody(bounded: Policy, world: World, sql: str) -> None:
    """Of a declared C the rows of units are kept that have more: the others have several, too, and are none of one row."""
    engines = (Beside(bounded, Way.ROWS), Memory(bounded))
    (part,) = measurements(sql, bounded, world, engines[0])
    assert isinstance(part, Sums)
    further = RowsPerUnit(replace(part, bound=replace(part.bound, up_to=4 * MOST)))
    _moves_as_claimed(further, bounded, world, engines, sql)
    for engine in engines:
        engine.close()
