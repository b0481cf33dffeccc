"""A client's own temporary views: over what was released, in both protocols; of rows they show the columns alone."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.data import BY_PAYMENT, TRIPS
from tests.clients.site import Site

BY = "SELECT payment_type AS paid, count(*) AS n FROM trips GROUP BY 1 ORDER BY 1"
MADE = [
    f"CREATE TEMP VIEW v AS {BY}",
    f"create or replace local temporary view v as ({BY})",
    f'CREATE TEMPORARY VIEW v ("paid", n) WITH (security_barrier) AS {BY};',
    f"CREATE OR REPLACE TEMP VIEW v AS WITH a AS ({BY}) SELECT * FROM a ORDER BY 1",
]


@pytest.fixture(params=["simple", "extended"])
def session(here: Site, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Give a session, and what it is told."""
    factory: type[psycopg.Cursor] = psycopg.ClientCursor if request.param == "simple" else psycopg.Cursor
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as opened:
        opened.prepare_threshold = 0
        yield opened


def _charges(session: psycopg.Connection) -> int:
    (number,) = session.execute("SELECT count(*) FROM dpsql.charges").fetchone() or (0,)
    return int(number)


@pytest.mark.parametrize("made", MADE)
def test_views_are_over_what_was_released(session: psycopg.Connection, made: str) -> None:
    """They are read for nothing, as often as one likes, and by views and statements over them."""
    session.execute(made.encode())
    paid = _charges(session)
    assert [tuple(row) for row in session.execute("SELECT paid, n FROM v").fetchall()] == BY_PAYMENT
    session.execute("CREATE TEMP VIEW w AS SELECT sum(n) AS every FROM v")
    assert session.execute("SELECT every FROM w").fetchall() == [(TRIPS,)]
    assert session.execute("SELECT n * 100.0 / (SELECT count(*) FROM trips) > 1 FROM v").fetchall() == [(True,)] * 3
    assert _charges(session) - paid in (0, 1)  # of all trips
    session.execute(BY.encode())
    assert _charges(session) - paid in (0, 1)
    session.execute(
        "DROP VIEW w; DROP VIEW v" if isinstance(session.cursor(), psycopg.ClientCursor) else "DROP VIEW v CASCADE"
    )


def test_a_view_is_replaced_by_another_answer(session: psycopg.Connection) -> None:
    """Whoever is told that it can't be has the view as it was, and may ask again for nothing."""
    session.execute("CREATE TEMP VIEW v AS SELECT count(*) AS n FROM trips")
    session.execute("CREATE OR REPLACE TEMP VIEW v AS SELECT count(*) AS n FROM trips WHERE payment_type = 'cash'")
    assert session.execute("SELECT n FROM v").fetchall() == [(1000,)]
    for other, code in (
        ("count(payment_type) AS m FROM trips", "42P16"),
        ("fare, count(*) AS n FROM trips GROUP BY 1", "55000"),
    ):
        with pytest.raises(psycopg.Error) as caught:
            session.execute(f"CREATE OR REPLACE TEMP VIEW v AS SELECT {other}".encode())
        assert caught.value.sqlstate == code
        assert session.execute("SELECT n FROM v").fetchall() == [(1000,)]


def test_views_are_nobody_elses(session: psycopg.Connection, here: Site) -> None:
    """They end with the session."""
    session.execute("CREATE TEMP VIEW mine AS SELECT count(*) AS n FROM trips")
    with psycopg.connect(here.dsn, autocommit=True) as other, pytest.raises(psycopg.errors.UndefinedTable):
        other.execute("SELECT * FROM mine")


