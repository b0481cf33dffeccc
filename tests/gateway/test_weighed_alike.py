"""What a declared `max_rows` takes off sums and counts: as much of both in a quotient, else a NOTICE says so."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from tests.support.fix_policy import NO_NOISE, with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker

MOST = 4


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Rides of people with a few each, and of one with two hundred, all for ten dollars."""
    engine, maker = Memory(policy), Maker(7)
    row = maker.row(policy.tables["rides"]) | {"fare": 10.0, "tip": 2.0, "shared": True}
    engine.fill("rides", [row | {"rider": n % 30} for n in range(90)] + [row | {"rider": 99}] * 200)
    return engine


@pytest.fixture
def client(rides: Memory, policy: Policy, new_client: NewClient) -> Client:
    """Somebody whose answers have no noise to speak of."""
    return new_client(rides, policy=with_epsilon(with_rows(policy, "rides", "passenger", MOST), NO_NOISE))


def _told(client: Client, sql: str) -> list[str]:
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    return [
        notice
        for notice in replied(client.gateway, client.request(question)).notices
        if "weigh rows differently" in notice
    ]


@pytest.mark.parametrize(
    "quotient",
    [
        "sum(fare) / count(*)",
        "100.0 * sum(fare) / nullif(count(*), 0) / 100.0",
        "sum(fare) FILTER (WHERE shared) / count(*) FILTER (WHERE shared)",
        "round((sum(fare) / count(*))::numeric, 6)",
    ],
)
def test_a_quotient_of_a_sum_by_a_count_is_an_average(quotient: str, client: Client) -> None:
    """Of ten dollars each: sums have weights of their own elsewhere, and 290 rides were divided by 94."""
    ((average,),) = client.ask(f"SELECT {quotient} FROM rides").rows
    assert float(str(average)) == pytest.approx(10.0, abs=1e-3)
    assert _told(client, f"SELECT {quotient} FROM rides") == []


def test_what_a_quotient_is_made_of_is_what_stands_beside_it(client: Client) -> None:
    """In one row of an answer."""
    sql = "SELECT sum(fare), count(*), sum(fare) / count(*), sum(tip) FROM rides"
    ((quotient, number, mean, tips),) = client.ask(sql).rows
    assert float(str(quotient)) == pytest.approx(float(str(mean)) * int(str(number)), rel=1e-3)
    assert float(str(tips)) == pytest.approx(2 * int(str(number)), rel=1e-2)
    assert _told(client, sql) == []


@pytest.mark.parametrize("also", ["", ", avg(fare)"])
def test_where_they_weigh_differently_a_notice_says_so(also: str, client: Client) -> None:
    """A sum loses less than a count: few rows are as large as their bounds allow."""
    sql = f"SELECT sum(fare), count(*){also} FROM rides"
    ((quotient, number, *_),) = client.ask(sql).rows
    assert float(str(quotient)) > 12 * int(str(number))
    (told,) = _told(client, sql)
    assert "sum(fare)" in told
    assert "more than 4 (max_rows)" in told
    assert any("Weights: in sums by what is added up" in str(row[0]) for row in client.ask(f"EXPLAIN {sql}").rows)


@pytest.mark.parametrize("sql", ["SELECT sum(fare), sum(tip) FROM rides", "SELECT count(*), avg(fare) FROM rides"])
def test_nothing_is_said_of_others(sql: str, client: Client) -> None:
    """Sums alone, and averages beside counts."""
    assert _told(client, sql) == []


def test_nor_where_a_number_is_chosen(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """It takes little off, and `dpsql.cut` says how much."""
    chosen = with_chosen_rows(policy, "rides", "passenger")
    client = new_client(rides, policy=with_epsilon(chosen, Fraction(1)))
    sql = "SELECT sum(fare), count(*) FROM rides"
    assert _told(client, sql) == []
    assert not any("Weights:" in str(row[0]) for row in client.ask(f"EXPLAIN {sql}").rows)
