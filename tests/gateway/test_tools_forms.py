# ruff: noqa: E501  (a statement a line)
"""Forms that object-relational mappers write: each is the plain question, and so costs nothing once that is answered."""

from fractions import Fraction

import pytest

from dpsql.errors import AccessDenied
from dpsql.policy.model import Policy
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Give a client over 900 rides."""
    engine, maker = Memory(policy), Maker(11)
    engine.fill("rides", [maker.row(policy.tables["rides"]) | {"rider": n} for n in range(900)])
    return new_client(engine, policy=with_epsilon(policy, Fraction(20)))


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (
            'SELECT COUNT(*) AS "_count$_all" FROM (SELECT "public"."rides"."rider" FROM "public"."rides" WHERE "public"."rides"."fare" > 1 OFFSET 0) AS "sub"',
            "SELECT count(*) FROM rides WHERE fare > 1",
        ),
        (
            'SELECT AVG("fare"), SUM("fare") FROM (SELECT "public"."rides"."fare" FROM "public"."rides" WHERE 1=1 OFFSET 0) AS "sub"',
            "SELECT avg(fare), sum(fare) FROM rides",
        ),
        ("SELECT count(*) FROM (SELECT rider FROM rides LIMIT ALL) s", "SELECT count(*) FROM rides"),
        ("SELECT count(*) FROM (SELECT rider FROM rides LIMIT NULL OFFSET 0) s", "SELECT count(*) FROM rides"),
        (
            'SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 AS "a" FROM rides u0 WHERE u0.rider = r.rider AND u0.fare > 10 ORDER BY u0.fare LIMIT 1)',
            "SELECT count(*) FROM rides r WHERE EXISTS (SELECT 1 FROM rides u0 WHERE u0.rider = r.rider AND u0.fare > 10)",
        ),
        (
            "SELECT count(*) FROM rides WHERE EXISTS (SELECT 1 FROM zones z WHERE z.zone_id = rides.from_zone LIMIT 1)",
            "SELECT count(*) FROM rides WHERE EXISTS (SELECT 1 FROM zones z WHERE z.zone_id = rides.from_zone)",
        ),
        ("SELECT sum(@ (fare - 5)), avg(|/ fare) FROM rides", "SELECT sum(abs(fare - 5)), avg(sqrt(fare)) FROM rides"),
        (
            "SELECT count(*) FILTER (WHERE @ fare - 5 > 20) FROM rides",
            "SELECT count(*) FILTER (WHERE abs(fare - 5) > 20) FROM rides",
        ),
    ],
)
def test_it_is_the_plain_question(written: str, plain: str, client: Client) -> None:
    """The same rows, and no charge."""
    rows, paid = client.ask(plain).rows, client.charges
    assert client.ask(written).rows == rows
    assert client.charges == paid


@pytest.mark.parametrize(
    ("one", "exists"),
    [
        ('SELECT 1 AS "a" FROM rides WHERE {0} LIMIT 1', "SELECT EXISTS (SELECT 1 FROM rides WHERE {0})"),
        ("SELECT (1) FROM rides WHERE {0} ORDER BY fare LIMIT 1", "SELECT EXISTS (SELECT 1 FROM rides WHERE {0})"),
        (
            "SELECT true FROM rides JOIN zones ON zone_id = from_zone WHERE {0} LIMIT 1 OFFSET 0",
            "SELECT EXISTS (SELECT 1 FROM rides JOIN zones ON zone_id = from_zone WHERE {0})",
        ),
    ],
)
@pytest.mark.parametrize("condition", ["fare > 100", "fare > 100 AND fare < 99"])
def test_one_row_of_constants_asks_whether_there_is_any(one: str, exists: str, condition: str, client: Client) -> None:
    """There is one where EXISTS is true."""
    ((found,),), paid = client.ask(exists.format(condition)).rows, client.charges
    assert len(client.ask(one.format(condition)).rows) == bool(found)
    assert client.charges == paid


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT rider FROM rides LIMIT 5) s",
        "SELECT count(*) FROM (SELECT rider FROM rides OFFSET 1) s",
        "SELECT count(*) FROM rides WHERE rider IN (SELECT rider FROM rides LIMIT 1)",
        "SELECT count(*) FROM rides WHERE EXISTS (SELECT 1 FROM rides u0 OFFSET 3)",
        "SELECT 1 FROM rides WHERE fare > 1 LIMIT 2",
        "SELECT 1 FROM rides WHERE fare > 1",
        "SELECT 1, fare FROM rides LIMIT 1",
    ],
)
def test_limits_that_choose_rows_are_refused(sql: str, client: Client) -> None:
    """Each of these says something of single rows."""
    with pytest.raises(AccessDenied):
        client.ask(sql)
