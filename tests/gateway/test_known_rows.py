"""What the policy knows is answered from it: that a table has rows, and that no value of a declared key is there twice."""

from dataclasses import replace

import pytest

from dpsql.errors import AccessDenied, DpsqlError
from dpsql.policy.model import Policy
from tests.gateway.engines import Watched, fail
from tests.support.fix_world import NewClient, replied
from tests.support.memory import Memory

DBT = """select count(*) as failures, count(*) != 0 as should_warn from (
  select trip_id as unique_field, count(*) as n_records from public.trips where trip_id is not null
  group by trip_id having count(*) > 1) dbt_internal_test"""
SODA = """WITH frequencies AS (SELECT COUNT(*) AS frequency FROM public.trips WHERE trip_id IS NOT NULL GROUP BY trip_id)
SELECT COUNT(*) FROM frequencies WHERE frequency > 1"""
GX = """SELECT sum(condition) AS unexpected_count FROM (SELECT CASE WHEN (trip_id IS NOT NULL AND q._num_rows >= 2)
  THEN CAST(1 AS NUMERIC) ELSE CAST(0 AS NUMERIC) END AS condition FROM (SELECT trip_id, count(*) OVER (PARTITION BY trip_id)
  AS _num_rows FROM (SELECT * FROM (SELECT * FROM public.trips WHERE true) AS a WHERE trip_id IS NOT NULL) AS b) AS q) AS c"""
AMONG = (
    "SELECT count(*) FROM trips WHERE trip_id IN (SELECT trip_id FROM trips GROUP BY trip_id HAVING count(trip_id) > 1)"
)
UNIQUE: list[tuple[str, list[object]]] = [
    (DBT, [(0, False)]),
    (SODA, [(0,)]),
    (GX, [(0,)]),
    (GX.replace("PARTITION BY trip_id", "PARTITION BY fare, trip_id").replace("trip_id,", "trip_id, fare,"), [(0,)]),
    ("SELECT trip_id, count(*) FROM trips GROUP BY trip_id HAVING 1 < count(*) AND count(*) < 9", []),
    ("SELECT fare, trip_id AS id, count(fare) FROM trips GROUP BY 1, 2 HAVING count(fare) >= 2 ORDER BY 1 LIMIT 5", []),
    (
        "SELECT count(*) FROM (SELECT trip_id AS a, count(*) AS n FROM trips GROUP BY 1) AS t WHERE (t.n > 1) AND a > 3",
        [(0,)],
    ),
    (AMONG, [(0,)]),
]
NOT_KNOWN = [
    "SELECT trip_id, count(*) FROM trips GROUP BY trip_id HAVING count(*) > 0",
    "SELECT trip_id, count(*) FROM trips GROUP BY trip_id HAVING count(*) > 1 OR trip_id > 3",
    "SELECT trip_id, count(*) FROM trips GROUP BY trip_id HAVING NOT count(*) > 1",
    "SELECT trip_id, sum(fare) FROM trips GROUP BY trip_id HAVING count(*) > 1",
    "SELECT trip_id FROM trips GROUP BY GROUPING SETS ((trip_id), ()) HAVING count(*) > 1",
    "SELECT fare FROM trips GROUP BY fare HAVING count(*) > 1",
    "SELECT count(*) FROM (SELECT count(*) AS n FROM trips GROUP BY trip_id) AS t WHERE n > 0",
    "SELECT a.trip_id FROM trips a JOIN trips b ON a.passenger_id = b.passenger_id GROUP BY a.trip_id HAVING count(*) > 1",
    "SELECT trip_id FROM trips GROUP BY trip_id HAVING count(*) >= 1",
    "WITH f AS (SELECT count(*) AS n FROM trips GROUP BY trip_id) SELECT n FROM f WHERE n > 1 UNION ALL SELECT n FROM f",
    GX.replace("PARTITION BY trip_id", "PARTITION BY fare"),
    GX.replace("PARTITION BY trip_id", "PARTITION BY trip_id % 2"),
    GX.replace("PARTITION BY trip_id", ""),
    GX.replace("PARTITION BY trip_id", "PARTITION BY trip_id ORDER BY fare"),
    GX.replace("FROM public.trips WHERE true", "FROM public.trips, (SELECT fare AS f FROM trips) AS o WHERE true"),
    GX.replace("AS b)", "AS b (fare, trip_id))"),
    GX.replace("_num_rows >= 2", "_num_rows >= 1"),
    GX.replace("SELECT * FROM public.trips WHERE true", "SELECT * FROM trips UNION ALL SELECT * FROM trips"),
    "SELECT 1 FROM trips LIMIT 2",
    "SELECT 1 FROM trips",
    "SELECT 1 FROM trips WHERE fare > 140 LIMIT 1",
    "SELECT 1 FROM trips LIMIT 1 OFFSET 1",
    "SELECT fare FROM trips LIMIT 1",
    "SELECT trip_id = trip_id FROM trips LIMIT 1",
    "SELECT EXISTS (SELECT 1 FROM trips WHERE fare > 140)",
]