def test_views_of_rows_show_columns_and_are_not_read(session: psycopg.Connection) -> None:
    """By which ibis learns the columns of a statement; a NOTICE says what they are for."""
    told: list[str | None] = []
    session.add_notice_handler(lambda notice: told.append(notice.message_primary))
    before = _charges(session)
    session.execute("CREATE TEMP VIEW v AS SELECT fare, payment_type AS paid FROM trips WHERE tip > 1")
    assert told == [
        "rows are protected: this view shows its columns, and no statement may read it; write its query in WITH instead"
    ]
    columns = session.execute(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'v'::regclass AND attnum > 0"
    ).fetchall()
    assert columns == [("fare", "double precision"), ("paid", "text")]
    for asked in (
        "SELECT * FROM v",
        "SELECT count(*) FROM v",
        "SELECT 1 FROM v LIMIT 1",
        "CREATE TEMP TABLE t AS SELECT * FROM v",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="rows of trips are protected"):
            session.execute(asked.encode())
    assert _charges(session) == before


REFUSED = [
    ("CREATE VIEW v AS SELECT count(*) FROM trips", "42501"),
    ("CREATE TEMP RECURSIVE VIEW v (n) AS SELECT count(*) FROM trips", "42501"),
    ("CREATE TEMP VIEW v AS SELECT nope, count(*) FROM trips GROUP BY 1", "42703"),
    ("CREATE TEMP VIEW v AS SELECT fare, count(*) FROM trips GROUP BY 1", "55000"),
    ("CREATE TEMP VIEW v (a, b) AS SELECT count(*) FROM trips", "42601"),
    ("CREATE TEMP VIEW trips AS SELECT count(*) FROM trips", "42501"),
    ("CREATE TEMP VIEW pg_class AS SELECT count(*) FROM trips", "42501"),
    ("CREATE TEMP VIEW taken AS SELECT count(*) FROM trips", "42P07"),
    ("CREATE TEMP VIEW v WITH (nope) AS SELECT count(*) FROM trips", "22023"),
    ("CREATE TEMP VIEW v AS SELECT count(*) FROM trips WITH CHECK OPTION", "42601"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "code"), REFUSED)
def test_what_is_refused_costs_nothing(session: psycopg.Connection, statement: str, code: str) -> None:
    """Before anything is measured, and no view is left behind."""
    session.execute("CREATE TEMP VIEW taken AS SELECT 1 AS n")
    before = _charges(session)
    with pytest.raises(psycopg.Error) as caught:
        session.execute(f"{statement} -- {code}".encode())
    assert caught.value.sqlstate == code
    assert _charges(session) == before
    assert session.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'v' AND relnamespace = pg_my_temp_schema()"
    ).fetchall() == [("taken",)]


def test_statistics_and_comments_of_own_tables_are_taken(session: psycopg.Connection, here: Site) -> None:
    """As tools send them; others see neither. Those of declared tables are their owner's."""
    session.execute("CREATE TEMP TABLE kept AS SELECT payment_type, count(*) FROM trips GROUP BY 1")
    for statement in (
        "ANALYZE kept",
        "ANALYZE",
        "COMMENT ON TABLE kept IS 'by payment'",
        "COMMENT ON COLUMN kept.count IS 'x'",
    ):
        assert session.execute(statement.encode()).statusmessage == statement.split()[0]
    seen = "SELECT reltuples, obj_description(oid) FROM pg_class WHERE relname = 'kept'"
    with psycopg.connect(here.dsn, autocommit=True) as other:
        assert set(other.execute(seen).fetchall()) == {(-1, None)}  # a session before may have left one of its own
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute("COMMENT ON TABLE trips IS 'mine'")
    with session.transaction(force_rollback=True):
        with pytest.raises(psycopg.errors.UndefinedTable), session.transaction():
            session.execute("SELECT * FROM nope")
        assert session.execute("ANALYZE kept").statusmessage == "ANALYZE"
    session.execute("BEGIN")
    with pytest.raises(psycopg.errors.UndefinedTable):
        session.execute("SELECT * FROM nope")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        session.execute("ANALYZE kept")
    session.execute("ROLLBACK")


def test_statistics_are_made_by_no_second_execution(here: Site) -> None:
    """The portal is gone with the first."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        session.execute("CREATE TEMP TABLE again AS SELECT 1 AS n")
        session.prepare_threshold = 0
        for _ in range(3):
            session.execute("ANALYZE again", prepare=True)
        assert session.execute("SELECT reltuples FROM pg_class WHERE relname = 'again'").fetchone() == (-1,)
