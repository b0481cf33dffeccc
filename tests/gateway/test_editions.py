"""What was measured on one copy of the records answers nothing about another."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from dpsql.accounting.sliding import ReadDays
from dpsql.engines.base import SnapshotVersion
from dpsql.policy.model import Policy
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

COUNT = "SELECT count(*) FROM rides"
TAKEN = [datetime(2024, 5, 15, 12, minute, tzinfo=UTC) for minute in (0, 5)]
OLD, NEW = (SnapshotVersion(f"20240515T12{taken.minute:010}Z", taken, taken) for taken in TAKEN)


@pytest.fixture
def engine(policy: Policy) -> Iterator[Memory]:
    """Give an engine without rides."""
    engine = Memory(policy)
    yield engine
    engine.close()


def test_an_answer_belongs_to_its_copy(engine: Memory, new_client: NewClient) -> None:
    """Within one epoch of the ledger too: of another copy, or of the records themselves, it is measured anew."""
    client = new_client(engine)
    for edition, charged in ((OLD, 1), (OLD, 1), (NEW, 2), (OLD, 2), (None, 3), (NEW, 3)):
        engine.edition = edition
        client.ask(COUNT)
        assert client.charges == charged


def test_what_is_read_off_an_answer_belongs_to_its_copy(engine: Memory, new_client: NewClient) -> None:
    """As the answer does."""
    client = new_client(engine)
    engine.edition = OLD
    client.ask("SELECT late, count(*) FROM rides GROUP BY 1")
    for edition, charged in ((OLD, 1), (NEW, 2), (OLD, 2)):
        engine.edition = edition
        client.ask(COUNT)
        assert client.charges == charged


def test_a_charge_is_of_the_days_on_which_the_copy_was_made(engine: Memory, new_client: NewClient) -> None:
    """And not of the day on which somebody asks: the ledger's clock says when that is."""
    client = new_client(engine)
    engine.edition = replace(OLD, taken=TAKEN[0] - timedelta(days=9), finished=TAKEN[0] - timedelta(days=8))
    client.ask(COUNT)
    (line,) = client.ledger.entries(None, 1)
    assert line.read == ReadDays(date(2024, 5, 6), date(2024, 5, 7)) != ReadDays.of_now(line.time)
    engine.edition = None
    client.ask(COUNT)
    (line,) = client.ledger.entries(None, 1)
    assert line.read == ReadDays.of_now(line.time)


def test_explain_names_the_copy(engine: Memory, new_client: NewClient) -> None:
    """As a line for people, and as a value for programs; without one nothing is said."""
    client = new_client(engine)
    assert "snapshot" not in str(client.ask(f"EXPLAIN {COUNT}").rows)
    engine.edition = OLD
    lines = [str(line) for (line,) in client.ask(f"EXPLAIN {COUNT}").rows]
    assert "Data: snapshot of 2024-05-15 12:00:00 UTC; what was written to the records later is not in it" in lines
    ((plan,),) = client.ask(f"EXPLAIN (FORMAT JSON) {COUNT}").rows
    assert json.loads(json.dumps(plan))[0]["Plan"]["Snapshot"] == "2024-05-15T12:00:00+00:00"
