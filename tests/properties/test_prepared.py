"""What a snapshot keeps beside the columns changes no claim: tried as in `test_sensitivity`, on its tables."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dpsql.policy.model import Policy
from dpsql.privacy.measurement.plan import Measurement
from dpsql.rewrite.emit.columns import quoted
from tests.properties.test_sensitivity import databases
from tests.support.exactness import Measured, measurements
from tests.support.fix_dirty import Records
from tests.support.fix_policy import with_rows
from tests.support.fix_world import World
from tests.support.memory import Memory
from tests.support.prepared import Prepared, reads_kept
from tests.support.samples import slow, spread
from tests.support.shapes import SHAPES

MOST, OF = 3, 40
"""The bound, and of how many statements `make test` tries one."""


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


def _measured(sql: str, bounded: Policy, world: World, engine: Memory) -> Sequence[Measured]:
    found: Sequence[Measurement] = measurements(sql, bounded, world, engine)
    return [Measured.of(one, engine, world) for one in found]


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


def test_what_is_kept_is_what_its_text_comes_to(policy: Policy, records: Records, tmp_path: Path) -> None:
    """In every row, whatever is in it: undeclared texts, none, NaN, and numbers beyond the bounds."""
    engine = Prepared(policy)
    for table, rows in records.items():
        engine.load(table, rows, tmp_path)
        for text, name in engine.kept(table).texts.items():
            sql = f"SELECT count(*) FROM {engine.named(table)} AS s0 WHERE ({text}) IS DISTINCT FROM s0.{quoted(name)}"
            assert engine.execute(sql) == [(0,)]
    engine.close()


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
