"""What is told of the time between two others: quantiles near enough, margins that are intervals themselves."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker

HOURS = timedelta(hours=1)


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Give a client of rides that take from 10 to 70 minutes, while their bounds allow 32 days in both directions."""
    policy = with_rows(policy, "rides", "passenger", 1)
    engine, maker = Memory(policy), Maker(3)
    row, at = maker.row(policy.tables["rides"]), datetime(2019, 3, 4, 12, tzinfo=UTC)
    minutes = [10 + n * 60 / 4000 for n in range(4000)]
    engine.fill(
        "rides",
        [row | {"rider": n, "picked": at, "dropped": at + timedelta(minutes=m)} for n, m in enumerate(minutes)],
    )
    return new_client(engine, policy=with_epsilon(policy, Fraction(1)))


@pytest.mark.parametrize(("q", "true"), [("0.25", 25), ("0.5", 40), ("0.9", 64)])
def test_quantiles_are_near(q: str, true: int, client: Client) -> None:
    """Within a twentieth; equal buckets of all that the bounds allow are an hour and a half wide."""
    for of in ("dropped - picked", "extract(epoch FROM dropped - picked) / 60"):
        ((value,),) = client.ask(f"SELECT percentile_disc({q}) WITHIN GROUP (ORDER BY {of}) FROM rides").rows
        minutes = value / timedelta(minutes=1) if isinstance(value, timedelta) else float(str(value))
        assert abs(minutes - true) < true / 15


def test_margins_are_intervals(client: Client) -> None:
    """And cover; of the very aggregates that are ones."""
    of = "dropped - picked"
    median = f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {of})"
    ((mean, of_mean, middle, of_middle, of_sum, of_most, of_both),) = client.ask(
        f"SELECT avg({of}), dpsql.margin(avg({of})), {median}, dpsql.margin({median}), dpsql.margin(sum({of})), "
        f"dpsql.margin(max({of})), dpsql.margin(avg({of}) - sum({of}) / count(*)) FROM rides"
    ).rows
    assert all(isinstance(margin, timedelta) for margin in (of_sum, of_most, of_both))
    assert isinstance(mean, timedelta)
    assert isinstance(of_mean, timedelta)
    assert isinstance(middle, timedelta)
    assert isinstance(of_middle, timedelta)
    assert abs(mean - timedelta(minutes=40)) <= of_mean < 3 * HOURS
    assert abs(middle - timedelta(minutes=40)) <= of_middle < HOURS
