"""Statements that people try and that had misleading messages: each is answered, or says what it is and what to write."""

from decimal import Decimal

import psycopg
import pytest

from tests.clients.data import LONG_TRIPS, TRIPS
from tests.clients.site import Site

ANSWERED = [
    ("SELECT count(*) * 100.0 / (SELECT count(*) FROM trips) FROM trips WHERE fare > 20", [(Decimal(64),)]),
    (
        "SELECT payment_type, (SELECT 2 * count(*) FROM trips) / count(*) AS n FROM trips GROUP BY 1 ORDER BY 1",
        [("cash", 6), ("credit card", 6), (None, 6)],
    ),
    ("SELECT count(*) FROM trips HAVING count(*) > (SELECT count(*) FROM trips WHERE fare > 20)", [(TRIPS,)]),
    (
        "SELECT pickup_zone, (SELECT zone FROM zones WHERE zone_id=pickup_zone) FROM trips WHERE pickup_zone < 3 GROUP BY 1",
        [(1, "Zone 1"), (2, "Zone 2")],
    ),
    (
        "SELECT (SELECT z.zone FROM zones z WHERE z.zone_id = t.pickup_zone) FROM trips t GROUP BY pickup_zone LIMIT 1",
        [("Zone 1",)],
    ),
    ("SELECT count(*) FROM trips WHERE pickup_zone = ANY('{1,2}')", [(1200,)]),
    ("SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT unnest('{1,2}'::int[]))", [(1200,)]),
    ("SELECT count(*) FROM trips WHERE payment_type <> ALL('{cash}')", [(1000,)]),
    ("SELECT count(*) FROM trips WHERE payment_type = $$cash$$ OR payment_type = $q$it's$q$", [(1000,)]),
    ("SHOW dpsql.epsilon", [("",)]),
]
REFUSED = [
    ("SELECT string_agg(payment_type, ',') FROM trips", "0A000", "shows values of single rows"),
    ("SET dpsql.empty_groups = 'nonsense'", "22023", "must be auto, show or hide"),
    ("SET dpsql.noise = 'low'", "42704", "unrecognized configuration parameter"),
    ("SELECT sum(NULL::int) FROM trips", "0A000", "NULL has no values"),
    ("SELECT DISTINCT ON (payment_type) payment_type, fare FROM trips", "42501", "DISTINCT ON shows rows"),
    ("SELECT fare, count(*) FROM trips GROUP BY fare", "55000", "there are too many values"),
    ("SELECT pickup_ts, count(*) FROM trips GROUP BY 1", "55000", "there are too many values"),
    (
        "SELECT count(*) FROM trips t WHERE fare > 5 OR EXISTS (SELECT FROM zones WHERE zone_id > t.pickup_zone)",
        "0A000",
        "EXISTS is supported over private rows as",
    ),
    ("SELECT sum(passenger_id) FROM trips", "55000", "identifies individuals"),
]


@pytest.mark.parametrize(("statement", "rows"), ANSWERED)
def test_what_can_be_answered_is(here: Site, statement: str, rows: list[tuple[object, ...]]) -> None:
    """As PostgreSQL answers it."""
    with psycopg.connect(here.dsn, cursor_factory=psycopg.ClientCursor) as connection:
        assert connection.execute(statement.encode()).fetchall() == rows


@pytest.mark.parametrize(("statement", "code", "words"), REFUSED)
def test_what_is_refused_says_why(here: Site, statement: str, code: str, words: str) -> None:
    """With its own reason, and a hint that names the next step."""
    with psycopg.connect(here.dsn) as connection, pytest.raises(psycopg.Error, match=words) as refused:
        connection.execute(statement.encode())
    assert refused.value.sqlstate == code
    assert refused.value.diag.message_hint


@pytest.mark.parametrize("factory", [psycopg.Cursor, psycopg.ClientCursor])
def test_what_is_prepared_can_be_explained(here: Site, factory: type[psycopg.Cursor]) -> None:
    """As the statement itself would be, and not as the shadow, which has no rows, would run it."""
    with psycopg.connect(here.dsn, cursor_factory=factory, autocommit=True) as connection:
        connection.prepare_threshold = 0
        connection.execute("PREPARE longer (float) AS SELECT count(*) FROM trips WHERE fare > $1")
        lines = connection.execute("EXPLAIN VERBOSE EXECUTE longer (20)").fetchall()
        assert "Private answer" in lines[0][0]
        assert connection.execute("EXECUTE longer (20)").fetchall() == [(LONG_TRIPS,)]
        connection.execute("PREPARE public AS SELECT count(*) FROM zones")
        assert "Aggregate" in connection.execute("EXPLAIN EXECUTE public").fetchall()[0][0]


def test_parameters_that_are_arrays_are_spread(here: Site) -> None:
    """As drivers write lists whose length they don't know."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        for values, rows in (["cash"], 1000), (["cash", "credit card"], 2000), ([], 0), (["cash", None], 1000):
            asked = "SELECT count(*) FROM trips WHERE payment_type IN (SELECT unnest(%s::text[]))"
            assert session.execute(asked, (values,)).fetchall() == [(rows,)]


@pytest.mark.parametrize("copied", ["trips", "trips (fare)", "public.trips", "(SELECT * FROM trips)", "(TABLE trips)"])
def test_copies_of_rows_are_refused_by_their_rule(here: Site, copied: str) -> None:
    """Whether it is the wire that sees it or the tripwire: in the same words, with what to ask."""
    with psycopg.connect(here.dsn, autocommit=True) as session, session.cursor() as cursor:
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege) as refused,
            cursor.copy(f"COPY {copied} TO STDOUT".encode()) as rows,
        ):
            list(rows)
        assert (refused.value.diag.message_primary or "").startswith("rows of trips are protected; ask for count(*)")
        assert refused.value.diag.message_detail == "rule: rows-of-protected-table"


@pytest.mark.parametrize("statement", ["SELECT 1 FROM trip", "SELECT count(*) FROM trips JOIN Trip USING (trip_id)"])
def test_a_table_that_is_not_there_is_told_with_the_one_that_is_meant(here: Site, statement: str) -> None:
    """Also where PostgreSQL is asked before the statement is answered."""
    with psycopg.connect(here.dsn) as connection, pytest.raises(psycopg.errors.UndefinedTable) as refused:
        connection.execute(statement.encode())
    assert refused.value.diag.message_hint == 'Perhaps you mean "trips".'
