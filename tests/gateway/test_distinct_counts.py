"""Counts of many declared values: as many as there may be, with noise for no more than these."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture(scope="module")
def trips(policy: Policy) -> Memory:
    """Some trips, of several payment types each."""
    engine, maker = Memory(policy), Maker(3)
    engine.fill("trips", [maker.row(policy.tables["trips"]) | {"passenger_id": n // 6} for n in range(600)])
    return engine


@pytest.mark.parametrize(("asked", "most"), [("extract(minute FROM pickup_ts)", 60)])
def test_they_lie_among_the_declared(
    asked: str, most: int, trips: Memory, policy: Policy, new_client: NewClient
) -> None:
    """However large the noise is; each bound is reached, so that it is the noise that is kept within them."""
    client, seen = new_client(trips, policy=with_epsilon(policy, Fraction(1, 100))), set()
    for _ in range(40):
        ((counted,),) = client.ask(f"SELECT count(DISTINCT {asked}) FROM trips").rows
        seen.add(int(str(counted)))
        client.ledger.advance("refresh")
    assert min(seen) == 0
    assert max(seen) == most


@pytest.mark.parametrize(
    ("asked", "most"),
    [("extract(minute FROM pickup_ts)", 60)],
)
def test_their_noise_is_that_of_as_many(
    asked: str, most: int, trips: Memory, policy: Policy, new_client: NewClient
) -> None:
    """A unit has no more values than there are: its five hundred rows don't count."""
    bounded = with_rows(policy, "trips", "passenger", 500)
    client = new_client(trips, policy=with_epsilon(bounded, Fraction(1, 100)))
    texts = "dpsql.margin(count(DISTINCT {})), dpsql.margin(count(DISTINCT trip_id))"
    ((few, many),) = client.ask(f"SELECT {texts.format(asked)} FROM trips").rows
    assert float(str(few)) == pytest.approx(float(str(many)) * most / 500, rel=0.1)
