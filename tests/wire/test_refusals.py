"""What is refused, in which words, and in which state it leaves the session."""

import threading
from collections.abc import Callable

import psycopg
import pytest
from psycopg import pq

from dpsql.wire.protocol.messages import message, text, uint32
from tests.wire.exact import Exact
from tests.wire.raw import FLUSH, SYNC, Raw, bind, describe, parse

Connect = Callable[..., psycopg.Connection]

PARAMETER = "select count(*) from trips where fare > %s"
SLOW = "select count(*) slow from trips where fare > %s"

EVASIONS = [
    "select * from trips",
    "table trips",
    "select count(*) from only trips_",
    'select U&"tr\\0069p_id" from U&"tr\\0069ps"',
    'select count(*) from U&"tr\\0069ps"',
    "select * from trips tablesample system (100)",
    "select (select fare from trips limit 1)",
    "select exists(select 1 from trips)",
    "select 1 where exists (select from trips)",
    "explain analyze select * from trips",
    "with x as (select 1) select trip_id from trips",
    "copy trips to stdout",
    "copy trips (fare) to stdout with binary",
    "do $$begin perform * from trips; end$$",
    "create temp view v as select * from trips; select 1 from v",
    "select array(select fare from trips)",
    "select x from (values (1)) v(x) where x in (select trip_id from trips)",
    "select null = any (select trip_id from trips)",
    "select fare from trips for update",
    "select trip_id from trips order by trip_id limit 1",
    "select * from trips where trip_id = 5",
    "insert into trips select * from trips",
    "delete from trips",
    "update trips set fare = 0 returning *",
    "create temp table t as select * from trips",
    "select * into temp t from trips",
    "declare c cursor with hold for select * from trips",
    "prepare p as select * from trips; execute p",
    "select z.* from zones z join trips t on t.pickup_zone = z.zone_id",
    "select * from zones z, lateral (select * from trips t where t.trip_id = length(z.zone)) q",
    "select query_to_xml('select * from trips', true, true, '')",
    "set row_security = off; select * from trips",
    "merge into trips using zones on true when matched then delete",
]


PROTOCOLS = [(text, simple) for text in EVASIONS for simple in (False, True) if simple or ";" not in text]
"""Several statements need the simple protocol."""


@pytest.mark.parametrize(("statement", "simple"), PROTOCOLS)
def test_evasion_returns_no_row(connect: Connect, statement: str, simple: bool) -> None:
    """Whatever names a protected table and is not intercepted fails; it does not answer with nothing."""
    connection = connect()
    cursor = psycopg.ClientCursor(connection) if simple else connection.cursor()
    with pytest.raises(psycopg.Error) as caught:  # noqa: PT012 # a later statement of several may be the one
        if statement.startswith("copy"):
            with cursor.copy(statement.encode()) as copy:
                assert list(copy) == []
        else:
            cursor.execute(statement.encode())
            while cursor.nextset():
                assert cursor.description is None or cursor.fetchall() == []
    assert caught.value.sqlstate in ("42501", "42P01", "0A000", "42601")


@pytest.mark.parametrize("statement", ["select fare from trips where trip_id is null"])
def test_what_the_declared_key_answers_is_no_row(connect: Connect, statement: str) -> None:
    """A key is never NULL: the planner looks no row up, on a real table as on the dummy."""
    assert connect().execute(statement.encode()).fetchall() == []


PROBES = [
    "select * from trips limit 0",
    "select * from (select * from trips) t where 1 = 0",
    "explain select * from trips",
]


@pytest.mark.parametrize("statement", PROBES)
def test_column_probe_is_free(connect: Connect, answers: Exact, statement: str) -> None:
    """Tools may ask for a table's columns without asking the gateway."""
    before = answers.calls.total()
    assert connect().execute(statement.encode()).description is not None
    assert answers.calls.total() == before


def test_parse_bind_and_describe_are_free(connect: Connect, answers: Exact) -> None:
    """Only the first Execute of a portal asks the gateway."""
    before = answers.calls.total()
    with Raw(connect()) as raw:
        raw.send(
            parse(b"s", b"select pickup_zone, count(*) from trips where fare > $1 group by 1"), describe(b"S", b"s")
        )
        raw.send(bind(b"p", b"s", "3"), describe(b"P", b"p"), FLUSH)
        assert raw.kinds(b"2") + raw.kinds(b"T") == b"1tT2T"
        assert answers.calls.total() == before
        raw.send(message(b"E", text(b"p"), uint32(3)), message(b"E", text(b"p"), uint32(0)), SYNC)
        assert raw.kinds() == b"DDDs" + b"D" * 7 + b"CZ"
    assert answers.calls.total() == before + 1


