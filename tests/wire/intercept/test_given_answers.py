"""An answer that was given before is sent ahead, and is no answer until the gateway has said so once more."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest

from dpsql.gateway.request import Reply, Request
from dpsql.shadow.server.postgres import Postgres
from dpsql.wire.backend.backend import Backend
from dpsql.wire.protocol.replies import Message, MessageKind
from dpsql.wire.server.listener import Listener
from tests.support.fix_shadow import shadow, shadow_directory  # noqa: F401
from tests.wire.conftest import answers, plain  # noqa: F401
from tests.wire.doubles import AsksOfTrips
from tests.wire.exact import Exact
from tests.wire.listening import dsn, listening
from tests.wire.raw import FLUSH, SYNC, Raw, bind, close, describe, execute, parse, query

Enter = Callable[..., psycopg.Connection]


@pytest.fixture
def served(answers: Exact, shadow: Postgres) -> Iterator[Listener]:  # noqa: F811
    """Give a listener that has answered nothing yet."""
    with listening(answers, shadow) as (listener, _):
        yield listener


@pytest.fixture
def enter(served: Listener) -> Iterator[Enter]:
    """Give a function that connects, by simple queries if they are wanted."""
    opened: list[psycopg.Connection] = []

    def connect(user: str = "ana", *, simple: bool = False, options: str = "") -> psycopg.Connection:
        connection = psycopg.connect(f"{dsn(served, user)} password=pw", autocommit=True, options=options)
        if simple:
            connection.cursor_factory = psycopg.ClientCursor
        opened.append(connection)
        return connection

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what the shadow is asked, each with how many messages."""
    asked: list[int] = []
    ask = Backend.ask

    async def counted(self: Backend, *messages: tuple[MessageKind, bytes]) -> tuple[Message, ...]:
        asked.append(len(messages))
        return await ask(self, *messages)

    monkeypatch.setattr(Backend, "ask", counted)
    return asked


@pytest.fixture
def changed(plain: str) -> Iterator[Callable[[], None]]:  # noqa: F811
    """Give what adds a trip, which is gone afterwards."""
    with psycopg.connect(plain, autocommit=True) as owner:

        def change() -> None:
            owner.execute("INSERT INTO trips SELECT max(trip_id) + 1, 1, '2019-03-01', 1, 'cash', 5, 1 FROM trips")

        yield change
        owner.execute("DELETE FROM trips WHERE trip_id > 1000")


@pytest.mark.parametrize("simple", [False, True], ids=["extended", "simple"])
@pytest.mark.parametrize("parameters", [(), (20,)], ids=["", "parameter"])
def test_what_is_asked_again_takes_one_round_trip(
    enter: Enter, round_trips: list[int], simple: bool, parameters: tuple[int, ...]
) -> None:
    """The rows are the same, also where another session was answered, once this one has asked for anything."""
    asked = f"SELECT count(*) FROM trips{' WHERE fare < %s' * len(parameters)}".encode()
    connection, other = enter(simple=simple), enter(simple=simple)
    other.execute("SELECT count(*), 'of another session' FROM trips")
    first = connection.execute(asked, parameters).fetchall()
    assert len(round_trips) > 1
    for again in (connection, other, connection):
        round_trips.clear()
        assert again.execute(asked, parameters).fetchall() == first
        assert len(round_trips) == 1 + (not simple and bool(parameters))  # one for the types of parameters


class OfOwnTables(AsksOfTrips):
    """A gateway whose answers have the names in them that a session's own table has, as those of the real one may."""

    def answer(self, request: Request) -> Reply:
        """Write out what the table has."""
        made = re.match(r"CREATE TEMP TABLE own_list AS SELECT count\(\*\) AS (\w)", request.question.text)
        if made:
            return Reply(f"CREATE TEMP TABLE own_list AS SELECT 3::bigint AS {made[1]}")
        for table in request.settings.temporary:
            return Reply(f"SELECT l.{table.columns[0][0]}, 3::bigint AS count FROM pg_temp.own_list AS l")
        return Reply("SELECT 3::bigint AS count")


