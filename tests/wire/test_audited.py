"""Which lines a log-in leaves, and that strangers can't fill a disk with them."""

import asyncio

import psycopg
import pytest

from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.intercept.audit_lines import written_parameters
from dpsql.wire.protocol.messages import Limits
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening
from tests.wire.no_trail import NoTrail


def test_a_log_in_that_is_turned_away_unread_leaves_no_line(answers: Exact, shadow: Postgres) -> None:
    """After too many failures; names that strangers make up are cut short."""
    trail, limits = NoTrail(), Limits(failures_per_user=2, failures_per_address=9)
    with listening(answers, shadow, limits, trail=trail) as (served, _):
        for _ in range(5):
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(f"{dsn(served, 'x' * 3_000)} password=wrong application_name={'y' * 300}")
    assert [(len(record.user), len(record.application), record.code) for record in trail.records] == [
        (200, 200, "28P01")
    ] * 2


def test_visitors_of_the_pages_are_known_by_their_own_address(answers: Exact, shadow: Postgres) -> None:
    """They log in from where dpsql is; the application says for whom."""
    trail = NoTrail()
    with listening(answers, shadow, trail=trail) as (served, loop):
        vouched = asyncio.run_coroutine_threadsafe(served.vouch("ana", "guess", "127.0.0.1", "dpsql web for ::7"), loop)
        assert not vouched.result(10)
    (line,) = trail.records
    assert (line.user, line.application, line.verdict) == ("ana", "dpsql web for ::7", "refused")


def test_nobody_is_let_in_without_a_line(answers: Exact, shadow: Postgres) -> None:
    """And no statement is taken."""
    trail = NoTrail()
    with listening(answers, shadow, trail=trail) as (served, _):
        with psycopg.connect(f"{dsn(served)} password=pw", autocommit=True) as session:
            trail.full = True
            for text in ("SELECT 1", "SELECT count(*) FROM trips", "SELECT 1; SELECT count(*) FROM trips"):
                with pytest.raises(psycopg.Error, match="audit trail can't be written"):
                    session.execute(text)
            trail.full = False
            session.execute("SELECT 1")
            trail.full = True
        with pytest.raises(psycopg.OperationalError, match="audit trail can't be written"):
            psycopg.connect(f"{dsn(served)} password=pw")
    assert [line.statement for line in trail.records] == [None, "SELECT 1"]


def test_parameters_are_shown_as_they_were_sent() -> None:
    """Where PostgreSQL has not spelt them: texts, NULL, and binary ones by their bytes."""
    rest = b"\0\2\0\0\0\1" + b"\0\3" + b"\0\0\0\2\xc3\xa4" + b"\0\0\0\2\1\2" + b"\xff\xff\xff\xff" + b"\0\0"
    with pytest.raises(IndexError):
        written_parameters(rest, "utf-8")  # which has fewer formats than parameters, and PostgreSQL refuses
    rest = b"\0\3\0\0\0\1\0\0" + rest[6:]
    assert written_parameters(rest, "utf-8") == ("ä", "\\x0102", None)
    assert written_parameters(bytes(6), "utf-8") == ()
