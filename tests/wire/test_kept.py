"""What a session keeps between its messages is counted in bytes, has a limit, and is given back."""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest

from dpsql.gateway.request import Request
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.intercept.audit_lines import AuditedStatement
from dpsql.wire.intercept.prepared_statements import Execution
from dpsql.wire.protocol.messages import Limits, error_fields
from dpsql.wire.server.listener import Listener
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening
from tests.wire.raw import SYNC, Raw, bind, close, parse, query

MIB = 2**20
LIMITS = Limits(kept_by_session=8 * MIB, kept_by_user=12 * MIB, kept_by_all=20 * MIB)
ASKED = b"select count(*) from trips where payment_type = $1"
BEGIN = (query("begin"), parse(b"s", ASKED))
LARGE = 3 * MIB
"""Of a parameter: while its message is here it counts twice, afterwards once."""


@pytest.fixture
def served(shadow: Postgres, answers: Exact) -> Iterator[Listener]:
    """Give a listener with little room."""
    with listening(answers, shadow, LIMITS) as (listener, _):
        yield listener


Enter = Callable[..., Raw]


@pytest.fixture
def enter(served: Listener) -> Iterator[Enter]:
    """Give a function that logs in, as ana unless told otherwise."""
    with ExitStack() as stack:

        def enter(user: str = "ana") -> Raw:
            connection = stack.enter_context(psycopg.connect(f"{dsn(served, user)} password=pw", autocommit=True))
            return stack.enter_context(Raw(connection))

        yield enter


def _codes(session: Raw, *messages: bytes) -> list[str]:
    """Return the codes of the errors among the replies to messages."""
    ends = sum(message[:1] in b"QS" for message in (*messages, SYNC))
    session.send(*messages, SYNC)
    replies = [reply for _ in range(ends) for reply in session.receive()]
    return [error_fields(body)[b"C"].decode() for kind, body in replies if kind == b"E"]


def _large(portal: bytes, size: int = LARGE) -> bytes:
    return bind(portal, b"s", "x" * size)


def test_portals_of_a_session_have_a_limit(served: Listener, enter: Enter) -> None:
    """What is above it is an error like any other; when the transaction is over there is room again."""
    session = enter()
    for _ in range(3):
        assert _codes(session, *BEGIN, _large(b"a")) == []
        assert _codes(session, _large(b"b")) == ["54000"]
        assert served._registry.kept.size == LARGE + 10 + 200 * len(ASKED)
        assert _codes(session, query("rollback"), close(b"S", b"s")) == []
        assert served._registry.kept.size == 0


def test_a_portal_that_is_bound_again_counts_once(served: Listener, enter: Enter) -> None:
    """Also if binding it fails."""
    session = enter()
    assert _codes(session, *BEGIN, _large(b"")) == []
    assert _codes(session, *(_large(b"", MIB) for _ in range(20))) == []
    assert _codes(session, bind(b"", b"no such")) == ["26000"]
    assert served._registry.kept.size < 2 * MIB


def test_prepared_statements_of_a_session_have_a_limit(enter: Enter) -> None:
    """By what it takes to have them taken apart; it lets as many as drivers keep."""
    session = enter()
    assert _codes(session, *(parse(b"%d" % n, ASKED) for n in range(256))) == []
    assert _codes(session, *(parse(b"%d" % n, ASKED) for n in range(256, 1000))) == ["54000"]


@pytest.mark.parametrize(
    "forget", [b"deallocate %s", b"DEALLOCATE PREPARE %s", b"deallocate all; -- %s", b"discard all -- %s"]
)
@pytest.mark.parametrize("simple", [True, False], ids=["simple", "extended"])
def test_forgotten_statements_count_no_more(served: Listener, enter: Enter, forget: bytes, simple: bool) -> None:
    """As many as one likes, one after another, prepared in either protocol and forgotten in SQL."""
    session = enter()
    for n in range(5):
        name = b"s%d" % n
        made = query(b"prepare %s (text) as %s" % (name, ASKED)) if simple else parse(name, ASKED)
        assert _codes(session, made) == []
        assert 200 * len(ASKED) <= served._registry.kept.size < 210 * len(ASKED)
        gone = forget % name
        said = (query(gone),) if simple else (parse(b"", gone), bind(b"", b""), b"E\0\0\0\x09\0\0\0\0\0")
        assert _codes(session, *said) == []
        assert served._registry.kept.size < 100
        assert _codes(session, query(b"execute %s('cash')" % name)) == ["26000"]


def test_one_user_s_sessions_leave_room_to_others(enter: Enter) -> None:
    """However many they are."""
    ours = [enter() for _ in range(4)]
    codes = [code for session in ours for code in _codes(session, *BEGIN, _large(b"a"))]
    assert set(codes) == {"54000"}
    assert _codes(enter("gus"), *BEGIN, _large(b"a")) == []


def test_a_message_without_room_ends_its_session_alone(served: Listener, enter: Enter) -> None:
    """It is not read; and what sessions had is free when they have ended."""
    session, other = enter(), enter()
    session.send(*BEGIN, _large(b"a"), SYNC)
    while session.receive()[-1][1] != b"T":
        pass
    session.send(_large(b"b", 9 * MIB)[:1000])
    assert b"C54000\0" in session.rest()
    assert _codes(other, *BEGIN, _large(b"a")) == []
    assert served._registry.kept.size < 2 * LARGE


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Leave what refers to itself where it is, as the collector does for a long time if it is large and not many objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "asked",
    [
        "select count(*) from trips where payment_type = $1",
        "select count(*) as forbidden from trips where payment_type = $1",
        'select count(*) as "wrong columns" from trips where payment_type = $1',
        "select count(*) from trips where payment_type = $1 and no_column > 1",
        "select count(*) / 0 from trips where $1::int > 1",
    ],
)
def test_of_a_statement_that_fails_nothing_is_left(asked: str, served: Listener) -> None:
    """No error keeps the frames that it came by, in which the client's parameters are."""
    before = {id(kept) for kept in _kept()}  # what other tests have left
    with psycopg.connect(f"{dsn(served)} password=pw", autocommit=True, cursor_factory=psycopg.RawCursor) as session:
        for size in range(3):
            with suppress(psycopg.Error):
                session.execute(asked, ["x" * (1000 + size)])
        session.execute("select 1")
    assert len([kept for kept in _kept() if id(kept) not in before]) <= 1


def _kept() -> list[object]:
    """Return what is kept of statements."""
    return [kept for kept in gc.get_objects() if isinstance(kept, (Execution, AuditedStatement, Request))]
