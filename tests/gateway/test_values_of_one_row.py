"""A query that stands for one value in what is done with answers: several rows are told before anything is paid for."""

import pytest

from dpsql.errors import Unsupported
from tests.gateway.engines import Watched
from tests.support.fix_dirty import Records
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

BY_PAYMENT = "SELECT payment_type FROM trips GROUP BY payment_type"
TABLE = "(SELECT payment_type AS p, count(*) AS n FROM trips GROUP BY 1) AS t"
CTE = "WITH a AS (SELECT payment_type AS p, count(*) AS n FROM trips GROUP BY 1)"
SEVERAL = [
    f"SELECT count(*), ({BY_PAYMENT}) FROM trips",
    f"SELECT count(*), (({BY_PAYMENT})) FROM trips",
    "SELECT count(*), (SELECT seats FROM rides GROUP BY seats HAVING count(*) > 3) FROM trips",
    f"SELECT count(*) FROM trips HAVING ({BY_PAYMENT}) IS NULL",
    f"SELECT pickup_zone, count(*) FROM trips GROUP BY 1 ORDER BY ({BY_PAYMENT})",
    "SELECT pickup_zone, count(*) FROM trips GROUP BY 1 LIMIT (SELECT count(*) FROM trips GROUP BY payment_type)",
    "SELECT pickup_zone, count(*) FROM trips GROUP BY 1 OFFSET (SELECT count(*) FROM trips GROUP BY payment_type)",
    f"SELECT CASE WHEN count(*) < 0 THEN ({BY_PAYMENT}) END FROM trips",
    f"SELECT CASE ({BY_PAYMENT}) WHEN 'cash' THEN count(*) END FROM trips",
    f"SELECT coalesce(({BY_PAYMENT}), 'x'), count(*) FROM trips",
    f"SELECT ({BY_PAYMENT}) IN ('cash', 'x'), count(*) FROM trips",
    f"SELECT 'cash' IN (({BY_PAYMENT}), 'x'), count(*) FROM trips",
    f"SELECT ARRAY[({BY_PAYMENT})], count(*) FROM trips",
    f"SELECT ({BY_PAYMENT})::varchar(3), count(*) FROM trips",
    f"WITH t AS ({BY_PAYMENT}) SELECT count(*), (SELECT payment_type FROM t) FROM trips",
    f"WITH t AS ({BY_PAYMENT}), u AS (SELECT (SELECT payment_type FROM t) AS p) SELECT p FROM u",
    f"SELECT n FROM (SELECT count(*) AS n, ({BY_PAYMENT}) AS p FROM trips) AS t",
    f"SELECT p FROM {TABLE} WHERE p = ({BY_PAYMENT})",
    f"SELECT p FROM {TABLE} WHERE (p, n) = (SELECT payment_type, count(*) FROM trips GROUP BY 1)",
    f"SELECT p FROM {TABLE} WHERE n > (SELECT avg(fare) FROM trips) + (SELECT m FROM (SELECT 1 AS m FROM {TABLE}) AS v)",
    f"SELECT t.p FROM {TABLE} JOIN zones ON ({BY_PAYMENT}) = zone",
    f"SELECT 1 WHERE EXISTS (SELECT 1 FROM {TABLE} WHERE p = ({BY_PAYMENT}))",
    f"SELECT ({BY_PAYMENT}) UNION ALL SELECT payment_type FROM trips GROUP BY 1",
    f"SELECT rank() OVER (ORDER BY ({BY_PAYMENT})), count(*) FROM trips",
    f"SELECT (SELECT n FROM {TABLE} WHERE n = (SELECT max(n) FROM {TABLE}))",
    f"SELECT (SELECT n FROM {TABLE} WHERE p > 'a'), 1",
    f"SELECT (SELECT n FROM {TABLE} WHERE p = n::text)",
    "SELECT pickup_zone, (SELECT borough FROM zones WHERE zone_id > pickup_zone), count(*) FROM trips GROUP BY 1",
    "SELECT (SELECT a.n FROM (SELECT count(*) AS n FROM trips) AS a FULL JOIN (SELECT 1 AS m) AS b ON n = m)",
    f"CREATE TEMP TABLE made AS SELECT count(*), ({BY_PAYMENT}) AS p FROM trips",
    f"DECLARE c CURSOR WITH HOLD FOR SELECT count(*), ({BY_PAYMENT}) FROM trips",
    f"COPY (SELECT count(*), ({BY_PAYMENT}) FROM trips) TO STDOUT",
    f"EXPLAIN SELECT count(*), ({BY_PAYMENT}) FROM trips",
    f"SELECT count(*), ({BY_PAYMENT}) AS p INTO TEMP made FROM trips",
    f"INSERT INTO kept SELECT count(*), ({BY_PAYMENT}) FROM trips",
    f"INSERT INTO kept VALUES (1, ({BY_PAYMENT}))",
    f"VALUES (1, ({BY_PAYMENT})), (2, 'x')",
    f"UPDATE kept SET g = ({BY_PAYMENT})",
    "UPDATE kept SET (n, g) = (SELECT count(*), payment_type FROM trips GROUP BY 2)",
    f"DELETE FROM kept WHERE g = ({BY_PAYMENT})",
    f"MERGE INTO kept USING (SELECT 1) AS s ON true WHEN MATCHED THEN UPDATE SET g = ({BY_PAYMENT})",
    f"{CTE} UPDATE kept SET n = (SELECT n FROM a)",
    f"{CTE} UPDATE kept SET n = (SELECT n FROM a WHERE a.p > kept.g)",
    f"{CTE} DELETE FROM kept WHERE n < (SELECT n FROM a)",
    f"{CTE} INSERT INTO kept SELECT (SELECT n FROM a), 'x'",
    f"{CTE} INSERT INTO kept VALUES ((SELECT n FROM a), 'x')",
    f"{CTE} INSERT INTO kept SELECT n, (SELECT p FROM a AS b WHERE b.n > a.n) FROM a",
    f"{CTE} INSERT INTO kept SELECT 1, 'x' FROM a WHERE n > (SELECT n FROM a)",
    f"{CTE}, b AS (SELECT n + 1 AS m FROM a) UPDATE kept SET n = (SELECT m FROM b)",
    f"{CTE}, b AS (SELECT (SELECT n FROM a) AS m) UPDATE kept SET n = b.m FROM b",
    f"{CTE} UPDATE kept SET n = 1 FROM a WHERE kept.g = a.p RETURNING (SELECT n FROM a)",
    f"{CTE} MERGE INTO kept USING a ON a.p = g WHEN MATCHED THEN UPDATE SET n = (SELECT n FROM a)",
    f"EXPLAIN {CTE} UPDATE kept SET n = (SELECT n FROM a)",
    f"{CTE} UPDATE kept AS k SET (n, g) = (SELECT n, p FROM a WHERE a.n > k.n)",
    f"{CTE} INSERT INTO kept AS k SELECT n, p FROM a ON CONFLICT (n) DO UPDATE SET n = (SELECT n FROM a WHERE p>excluded.g)",
]  # fmt: skip
ONE = [
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT 2 FROM r) SELECT count(*), (SELECT max(n) FROM r) FROM trips",
    f"SELECT count(*), ({BY_PAYMENT} LIMIT 1) FROM trips",
    f"SELECT (SELECT max(payment_type) FROM ({BY_PAYMENT}) AS t)",
    "SELECT count(*), (SELECT count(*) FROM trips WHERE payment_type = 'cash' GROUP BY payment_type) FROM trips",
    "SELECT count(*), (SELECT count(*) FROM trips GROUP BY payment_type HAVING payment_type = 'cash') FROM trips",
    "SELECT (SELECT count(*) FROM rides GROUP BY shared HAVING NOT shared)",
    f"SELECT (SELECT n FROM {TABLE} WHERE p IN ('cash'))",
    f"WITH t AS (SELECT * FROM {TABLE}) SELECT p, n * 1.0 / (SELECT n FROM t AS u WHERE u.p = t.p) FROM t",
    f"WITH t (q, m) AS (SELECT * FROM {TABLE}) SELECT q, (SELECT m FROM t AS u WHERE u.q = t.q) FROM t",
    f"SELECT (SELECT sum(n) FROM {TABLE} WHERE p = 'cash' GROUP BY p)",
    f"WITH t AS ({BY_PAYMENT}) SELECT (SELECT t.payment_type FROM t WHERE t.payment_type = x.payment_type) FROM t AS x",
    f"SELECT (SELECT p FROM (SELECT p, row_number() OVER (ORDER BY n DESC) AS r FROM {TABLE}) AS u WHERE r = 1)",
    "SELECT pickup_zone, (SELECT borough FROM zones WHERE zone_id = pickup_zone), count(*) FROM trips GROUP BY 1",
    "SELECT z, (SELECT borough FROM zones WHERE zone_id = z) FROM (SELECT pickup_zone AS z FROM trips GROUP BY 1) AS t",
    "SELECT (SELECT zone_id FROM zones WHERE zone = t.z) FROM (SELECT 'JFK Airport' AS z, count(*) FROM trips) AS t",
    "SELECT (SELECT borough FROM zones JOIN (SELECT max(pickup_zone) AS m FROM trips) AS t ON zone_id = m)",
    "SELECT (SELECT borough FROM (SELECT max(pickup_zone) AS m FROM trips) AS t LEFT JOIN zones ON zone_id = m)",
    "SELECT (SELECT borough FROM (SELECT max(pickup_zone) AS zone_id FROM trips) AS t JOIN zones USING (zone_id))",
    f"SELECT count(*), 'cash' IN ({BY_PAYMENT}), EXISTS ({BY_PAYMENT}), 'x' = ANY ({BY_PAYMENT}) FROM trips",
    f"SELECT count(*), 'x' <> ALL (({BY_PAYMENT})), ARRAY({BY_PAYMENT}), 'x' NOT IN (({BY_PAYMENT})) FROM trips",
    f"{CTE} UPDATE kept SET n = (SELECT n FROM a WHERE a.p = kept.g)",
    f"{CTE} UPDATE ONLY kept k SET (n, g) = (SELECT n, p FROM a WHERE p = k.g)",
    f"{CTE} DELETE FROM kept AS k WHERE n < (SELECT a.n FROM a WHERE a.p = k.g)",
    f"{CTE} INSERT INTO kept AS k SELECT n, p FROM a ON CONFLICT (n) DO UPDATE SET n = (SELECT n FROM a WHERE p=excluded.g)",
    f"{CTE} UPDATE kept SET n = (SELECT sum(n) FROM a) WHERE g IN (SELECT p FROM a)",
    f"{CTE} INSERT INTO kept SELECT n, (SELECT max(p) FROM a) FROM a WHERE EXISTS (SELECT p FROM a)",
    f"{CTE} INSERT INTO kept SELECT n, (SELECT p FROM a ORDER BY n LIMIT 1) FROM a",
    "WITH a AS (SELECT count(*) AS n FROM trips) UPDATE kept SET n = (SELECT n FROM a)",
    f"SELECT p FROM {TABLE} WHERE (p, n) IN (SELECT payment_type, count(*) FROM trips GROUP BY 1)",
    f"SELECT count(*) FROM (({BY_PAYMENT}) UNION ALL ({BY_PAYMENT})) AS t",
    f"({BY_PAYMENT}) UNION ({BY_PAYMENT})",
]  # fmt: skip


@pytest.fixture
def engine(dirty: Memory, records: Records) -> Watched:
    """The dirty records, and how often they are read."""
    assert records
    return Watched(dirty)


@pytest.mark.parametrize("sql", SEVERAL)
def test_a_value_that_may_have_several_rows_costs_nothing(sql: str, engine: Watched, new_client: NewClient) -> None:
    """Wherever it stands, it is refused with what to do about it."""
    client = new_client(engine)
    with client.connection.transaction(force_rollback=True):
        client.connection.execute("CREATE TEMP TABLE kept (n bigint, g text)")
        with pytest.raises(Unsupported) as refused:
            client.ask(sql)
    assert (refused.value.because, bool(refused.value.hint)) == ("value-of-several-rows", True)
    assert (client.charges, engine.runs) == (0, 0)


@pytest.mark.parametrize("sql", ONE)
def test_a_value_of_one_row_is_answered(sql: str, engine: Watched, new_client: NewClient) -> None:
    """Lists, tables and tests may have several rows; of a value it is known that it has one at most."""
    client = new_client(engine)
    with client.connection.transaction(force_rollback=True):
        client.connection.execute("CREATE TEMP TABLE kept (n bigint UNIQUE, g text)")
        assert client.ask(sql).names or client.charges
