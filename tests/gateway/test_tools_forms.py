# ruff: noqa: E501  (a statement a line)
"""Forms that object-relational mappers write: each is the plain question, and so costs nothing once that is answered."""

from fractions import Fraction

import pytest

from dpsql.errors import AccessDenied
from dpsql.policy.model import Policy
from dpsql.question import Argument
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
        (
            "SELECT zone_id FROM zones WHERE EXISTS (SELECT t0.from_zone FROM rides AS t0 WHERE t0.fare > 20 AND (zones.zone_id) = (t0.from_zone)) ORDER BY 1",
            "SELECT zone_id FROM zones WHERE EXISTS (SELECT 1 FROM rides WHERE fare > 20 AND from_zone = zone_id) ORDER BY 1",
        ),
        (
            'SELECT "zones"."zone_id", (SELECT COUNT(*) AS "n" FROM "rides" U0 WHERE U0."from_zone" = ("zones"."zone_id") GROUP BY U0."from_zone") AS "n" FROM "zones" ORDER BY 1',
            "SELECT zone_id, n FROM zones LEFT JOIN (SELECT from_zone, count(*) AS n FROM rides GROUP BY from_zone) AS r ON from_zone = zone_id ORDER BY 1",
        ),
        (
            "SELECT zone_id, (SELECT count(*) FROM rides WHERE from_zone = zone_id AND fare < 0 GROUP BY from_zone) + 1 AS n FROM zones ORDER BY 1",
            "SELECT zone_id, n + 1 FROM zones LEFT JOIN (SELECT from_zone, count(*) AS n FROM rides WHERE fare < 0 GROUP BY from_zone) AS r ON from_zone = zone_id ORDER BY 1",
        ),
        (
            "SELECT count(*) FROM rides t WHERE (SELECT count(*) FROM rides s WHERE s.rider = t.rider GROUP BY s.rider) > 0",
            "SELECT count(*) FROM rides t LEFT JOIN (SELECT rider AS k, count(*) AS n FROM rides GROUP BY rider) s ON s.k = t.rider WHERE n > 0",
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


def test_rows_beside_public_ones_may_be_named(client: Client) -> None:
    """What EXISTS selects and sorts by makes no difference there, either."""
    written = "SELECT zone_id, EXISTS (SELECT t0.rider, t0.fare, zone_id FROM rides t0 WHERE {} ORDER BY t0.fare LIMIT 1) AS e FROM zones ORDER BY 1"
    plain = "SELECT zone_id, EXISTS (SELECT 1 FROM rides t0 WHERE {}) AS e FROM zones ORDER BY 1"
    for condition in ("t0.from_zone = zones.zone_id", "t0.from_zone = zones.zone_id AND t0.fare > 9"):
        assert client.ask(written.format(condition)).rows == client.ask(plain.format(condition)).rows


@pytest.mark.parametrize(
    ("written", "values", "plain"),
    [
        (
            'SELECT COUNT(*) AS "_count$_all" FROM (SELECT "rides"."rider" FROM "rides" WHERE "rides"."fare" > $1 OFFSET $2) AS "sub"',
            ("1", "0"),
            "SELECT count(*) FROM rides WHERE fare > 1",
        ),
        ("SELECT count(*) FROM (SELECT rider FROM rides LIMIT $1) s", (None,), "SELECT count(*) FROM rides"),
        (
            "SELECT count(*) FROM rides WHERE EXISTS (SELECT 1 FROM zones z WHERE z.zone_id = rides.from_zone LIMIT $1)",
            ("1",),
            "SELECT count(*) FROM rides WHERE EXISTS (SELECT 1 FROM zones z WHERE z.zone_id = rides.from_zone)",
        ),
        (
            "SELECT 1 FROM rides WHERE fare > 9 LIMIT $1 OFFSET $2",
            ("1", "0"),
            "SELECT 1 FROM rides WHERE fare > 9 LIMIT 1",
        ),
    ],
)
def test_parameters_that_end_nothing_are_left_out(
    written: str, values: tuple[str | None, ...], plain: str, client: Client
) -> None:
    """Prisma sends OFFSET as a parameter: its value decides."""
    rows, paid = client.ask(plain).rows, client.charges
    assert client.ask(written, arguments=tuple(Argument(value, "bigint") for value in values)).rows == rows
    assert client.charges == paid


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT rider FROM rides OFFSET $1) s",
        "SELECT count(*) FROM (SELECT rider FROM rides LIMIT $1) s",
        "SELECT 1 FROM rides LIMIT $1",
    ],
)
def test_parameters_that_choose_rows_are_refused(sql: str, client: Client) -> None:
    """Each time, whatever was answered with another value."""
    ends_nothing = "1" if sql.startswith("SELECT 1") else "0" if "OFFSET" in sql else None
    for value in ("5", ends_nothing, "5"):
        arguments = (Argument(value, "bigint"),)
        if value == "5":
            with pytest.raises(AccessDenied):
                client.ask(sql, arguments=arguments)
        else:
            assert client.ask(sql, arguments=arguments).rows
