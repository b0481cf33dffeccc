"""Quotients of counts and sums are shown where they can be: a share of the whole is from 0 to 1, and NULL of no row."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import NewClient
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """Few rides of people of two ages: of the other ages there is noise alone."""
    engine, maker = Memory(policy), Maker(7)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n, "age": (20, 31)[n % 2]} for n in range(80)])
    return engine


SHARES = [
    ("count(*) FILTER (WHERE shared)", "count(*)", 0, 1),
    ("sum(CASE WHEN shared THEN 1 ELSE 0 END)", "count(*)", 0, 1),
    ("sum(shared::int)", "count(*)", 0, 1),
    ("count(*) FILTER (WHERE shared AND late)", "count(*) FILTER (WHERE late)", 0, 1),
    ("count(CASE WHEN shared THEN 1 END)", "NULLIF(count(*), 0)", 0, 1),
    ("count(tip)", "count(*)", 0, 1),
    ("count(tip) FILTER (WHERE shared)", "count(tip)", 0, 1),
    ("sum(fare) FILTER (WHERE shared)", "sum(fare)", 0, 1),
    ("sum(CASE WHEN shared THEN price ELSE 0 END)", "sum(price)", 0, 1),
    ("sum(fare)", "count(*)", 0, 150),
    ("sum(tip)", "count(*)", -5, 35),
    ("sum(tip) FILTER (WHERE shared)", "count(*) FILTER (WHERE shared)", -5, 35),
    ("sum(refund)", "count(*)", -20, 0),
]
"""A part, the whole, and between what times that it lies."""


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_shares_lie_where_they_can(
    share: tuple[str, str, int, int], rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Also a hundred times one, with a condition and in an order; the parts themselves are as they were measured."""
    part, whole, low, high = share
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1, 10)))
    quotient = f"100 * ({part})::double precision / {whole}"
    sql = f"SELECT {part}, {whole}, {quotient} FROM rides GROUP BY age ORDER BY {quotient} DESC"
    moved, nothing, seen = 0, 0, []
    for n, of, shown in client.ask(sql, Settings(empty_groups="show")).rows:
        if of is None or float(str(of)) <= 0:
            assert shown is None
            nothing += 1
            continue
        raw = 100 * float(str(n)) / float(str(of))
        assert float(str(shown)) == pytest.approx(min(max(raw, 100 * low), 100 * high))
        moved += float(str(shown)) != pytest.approx(raw)
        seen.append(float(str(shown)))
    assert moved > 0
    assert nothing > 0
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("count(*) FILTER (WHERE shared)", "count(*) FILTER (WHERE late)"),
        ("count(*) FILTER (WHERE stars = 1)", "count(*) FILTER (WHERE stars = 2)"),
        ("count(*) FILTER (WHERE stars = 1 OR late)", "count(*) FILTER (WHERE stars = 1)"),
        ("count(*)", "count(tip)"),
        ("sum(tip)", "sum(fare)"),
        ("sum(tip) FILTER (WHERE shared)", "sum(tip)"),
        ("sum(fare)", "count(*) FILTER (WHERE shared)"),
        ("-1 - count(*) FILTER (WHERE shared)", "count(*)"),
        ("count(DISTINCT stars)", "count(*)"),
    ],
)
def test_what_is_not_known_stays(part: str, whole: str, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Rows of the part that need not be in the whole, and values of both signs."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1, 10)))
    sql = f"SELECT {part}, {whole}, ({part})::double precision / {whole} FROM rides GROUP BY age"
    for n, of, share in client.ask(sql).rows:
        if float(str(of)):
            assert float(str(share)) == pytest.approx(float(str(n)) / float(str(of)))


def test_types_stay(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Whole numbers are divided as such, and a quotient is of the type that PostgreSQL gives it."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1)))
    parts = ["count(*) FILTER (WHERE shared)", "sum(seats)", "sum(price)", "sum(weight)", "sum(fare)", "sum(refund)"]
    types = [f"pg_typeof({part} / count(*))::text" for part in parts]
    ((*shown,),) = client.ask(f"SELECT {', '.join(types)} FROM rides").rows
    assert shown == ["bigint", "bigint", "numeric", "double precision", "double precision", "numeric"]


def test_averages_of_shares_have_a_margin_that_lies_there(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """An average of zeros and ones is a share, and its margin no wider than from one end to the other."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1, 10)))
    share = "avg(CASE WHEN shared THEN 1 ELSE 0 END)"
    for value, margin in client.ask(f"SELECT {share}, dpsql.margin({share}) FROM rides GROUP BY age").rows:
        assert value is None or 0 <= float(str(value)) <= 1
        assert float(str(margin)) <= 1
