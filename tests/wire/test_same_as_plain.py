"""The same statements to dpsql over an exact gateway and to a plain PostgreSQL: all that a client sees is equal."""

import datetime as dt
import decimal
from collections.abc import Callable
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import pq

Connect = Callable[..., psycopg.Connection]

GROUPED = "select payment_type, count(*) n, sum(fare) s from trips group by 1 order by 1"


@dataclass(frozen=True)
class Seen:
    """What a client sees of one statement."""

    columns: tuple[tuple[str, int], ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    tag: str | None = None
    sqlstate: str | None = None
    position: str | None = None
    status: pq.TransactionStatus = pq.TransactionStatus.IDLE


def see(
    connection: psycopg.Connection, statement: str, parameters: object = None, *, binary: bool = False
) -> tuple[Seen, ...]:
    """Run one string and return what is seen of each of its results."""
    cursor = connection.cursor(binary=binary)
    seen = []
    try:
        cursor.execute(statement, parameters)  # type: ignore[call-overload]
        more: bool | None = True
        while more:
            columns = tuple((c.name, c.type_code) for c in cursor.description or ())
            rows = tuple(cursor.fetchall()) if cursor.description else ()
            seen.append(Seen(columns, rows, cursor.statusmessage, status=connection.info.transaction_status))
            more = cursor.nextset()
    except psycopg.Error as failed:
        position = failed.diag.statement_position
        seen.append(Seen(sqlstate=failed.sqlstate, position=position, status=connection.info.transaction_status))
    return tuple(seen)


STATEMENTS = [
    "select 1",
    GROUPED,
    GROUPED + ";",
    "select count(*) from trips where fare > 1e9",
    "select payment_type, count(*) from trips where fare < 0 group by 1",
    "select pickup_zone, avg(fare), min(pickup_ts), max(distance) from trips group by 1 order by 1 limit 3",
    "select date_trunc('day', pickup_ts) d, count(*) from trips group by 1 order by 1 limit 2",
    "select array_agg(distinct payment_type order by payment_type) from trips",
    "select 1; select count(*) from trips; select 'x'",
    "create extension if not exists plpgsql",
    'CREATE EXTENSION IF NOT EXISTS "plpgsql" WITH SCHEMA pg_catalog; select 1',
    "select 1;; select count(*) from trips; -- done",
    "begin; select count(*) from trips; commit",
    "select count(*) from trips; select 1/0; select 2",
    "select 'x'; select count(nope) from trips",
    "select 'ä'; select count(*), nope from trips",
    "select count(nope) from trips",
    "select count(*) from trips grop by 1",
    "select count(*)/0 from trips",
    "select 1/(count(*)-count(*)) from trips",
    "set timezone = 'Asia/Tokyo'; select count(*) from trips; select current_setting('timezone')",
    "begin; declare c cursor with hold for " + GROUPED + "; fetch 2 in c; close c; commit",
    "declare c cursor for " + GROUPED,
    "declare c cursor with hold for " + GROUPED + "; fetch 2 from c; close c",
    f"create temp table kept as {GROUPED}; select s, pg_typeof(s) from kept order by 1; drop table kept",
    "prepare q (int) as select count(*) from trips where fare > $1; execute q(10); execute q('20'); deallocate q",
    "prepare q as select 1; execute q; deallocate q",
    "prepare q (int) as select count(*) from trips where fare > $1; execute q",
    "prepare q (int) as select count(*) from trips where fare > $1; execute q(1, 2)",
    "prepare q (int) as select count(*) from trips where fare > $1; execute q('x')",
    "prepare q (int) as select count(*) from trips where fare > $1; /* /* */ */ execute q(10 -- )\n) -- )",
    "prepare q (text, int) as select count(*), $1 from trips where fare > $2 group by $1; execute q($a$)$a$, (1 + (2)));",
    "prepare q as select count(*) from trips; prepare q as select 1",
    (
        "prepare q (date, text) as select count(*) from trips where pickup_ts < $1 and payment_type = $2;"
        " execute q('2019-03-05', 'ca' || 'sh')"
    ),
    "explain (costs off) select 1",
    "savepoint x",
    "",
    ";",
    "-- nothing",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_simple_query_is_seen_alike(connect: Connect, plain: str, statement: str) -> None:
    """A simple query gives the same columns, types, rows, tags, codes and positions."""
    with psycopg.connect(plain, autocommit=True, cursor_factory=psycopg.ClientCursor) as there:
        here = connect()
        here.cursor_factory = psycopg.ClientCursor
        assert see(here, statement) == see(there, statement)
        assert see(here, "select 1") == see(there, "select 1")


@pytest.mark.parametrize("level", ["debug1", "log", "notice", "warning", "error"])
@pytest.mark.parametrize("binary", [False, True])
def test_notice_of_an_extension_that_is_there_is_seen_alike(
    connect: Connect, plain: str, level: str, binary: bool
) -> None:
    """Whoever wants no notices gets none, and none comes where a statement before it has failed."""

    def noticed(connection: psycopg.Connection) -> list[object]:
        told: list[tuple[str | None, ...]] = []
        connection.add_notice_handler(lambda said: told.append((said.severity, said.sqlstate, said.message_primary)))
        connection.execute(f"set client_min_messages = {level}")
        if binary:
            connection.execute("create extension if not exists plpgsql", binary=True)
        else:
            connection.execute("select 1; create extension if not exists plpgsql; select 2")
            see(connection, "select nope; create extension if not exists plpgsql")
        return [said for said in told if said[0] == "NOTICE"]

    with psycopg.connect(plain, autocommit=True) as there:
        assert noticed(connect()) == noticed(there)


PARAMETERS = [
    ("select count(*) from trips where fare > %s", (10,)),
    (
        "select count(*) from trips where fare > %b and pickup_ts > %b",
        (decimal.Decimal("10.5"), dt.datetime.fromisoformat("2019-03-09")),
    ),
    ("select count(*) from trips where payment_type = any(%b)", (["cash", "it's"],)),
    ("select count(*) from trips where payment_type = any(%s)", (["cash", None],)),
    ("select count(*) from trips where pickup_ts::date = %b", (dt.date(2019, 3, 4),)),
    ("select count(*), %s::text from trips where distance > %b", (None, 1.5)),
    ("select payment_type, count(*) from trips where fare > %t group by 1 order by 1", ("7",)),
    ("select count(nope) from trips where fare > %s", (1,)),
    ("select count(*)/%s from trips", (0,)),
    ("create temp table kept as select count(*) n from trips where fare > %s", (3,)),
    ("declare c cursor with hold for select count(*) from trips where fare > %s", (3,)),
    ("select %s::int", (2,)),
]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("statement", "parameters"), PARAMETERS)
def test_parameters_are_seen_alike(
    connect: Connect, plain: str, statement: str, parameters: tuple[object, ...], binary: bool
) -> None:
    """Extended queries with parameters give the same, in both formats, and again when they are prepared."""
    with psycopg.connect(plain, autocommit=True) as there:
        here = connect()
        there.prepare_threshold = here.prepare_threshold = 1
        for _ in range(3):
            assert see(here, statement, parameters, binary=binary) == see(there, statement, parameters, binary=binary)


def test_session_timezone_and_datestyle_do_not_change_parameters(connect: Connect, plain: str) -> None:
    """A date is the same date in whatever style the session writes dates."""
    with psycopg.connect(plain, autocommit=True) as there:
        here = connect()
        for connection in (here, there):
            connection.execute("set datestyle = 'SQL, DMY'")
        ask = "select count(*) from trips where pickup_ts < %b"
        assert see(here, ask, (dt.date(2019, 3, 4),)) == see(there, ask, (dt.date(2019, 3, 4),))


def test_transaction_fails_and_recovers_alike(connect: Connect, plain: str) -> None:
    """An error inside a transaction leaves it failed; ROLLBACK TO a savepoint takes it up again."""
    script = ["savepoint a", "select nope from trips", "select count(*) from trips", "rollback to a", GROUPED, "commit"]
    with psycopg.connect(plain) as there:
        here = connect(autocommit=False)
        for statement in script:
            assert see(here, statement) == see(there, statement)


@pytest.mark.parametrize("options", ["", "format csv, header", "format binary"])
def test_copy_to_stdout_is_seen_alike(connect: Connect, plain: str, options: str) -> None:
    """COPY of an answer gives the same bytes."""
    statement = f"copy ({GROUPED}) to stdout" + (f" ({options})" if options else "")

    def copied(connection: psycopg.Connection) -> bytes:
        with connection.cursor().copy(statement.encode()) as copy:
            return b"".join(bytes(part) for part in copy)

    with psycopg.connect(plain, autocommit=True) as there:
        assert copied(connect()) == copied(there)


def test_server_cursor_is_seen_alike(connect: Connect, plain: str) -> None:
    """Named cursors (DECLARE, FETCH by steps, scrolling) work on an answer."""

    def fetched(connection: psycopg.Connection) -> list[object]:
        with connection.transaction(), connection.cursor("named", scrollable=True) as cursor:
            cursor.execute("select pickup_zone, count(*) from trips where fare > %s group by 1 order by 1", (5,))
            first = cursor.fetchmany(3)
            cursor.scroll(-2)
            return [first, cursor.fetchall()]

    with psycopg.connect(plain, autocommit=True) as there:
        assert fetched(connect()) == fetched(there)


def test_pipeline_is_seen_alike(connect: Connect, plain: str) -> None:
    """Private and other statements in one pipeline are answered in order."""

    def piped(connection: psycopg.Connection) -> list[object]:
        with connection.pipeline():
            cursors = [
                connection.execute("select count(*) from trips where fare > %s", (5,)),
                connection.execute("select %s::int", (2,)),
                connection.execute("select sum(fare) from trips"),
                connection.execute("select 'last'"),
                connection.execute("select avg(fare) from trips"),
            ]
            return [cursor.fetchall() for cursor in cursors]

    with psycopg.connect(plain, autocommit=True) as there:
        assert piped(connect()) == piped(there)


def test_error_in_pipeline_is_seen_alike(connect: Connect, plain: str) -> None:
    """After an error in a pipeline the rest is skipped up to the Sync, and the session goes on."""

    def piped(connection: psycopg.Connection) -> list[object]:
        try:
            with connection.pipeline():
                connection.execute("select count(*) from trips")
                connection.execute("select count(*) from trips where fare / %s > 1 and nope = 1", (1,))
                connection.execute("select count(*) from trips")
        except psycopg.Error as failed:
            return [failed.sqlstate, failed.diag.statement_position, connection.execute(GROUPED).fetchall()]
        return []

    with psycopg.connect(plain, autocommit=True) as there:
        assert piped(connect()) == piped(there)
