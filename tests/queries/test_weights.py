"""Units over their bound: every row of theirs counts for less, as mass scaling says, and PostgreSQL is told the weights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.policy.model import Policy
from dpsql.question import Asker
from tests.support.dirt import heavy, trips
from tests.support.fix_policy import of_unknown_size
from tests.support.fix_world import USERS, Client, World, noon
from tests.support.memory import Memory
from tests.support.reference import Reference

C, W = 20, 2**16
WEIGHTED = """
WITH kept AS (SELECT * FROM trips WHERE {where}),
  weights AS (SELECT passenger_id AS unit, trunc({mass} / greatest(count(*), {c})) / {w} AS w FROM kept GROUP BY 1),
  rows AS (SELECT {key} AS key, w, fare AS x FROM kept JOIN weights ON unit = passenger_id),
  sums AS (SELECT key, sum(w) AS n, sum(w * x) AS s, sum(w * x * x) AS q FROM rows GROUP BY key)
SELECT key, round(n), s, s / n, q / n - (s / n) ^ 2 FROM sums ORDER BY key
"""
CASES = (
    ("TRUE", "payment_type"),
    ("fare > 20", "pickup_zone"),
    ("payment_type = 'cash' AND tip > 1", "passenger_count"),
    ("pickup_ts < '2019-03-05'", "date_trunc('day', pickup_ts)"),
)
"""Conditions and keys; a unit's weights are made after the condition."""
STEP = 150 / 2048
"""Values are rounded to a lattice this fine."""


@pytest.fixture(scope="module")
def overweight(
    policy: Policy, world: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, Reference]]:
    """A client and the reference, over records of which three units have every third."""
    directory: Path = tmp_path_factory.mktemp("heavy")
    rows = heavy(trips(policy), "passenger_id", 3)
    engine = Memory(policy)
    engine.load("trips", rows, directory)
    reference = Reference.of(world, {"trips": rows, "rides": []}, "overweight")
    with (
        SqliteLedger(directory / "ledger.db", noon) as ledger,
        world.connect("ana") as ana,
        world.connect("dpsql_owner") as own,
    ):
        gateway = world.gateway(engine, ledger, policy=of_unknown_size(policy, "trips"))
        yield Client(gateway, ledger, ana, own, Asker("ana", USERS["ana"])), reference
    reference.connection.close()
    engine.close()


@pytest.mark.parametrize(("where", "key"), CASES)
def test_weighted_counts_sums_and_moments(where: str, key: str, overweight: tuple[Client, Reference]) -> None:
    """Counts, sums, means and variances are those of the weighted rows."""
    client, reference = overweight
    sql = f"SELECT {key} AS key, count(*), sum(fare), avg(fare), var_pop(fare) FROM trips WHERE {where} GROUP BY 1 ORDER BY 1"
    expected = reference.answer(WEIGHTED.format(where=where, key=key, mass=W * C, c=C, w=float(W)), "passenger").rows
    answer = client.ask(sql).rows
    assert len(answer) == len(expected) > 1
    for got, (wanted, count, total, mean, variance) in zip(answer, expected, strict=True):
        assert (got[0], got[1]) == (wanted, count)
        assert got[2:] == (
            pytest.approx(total, abs=float(str(count)) * STEP),
            pytest.approx(mean, abs=STEP),
            pytest.approx(variance, abs=150 * STEP),
        )


def test_heavy_units_count_for_no_more_than_they_may(overweight: tuple[Client, Reference]) -> None:
    """Three units with two thousand rows among them count as sixty."""
    client, reference = overweight
    ((light,),) = reference.answer("SELECT count(*) FROM trips WHERE passenger_id >= 0", "passenger").rows
    ((heavy_,),) = reference.answer("SELECT count(*) FROM trips WHERE passenger_id < 0", "passenger").rows
    assert int(str(heavy_)) > 1_000
    assert client.ask("SELECT count(*) FROM trips").rows == [(int(str(light)) + 3 * C,)]
