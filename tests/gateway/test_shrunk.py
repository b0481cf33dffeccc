"""`dpsql.shrunk(avg(x))`: means of groups drawn together, read off released sums, free, and never in silence."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker, Row

SEATS = (1, 2, 3, 4, 5, 6)


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Rides of six sizes of cars, of which some are few, at ε = 1/2."""
    draw, base = random.Random(5), Maker(3, dirt=0.0).row(policy.tables["rides"])  # noqa: S311
    rows: list[Row] = []
    for rider in range(600):
        seats = draw.choices(SEATS, (300, 200, 60, 20, 10, 5))[0]
        rows.append(base | {"rider": rider, "seats": seats, "fare": draw.uniform(0, 20) + seats, "late": seats == 1})
    engine = Memory(policy)
    engine.fill("rides", rows)
    return new_client(engine, policy=with_epsilon(with_rows(policy, "rides", "passenger", 1), Fraction(1, 2)))


def _numbers(rows: Sequence[tuple[object, ...]], place: int) -> list[float]:
    return [float(str(row[place])) for row in rows]


def test_it_costs_nothing_beside_the_average(client: Client) -> None:
    """What is measured is the same, before it and after it."""
    first = client.ask("SELECT seats, avg(fare) FROM rides GROUP BY seats ORDER BY 1").rows
    paid = client.charges
    both = client.ask(
        "SELECT seats, avg(fare), dpsql.shrunk(avg(fare)), dpsql.margin(dpsql.shrunk(avg(fare))) "
        "FROM rides GROUP BY seats ORDER BY 1"
    ).rows
    assert client.charges == paid
    assert [row[:2] for row in both] == first
    assert all(width > 0 for width in _numbers(both, 3))
    alone = client.ask("SELECT seats, dpsql.shrunk(avg(fare)) AS s FROM rides GROUP BY seats ORDER BY seats").rows
    assert client.charges == paid
    assert _numbers(alone, 1) == _numbers(both, 2)


def test_alone_it_costs_what_the_average_costs(client: Client) -> None:
    """It is read off the same sums."""
    client.ask("SELECT seats, dpsql.shrunk(avg(fare)) FROM rides GROUP BY seats")
    paid = client.charges
    client.ask("SELECT seats, avg(fare), count(*) FROM rides GROUP BY seats")
    assert client.charges == paid


def test_groups_lie_nearer_together(client: Client) -> None:
    """The smallest groups are drawn the most, and all lie between the least and the largest average."""
    rows = client.ask("SELECT seats, avg(fare), dpsql.shrunk(avg(fare)) FROM rides GROUP BY seats ORDER BY 1").rows
    plain = [float(str(row[1])) for row in rows if row[1] is not None]
    shrunk = _numbers(rows, 2)
    assert len(shrunk) >= len(plain)
    assert max(shrunk) - min(shrunk) < max(plain) - min(plain)


def test_rankings_are_by_it(client: Client) -> None:
    """ORDER BY, HAVING, LIMIT and windows see it as any value of an answer; what is drawn together is all groups."""
    shrunk, show = "dpsql.shrunk(avg(fare))", Settings(empty_groups="show")

    def rows(what: str, further: str) -> Sequence[tuple[object, ...]]:
        return client.ask(f"SELECT {what} FROM rides GROUP BY seats {further}", show).rows

    every = rows(f"seats, {shrunk}", "ORDER BY 2 DESC, 1")
    above = rows("seats", f"HAVING {shrunk} > {every[2][1]} ORDER BY 1")
    ranked = rows(f"seats, rank() OVER (ORDER BY {shrunk} DESC)", "ORDER BY 2, 1")
    assert rows(f"seats, {shrunk}", f"ORDER BY {shrunk} DESC, 1 LIMIT 2") == every[:2]
    assert {row[0] for row in above} == {row[0] for row in every if float(str(row[1])) > float(str(every[2][1]))}
    assert [row[0] for row in ranked] == [row[0] for row in every]


def test_of_some_rows_and_of_conditions(client: Client) -> None:
    """FILTER and WHERE decide which rows an average is of; a group of none has what is common."""
    rows = client.ask(
        "SELECT seats, dpsql.shrunk(avg(fare) FILTER (WHERE NOT late)), dpsql.shrunk(avg(CASE WHEN late THEN 1 ELSE 0 END)) "
        "FROM rides WHERE seats < 7 GROUP BY seats ORDER BY 1"
    ).rows
    assert all(row[1] is not None and row[2] is not None for row in rows)


def test_an_interval_stays_one(client: Client) -> None:
    """As its average does."""
    rows = client.ask("SELECT seats, dpsql.shrunk(avg(dropped - picked))::text FROM rides GROUP BY seats").rows
    assert all(":" in str(row[1]) or row[1] is None for row in rows)


def test_groups_of_too_few_units_are_no_part_of_it(client: Client, policy: Policy, new_client: NewClient) -> None:
    """A role that sees no small groups is told nothing of them by the others' means."""
    few = replace(policy.roles["owner"], min_units=40)
    policy = replace(policy, roles={**policy.roles, "owner": few})
    engine = client.gateway._deps.engine
    limited = new_client(engine, policy=with_epsilon(with_rows(policy, "rides", "passenger", 1), Fraction(1, 2)))
    rows = limited.ask("SELECT seats, dpsql.shrunk(avg(fare)) FROM rides GROUP BY seats").rows
    assert 0 < len(rows) < len(SEATS)


def test_explain_says_what_it_is(client: Client) -> None:
    """No error of one group is promised."""
    lines = [
        str(row[0])
        for row in client.ask("EXPLAIN SELECT seats, dpsql.shrunk(avg(fare)) FROM rides GROUP BY seats").rows
    ]
    assert any("dpsql.shrunk(avg(fare)), over all groups no more than the average's" in line for line in lines)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dpsql.shrunk(avg(fare)) FROM rides",
        "SELECT dpsql.margin(dpsql.shrunk(avg(fare))) FROM rides",
        "SELECT paid, dpsql.shrunk(count(*)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(sum(fare)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(sum(fare) / count(*)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(median(fare)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(avg(DISTINCT seats)) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(dpsql.shrunk(avg(fare))) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.shrunk(3) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.cut(dpsql.shrunk(avg(fare))) FROM rides GROUP BY paid",
        "SELECT paid, dpsql.margin(dpsql.shrunk(avg(fare)) - 3) FROM rides GROUP BY paid",
        "SELECT paid, late, dpsql.shrunk(avg(fare)) FROM rides GROUP BY ROLLUP (paid, late)",
        "SELECT d, dpsql.shrunk(avg(fare)) FROM generate_series(1, 3) AS d JOIN rides ON seats <= d GROUP BY d",
    ],
)
def test_of_others_there_is_none(sql: str, client: Client) -> None:
    """With the next step in the message."""
    with pytest.raises(DpsqlError) as refused:
        client.ask(sql)
    assert isinstance(refused.value, Unsupported)
    assert refused.value.hint