def test_nothing_is_sent_ahead_where_it_may_not_be_read(shadow: Postgres) -> None:  # noqa: F811
    """An answer has the names that a session's own table had; none of these statements may fail, nor end a transaction."""
    asked = b"SELECT l.*, t.* FROM own_list AS l, (SELECT count(*) FROM trips) AS t"

    def has(connection: psycopg.Connection, column: str) -> None:
        for _ in range(3):
            cursor = connection.execute(asked)
            assert [c.name for c in cursor.description or ()] == [column, "count"]
            cursor.fetchall()

    with listening(OfOwnTables(), shadow) as (listener, _):
        # A statement that the driver prepares by itself may not change its columns.
        enter = partial(psycopg.connect, f"{dsn(listener)} password=pw", autocommit=True, prepare_threshold=None)
        with enter() as first, enter() as second:
            for connection, column in ((first, "a"), (second, "c"), (first, "e"), (second, "a")):
                connection.execute("DROP TABLE IF EXISTS own_list")
                connection.execute(f"CREATE TEMP TABLE own_list ({column} int)".encode())
                connection.execute("SELECT count(*) FROM trips")
                has(connection, column)
            for column in ("x", "y", "x"):
                first.execute("DROP TABLE own_list")
                first.execute(f"CREATE TEMP TABLE own_list AS SELECT count(*) AS {column} FROM trips".encode())
                has(first, column)
            with first.transaction():
                first.execute("DROP TABLE own_list")
                first.execute("CREATE TEMP TABLE own_list (z int)")
                first.execute("SELECT count(*) FROM trips")
                has(first, "z")
                assert first.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS


def test_a_setting_of_a_transaction_ends_with_it(enter: Enter, round_trips: list[int]) -> None:
    """What was asked within one says nothing of the session afterwards."""
    asked = query("SELECT count(*), max(passenger_id) FROM trips")
    with Raw(enter()) as session:
        for before in (b"", b"", parse(b"", b"SET LOCAL array_nulls = on") + bind(b"", b"") + execute(b"")):
            round_trips.clear()
            question = parse(b"", b"SELECT count(*), max(passenger_id) FROM trips") + bind(b"", b"") + execute(b"")
            session.send(before, question, SYNC)
            session.kinds()
        round_trips.clear()
        session.send(asked)
        assert session.kinds() == b"TDCZ"
        assert len(round_trips) > 1
        round_trips.clear()
        session.send(asked)
        assert session.kinds() == b"TDCZ"
        assert len(round_trips) == 1


_ONE, _OTHER = b"SELECT count(*) FROM trips", b"SELECT count(*) + 1 FROM trips"
_PUBLIC = b"SELECT 42::bigint AS count"


def _rows(told: list[tuple[bytes, bytes]]) -> list[bytes]:
    return [body[6:] for kind, body in told if kind == b"D"]


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        ([parse(b"", _ONE) + bind(b"p", b"") + parse(b"", _OTHER) + execute(b"p")], b"1000"),
        ([parse(b"", _ONE) + FLUSH, parse(b"", _OTHER), bind(b"", b"") + execute(b"")], b"1001"),
        ([parse(b"", _ONE) + FLUSH, parse(b"", _PUBLIC), bind(b"", b"") + execute(b"")], b"42"),
        ([parse(b"", _ONE) + SYNC + parse(b"", _OTHER), bind(b"", b"") + execute(b"")], b"1001"),
        ([parse(b"", _PUBLIC) + SYNC + parse(b"", _ONE) + bind(b"", b""), execute(b"")], b"1000"),
        ([parse(b"a", _ONE) + bind(b"p", b"a") + close(b"S", b"a") + parse(b"a", _OTHER) + execute(b"p")], b"1000"),
    ],
)
def test_a_portal_is_of_what_its_name_meant(enter: Enter, answers: Exact, pieces: list[bytes], told: bytes) -> None:  # noqa: F811
    """However messages come, and whatever the name of its statement means by the time that it is executed."""
    for pause in (0, 0.1):
        answers.calls.clear()
        with Raw(enter()) as session:
            for piece in pieces:
                session.send(piece)
                time.sleep(pause)
            session.send(SYNC)
            rows = _rows(session.receive())
            while not rows:
                rows = _rows(session.receive())
            assert rows == [told]
        assert answers.calls.total() == (told != b"42")


def test_a_portal_outlives_what_fails_to_replace_it(enter: Enter) -> None:
    """A savepoint brings it back."""
    with Raw(enter()) as session:
        session.send(query("BEGIN"), parse(b"q", _ONE), bind(b"p", b"q"), SYNC, query("SAVEPOINT x"))
        session.send(bind(b"p", b"q"), execute(b"p"), SYNC, query("ROLLBACK TO x"), execute(b"p"), SYNC)
        told = [session.receive() for _ in range(6)]
        assert told[3][0][0] == b"E"
        assert _rows(told[5]) == [b"1000"]


