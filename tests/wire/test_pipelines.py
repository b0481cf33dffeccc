"""Pipelines of messages, with failures in them, that nobody wrote down: a plain PostgreSQL decides what is right."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.wire.raw import FLUSH, SYNC, Raw, bind, close, describe, execute, parse, query

Connect = Callable[..., psycopg.Connection]
Reply = tuple[bytes, object]

_NAMES = st.sampled_from([b"", b"", b"a"])
_WITHOUT = st.sampled_from(
    [
        "select 1",
        "select count(*) from trips",
        "select payment_type, count(*) from trips group by 1 order by 1",
        "select count(*)/0 from trips",
        "select 1/0",
        "select count(nope) from trips",
        "selec",
        "",
        "begin",
        "commit",
        "rollback",
        "savepoint s",
        "rollback to s",
        "create temp table t as select count(*) n from trips",
        "drop table t",
        "copy (select count(*) from trips) to stdout",
    ]
)
_WITH = st.sampled_from(["select count(*) from trips where fare > $1", "select $1::int", "select 1/($1::int - 3)"])
_SIMPLE = st.one_of(
    _WITHOUT,
    st.sampled_from(
        [
            "select 1; select count(*) from trips; select 2",
            "select count(*) from trips; select 1/0; select count(*) from trips",
            "select count(*) from trips; select count(*)/0 from trips; select 3",
            "begin; select count(*) from trips; selec",
            "prepare a as select count(*) from trips",
            "execute a",
            "deallocate a",
        ]
    ),
)
_VALUE = st.sampled_from(["3", "17", "no number", None])
_MESSAGE = st.one_of(
    st.builds(query, _SIMPLE),
    st.builds(lambda name, statement: parse(name, statement.encode()), _NAMES, st.one_of(_WITHOUT, _WITH)),
    st.builds(bind, _NAMES, _NAMES),
    st.builds(bind, _NAMES, _NAMES, _VALUE),
    st.builds(describe, st.sampled_from([b"S", b"P"]), _NAMES),
    st.builds(execute, _NAMES),
    st.builds(close, st.sampled_from([b"S", b"P"]), _NAMES),
    st.sampled_from([SYNC, SYNC, FLUSH]),
)
_WHOLE = st.builds(
    lambda statement, values: (
        parse(b"", statement.encode()) + bind(b"", b"", *values) + describe(b"P", b"") + execute(b"")
    ),
    st.one_of(_WITHOUT, _WITH),
    st.one_of(st.just(()), st.tuples(_VALUE)),
)
"""What drivers send: one whole question, with or without a Sync after it."""
_TALK = st.lists(st.one_of(_MESSAGE, _WHOLE, _WHOLE), min_size=1, max_size=14)
_END = SYNC + query("rollback") + query("select 'the end'")
"""What both sides answer with one known row, whatever came before."""


def _field(body: bytes, code: bytes) -> bytes:
    return next((part[1:] for part in body.split(b"\0") if part[:1] == code), b"")


def _columns(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the name of each column, and its type, size, modifier and format; tables have other OIDs there."""
    at = 2
    while at < len(body):
        end = body.index(b"\0", at)
        yield body[at:end], body[end + 7 : end + 19]
        at = end + 19


def _seen(kind: bytes, body: bytes) -> Reply:
    """Return what must be equal of one reply: all of it, but for the wording of errors and the OIDs of tables."""
    if kind in b"EN":
        return kind, (_field(body, b"V"), _field(body, b"C"))
    return kind, tuple(_columns(body)) if kind == b"T" else body


def _told(connection: psycopg.Connection, talk: bytes) -> list[Reply]:
    """Send everything before anything is read; return all replies up to the known row."""
    with Raw(connection) as session:
        session.send(talk, _END)
        replies: list[tuple[bytes, bytes]] = []
        while not any(kind == b"D" and body.endswith(b"the end") for kind, body in replies):
            replies += session.receive()
    # PostgreSQL runs an EXECUTE before it describes the rows; for who sees an error, the columns are no loss.
    kept = [reply for reply, after in zip(replies, [*replies[1:], (b"", b"")], strict=True) if _counts(reply, after)]
    return [_seen(kind, body) for kind, body in kept]


def _counts(reply: tuple[bytes, bytes], after: tuple[bytes, bytes]) -> bool:
    return reply[0] != b"S" and (reply[0], after[0]) != (b"T", b"E")


def _like_plain(connect: Connect, plain: str, talk: list[bytes], piece: int) -> None:
    """Compare one pipeline, sent whole and again in pieces of `piece` messages."""
    with psycopg.connect(plain, autocommit=True) as there, connect() as here:
        assert _told(here, b"".join(talk)) == _told(there, b"".join(talk)), talk
        for at in range(0, len(talk), piece):
            part = b"".join(talk[at : at + piece])
            assert _told(here, part) == _told(there, part), talk


_QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=60, suppress_health_check=_QUIET)
@given(_TALK, st.integers(1, 4))
def test_pipelines_are_answered_as_by_plain_postgresql(
    connect: Connect, plain: str, talk: list[bytes], piece: int
) -> None:
    """Every message gets the reply that PostgreSQL gives it, also those behind a failure."""
    _like_plain(connect, plain, talk, piece)


@pytest.mark.parametrize(
    ("statement", "values", "last"),
    [
        ("select count(*) from trips", (), b"C"),
        ("select count(*) from trips where fare > $1", ("3",), b"C"),
        ("select count(*) from trips where fare > $1", ("no number",), b"E"),
        ("select count(nope) from trips", (), b"E"),
        ("select count(*)/0 from trips", (), b"E"),
        ("selec", (), b"E"),
        (f"select count(*), '{'x' * 3_000}' from trips", (), b"C"),
    ],
)
@pytest.mark.parametrize("before", ["", "select 1", "select count(*) from trips"])
def test_who_only_flushes_hears_everything(
    connect: Connect, plain: str, before: str, statement: str, values: tuple[str, ...], last: bytes
) -> None:
    """A client that sends no Sync, as drivers' pipeline modes do, waits for the answer, or for the error in its place."""
    first = parse(b"a", before.encode()) + bind(b"a", b"a") + describe(b"P", b"a") if before else b""
    whole = parse(b"", statement.encode()) + bind(b"", b"", *values) + describe(b"P", b"") + execute(b"")
    with psycopg.connect(plain, autocommit=True) as there, connect() as here:
        for talk in (first + whole + FLUSH, SYNC + whole + FLUSH):
            told = []
            for connection in (here, there):
                with Raw(connection) as session:
                    session.send(talk)
                    told.append(session.kinds(last))
            assert told[0] == told[1]


@pytest.mark.slow
@settings(max_examples=5_000, suppress_health_check=_QUIET)
@given(_TALK, st.integers(1, 4))
def test_thousands_of_pipelines_are_answered_as_by_plain_postgresql(
    connect: Connect, plain: str, talk: list[bytes], piece: int
) -> None:
    """The same at length."""
    _like_plain(connect, plain, talk, piece)