def test_error_of_gateway_is_told_in_its_words(connect: Connect) -> None:
    """Code, message, rule, hint and position come from the gateway; the transaction has failed."""
    connection = connect(autocommit=False)
    for _ in range(2):
        with pytest.raises(psycopg.Error) as caught:
            connection.execute('select count(*) as "no budget" from trips')
        diag = caught.value.diag
        told = (diag.sqlstate, diag.message_primary, diag.message_detail, diag.message_hint, diag.statement_position)
        assert told == ("53400", "the budget is spent", "rule: some-rule", "It renews on Monday.", "8")
        assert connection.info.transaction_status == pq.TransactionStatus.INERROR
        connection.rollback()


def test_position_counts_from_the_beginning_of_the_query(connect: Connect) -> None:
    """In a query of several statements the gateway's position is moved to where its statement stands, every time."""
    for _ in range(3):
        with pytest.raises(psycopg.Error) as caught:
            connect().execute("select 'ä'; select count(*) as \"no budget\" from trips")
        assert caught.value.diag.statement_position == "20"


def test_failed_transaction_never_asks_the_gateway(connect: Connect, answers: Exact) -> None:
    """In a failed transaction the shadow says 25P02 and nothing is charged."""
    connection = connect(autocommit=False)
    before = answers.calls.total()
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("select 1/0")
    for parameters in (None, (1,)):
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select count(*) from trips" if parameters is None else PARAMETER, parameters)
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        psycopg.ClientCursor(connection).execute("select 1; select count(*) from trips")
    assert answers.calls.total() == before


@pytest.mark.parametrize("statement", ['select count(*) as "broken answer" from trips', "select 'broken examination'"])
def test_bug_of_gateway_is_not_told(connect: Connect, caplog: pytest.LogCaptureFixture, statement: str) -> None:
    """An unexpected exception reaches the log, and the client only a fixed text."""
    connection = connect()
    with pytest.raises(psycopg.errors.InternalError_) as caught:
        connection.execute(statement.encode())
    assert caught.value.diag.message_primary == "internal error of dpsql"
    assert "secret" not in str(caught.value)
    assert caplog.records
    assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("binary", [False, True])
def test_answer_of_other_types_is_not_shown(connect: Connect, binary: bool) -> None:
    """An answer whose columns differ from the original's is an internal error, before any row is sent."""
    connection = connect()
    with pytest.raises(psycopg.errors.InternalError_):
        connection.execute('select count(*) as "wrong columns" from trips', binary=binary)
    assert connection.execute("select 1").fetchone() == (1,)


DENIED = [
    ("listen x", "0A000"),
    ("/* a */ -- b\n notify x, 'covert'", "0A000"),
    ("select 1; notify x", "0A000"),
    ("set standard_conforming_strings = off", "0A000"),
    ("set local array_nulls to false", "0A000"),
    ("alter role ana set work_mem = '1GB'", "42501"),
    ("alter user ana password 'x'", "42501"),
    ("create view v as select 1", "42501"),
    ("create or replace local temporary recursive view v (a) as select 1", "42501"),
    ("explain analyze create temp table pg_class as select 1", "0A000"),
    ('explain ("analyze") select 1 insert into temp pg_class', "0A000"),
    ("explain analyse with a as (select 1) (select 1 into pg_temp.pg_class from a)", "0A000"),
]


@pytest.mark.parametrize(("statement", "sqlstate"), DENIED)
def test_statement_is_denied(connect: Connect, statement: str, sqlstate: str) -> None:
    """What the shadow can't forbid is refused here, in both protocols, and the session goes on."""
    connection = connect()
    for factory in (psycopg.Cursor, psycopg.ClientCursor):
        if ";" in statement and factory is psycopg.Cursor:
            continue
        with pytest.raises(psycopg.Error) as caught:
            factory(connection).execute(statement.encode())
        assert caught.value.sqlstate == sqlstate
        assert connection.execute("select 1").fetchone() == (1,)


def test_harmless_relatives_of_denied_statements_pass(connect: Connect) -> None:
    """Drivers say these when they connect or give a connection back."""
    connection = connect()
    for statement in (b"unlisten *", b"set standard_conforming_strings = on", b"select pg_advisory_unlock_all()"):
        connection.execute(statement)


