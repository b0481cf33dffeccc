"""What can't be read is not passed on: bytes, encodings, settings and messages that nobody has looked at."""

from collections.abc import Callable
from time import perf_counter

import psycopg
import pytest
from psycopg import pq

from dpsql.wire.intercept.settings import readable
from dpsql.wire.protocol.messages import error_fields, message, text
from tests.wire.exact import Exact
from tests.wire.raw import FLUSH, SYNC, Raw, bind, close, execute, parse, query

Connect = Callable[..., psycopg.Connection]

COUNT = "select count(*) from trips"
AGAIN = b"select 'again'"
ENCODING = b"select set_config('client_encoding', '%s', false)"
STRINGS = b"select set_config('standard_conforming_strings', 'off', false)"


def _errors(got: list[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Return codes and messages of the errors among replies."""
    fields = [error_fields(body) for kind, body in got if kind == b"E"]
    return [(each[b"C"].decode(), each[b"M"].decode()) for each in fields]


def _run(statement: bytes) -> bytes:
    return parse(b"", statement) + bind(b"", b"") + execute(b"")


ZEROS = [
    message(b"Q", b"select 1\0;" + COUNT.encode() + b"\0"),
    message(b"Q", COUNT.encode() + b"\0\0"),
    message(b"Q", COUNT.encode()),
    message(b"P", b"\0", COUNT.encode() + b"\0--\0", b"\0\0"),
    message(b"P", b"\0", text(COUNT), b"\0\0\0"),
    message(b"P", b"\0", text(COUNT), b"\0\1\0\0"),
]


@pytest.mark.parametrize("sent", ZEROS)
def test_zero_byte_in_a_statement_is_no_message(connect: Connect, answers: Exact, sent: bytes) -> None:
    """A text ends at its first zero byte, where the message has to go on as the protocol says; nothing is asked."""
    before = answers.calls.total()
    with Raw(connect()) as raw:
        raw.send(sent + bind(b"", b"") + execute(b"") + SYNC)
        received = raw.rest()
    assert b"SFATAL\0" in received
    assert b"C08P01\0" in received
    assert answers.calls.total() == before


PARAMETERS = [
    ("select $1", "8"),
    ("select count(*) from trips where fare > $1", "41"),
    ("select 1; select $2", None),
    ("select count(*) from trips; select 'ä$1', $$$1$$, $1", "51"),
    ("select 1; select count(*) from trips where fare > $1", "51"),
]


@pytest.mark.parametrize(("statement", "position"), PARAMETERS)
def test_simple_query_has_no_parameters(connect: Connect, answers: Exact, statement: str, position: str | None) -> None:
    """A private statement with one is told what PostgreSQL tells for every other, at its place, and asks nothing."""
    connection, before = connect(), answers.calls.total()
    with pytest.raises(psycopg.errors.UndefinedParameter, match=r"there is no parameter \$\d") as caught:
        psycopg.ClientCursor(connection).execute(statement.encode())
    if position is not None:
        assert caught.value.diag.statement_position == position
    assert connection.execute("select 1").fetchone() == (1,)
    assert answers.calls.total() - before == (statement.startswith(COUNT + ";"))


@pytest.mark.parametrize("first", ["select count(*) forbidden from trips", "selec", "listen x", "select 1/0"])
@pytest.mark.parametrize("simple", [False, True])
def test_what_follows_a_failure_is_answered(connect: Connect, first: str, simple: bool) -> None:
    """Two statements are sent at once, as some drivers do; the second one does not wait for the first's answer."""
    with Raw(connect()) as raw:
        for _ in range(20):
            if simple:
                raw.send(query(first), query(COUNT), query("select 'third'"))
            else:
                raw.send(_run(first.encode()), SYNC, _run(COUNT.encode()), SYNC, _run(b"select 'third'"), SYNC)
            failed, counted, last = raw.receive(), raw.receive(), raw.receive()
            assert len(_errors(failed)) == 1
            assert (b"D", b"\0\1\0\0\0\0041000") in counted
            assert (b"D", b"\0\1\0\0\0\5third") in last


def test_message_after_a_sync_of_its_own_is_taken(connect: Connect) -> None:
    """After a failed message the next is looked at once the Sync was sent, whether or not its reply has come."""
    with Raw(connect()) as raw:
        raw.send(_run(b"selec"), FLUSH)
        assert raw.kinds(b"E") == b"E"
        raw.send(SYNC, _run(COUNT.encode()), SYNC)
        assert raw.kinds() == b"Z"
        assert raw.kinds() == b"12DCZ"


STARTS = [
    ("-c client_encoding=EUC_TW", "22021"),
    ("-c client_encoding=shift-jis-2004", "22021"),
    ("-c standard_conforming_strings=off", "0A000"),
]


@pytest.mark.parametrize(("options", "sqlstate"), STARTS)
def test_session_that_begins_unread_does_not_begin(connect: Connect, options: str, sqlstate: str) -> None:
    """The client is told at log-in what to change."""
    with pytest.raises(psycopg.OperationalError) as caught:
        connect(options=options).execute("select 1")
    told = str(caught.value)
    assert ("EUC_JP" in told) == (sqlstate == "22021")
    assert ("standard_conforming_strings = on" in told) == (sqlstate == "0A000")


@pytest.mark.parametrize("simple", [False, True])
def test_session_in_an_unread_encoding_can_only_go_back(connect: Connect, simple: bool) -> None:
    """Whichever way it came there: 22021 with the list, until it is in another one."""

    def told(statement: bytes) -> list[tuple[bytes, bytes]]:
        raw.send(query(statement) if simple else _run(statement) + SYNC)
        return raw.receive()

    with Raw(connect()) as raw:
        assert _errors(told(ENCODING % b"EUC_TW")) == []
        for statement in (AGAIN, b"select '\xa4\xa1'", COUNT.encode(), b"create view v as select 1"):
            got = told(statement)
            assert [code for code, _ in _errors(got)] == ["22021"]
            hint = next(error_fields(body)[b"H"].decode() for kind, body in got if kind == b"E")
            assert hint == f"It reads: {', '.join(readable())}."
        assert _errors(told(b"set client_encoding = 'UTF8'")) == []
        assert _errors(told(AGAIN)) == []


@pytest.mark.parametrize("simple", [False, True])
def test_session_where_backslashes_count_can_only_go_back(connect: Connect, simple: bool) -> None:
    """A function or an update may set what SET may not; nothing is read until it is undone."""

    def told(statement: bytes) -> list[str]:
        raw.send(query(statement) if simple else _run(statement) + SYNC)
        return [code for code, _ in _errors(raw.receive())]

    with Raw(connect()) as raw:
        assert told(STRINGS) == []
        assert told(AGAIN) == told(b"select '\\'") == told(COUNT.encode()) == ["0A000"]
        assert told(b"set standard_conforming_strings = on") == []
        assert told(b"select '\\'") == []


@pytest.mark.parametrize("encoding", ["UTF8", "EUC_JP", "SJIS", "SQL_ASCII"])
def test_bytes_that_are_no_text_are_refused(connect: Connect, answers: Exact, encoding: str) -> None:
    """With 22021, in both protocols, before anybody else sees them; the session goes on."""
    before = answers.calls.total()
    with Raw(connect()) as raw:
        raw.send(query(f"set client_encoding = '{encoding}'"))
        raw.receive()
        for statement in (b"select '\xff\xfe'", b"/*\x80\xff*/" + COUNT.encode(), b"select 1 as \x81"):
            raw.send(query(statement), _run(statement) + SYNC)
            assert [code for code, _ in _errors(raw.receive()) + _errors(raw.receive())] == ["22021", "22021"]
        raw.send(query(AGAIN))
        assert (b"D", b"\0\1\0\0\0\5again") in raw.receive()
    assert answers.calls.total() == before


def test_statement_is_read_in_the_encoding_of_its_moment(connect: Connect) -> None:
    """In one pipeline, and in one message, a statement may change the encoding of those behind it."""
    with Raw(connect()) as raw:
        raw.send(_run(ENCODING % b"LATIN1"), _run(b"select length('\xe9\xe9')"), SYNC)
        assert (b"D", b"\0\1\0\0\0\0012") in raw.receive()
        raw.send(query(b"select set_config('client_encoding', 'UTF8', false); select '\xe9', '\\'; " + COUNT.encode()))
        assert (b"D", b"\0\2\0\0\0\2\xc3\xa9\0\0\0\1\\") in raw.receive()
        raw.send(query(b"select '\xc3\xa9'"))
        assert (b"D", b"\0\1\0\0\0\2\xc3\xa9") in raw.receive()


@pytest.mark.parametrize("change", [ENCODING % b"EUC_TW", STRINGS])
def test_change_within_one_message_counts_for_the_rest_of_it(connect: Connect, change: bytes) -> None:
    """What stands behind it would be read otherwise by the shadow, which gets the statements one by one."""
    with Raw(connect()) as raw:
        raw.send(query(change + b"; select '\\'; " + COUNT.encode()))
        assert [code for code, _ in _errors(raw.receive())] in (["22021"], ["0A000"])
        raw.send(query(AGAIN))
        assert (b"D", b"\0\1\0\0\0\5again") in raw.receive()


@pytest.mark.parametrize(
    "sent", [query("select 1"), parse(b"", b"select 1"), bind(b"", b""), execute(b""), close(b"S", b"")]
)
def test_nothing_but_data_comes_while_data_are_copied(connect: Connect, sent: bytes) -> None:
    """The shadow may have given up by then, and would take it for a statement that was looked at."""
    with Raw(connect()) as raw:
        raw.send(query("create temp table m (a int); copy m from stdin"))
        assert raw.kinds(b"G") == b"CG"
        raw.send(message(b"d", b"1\n"), SYNC, FLUSH, sent)
        received = raw.rest()
    assert b"C08P01\0" in received


def test_copying_goes_wrong_and_on(connect: Connect) -> None:
    """A failed COPY is told at its end, and the session goes on."""
    connection = connect()
    connection.execute("create temp table m (a int)")
    for rows in ("no\n", "1\n2\n"):
        try:
            with connection.cursor().copy("copy m from stdin") as copy:
                copy.write(rows)
        except psycopg.errors.InvalidTextRepresentation:
            assert rows == "no\n"
    assert connection.execute("select count(*) from m").fetchone() == (2,)


LARGE = 1 << 20
HUGE = [
    ";" * (LARGE - 2),
    "select pg_cancel_backend(1) --" + "1 " * (LARGE // 2 - 20),
    "select pg_cancel_backend(1" + ",1" * (LARGE // 2 - 20) + ")",
    "/*" * (LARGE // 2 - 2),
    "/*/**/*/" * (LARGE // 8 - 2),
    "/*" + "/" * (LARGE - 20) + "*/",
    "select 1" + "+" * (LARGE - 20),
    "execute p(" + "1," * (LARGE // 2 - 20) + "1)",
    "1;" * (LARGE // 2 - 2),
]


def _seconds(session: psycopg.Connection) -> float:
    """Return how long a session takes for a trifle."""
    begun = perf_counter()
    session.execute("select 1")
    return perf_counter() - begun


@pytest.mark.parametrize("statement", HUGE, ids=range(len(HUGE)))
def test_large_statement_keeps_nobody_waiting(connect: Connect, statement: str) -> None:
    """Another session is answered at once while a message of a megabyte is looked at."""
    other = connect()
    usual = max(_seconds(other) for _ in range(20))
    with Raw(connect()) as raw:
        raw.send(query("select 1"))
        raw.receive()
        raw.send(query(statement))
        assert _seconds(other) < max(5, 50 * usual)
        raw.receive()


def test_denied_statement_is_not_even_parsed(connect: Connect) -> None:
    """Its error comes with Parse; nothing is left under its name for EXECUTE to run."""
    connection = connect()
    prepared = connection.pgconn.prepare(b"p", b"create view v as select 1")
    assert prepared.error_field(pq.DiagnosticField.SQLSTATE) == b"42501"
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        connection.execute("execute p")
