"""Answers written into a client's own temporary tables, by every statement that writes, in both protocols."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.data import LONG_TRIPS, TRIPS
from tests.clients.site import Site


@pytest.fixture(params=["simple", "extended"])
def session(here: Site, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Give a session with a temporary table of one row."""
    factory: type[psycopg.Cursor] = psycopg.ClientCursor if request.param == "simple" else psycopg.Cursor
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as opened:
        opened.prepare_threshold = 0  # without parameters an ordinary cursor would use the simple protocol
        opened.execute("CREATE TEMP TABLE kept (g text, n bigint UNIQUE)")
        opened.execute("INSERT INTO kept VALUES ('own', 1)")
        yield opened


LONG = "SELECT count(*) FROM trips WHERE fare > 20"
BY_PAYMENT = "SELECT payment_type AS p, count(*) AS c FROM trips WHERE payment_type IS NOT NULL GROUP BY 1"
OWN = ("own", 1)

WRITTEN = [
    (f"INSERT INTO kept SELECT 'long', ({LONG})", [("long", LONG_TRIPS), OWN]),
    (f"INSERT INTO kept (n) {LONG}", [OWN, (None, LONG_TRIPS)]),
    (f"INSERT INTO kept(n)({LONG})-- all", [OWN, (None, LONG_TRIPS)]),
    (f"INSERT INTO kept VALUES ('a', ({LONG})), ('b', 2 + ({LONG}))", [("a", LONG_TRIPS), ("b", LONG_TRIPS + 2), OWN]),
    (f"INSERT INTO kept AS k {BY_PAYMENT} ORDER BY 1 ON CONFLICT (n) DO NOTHING", [("cash", 1000), OWN]),
    (
        f"INSERT INTO kept SELECT 'x', 1 FROM ({LONG}) AS l ON CONFLICT (n) DO UPDATE SET g = excluded.g || ({LONG})",
        [(f"x{LONG_TRIPS}", 1)],
    ),
    (f"WITH a AS ({LONG}) INSERT INTO kept SELECT 'w', count + 1 FROM a", [OWN, ("w", LONG_TRIPS + 1)]),
    (
        (
            "WITH q (a) AS (SELECT 1), r AS (SELECT trips.* FROM trips JOIN zones ON pickup_zone = zone_id WHERE zone_id = 3)"
            " INSERT INTO kept SELECT 'r', count(*) + 1 FROM r"
        ),
        [OWN, ("r", TRIPS // 5 + 1)],
    ),
    (f"WITH a AS ({LONG}) INSERT INTO kept WITH b AS (SELECT 1 AS n) SELECT 'w', count + b.n FROM a, b", [OWN, ("w", 1921)]),
    (f"UPDATE kept SET n = ({LONG})", [("own", LONG_TRIPS)]),
    (f"UPDATE kept SET (g, n) = (SELECT 'u', count(*) FROM trips) WHERE n < ({LONG})", [("u", TRIPS)]),
    (f"UPDATE ONLY kept AS k SET n = l.count FROM ({LONG}) AS l WHERE k.n = 1", [("own", LONG_TRIPS)]),
    (f"WITH a AS ({LONG}) UPDATE kept SET n = a.count FROM a", [("own", LONG_TRIPS)]),
    ("WITH r AS (SELECT * FROM trips WHERE fare > 20) UPDATE kept SET n = (SELECT count(*) FROM r)", [("own", LONG_TRIPS)]),
    (f"DELETE FROM kept WHERE n < ({LONG})", []),
    (f"DELETE FROM kept USING ({LONG}) AS l WHERE n = l.count", [OWN]),
    (
        (
            f"MERGE INTO kept USING ({BY_PAYMENT}) AS s ON g = 'own' AND p = 'cash' WHEN MATCHED THEN UPDATE SET n = c + 5"
            " WHEN NOT MATCHED THEN INSERT VALUES (p, c)"
        ),
        [("credit card", 1000), ("own", 1005)],
    ),
    (f"PREPARE put AS INSERT INTO kept SELECT 'p', ({LONG}); EXECUTE put", [OWN, ("p", LONG_TRIPS)]),
    ("CREATE TEMP TABLE other AS SELECT 'o' AS g, count(*) FROM trips; INSERT INTO kept TABLE other", [("o", TRIPS), OWN]),
    ("SELECT 'i' AS g, count(*) INTO TEMP other FROM trips; INSERT INTO kept TABLE other", [("i", TRIPS), OWN]),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "rows"), WRITTEN)
def test_answer_is_written(session: psycopg.Connection, statement: str, rows: list[object]) -> None:
    """The answer stands in the table, and everything else of the statement means what it means."""
    for part in statement.split("; "):
        session.execute(part.encode())
    assert session.execute("SELECT * FROM kept ORDER BY g").fetchall() == rows


def test_returning_gives_what_was_written(session: psycopg.Connection) -> None:
    """With its names, and with an answer of its own."""
    cursor = session.execute(f"INSERT INTO kept {BY_PAYMENT} LIMIT 1 RETURNING g AS paid, n, ({LONG}) AS long".encode())
    assert cursor.description is not None
    assert [column.name for column in cursor.description] == ["paid", "n", "long"]
    assert (cursor.statusmessage, cursor.fetchall()) == ("INSERT 0 1", [("cash", 1000, LONG_TRIPS)])


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_taken(here: Site, binary: bool) -> None:
    """In the query that is measured and outside of it, in both formats."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        session.execute("CREATE TEMP TABLE kept (g text, n bigint)")
        put = "INSERT INTO kept SELECT %s, count(*) FROM trips WHERE fare > %s RETURNING *"
        assert session.execute(put, ("a", 20), binary=binary).fetchall() == [("a", LONG_TRIPS)]
        change = "UPDATE kept SET n = (SELECT count(*) + %s FROM trips WHERE fare > %s) WHERE g = %s RETURNING n"
        assert session.execute(change, (1, 20, "a"), binary=binary).fetchall() == [(LONG_TRIPS + 1,)]


REFUSED = [
    ("INSERT INTO kept SELECT payment_type, trip_id FROM trips", "42501"),
    ("INSERT INTO trips (trip_id) SELECT count(*) FROM trips", "42501"),
    ("INSERT INTO zones (zone_id) SELECT count(*) FROM trips", "42501"),
    ("UPDATE kept SET n = (SELECT trip_id FROM trips)", "42501"),
    ("UPDATE kept SET n = (SELECT count(*) FROM trips) FROM trips", "42501"),
    ("WITH r AS (SELECT * FROM trips) UPDATE kept SET n = (SELECT count(*) FROM r) FROM r", "42501"),
    ("UPDATE kept SET n = (SELECT count(*) FROM trips WHERE payment_type = kept.g)", "0A000"),
    ("WITH i AS (INSERT INTO kept SELECT 'i', count(*) FROM trips RETURNING n) UPDATE kept SET n = i.n FROM i", "0A000"),
    ("INSERT INTO kept SELECT 'x', count(*), 3 FROM trips", "42601"),
    ("INSERT INTO kept SELECT count(*), 'x' FROM trips", "22P02"),
    ("INSERT INTO kept (n) SELECT avg(fare)::text FROM trips", "42804"),
    ("INSERT INTO nowhere SELECT count(*) FROM trips", "42P01"),
    ("CREATE TEMP TABLE kept AS SELECT count(*) FROM trips", "42P07"),
    ("SELECT count(*) INTO TEMP kept FROM trips", "42P07"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "code"), REFUSED)
def test_what_is_refused_costs_nothing(session: psycopg.Connection, statement: str, code: str) -> None:
    """Rows, tables that are not one's own, and what PostgreSQL would not run."""
    charges = "SELECT count(*) FROM dpsql.charges"
    before = session.execute(charges).fetchone()
    with pytest.raises(psycopg.Error) as caught:
        session.execute(f"{statement} -- {code}".encode())
    assert caught.value.sqlstate == code
    assert session.execute(charges).fetchone() == before


def test_the_same_answer_is_charged_once(session: psycopg.Connection) -> None:
    """However often it stands in a statement, and after an error that its own value has caused."""
    charges = "SELECT count(*) FROM dpsql.charges"
    (before,) = session.execute(charges).fetchone() or (0,)
    count = (
        f"SELECT count(*) FROM trips WHERE tip > 1 AND fare < {30 + isinstance(session.cursor(), psycopg.ClientCursor)}"
    )
    for _ in range(2):
        with pytest.raises(psycopg.errors.UniqueViolation):
            session.execute(f"INSERT INTO kept VALUES ('x', ({count})), ('y', ({count}))".encode())
        session.execute(f"UPDATE kept SET n = ({count}) + 0 * ({count})".encode())
    assert session.execute(charges).fetchone() == (before + 1,)


def test_rollback_undoes_what_was_written(session: psycopg.Connection) -> None:
    """The table's rows, and not the charge."""
    with session.transaction(force_rollback=True):
        session.execute(f"INSERT INTO kept SELECT 'x', ({LONG})".encode())
    assert session.execute("SELECT * FROM kept").fetchall() == [OWN]


def test_accounts_are_kept_as_answers_are(session: psycopg.Connection) -> None:
    """What a role has left may be written down too."""
    session.execute("INSERT INTO kept SELECT unit_kind, 2 FROM dpsql.budget")
    session.execute("UPDATE kept SET g = (SELECT unit_kind || '!' FROM dpsql.budget) WHERE n = 1")
    assert session.execute("SELECT g FROM kept ORDER BY n").fetchall() == [("passenger!",), ("passenger",)]
