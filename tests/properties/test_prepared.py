"""What a snapshot keeps beside the columns changes no claim: tried as in `test_sensitivity`, on its tables."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dpsql.gateway.catalogue.public_tables import read_public
from dpsql.policy.model import Policy
from dpsql.privacy.measurement.contribution import ContributionBound, Form
from dpsql.privacy.measurement.engine_sql import BoundedScan
from dpsql.privacy.measurement.plan import Measurement
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.emit.emitter import Emitter, quote_name
from dpsql.rewrite.ir.relation import ref
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements
from tests.support.fix_dirty import Records
from tests.support.fix_policy import with_rows
from tests.support.fix_shop import PUBLIC, Shops, completed, read_shop
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.prepared import Prepared, reads_kept
from tests.support.records import ZONES
from tests.support.samples import slow, spread
from tests.support.shapes import SHAPES

MOST, OF = 3, 40
"""The bound, and of how many statements `make test-long` tries one."""


@pytest.fixture(scope="module")
def bounded(policy: Policy) -> Policy:
    """Give the policy with a bound that units pass."""
    return with_rows(policy, "rides", "passenger", MOST)


@pytest.fixture(scope="module")
def prepared(bounded: Policy) -> Prepared:
    """Give tables as a snapshot's."""
    return Prepared(bounded)


@pytest.fixture(scope="module")
def usual(bounded: Policy) -> Memory:
    """Give tables of their own columns."""
    return Memory(bounded)


