"""What a server says beside the rows: where columns come from, what was done; and values at the edge of their types."""

from collections.abc import Callable
from decimal import Decimal

import psycopg
import pytest

from dpsql.wire.protocol.messages import SYNC, describe_message
from tests.clients.data import TRIPS
from tests.clients.site import Site
from tests.wire.raw import Raw, bind, close, execute, parse, query

_ORIGIN = (
    "SELECT relname, attname FROM pg_class c LEFT JOIN pg_attribute a ON attrelid = c.oid AND attnum = %s"
    " WHERE c.oid = %s"
)


def _origins(site: Site, factory: type[psycopg.Cursor], statement: str) -> list[object]:
    """Return the table and the column that each column of a result is said to come from."""
    with psycopg.connect(site.dsn, autocommit=True) as session:
        cursor = factory(session)
        result = cursor.execute(statement.encode()).pgresult
        assert result is not None
        places = [(result.ftablecol(i), result.ftable(i)) for i in range(result.nfields)]
        return [session.execute(_ORIGIN, place).fetchone() for place in places]


@pytest.mark.parametrize("factory", [psycopg.ClientCursor, psycopg.Cursor])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT payment_type AS p, count(*), pickup_zone + 1 FROM trips GROUP BY payment_type, pickup_zone",
        "SELECT zone, borough, count(*) FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1, 2",
        "SELECT * FROM (SELECT payment_type FROM trips GROUP BY 1) AS t",
        "EXPLAIN SELECT count(*) FROM trips",
    ],
)
def test_columns_come_from_where_they_come_from(
    here: Site, plain: Site, factory: type[psycopg.Cursor], statement: str
) -> None:
    """In both protocols a column's table and number are those that a plain server tells."""
    assert _origins(here, factory, statement) == _origins(plain, factory, statement)


def test_executed_statement_tells_origins_too(here: Site) -> None:
    """EXECUTE of a prepared statement describes the statement's own columns."""
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as session:
        session.execute("PREPARE p (int) AS SELECT payment_type, count(*) FROM trips WHERE fare > $1 GROUP BY 1")
        result = session.execute("EXECUTE p (20)").pgresult
        assert result is not None
        assert [result.ftablecol(i) for i in range(2)] == [6, 0]


_CURSORS = [
    "SELECT payment_type AS p, count(*), pickup_zone + 1 FROM trips GROUP BY payment_type, pickup_zone",
    "SELECT zone, borough, count(*) FROM trips JOIN zones ON zone_id = pickup_zone GROUP BY 1, 2",
]


@pytest.mark.parametrize("factory", [psycopg.ClientCursor, psycopg.Cursor])
@pytest.mark.parametrize("fetch", ["FETCH 2 FROM c", "FETCH ALL IN c;", "FETCH c", '-- x\nfetch forward 3 from "c"'])
@pytest.mark.parametrize("query_", _CURSORS)
def test_fetched_columns_come_from_where_they_come_from(
    here: Site, plain: Site, factory: type[psycopg.Cursor], fetch: str, query_: str
) -> None:
    """As those of the query without a cursor do."""
    assert _fetched(here, factory, query_, fetch) == _fetched(plain, factory, query_, fetch)


def _fetched(site: Site, factory: type[psycopg.Cursor], query_: str, fetch: str) -> list[object]:
    with psycopg.connect(site.dsn, cursor_factory=factory) as session:
        session.execute(f"DECLARE c CURSOR FOR {query_}".encode())
        places = [_places(session.execute(fetch.encode())) for _ in range(2)]
        session.execute("DECLARE d BINARY CURSOR FOR SELECT payment_type, count(*) FROM trips GROUP BY 1")
        binary = session.execute("FETCH d").pgresult
        assert binary is not None
        return [*places, [binary.fformat(place) for place in range(2)]]


def _places(cursor: psycopg.Cursor) -> list[tuple[bytes | None, int, bool]]:
    """Return of each column its name, its number in the table that it comes from, and whether it comes from one."""
    result = cursor.pgresult
    assert result is not None
    return [(result.fname(i), result.ftablecol(i), bool(result.ftable(i))) for i in range(result.nfields)]


def test_a_cursor_that_takes_the_name_has_columns_of_its_own(here: Site, plain: Site) -> None:
    """Though they are called alike: also where several statements come in one message."""
    for site in (here, plain):
        with psycopg.connect(site.dsn, cursor_factory=psycopg.ClientCursor) as session:
            ours = "DECLARE c CURSOR WITH HOLD FOR SELECT payment_type FROM trips GROUP BY 1"
            told = session.execute(f"{ours}; FETCH c".encode())
            assert told.nextset()
            assert _places(told) == [(b"payment_type", 6, True)]
            session.commit()
            assert _places(session.execute("FETCH c")) == [(b"payment_type", 6, True)]
            session.execute("CLOSE c; DECLARE c CURSOR FOR SELECT 'x'::text AS payment_type")
            assert _places(session.execute("FETCH c")) == [(b"payment_type", 0, False)]


