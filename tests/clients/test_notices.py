"""Notices beside an answer, and the settings that they are about, as a client sees them."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.site import Site

HOURS = "SELECT date_trunc('hour', pickup_ts), count(*) FROM trips WHERE tip > 30 GROUP BY 1"
"""Most hours of a month have no such trip."""


@pytest.fixture
def told(here: Site) -> Iterator[tuple["psycopg.Connection[tuple[object, ...]]", list[str]]]:
    """Give a session, and the notices that it has had."""
    notices: list[str] = []
    with psycopg.connect(here.dsn, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: notices.append(f"{notice.severity}: {notice.message_primary}"))
        yield connection, notices


def test_most_groups_that_may_be_empty_are_told_of_and_left_out(
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]],
) -> None:
    """The notice says how many there are, its statement leaves them out, and another says that they are."""
    connection, notices = told
    shown = connection.execute(HOURS.encode()).fetchall()
    (notice,) = notices
    assert notice.startswith("NOTICE: ")
    assert f"of {len(shown):,} groups may be empty" in notice
    connection.execute(notice.partition(": SET")[2].join(("SET", "")).partition(" leaves")[0].encode())
    kept = connection.execute(HOURS.encode()).fetchall()
    assert len(kept) < len(shown) / 2
    assert f"{len(shown) - len(kept):,} of {len(shown):,} groups are hidden" in notices[1]


def test_an_error_that_can_not_be_had_is_told(
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]],
) -> None:
    """Each time, also when the answer is free; an error that is had is no news."""
    connection, notices = told
    connection.execute(b"SET dpsql.error = '0.0001 %'")
    for _ in range(2):
        connection.execute(b"SELECT count(*) FROM trips WHERE fare < 1")
    assert [notice.partition(":")[2].strip()[:28] for notice in notices] == ["the typical error is above 0"] * 2
    connection.execute(b"SET dpsql.error = '50 %'")
    connection.execute(b"SELECT count(*) FROM trips")
    assert not [notice for notice in notices[2:] if "typical error" in notice]  # another may say why it is free


SUPERSETS = "SELECT\n  fare,\n  tip\nFROM trips\nWHERE\n  fare > 5\nLIMIT 1"


@pytest.mark.parametrize("probe", [SUPERSETS, 'SELECT * FROM "trips" LIMIT 1'])
def test_a_probe_with_a_row_says_that_it_has_none(
    probe: str,
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]],
) -> None:
    """Each time; nobody takes it for a table without rows. What asks for no row is told nothing."""
    connection, notices = told
    for _ in range(2):
        assert connection.execute(probe.encode()).fetchall() == []
    assert (
        notices
        == [
            "NOTICE: rows are protected: these are the columns alone, and no row; ask for count(*), sum(x), avg(x) … GROUP BY"
        ]
        * 2
    )
    for empty in ("SELECT * FROM trips LIMIT 0", "SELECT * FROM trips WHERE false"):
        assert connection.execute(empty.encode()).fetchall() == []
    assert len(notices) == 2


def test_a_question_for_a_row_is_refused_with_what_to_ask(
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]],
) -> None:
    """An empty answer would say that there is none."""
    connection, _ = told
    for sql in ("SELECT fare FROM trips ORDER BY fare DESC LIMIT 1", "SELECT tip FROM trips WHERE fare > 100 LIMIT 1"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            connection.execute(sql.encode())
        assert "max(x) and min(x)" in (refused.value.diag.message_hint or "")


def test_clients_that_want_no_notices_get_none(
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]],
) -> None:
    """client_min_messages is theirs, as with PostgreSQL."""
    connection, notices = told
    connection.execute(b"SET client_min_messages = warning")
    connection.execute(HOURS.encode())
    assert notices == []


@pytest.mark.parametrize("statement", [HOURS, f"EXPLAIN {HOURS}", f"CREATE TEMP TABLE found AS {HOURS}"])
def test_notices_come_before_the_end_of_their_statement(
    told: tuple["psycopg.Connection[tuple[object, ...]]", list[str]], statement: str
) -> None:
    """In the simple protocol and in the extended one; an explanation has none."""
    connection, notices = told
    for binary in (False, True):
        with connection.cursor(binary=binary) as cursor:
            cursor.execute(statement.encode())
        connection.execute(b"DROP TABLE IF EXISTS found")
    assert len([notice for notice in notices if "may be empty" in notice]) == (
        0 if statement.startswith("EXPLAIN") else 2
    )
