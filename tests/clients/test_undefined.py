"""What is computed from released values is NULL where it has no value: noise must not fail what was paid for."""

from collections.abc import Iterator

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
    "(count(*) + 2147483647)::int + 1",
    "-(-2147483648 - count(*))::int",
    "(1e308 + sum(fare)) * 10",
    "split_part('a,b', ',', count(*)::int)",
    "substring('abc' FROM 1 FOR (count(*) - 1)::int)",
    "('x' || count(*))::int",
    "('x' || count(*))::date",
    "('{' || count(*))::jsonb",
    "'x' ~ ('(' || count(*))",
    "chr(count(*)::int)",
    "interval '1 day' / count(*)",
    "date '2019-03-01' + (count(*) + 2147483647)::int",
    "decode('x' || count(*), 'hex')",
    "to_date('x' || count(*), 'YYYY')",
    "set_byte('a', (count(*) + 7)::int, 1)",
]
AROUND = [
    "SELECT {} FROM trips {}",
    "SELECT zone_id, {} AS x FROM trips JOIN zones ON pickup_zone = zone_id {} GROUP BY 1 HAVING ({}) IS NULL ORDER BY {}",
    "WITH w AS (SELECT payment_type, {} FROM trips {} GROUP BY 1) SELECT * FROM w",
]


@pytest.fixture(scope="module")
def asked(here: Site) -> Iterator[psycopg.Connection]:
    """Give a session for many statements."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        session.execute("SET dpsql.empty_groups = 'show'")
        yield session


@pytest.fixture(scope="module")
def beside(plain: Site) -> Iterator[psycopg.Connection]:
    """Give one of the plain server."""
    with psycopg.connect(plain.dsn, autocommit=True) as session:
        yield session


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("computed", UNDEFINED)
def test_what_has_no_value_is_null(
    asked: psycopg.Connection, beside: psycopg.Connection, around: str, computed: str
) -> None:
    """In an empty public group, wherever it stands, with the name and the type that PostgreSQL gives."""
    statement = around.format(computed, EMPTY, computed, computed)
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
    "SELECT ntile(n) OVER () FROM (SELECT count(*)::int AS n FROM trips WHERE fare > 52 AND fare < 60) t",
    "SELECT max(i) FROM (SELECT count(*) AS n FROM trips WHERE fare > 52 AND fare < 60) t, generate_series(1, 9, n) AS i",
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


DOOMED = [
    ("count(*) / 0 FROM trips", "22012"),
    ("count(*) % (1 - 1) FROM trips", "22012"),
    ("avg(fare) / 0.0 FROM trips", "22012"),
    ("mod(count(*), 0) FROM trips", "22012"),
    ("count(*), chr(0) FROM trips", "54000"),
    ("count(*), sqrt(-1) FROM trips", "2201F"),
    ("count(*), ('a' || 'b')::int FROM trips", "22P02"),
    ("payment_type, count(*) FROM trips GROUP BY 1 HAVING payment_type ~ '('", "2201B"),
    ("split_part(payment_type, ',', 0), count(*) FROM trips GROUP BY payment_type", "22023"),
    (
        "substring(min(payment_type) FROM 1 FOR -1) FROM (SELECT payment_type, count(*) FROM trips GROUP BY 1) AS t",
        "22011",
    ),
    ("extract(fortnight FROM max(pickup_ts)) FROM trips", "22023"),
    ("date_trunc('fortnight', max(pickup_ts)) FROM trips", "22023"),
    ("max(pickup_ts) AT TIME ZONE 'Nowhere/Town' FROM trips", "22023"),
    ("ntile(0) OVER (), count(*) FROM trips GROUP BY payment_type", "22014"),
    ("payment_type, count(*) FROM trips GROUP BY 1 LIMIT -1", "2201W"),
    ("payment_type, count(*) FROM trips GROUP BY 1 OFFSET -1", "2201X"),
    ("json_build_object(count(*)) FROM trips", "22023"),
]


@pytest.mark.parametrize(("statement", "code"), DOOMED)
def test_what_fails_for_constants_fails_before_it_is_paid_for(here: Site, statement: str, code: str) -> None:
    """What no noise has part in is PostgreSQL's to refuse, and costs nothing."""
    with psycopg.connect(here.dsn, autocommit=True) as asked:
        before = asked.execute("SELECT count(*) FROM dpsql.charges").fetchone()
        with pytest.raises(psycopg.Error) as caught:
            asked.execute(f"SELECT {statement}".replace("FROM trips", "FROM trips WHERE tip > 3.25").encode())
        assert caught.value.sqlstate == code
        assert asked.execute("SELECT count(*) FROM dpsql.charges").fetchone() == before


def test_a_choice_between_constants_is_made_by_the_answer(here: Site) -> None:
    """What a CASE may never come to does not count."""
    with psycopg.connect(here.dsn) as asked:
        statement = b"SELECT CASE WHEN count(*) > 0 THEN 1 ELSE count(*) / 0 END FROM trips"
        assert asked.execute(statement).fetchall() == [(1,)]


def test_parameters_divide_like_answers(here: Site) -> None:
    """What a tool puts into a statement may be 0."""
    with psycopg.connect(here.dsn) as asked:
        assert asked.execute("SELECT count(*) / %s::int FROM trips", (0,)).fetchall() == [(None,)]