def test_a_fetch_that_is_described_before_it_runs_has_origins(here: Site) -> None:
    """In messages that are sent together, of a statement and of a portal."""
    with psycopg.connect(here.dsn) as session, Raw(session) as raw:
        raw.send(query("BEGIN; DECLARE c CURSOR FOR SELECT payment_type FROM trips GROUP BY 1"))
        raw.receive()
        of_both = describe_message(b"S", b"f"), bind(b"p", b"f"), describe_message(b"P", b"p")
        raw.send(parse(b"f", b"FETCH c"), *of_both, execute(b"p"), SYNC)
        rows = [body for kind, body in raw.receive() if kind == b"T"]
        assert [body[2 + len(b"payment_type\0") :][4:6] for body in rows] == [(6).to_bytes(2, "big")] * 2


_EXPLAIN = "EXPLAIN SELECT count(*) FROM trips"


@pytest.mark.parametrize("factory", [psycopg.ClientCursor, psycopg.Cursor])
def test_explain_is_called_explain(here: Site, factory: type[psycopg.Cursor]) -> None:
    """By the tag of the command, in both protocols."""
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as session:
        assert session.execute(_EXPLAIN).statusmessage == "EXPLAIN"
        assert session.execute("SELECT count(*) FROM trips").statusmessage == "SELECT 1"


def test_explain_is_called_explain_when_it_comes_in_steps(here: Site) -> None:
    """The last step of a portal has the tag; a portal of the same name later has its own."""
    with psycopg.connect(here.dsn) as session, Raw(session) as raw:
        raw.send(query("BEGIN"))
        raw.receive()
        step = execute(b"p")[:-4] + (2).to_bytes(4, "big")
        raw.send(parse(b"", _EXPLAIN.encode()), bind(b"p", b""), step, SYNC)
        assert raw.kinds() == b"12DDsZ"
        raw.send(step, execute(b"p"), SYNC)
        assert [body for kind, body in raw.receive() if kind == b"C"] == [b"EXPLAIN\0"]
        raw.send(close(b"P", b"p"), parse(b"", b"SELECT 1"), bind(b"p", b""), execute(b"p"), SYNC)
        assert [body for kind, body in raw.receive() if kind == b"C"] == [b"SELECT 1\0"]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("kind", [float, Decimal])
@pytest.mark.parametrize(("value", "below"), [("Infinity", TRIPS), ("-Infinity", 0), ("NaN", TRIPS)])
def test_endless_parameters_are_compared(
    here: Site, value: str, below: int, kind: Callable[[str], object], binary: bool
) -> None:
    """As PostgreSQL compares them: NaN is the largest number. In lists too, and among answers."""
    with psycopg.connect(here.dsn, autocommit=True) as session:

        def asked(statement: str) -> object:
            row = session.execute(statement.encode(), (kind(value),), binary=binary).fetchone()
            assert row is not None
            return row[0]

        assert asked("SELECT count(*) FROM trips WHERE fare < %s") == below
        assert asked("SELECT count(*) FROM trips WHERE NOT fare >= %s") == below
        assert asked("SELECT count(*) FROM trips WHERE fare BETWEEN 0 AND %s") == below
        assert asked("SELECT count(*) FROM trips WHERE passenger_count + 0 <= %s::numeric") == below
        assert asked("SELECT count(*) FROM trips WHERE %s = fare") == 0
        assert asked("SELECT count(*) FROM trips WHERE fare = ANY (ARRAY[%s, 3])") == TRIPS / 50
        assert asked("SELECT count(*) FROM trips WHERE fare IN (%s, 3)") == TRIPS / 50
        assert asked("SELECT max(fare) < %s FROM trips") == (below > 0)
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            asked("SELECT sum(fare + %s) FROM trips")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            asked("SELECT count(*), greatest(fare, %s) FROM trips GROUP BY 2")


@pytest.mark.parametrize("value", ["infinity", "-infinity"])
@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_endless_times_are_compared(here: Site, value: str, kind: str) -> None:
    """As a literal, a constant and a parameter."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        for bound in (f"'{value}'", f"'{value}'::{kind}", f"%s::{kind}"):
            statement = f"SELECT count(*) FROM trips WHERE pickup_ts < {bound}"
            row = session.execute(statement.encode(), (value,) if "%" in bound else None).fetchone()
            assert row == (TRIPS if value == "infinity" else 0,)