SHARES: list[tuple[str, list[object]]] = [
    ("SELECT sum(CASE WHEN fare IS NULL THEN 1 ELSE 0 END) FROM trips", [(0,)]),
    (
        "SELECT sum(CASE WHEN (fare IS NULL) THEN CAST(1 AS NUMERIC) ELSE CAST(0 AS NUMERIC) END) AS n FROM trips",
        [(0,)],
    ),
    (
        "SELECT avg(CASE WHEN fare IS NULL THEN 100.0 ELSE 0 END) FROM trips WHERE fare > 3",
        [(0,)],
    ),
    ("SELECT sum(CASE WHEN fare IS NULL THEN tip ELSE 0 END), sum(0) FROM trips", [(0, 0)]),
    ("SELECT count(*) FILTER (WHERE fare IS NULL), count(CASE WHEN fare IS NULL THEN 1 END) FROM trips", [(0, 0)]),
    ("SELECT payment_type, sum(CASE WHEN tip IS NULL THEN 1 ELSE 0 END) FROM trips GROUP BY 1 HAVING false", []),
]


@pytest.fixture(scope="module")
def keyed(policy: Policy) -> Policy:
    """The policy with a key of trips, and the number of them."""
    trips = replace(policy.tables["trips"], key="trip_id", expected_rows=1_000)
    return replace(policy, tables={**policy.tables, "trips": trips})


@pytest.mark.parametrize(("sql", "rows"), UNIQUE)
def test_no_value_of_a_key_is_there_twice(sql: str, rows: list[object], keyed: Policy, new_client: NewClient) -> None:
    """As tests of data ask it: for nothing, with a notice where that is all, and no record is read."""
    client = new_client(Watched(Memory(keyed), before=fail), policy=keyed)
    assert client.ask(sql).rows == rows
    assert client.charges == 0
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    told = replied(client.gateway, client.request(question)).notices
    assert told == () or told[0].startswith("trip_id is declared to be the key of trips")


def test_values_of_a_key_are_as_many_as_rows(keyed: Policy, new_client: NewClient) -> None:
    """They are counted once: by the difference tests of data ask whether a column is unique, and noise is no duplicate."""
    client = new_client(Memory(keyed), policy=keyed)
    several = "SELECT count(trip_id) - count(DISTINCT trip_id), count(*) = count(DISTINCT trip_id) FROM trips"
    for _ in range(3):
        assert client.ask(several).rows == [(0, True)]
    assert client.charges == 1


@pytest.mark.parametrize(("sql", "rows"), SHARES)
def test_null_shares_of_columns_that_cannot_be_null_are_free(
    sql: str, rows: list[object], keyed: Policy, new_client: NewClient
) -> None:
    """However they are written: profilers ask them of every column."""
    client = new_client(Watched(Memory(keyed), before=fail), policy=keyed)
    assert client.ask(sql).rows == rows
    assert client.charges == 0


@pytest.mark.parametrize(
    "sql", ["SELECT 1 FROM trips LIMIT 1", "SELECT 1 AS a, NULL::text, 'x' FROM public.trips FETCH FIRST ROW ONLY"]
)
def test_a_table_is_there(sql: str, keyed: Policy, new_client: NewClient) -> None:
    """By which tools find out whether they may read it."""
    client = new_client(Watched(Memory(keyed), before=fail), policy=keyed)
    assert len(client.ask(sql).rows) == 1
    assert client.charges == 0


@pytest.mark.parametrize("sql", NOT_KNOWN)
def test_what_the_policy_does_not_know_is_no_answer(sql: str, keyed: Policy, new_client: NewClient) -> None:
    """It is refused as before, or measured; never passed."""
    client = new_client(Watched(Memory(keyed), before=fail), policy=keyed)
    with pytest.raises((DpsqlError, AssertionError)):
        client.ask(sql)


def test_whether_there_are_rows_is_measured_where_nobody_says(policy: Policy, new_client: NewClient) -> None:
    """Without a number of rows that is expected."""
    trips = replace(policy.tables["trips"], expected_rows=None)
    bare = replace(policy, tables={**policy.tables, "trips": trips})
    client = new_client(Memory(bare), policy=bare)
    assert client.ask("SELECT 1 FROM trips LIMIT 1").rows == []
    assert client.charges == 1


@pytest.mark.parametrize("sql", [UNIQUE[0][0], UNIQUE[2][0], UNIQUE[4][0]])
def test_nothing_is_known_that_is_not_declared(sql: str, policy: Policy, new_client: NewClient) -> None:
    """Without a key, without a number of rows."""
    trips = replace(policy.tables["trips"], key=None, expected_rows=None)
    bare = replace(policy, tables={**policy.tables, "trips": trips})
    with pytest.raises(DpsqlError):
        new_client(Memory(bare), policy=bare).ask(sql)


def test_a_key_that_may_be_null_may_be_there_twice(keyed: Policy, new_client: NewClient) -> None:
    """NULL is a group."""
    trips = keyed.tables["trips"]
    column = replace(trips.columns["trip_id"], nullable=True)
    loose = replace(trips, columns={**trips.columns, "trip_id": column})
    policy = replace(keyed, tables={**keyed.tables, "trips": loose})
    with pytest.raises(DpsqlError):
        new_client(Memory(policy), policy=policy).ask("SELECT trip_id FROM trips GROUP BY trip_id HAVING count(*) > 1")


def test_nobody_is_told_of_tables_that_are_not_theirs(keyed: Policy, new_client: NewClient) -> None:
    """A role has the tables that it is granted."""
    roles = {name: replace(role, tables=frozenset({"rides"})) for name, role in keyed.roles.items()}
    policy = replace(keyed, roles=roles)
    for sql in (UNIQUE[0][0], UNIQUE[2][0], UNIQUE[7][0], "SELECT 1 FROM trips LIMIT 1"):
        with pytest.raises(AccessDenied, match="permission denied"):
            new_client(Memory(policy), policy=policy).ask(sql)