@pytest.mark.parametrize("setting", ["standard_conforming_strings", "array_nulls"])
def test_private_statement_needs_plain_literals(connect: Connect, answers: Exact, setting: str) -> None:
    """Whichever way such a setting was changed, private statements are refused until it is back."""
    connection, before = connect(), answers.calls.total()
    connection.execute("select set_config(%s, 'off', false)", (setting,))
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute("select count(*) from trips")
    assert answers.calls.total() == before


@pytest.mark.parametrize("name", ["trips", "zones"])
def test_temporary_table_can_not_stand_in_for_a_declared_one(connect: Connect, name: str) -> None:
    """None gets that name, by creation or later."""
    connection = connect()
    connection.execute("create temp table harmless (fare int)")
    for statement in (f"create temp table {name} (fare int)", f"alter table harmless rename to {name}"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
    assert connection.execute("select count(*) from trips where fare > 1").fetchone() == (1000,)


def test_answer_that_the_client_can_not_read_ends_no_session(connect: Connect) -> None:
    """Characters that its encoding lacks are an error of the statement."""
    connection = connect()
    connection.execute("set client_encoding = 'LATIN1'")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="client_encoding lacks"):
        connection.execute("select chr(26085), count(*) from trips group by 1")
    assert connection.execute("select chr(233), count(*) from trips group by 1").fetchall() == [("é", 1000)]


@pytest.mark.parametrize(("style", "order"), [("German", "DMY"), ("SQL, MDY", "MDY"), ("ISO, YMD", "YMD")])
def test_dates_are_read_as_the_session_reads_them(connect: Connect, answers: Exact, style: str, order: str) -> None:
    """The gateway is told which of day and month comes first, and how dates are written."""
    connection = connect()
    connection.execute(f"set datestyle = '{style}'".encode())
    connection.execute("select count(*) from trips")
    assert (answers.settings[-1].date_style, answers.settings[-1].date_order) == (style.partition(",")[0], order)


def test_intervals_with_one_sign_for_all_fields_are_not_read(connect: Connect, answers: Exact) -> None:
    """The standard's style reads `-1 2:03` in another way than planning does."""
    connection, before = connect(), answers.calls.total()
    connection.execute("set intervalstyle = 'sql_standard'")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="IntervalStyle"):
        connection.execute("select count(*) from trips")
    assert answers.calls.total() == before


@pytest.mark.parametrize("setting", ["transform_null_equals = on", "timezone_abbreviations = 'Australia'"])
def test_what_changes_the_meaning_of_words_is_not_read(connect: Connect, answers: Exact, setting: str) -> None:
    """`= NULL` would be IS NULL, and EST another zone, where planning has not set the same."""
    connection, before = connect(), answers.calls.total()
    connection.execute(f"set {setting}".encode())
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="can't be read with"):
        connection.execute("select count(*) from trips")
    assert answers.calls.total() == before


def test_intervals_are_written_as_the_session_writes_them(connect: Connect, answers: Exact) -> None:
    """The gateway is told how."""
    connection = connect()
    for style in ("postgres", "iso_8601", "postgres_verbose"):
        connection.execute(f"set intervalstyle = '{style}'".encode())
        connection.execute("select count(*) from trips")
        assert answers.settings[-1].interval_style == style


def test_settings_reach_the_gateway(connect: Connect, answers: Exact) -> None:
    """SET, SET LOCAL and ROLLBACK have their usual effect on what the gateway is told."""
    connection, ask = connect(), "select count(*) from trips"

    def told() -> str | None:
        connection.execute(ask)
        return answers.settings[-1].epsilon

    assert told() is None
    connection.execute("set dpsql.epsilon = '0.2'")
    assert told() == "0.2"
    with connection.transaction(force_rollback=True):
        connection.execute("set local dpsql.epsilon = '0.1'")
        assert told() == "0.1"
    assert told() == "0.2"


def test_cancel_stops_the_gateway(connect: Connect, answers: Exact) -> None:
    """A cancel request interrupts the gateway; the client sees 57014 and goes on."""
    for parameters in (None, (1,)):
        connection = connect()
        answers.working.clear()

        def cancel(connection: psycopg.Connection = connection) -> None:
            assert answers.working.wait(10)
            connection.cancel_safe()  # the plain one holds the interpreter while it waits for our other thread

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select count(*) slow from trips" if parameters is None else SLOW, parameters)
        thread.join()
        assert connection.execute("select 1").fetchone() == (1,)


def test_cancel_stops_the_shadow(connect: Connect) -> None:
    """A cancel request reaches a statement that the shadow runs."""
    connection = connect()
    timer = threading.Timer(0.2, connection.cancel_safe)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("select count(*) from generate_series(1, 1000000000)")
    timer.join()
    assert connection.execute("select 1").fetchone() == (1,)