@pytest.mark.parametrize("simple", [False, True], ids=["extended", "simple"])
@pytest.mark.parametrize("parameters", [(), (20,)], ids=["", "parameter"])
def test_another_answer_takes_the_place(
    enter: Enter, changed: Callable[[], None], simple: bool, parameters: tuple[int, ...]
) -> None:
    """What was bound ahead is never run; the next time the newer one is sent ahead."""
    asked = f"SELECT payment_type, count(*) FROM trips{' WHERE fare < %s' * len(parameters)} GROUP BY 1 ORDER BY 1"
    connection = enter(simple=simple)

    def cash() -> int:
        return next(int(count) for kind, count in connection.execute(asked.encode(), parameters) if kind == "cash")

    before = cash()
    assert cash() == before
    changed()
    assert (cash(), cash()) == (before + 1, before + 1)


def test_a_user_gets_what_that_user_was_answered(enter: Enter, round_trips: list[int]) -> None:
    """Nothing that was made for somebody else is sent."""
    asked = "SELECT count(*), max(fare) FROM trips"
    enter().execute(asked)
    enter().execute(asked)
    round_trips.clear()
    enter("gus").execute(asked)
    assert len(round_trips) > 1


def test_a_session_with_other_settings_has_its_own_answer(enter: Enter, plain: str) -> None:  # noqa: F811
    """The answer sent ahead was written under another time zone: it is not this one."""
    asked = "SELECT count(*), max(pickup_ts)::timestamptz::text FROM trips"
    enter().execute(asked)
    for zone in ("Asia/Tokyo", "America/Lima", "Asia/Tokyo"):
        with psycopg.connect(plain, options=f"-c timezone={zone}") as owner:
            there = owner.execute(asked).fetchall()
        assert enter(options=f"-c timezone={zone}").execute(asked).fetchall() == there


def test_nothing_is_sent_ahead_behind_what_may_have_changed_settings(enter: Enter, round_trips: list[int]) -> None:
    """It might fail under these, and the client's transaction with it."""
    asked, connection = "SELECT count(*), min(pickup_ts) FROM trips", enter()
    connection.execute(asked)
    connection.execute("SET datestyle = 'German'")
    round_trips.clear()
    connection.execute(asked)
    assert len(round_trips) > 1


def test_other_formats_of_results_are_what_is_asked_for(enter: Enter) -> None:
    """The portal is bound as the client has bound it this time."""
    connection = enter()
    asked = "SELECT count(*), avg(distance) FROM trips"
    told = [connection.cursor(binary=binary).execute(asked).fetchall() for binary in (False, True, False, True)]
    assert told == [told[0]] * 4


def test_who_names_what_is_not_there_asks_nobody(enter: Enter, answers: Exact) -> None:  # noqa: F811
    """Statement and portal are on their way with the question; the shadow does not take one of them, and says so itself."""
    asked = "SELECT count(*), sum(distance) FROM trips WHERE fare > $1"
    for told, sent in (
        (b"1EZ", parse(b"", asked.encode()) + bind(b"", b"", "3", "4")),
        (b"1EZ", parse(b"", asked.encode()) + bind(b"", b"", "no number")),
        (b"EZ", parse(b"", b"SELECT count(*), sum(nothing) FROM trips") + bind(b"", b"") + describe(b"P", b"")),
    ):
        answers.calls.clear()
        with Raw(enter()) as session:
            session.send(sent, execute(b""), SYNC)
            assert session.kinds() == told
            session.send(parse(b"", asked.encode()), bind(b"", b"", "3"), execute(b""), SYNC)
            assert session.kinds() == b"12DCZ"
        assert answers.calls.total() == 1


def test_names_and_the_question_take_one_round_trip(enter: Enter, round_trips: list[int]) -> None:
    """What a driver sends in one piece is not waited for twice."""
    connection = enter()
    connection.execute("SELECT count(*), min(trip_id) FROM trips")  # names of types are asked for once
    round_trips.clear()
    with Raw(connection) as session:
        session.send(parse(b"", b"SELECT count(*), max(trip_id) FROM trips"), bind(b"", b""), execute(b""), SYNC)
        assert session.kinds() == b"12DCZ"
    assert len(round_trips) == 2


@pytest.mark.parametrize("name", [b"_dpsql_probe", b"_dpsql_own", b"_dpsql_answer"])
def test_a_name_of_our_own_is_free_again_behind_an_error(enter: Enter, name: bytes) -> None:
    """What an error has left under it, or somebody has made, stands in the way once."""
    question = query("SELECT count(*), max(distance) FROM trips")
    with Raw(enter()) as session:
        session.send(parse(name, b"SELECT 1"), SYNC)
        assert session.kinds() == b"1Z"
        session.send(question)
        assert session.kinds() == b"EZ"
        for _ in range(2):
            session.send(question)
            assert session.kinds() == b"TDCZ"
