"""What is computed from released values is NULL where it has no value: noise must not fail what was paid for."""

import psycopg
import pytest

from tests.clients.site import Site

EMPTY = "WHERE fare > 52 AND fare < 60"
"""No trip's fare is between them, and no planning can know."""
UNDEFINED = [
    "sum(fare) / count(*)",
    "avg(fare) / sum(tip)",
    "100 * count(*) FILTER (WHERE tip > 1) / count(*)",
    "round(100.0 * count(*) / count(tip), 2)",
    "count(*) % count(tip)",
    "mod(count(*), count(tip))",
    "div(sum(passenger_count)::numeric, count(*))",
    "ln(count(*))",
    "log(2, count(*)::numeric)",
    "sqrt(-1 - count(*))",
    "power(count(*), -1)",
    "(count(*) - 0.5) ^ 0.5",
    "(-100000 - sum(fare))::numeric ^ 0.5",
    "acos(count(*) + 2)",
    "(count(*) - 100000)::smallint",
    "(1000.0 + count(*))::numeric(3, 1)",
    "(count(*) + 1e10)::int",
    "width_bucket(count(*), count(tip), 0, 10)",
    "pg_catalog.sqrt(-5 + count(*)::float8)",
    "exp(1000 + count(*)::float8)",
    "make_date(count(*)::int, 1, 1)",
]
AROUND = [
    "SELECT {} FROM trips {}",
    "SELECT zone_id, {} AS x FROM trips JOIN zones ON pickup_zone = zone_id {} GROUP BY 1 HAVING ({}) IS NULL ORDER BY {}",
    "WITH w AS (SELECT payment_type, {} FROM trips {} GROUP BY 1) SELECT * FROM w",
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("computed", UNDEFINED)
def test_what_has_no_value_is_null(here: Site, plain: Site, around: str, computed: str) -> None:
    """In an empty public group, wherever it stands, with the name and the type that PostgreSQL gives."""
    statement = around.format(computed, EMPTY, computed, computed)
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursor = asked.execute(statement.encode())
        rows = cursor.fetchall()
        assert rows
        assert {row[-1] for row in rows} == {None}
        described = [(column.name, column.type_code) for column in cursor.description or ()]
        prepared = beside.pgconn.prepare(b"", statement.encode())
        assert prepared.status == psycopg.pq.ExecStatus.COMMAND_OK, prepared.error_message
        fields = beside.pgconn.describe_prepared(b"")
        assert described == [((fields.fname(i) or b"").decode(), fields.ftype(i)) for i in range(fields.nfields)]


OUTSIDE = [
    "SELECT s / n FROM (SELECT sum(fare) AS s, count(*) AS n FROM trips WHERE fare > 52 AND fare < 60) t",
    "WITH a AS (SELECT count(*) AS n FROM trips WHERE fare > 52 AND fare < 60), b AS (SELECT 7 AS m) SELECT m / n FROM a, b",
    "SELECT 1 / (SELECT count(*) FROM trips WHERE fare > 52 AND fare < 60)",
    "SELECT max(1 / n) FROM (SELECT payment_type, count(*) AS n FROM trips WHERE fare > 52 AND fare < 60 GROUP BY 1) t",
]


@pytest.mark.parametrize("statement", OUTSIDE)
def test_answers_divide_like_their_parts(here: Site, statement: str) -> None:
    """Also where the divisor was computed further inside."""
    with psycopg.connect(here.dsn) as asked:
        assert asked.execute(statement.encode()).fetchall() == [(None,)]


def test_a_limit_below_0_is_0(here: Site) -> None:
    """A count that noise has made negative limits like the 0 that it stands for."""
    count = "SELECT count(*) - 5 FROM trips WHERE fare > 52 AND fare < 60"
    with psycopg.connect(here.dsn) as asked:
        assert asked.execute(f"SELECT zone FROM zones LIMIT ({count})".encode()).fetchall() == []
        assert len(asked.execute(f"SELECT zone FROM zones OFFSET ({count})".encode()).fetchall()) == 5


def test_constants_fail_as_they_do(here: Site) -> None:
    """What no noise has part in is PostgreSQL's to refuse."""
    with psycopg.connect(here.dsn, autocommit=True) as asked, pytest.raises(psycopg.errors.DivisionByZero):
        asked.execute("SELECT count(*) / 0 FROM trips")