@pytest.fixture(scope="module")
def of_dirt(policy: Policy, records: Records, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    """Give tables of a snapshot of dirty records."""
    engine, directory = Prepared(policy), tmp_path_factory.mktemp("dirt")
    for table, rows in records.items():
        engine.load(table, rows, directory)
    yield engine
    engine.close()


def _measured(sql: str, bounded: Policy, world: World, engine: Memory) -> Sequence[Measured]:
    parts: Sequence[Measurement] = measurements(sql, bounded, world, engine)
    return [Measured.of(part, engine, world) for part in parts]


@pytest.mark.parametrize("sql", [pytest.param(s, marks=() if spread(s, OF) == 0 else slow) for s in SHAPES])
def test_no_unit_moves_prepared_tables_further_than_claimed(
    sql: str, bounded: Policy, world: World, prepared: Prepared, usual: Memory
) -> None:
    """The integers are those of the columns alone, and taking a unit away moves them by at most the sensitivity."""
    for kept, plain in zip(*(_measured(sql, bounded, world, engine) for engine in (prepared, usual)), strict=True):
        for rows in databases(bounded.tables["rides"], "rider", MOST, sql):
            assert max(kept.moves("rides", rows, "rider")) <= kept.claim
            for engine in (prepared, usual):
                engine.fill("rides", rows)
            assert kept.exact() == plain.exact()


@pytest.mark.parametrize(("missed", "within"), [(0, True), (1, False)], ids=["marked", "not marked"])
def test_a_unit_of_one_row_too_many_has_to_be_marked(bounded: Policy, world: World, missed: int, within: bool) -> None:
    """It moves a count by what is claimed; were it taken for one that keeps to its bound, by more."""
    engine = Prepared(bounded, missed=missed)
    (measured,) = _measured("SELECT count(*) FROM rides", bounded, world, engine)
    rows = [row for row in next(databases(bounded.tables["rides"], "rider", MOST + 1, "")) if row["rider"] == 1]
    assert len(rows) == MOST + 1
    assert (max(measured.moves("rides", rows, "rider")) <= measured.claim) is within


@pytest.mark.parametrize("table", ["trips", "rides"])
def test_what_is_kept_is_what_its_text_comes_to(of_dirt: Prepared, table: str) -> None:
    """In every row, whatever is in it: undeclared texts, none, NaN, and numbers beyond the bounds."""
    texts = of_dirt.kept(table).texts
    different = (
        f"count(*) FILTER (WHERE ({text}) IS DISTINCT FROM s0.{quote_name(name)})" for text, name in texts.items()
    )
    assert of_dirt.execute(f"SELECT {', '.join(different)} FROM {of_dirt.named(table)} AS s0") == [(0,) * len(texts)]
    assert len(texts) > 1


@pytest.mark.parametrize(("table", "unit"), [("trips", "passenger_id"), ("rides", "rider"), ("rides", "driver")])
def test_each_unit_has_a_number_of_its_own(of_dirt: Prepared, table: str, unit: str) -> None:
    """In all its rows, and nobody has one."""
    number = quote_name(of_dirt.kept(table).units[unit])
    pairs = f"SELECT DISTINCT {quote_name(unit)} AS u, {number} AS n FROM {of_dirt.named(table)}"
    both = "count(*) FILTER (WHERE u IS NOT NULL AND n IS NOT NULL)"
    counted = f"count(*), count(DISTINCT u), count(DISTINCT n), {both}"
    ((number_of_pairs, units, numbers, with_both),) = of_dirt.execute(
        f"SELECT {counted} FROM ({pairs}) WHERE u IS NOT NULL OR n IS NOT NULL"
    )
    assert number_of_pairs == units == numbers == with_both != 0


@pytest.mark.parametrize(("sharing", "within"), [(1, True), (2, False)], ids=["own", "shared"])
def test_units_that_share_a_number_move_each_other(bounded: Policy, world: World, sharing: int, within: bool) -> None:
    """Whoever goes would give the other's groups their weight back: more than is claimed."""
    engine = Prepared(bounded, sharing=sharing)
    sql = "SELECT from_zone, to_zone, count(DISTINCT rider) FROM rides GROUP BY 1, 2"
    (measured,) = _measured(sql, bounded, world, engine)
    zones = [row["zone_id"] for row in ZONES]
    ways = [{"from_zone": zone, "to_zone": other} for zone, other in itertools.product(zones, repeat=2)]
    row = next(databases(bounded.tables["rides"], "rider", MOST, ""))[0]
    heavy = [row | {"rider": 1}] * (MOST + 1)  # has the first number, which is nobody else's when halved
    others = (row | {"rider": 2 if place < MOST else 3} | way for place, way in enumerate(ways))
    rows = [*heavy, *others]
    assert (max(measured.moves("rides", rows, "rider")) <= measured.claim) is within


def test_units_are_called_by_numbers_where_they_are_only_told_apart(
    bounded: Policy, world: World, prepared: Prepared
) -> None:
    """Not where some of a unit's rows are selected, by an order that is the unit's own."""
    number = prepared.kept("rides").units["rider"]

    def numbers(sql: str) -> bool:
        (measured,) = _measured(sql, bounded, world, prepared)
        return number in reads_kept(measured.sql, "rides", prepared)

    assert numbers("SELECT count(DISTINCT rider) FROM rides")
    assert numbers("SELECT from_zone, count(DISTINCT rider) FROM rides GROUP BY 1")
    assert numbers("SELECT min(fare) FROM rides")
    assert not numbers("SELECT count(DISTINCT number) FROM rides")
    assert not numbers("SELECT count(*), sum(fare) FROM rides")


@pytest.mark.parametrize("form", Form)
def test_a_selection_of_rows_is_ordered_by_what_names_the_unit(bounded: Policy, prepared: Prepared, form: Form) -> None:
    """A number would give it another order when somebody else goes; and a row that a LEFT JOIN makes up has none."""
    unit = ref(0, bounded.tables["rides"], "rider")
    emitter = Emitter(prepared.dialect, DeclaredFacts({}), prepared.named, prepared.kept)
    scan = BoundedScan((), ContributionBound(unit, MOST, form), emitter, "")
    number = f"s0.{quote_name(prepared.kept('rides').units['rider'])}"
    assert scan.told_apart().unit == ('s0."rider"' if form is Form.TRUNCATE else number)
    assert (
        replace(scan, bound=ContributionBound(replace(unit, optional=True), MOST, form)).told_apart().unit
        == 's0."rider"'
    )


def test_texts_are_grouped_by_the_numbers_that_are_kept(bounded: Policy, world: World, prepared: Prepared) -> None:
    """Of declared values; under a condition that leaves fewer of them the numbers are others, and are computed."""
    texts = prepared.kept("rides").texts
    number = next(name for text, name in texts.items() if text.startswith("list_position(") and '"paid"' in text)

    def reads(sql: str) -> bool:
        (measured,) = _measured(sql, bounded, world, prepared)
        return number in reads_kept(measured.sql, "rides", prepared)

    assert reads("SELECT paid, count(*) FROM rides GROUP BY paid")
    assert reads("SELECT paid, count(*) FROM rides WHERE fare > 10 GROUP BY paid")
    assert not reads("SELECT paid, count(*) FROM rides WHERE paid <> 'cash' GROUP BY paid")
    assert not reads("SELECT count(*) FROM rides")


@pytest.mark.parametrize(("missed", "within"), [(0, True), (1, False)], ids=["marked", "not marked"])
def test_a_mark_serves_a_join_along_the_key_of_units(shops: Shops, tmp_path: Path, missed: int, within: bool) -> None:
    """Whichever table stands first: each order is in one joined row, so that its buyer has no more of these than orders."""
    policy = read_shop(tmp_path)
    engine = Prepared(policy, missed=missed, public=PUBLIC)
    shop = replace(next(iter(shops.values())).world, policy=policy, public=read_public(policy, engine))
    sql = "SELECT count(*) FROM customers AS c JOIN orders AS o ON c.customer = o.buyer"
    (measured,) = _measured(sql, policy, shop, engine)
    assert engine.kept("orders").heavy["buyer"].column in reads_kept(measured.sql, "orders", engine)
    engine.fill("customers", completed(policy, "customers", [{"customer": 1}]))
    most = policy.tables["orders"].units["customer"].max_rows
    rows = completed(policy, "orders", [{"order_id": order, "buyer": 1} for order in range(most + 1)])
    assert (max(measured.moves("orders", rows, "buyer")) <= measured.claim) is within
    engine.close()


def test_a_mark_serves_where_no_row_is_doubled(bounded: Policy, world: World, prepared: Prepared) -> None:
    """Conditions and joins along keys add no rows; a join that does, or a bound below the mark's, weighs every row."""
    mark = prepared.kept("rides").heavy["rider"].column

    def marks(sql: str, policy: Policy = bounded) -> bool:
        (measured,) = _measured(sql, policy, world, prepared)
        return mark in reads_kept(measured.sql, "rides", prepared)

    assert marks("SELECT count(*) FROM rides WHERE fare > 10")
    assert marks("SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.zone_id = r.from_zone GROUP BY 1")
    assert not marks("SELECT z.borough, count(*) FROM rides r JOIN zones z ON z.borough = r.paid GROUP BY 1")
    assert not marks("SELECT count(*) FROM rides", with_rows(bounded, "rides", "passenger", MOST - 1))
    assert marks("SELECT count(*) FROM rides", with_rows(bounded, "rides", "passenger", MOST + 1))
