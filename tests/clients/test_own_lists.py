"""A client's own temporary tables as lists beside private rows, in both protocols."""

import datetime as dt
from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.data import TRIPS
from tests.clients.site import Site

ODD = "Ab \"c\" 'd'"
"""A name and a value that need their quotes."""


@pytest.fixture(params=["simple", "extended"])
def session(here: Site, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Give a session with a list."""
    factory: type[psycopg.Cursor] = psycopg.ClientCursor if request.param == "simple" else psycopg.Cursor
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as opened:
        opened.prepare_threshold = 0
        opened.execute("CREATE TEMP TABLE mine (zone int PRIMARY KEY, part text, rate numeric(6,2), since date)")
        opened.execute(
            "INSERT INTO mine VALUES (1, 'a', 1.5, '2019-03-01'), (2, 'b', NULL, NULL), (3, 'a', 2, '2019-03-02')"
        )
        yield opened


OF_ZONE = TRIPS // 5
"""Trips begin in five zones, in each equally often."""

ASKED = [
    ("SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT zone FROM mine)", [(3 * OF_ZONE,)]),
    (
        "SELECT count(*) FROM trips WHERE pickup_zone NOT IN (SELECT zone FROM mine WHERE part = 'a')",
        [(TRIPS - 2 * OF_ZONE,)],
    ),
    (
        "SELECT m.part, count(*) FROM trips t JOIN mine m ON m.zone = t.pickup_zone GROUP BY 1 ORDER BY 1",
        [("a", 2 * OF_ZONE), ("b", OF_ZONE)],
    ),
    (
        "SELECT upper(part), count(t.fare) FROM mine LEFT JOIN trips t ON zone = t.pickup_zone GROUP BY 1 ORDER BY 1",
        [("A", 2 * OF_ZONE), ("B", OF_ZONE)],
    ),
    (
        "SELECT zone, (SELECT count(*) FROM trips WHERE pickup_zone = zone) AS n FROM mine ORDER BY 1 LIMIT 1",
        [(1, OF_ZONE)],
    ),
    (
        "WITH l AS (SELECT zone AS z FROM mine WHERE rate > 1.75) SELECT count(*) FROM trips JOIN l ON z = pickup_zone",
        [(OF_ZONE,)],
    ),
    ("WITH mine AS (SELECT 4 AS zone) SELECT count(*) FROM trips JOIN mine ON zone = pickup_zone", [(OF_ZONE,)]),
    (
        (
            "SELECT m.since, x.n FROM mine m JOIN (SELECT pickup_zone AS z, count(*) AS n FROM trips GROUP BY 1) x"
            " ON z = m.zone GROUP BY m.zone, x.n ORDER BY m.zone LIMIT 1"
        ),
        [(dt.date(2019, 3, 1), OF_ZONE)],
    ),
]


@pytest.mark.parametrize(("statement", "rows"), ASKED)
def test_a_list_stands_beside_rows(session: psycopg.Connection, statement: str, rows: list[object]) -> None:
    """Joined, among what is tested for, under other names; and not where a query of the statement bears its name."""
    assert session.execute(statement.encode()).fetchall() == rows


def test_a_list_that_changes_is_read_again(session: psycopg.Connection) -> None:
    """A remembered statement has the rows of the moment; empty, the list is of no zone."""
    among = "SELECT count(*) FROM trips JOIN mine ON mine.zone = pickup_zone"
    assert session.execute(among).fetchall() == [(3 * OF_ZONE,)]
    session.execute("DELETE FROM mine WHERE zone > 1")
    assert session.execute(among).fetchall() == [(OF_ZONE,)]
    session.execute("BEGIN")
    session.execute("INSERT INTO mine VALUES (5, 'c', 0, NULL)")
    assert session.execute(among).fetchall() == [(2 * OF_ZONE,)]
    session.execute("ROLLBACK")
    assert session.execute(among).fetchall() == [(OF_ZONE,)]
    session.execute("DELETE FROM mine")
    assert session.execute(among).fetchall() == [(0,)]


def test_each_session_has_its_own(here: Site, session: psycopg.Connection) -> None:
    """The same statement of another session is about that one's table, or about none."""
    among = "SELECT count(*) FROM trips WHERE pickup_zone IN (SELECT zone FROM mine)"
    assert session.execute(among).fetchall() == [(3 * OF_ZONE,)]
    with psycopg.connect(here.dsn, autocommit=True) as other:
        with pytest.raises(psycopg.errors.UndefinedTable):
            other.execute(among)
        other.execute("CREATE TEMP TABLE mine (zone int); INSERT INTO mine VALUES (1)")
        assert other.execute(among).fetchall() == [(OF_ZONE,)]
        assert session.execute(among).fetchall() == [(3 * OF_ZONE,)]


def test_names_and_values_are_quoted(session: psycopg.Connection) -> None:
    """Nothing in a name or in a value is read as anything else; dates as the session writes them, or not, are the same."""
    session.execute('CREATE TEMP TABLE "Odd ""t""" ("Ab ""c"" \'d\'" text, "day" date, zone int)')
    session.execute("SET DateStyle = 'German, DMY'")
    session.execute('INSERT INTO "Odd ""t""" VALUES (%s, %s, 1), (NULL, NULL, 2)', (ODD, dt.date(2019, 2, 1)))
    joined = (
        'SELECT o.*, count(*) FROM trips JOIN "Odd ""t""" o ON o.zone = pickup_zone GROUP BY 1, 2, 3 ORDER BY o.zone'
    )
    assert session.execute(joined).fetchall() == [(ODD, dt.date(2019, 2, 1), 1, OF_ZONE), (None, None, 2, OF_ZONE)]


@pytest.mark.parametrize(
    ("made", "named"),
    [
        ("CREATE TEMP TABLE big AS SELECT g AS zone FROM generate_series(1, 1001) g", "big"),
        ("CREATE TEMP TABLE big AS SELECT 1 AS zone, repeat('x', 100001) AS x", "big"),
        ("CREATE TEMP TABLE big AS SELECT 1 AS zone, repeat('x', 300000000) AS x", "big"),
        ("CREATE TEMP TABLE big AS SELECT 1 AS zone, ARRAY[1] AS x", "big"),
        ("CREATE TEMP VIEW big AS SELECT 1 AS zone", "big"),
        ("CREATE TEMP TABLE big AS SELECT 1 AS zone", "big WHERE big.ctid IS NOT NULL AND big"),
    ],
)
def test_what_is_no_list_is_refused(here: Site, made: str, named: str) -> None:
    """With what a list is: too many rows, too long, of other types, no table, and what PostgreSQL keeps of rows."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        session.execute(made.encode())
        source, _, where = named.partition(" WHERE ")
        condition = f" WHERE {where.removesuffix(' AND big')}" if where else ""
        statement = f"SELECT count(*) FROM trips JOIN {source} ON big.zone = pickup_zone{condition}"
        with pytest.raises(psycopg.Error) as refused:
            session.execute(statement.encode())
    assert "at most 1,000 rows" in (refused.value.diag.message_hint or "")


def test_few_lists_stand_in_a_statement(here: Site) -> None:
    """So that what is read of them stays short: the eleventh is none."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        names = [f"l{number:02}" for number in range(11)]
        for name in names:
            session.execute(f"CREATE TEMP TABLE {name} AS SELECT 1 AS zone".encode())
        among = [f"pickup_zone IN (SELECT zone FROM {name})" for name in names]
        statement = "SELECT count(*) FROM trips WHERE {}"
        assert session.execute(statement.format(" AND ".join(among[:10])).encode()).fetchall() == [(OF_ZONE,)]
        with pytest.raises(psycopg.Error):
            session.execute(statement.format(" AND ".join(among)).encode())
