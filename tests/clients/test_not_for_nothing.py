"""What PostgreSQL would not do with an answer is told before the answer is paid for, as PostgreSQL tells it."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.clients.data import TRIPS
from tests.clients.site import Site

COUNT = "SELECT count(*) AS n FROM trips"
READ_ONLY = "BEGIN READ ONLY"
EXISTING = "CREATE TEMP TABLE there (n bigint)"

REFUSED = [
    ((), f"DECLARE c CURSOR FOR {COUNT}", "25P01"),
    (("BEGIN", "ROLLBACK"), f"DECLARE c SCROLL CURSOR WITHOUT HOLD FOR {COUNT}", "25P01"),
    (("BEGIN", "DECLARE c CURSOR FOR SELECT 1"), f"DECLARE c CURSOR FOR {COUNT}", "42P03"),
    (("BEGIN", 'DECLARE "C d" CURSOR FOR SELECT 1'), f'DECLARE "C d" CURSOR FOR {COUNT}', "42P03"),
    (("DECLARE h CURSOR WITH HOLD FOR SELECT 1",), f"DECLARE H CURSOR WITH HOLD FOR {COUNT}", "42P03"),
    ((), f"DECLARE c INSENSITIVE ASENSITIVE CURSOR WITH HOLD FOR {COUNT}", "42P11"),
    ((READ_ONLY,), f"CREATE TEMP TABLE made AS {COUNT}", "25006"),
    (("BEGIN", "SET TRANSACTION READ ONLY"), "SELECT count(*) INTO TEMP made FROM trips", "25006"),
    (("SET default_transaction_read_only = on",), f"CREATE TEMP TABLE made AS {COUNT}", "25006"),
    ((EXISTING,), f"CREATE TEMP TABLE there AS {COUNT}", "42P07"),
    ((EXISTING,), "SELECT count(*) INTO TEMP there FROM trips", "42P07"),
    ((), f"CREATE TEMP TABLE made (a, b) AS {COUNT}", "42601"),
    ((), f"CREATE TEMP TABLE trips AS {COUNT}", "42501"),
    ((), f"CREATE TEMP TABLE pg_class AS {COUNT}", "42501"),
    ((), "CREATE TEMP TABLE made AS SELECT count(*) AS n, count(*) AS n FROM trips", "42701"),
    ((), "SELECT count(*) AS n, count(*) AS n INTO TEMP made FROM trips", "42701"),
    ((), "CREATE TEMP TABLE made AS SELECT row(n) AS r FROM (SELECT count(*) AS n FROM trips) AS t", "42P16"),
    ((), "SELECT count(*) INTO made FROM trips", "42501"),
    ((), f"COPY ({COUNT}) TO STDOUT (FORMAT nothing)", "22023"),
    ((), f"COPY ({COUNT}) TO STDOUT (FORMAT csv, DELIMITER 'ab')", "0A000"),
    ((), f"COPY ({COUNT}) TO STDOUT (FORMAT csv, FORCE_QUOTE (m))", "42703"),
    ((), f"COPY ({COUNT}) TO STDOUT (ENCODING 'nowhere')", "22023"),
    ((), "SELECT to_date('x', 'YYYY'), count(*) FROM trips", "22007"),
    ((), "SELECT current_setting('no.such'), count(*) FROM trips", "42704"),
    ((), "SELECT generate_series(1, 3, 0), count(*) FROM trips", "22023"),
    ((), "SELECT format('%2$s', count(*)) FROM trips", "22023"),
    ((), "SELECT sum(count(*)) OVER (ROWS -1 PRECEDING) FROM trips", "22013"),
    ((), f"{COUNT} LIMIT 1 - 2", "2201W"),
    ((), "SELECT count(*) + 40000::smallint FROM trips", "22003"),
    ((), "SELECT count(*) + 3000000000::int FROM trips", "22003"),
    ((), "SELECT count(*) + 1000::numeric(3,1) FROM trips", "22003"),
    ((), f"VALUES (({COUNT}), 1 / 0)", "22012"),
    ((EXISTING,), f"UPDATE there SET n = ({COUNT}) / 0", "22012"),
    (("BEGIN", "SAVEPOINT s", "DECLARE c CURSOR FOR SELECT 1"), f"DECLARE c CURSOR FOR {COUNT}", "42P03"),
]  # fmt: skip


@pytest.fixture(params=["simple", "extended"])
def session(here: Site, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Give a session in which every statement goes by the one protocol."""
    factory: type[psycopg.Cursor] = psycopg.ClientCursor if request.param == "simple" else psycopg.Cursor
    with psycopg.connect(here.dsn, autocommit=True, cursor_factory=factory) as opened:
        opened.prepare_threshold = 0
        yield opened


@pytest.fixture
def charges(here: Site) -> Iterator[psycopg.Connection]:
    """Give a session that looks at what was charged."""
    with psycopg.connect(here.dsn, autocommit=True) as opened:
        yield opened


def charged(session: psycopg.Connection) -> int:
    """Return how many charges there are."""
    (count,) = session.execute("SELECT count(*) FROM dpsql.charges").fetchone() or (-1,)
    return int(count)


def never_asked(session: psycopg.Connection, statement: str) -> str:
    """Return the statement about trips that nobody has asked about."""
    simple = isinstance(session.cursor(), psycopg.ClientCursor)
    where = f"WHERE fare > 3 AND tip < {3 + charged(session) + simple}"
    return statement.replace("FROM trips", f"FROM trips {where}")


def run(session: psycopg.Connection, statement: str) -> None:
    """Run a statement, and read what COPY has to say."""
    if not statement.startswith("COPY"):
        session.execute(statement.encode())
        return
    with session.cursor().copy(statement.encode()) as copy:
        list(copy)


@pytest.mark.parametrize(("before", "statement", "code"), REFUSED)
def test_what_postgresql_will_not_do_costs_nothing(
    session: psycopg.Connection, charges: psycopg.Connection, before: tuple[str, ...], statement: str, code: str
) -> None:
    """Because of the transaction, of a name that is taken, of constants, or of what stands around the query."""
    asked, paid = never_asked(charges, statement), charged(charges)
    for each in before:
        session.execute(each.encode())
    with pytest.raises(psycopg.Error) as caught:
        run(session, asked)
    assert caught.value.sqlstate == code
    assert charged(charges) == paid


KEPT = "CREATE TEMP TABLE kept (g text, n bigint)"
BY_PAYMENT = "SELECT payment_type AS g, count(*) AS n FROM trips WHERE payment_type IS NOT NULL GROUP BY 1"
SHOWN = "SET dpsql.empty_groups = 'show'"
"""Else there may be no group to fail with."""

DOOMED = [
    (("CREATE TEMP TABLE kept (g text CHECK (g <> 'cash'), n bigint)",), f"INSERT INTO kept {BY_PAYMENT}", "23514"),
    (("CREATE TEMP TABLE kept (g text NOT NULL, n bigint NOT NULL)",), f"INSERT INTO kept (n) {COUNT}", "23502"),
    (
        ("CREATE TEMP TABLE kept (g text UNIQUE, n bigint)", "INSERT INTO kept VALUES ('cash')"),
        f"INSERT INTO kept {BY_PAYMENT}",
        "23505",
    ),
    (("CREATE TEMP TABLE kept (g varchar(3), n bigint)",), f"INSERT INTO kept {BY_PAYMENT}", "22001"),
    (
        ("CREATE TEMP TABLE kept (g text UNIQUE, n bigint)",),
        f"INSERT INTO kept SELECT 'all', n FROM ({BY_PAYMENT}) AS a ON CONFLICT (g) DO UPDATE SET n = excluded.n",
        "21000",
    ),
    (
        (KEPT, "INSERT INTO kept VALUES ('all', 1)"),
        f"MERGE INTO kept USING ({BY_PAYMENT}) AS a ON kept.g = 'all' WHEN MATCHED THEN UPDATE SET n = a.n",
        "21000",
    ),
    ((KEPT, "INSERT INTO kept VALUES ('all', 0)"), f"UPDATE kept SET n = ({COUNT}) / kept.n", "22012"),
    (
        (KEPT, "INSERT INTO kept VALUES ('all', 0)"),
        f"INSERT INTO kept VALUES ((SELECT g::integer FROM kept LIMIT 1), ({COUNT}))",
        "22P02",
    ),
    ((KEPT,), f"WITH a AS ({BY_PAYMENT}) INSERT INTO kept SELECT g::integer, n FROM a", "22P02"),
    ((KEPT,), f"INSERT INTO kept {BY_PAYMENT} RETURNING g::integer", "22P02"),
    ((SHOWN,), f"SELECT json_object_agg(NULL::text, n) FROM ({BY_PAYMENT}) AS a", "22"),
    ((SHOWN,), f"CREATE TEMP TABLE made AS SELECT jsonb_object_agg(NULL::text, n) FROM ({BY_PAYMENT}) AS a", "22"),
    (("BEGIN",), f"DECLARE c CURSOR FOR SELECT jsonb_build_object(NULL, n) FROM ({COUNT}) AS a", "22"),
    ((), f"COPY (SELECT json_build_object(NULL, n) FROM ({COUNT}) AS a) TO STDOUT", "22"),
    ((), f"COPY (SELECT U&'\\0416' AS g, n FROM ({COUNT}) AS a) TO STDOUT (ENCODING 'LATIN1')", "22P05"),
    ((), f"COPY (SELECT chr(1046), n FROM ({COUNT}) AS a) TO STDOUT WITH (FORMAT csv, ENCODING latin1)", "22P05"),
    (("SET client_encoding = 'LATIN1'",), f"SELECT U&'\\0416' AS g, n FROM ({COUNT}) AS a", "0A000"),
    (
        ("SET client_encoding = 'LATIN1'",),
        "SELECT CASE WHEN fare > 9 THEN U&'\\0416' END AS g, count(*) FROM trips GROUP BY 1",
        "22P05",
    ),
    ((), f"SELECT set_config('nosuch', 'x', false), n FROM ({COUNT}) AS a", "42704"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "statement", "code"), DOOMED)
def test_what_fails_for_every_answer_costs_nothing(
    session: psycopg.Connection, charges: psycopg.Connection, before: tuple[str, ...], statement: str, code: str
) -> None:
    """Because of a temporary table's own rows and constraints, of public keys, or of what is computed of these."""
    asked, paid = statement.replace("WHERE", f"WHERE fare > 3 AND tip < {charged(charges) + 3} AND"), charged(charges)
    asked = asked if "WHERE" in statement else never_asked(charges, statement)
    for each in before:
        session.execute(each.encode())
    kept = session.execute("SELECT * FROM kept").fetchall() if "kept" in statement else []
    with pytest.raises(psycopg.Error) as caught:
        run(session, asked)
    told = caught.value.diag
    assert (told.sqlstate or "")[: len(code)] == code  # the rest is not the same in all versions
    assert (told.context, told.statement_position) == (None, None)
    assert "Failing row" not in (told.message_detail or "")
    assert charged(charges) == paid
    session.rollback()
    assert "kept" not in statement or session.execute("SELECT * FROM kept").fetchall() == kept


USELESS = [
    ((EXISTING,), f"CREATE TEMP TABLE IF NOT EXISTS there AS {COUNT}", "SELECT * FROM there"),
    ((), f"CREATE TEMP TABLE made AS {COUNT} WITH NO DATA", "SELECT n FROM made"),
]


@pytest.mark.parametrize(("before", "statement", "look"), USELESS)
def test_what_needs_no_answer_costs_nothing(
    session: psycopg.Connection, charges: psycopg.Connection, before: tuple[str, ...], statement: str, look: str
) -> None:
    """A table that is there already, or is to have no rows."""
    asked, paid = never_asked(charges, statement), charged(charges)
    for each in before:
        session.execute(each.encode())
    session.execute(asked.encode())
    assert session.execute(look.encode()).fetchall() == []
    assert charged(charges) == paid


ANSWERED = [
    (("BEGIN",), f"DECLARE c CURSOR FOR {COUNT}", "FETCH ALL FROM c"),
    ((), f'DECLARE "C d" BINARY CURSOR WITH HOLD FOR {COUNT}', 'FETCH ALL FROM "C d"'),
    ((READ_ONLY,), f"DECLARE c CURSOR FOR {COUNT}", "FETCH ALL FROM c"),
    (("BEGIN",), f"CREATE TEMP TABLE made (m) ON COMMIT DROP AS {COUNT} WITH DATA", "TABLE made"),
    ((), f"CREATE TEMP TABLE IF NOT EXISTS made AS {COUNT}", "TABLE made"),
    (("SET search_path = public, pg_temp",), f'CREATE TEMP TABLE "Made it" AS {COUNT}', 'TABLE "Made it"'),
    ((), 'SELECT count(*) INTO TEMP "Made it" FROM trips', 'TABLE "Made it"'),
    ((EXISTING, READ_ONLY), f"INSERT INTO there {COUNT}", "TABLE there"),
    (
        ("CREATE TEMP TABLE made (n bigint NOT NULL CHECK (n BETWEEN 2500 AND 3500))",),
        f"INSERT INTO made {COUNT}",
        "TABLE made",
    ),
    (("CREATE TEMP TABLE made (n bigint CHECK (n IS NULL OR n > 2500))",), f"INSERT INTO made {COUNT}", "TABLE made"),
    (
        ("CREATE TEMP TABLE made (id serial, n bigint UNIQUE)",),
        f"INSERT INTO made (n) {COUNT}",
        "SELECT n FROM made WHERE id = 1",
    ),
    (
        (EXISTING, "PREPARE put (int) AS INSERT INTO there SELECT count(*) FROM trips WHERE fare > $1"),
        "EXECUTE put (-1)",
        "TABLE there",
    ),
    (
        (),
        f"SELECT set_config('application_name', n::text, false) AS s INTO TEMP made FROM ({COUNT}) AS a",
        "SELECT s::int FROM made",
    ),
]


@pytest.mark.parametrize(("before", "statement", "look"), ANSWERED)
def test_what_postgresql_does_is_answered(
    session: psycopg.Connection, before: tuple[str, ...], statement: str, look: str
) -> None:
    """That it was tried before leaves nothing behind."""
    for each in before:
        session.execute(each.encode())
    session.execute(statement.encode())
    ((answer,),) = session.execute(look.encode()).fetchall()
    assert int.from_bytes(answer) if isinstance(answer, bytes) else answer == TRIPS


def test_a_statement_after_begin_in_one_message_is_inside(here: Site) -> None:
    """What stands before it in a simple query or a pipeline counts as done."""
    with psycopg.connect(here.dsn, autocommit=True) as session:
        session.execute(f"BEGIN; DECLARE c CURSOR FOR {COUNT}; DECLARE d CURSOR FOR {COUNT}".encode())
        assert session.execute("FETCH ALL FROM d").fetchall() == [(TRIPS,)]
        session.execute("ROLLBACK")
        with session.pipeline():
            session.execute("BEGIN")
            session.execute(f"DECLARE c CURSOR FOR {COUNT}".encode())
            fetched = session.execute("FETCH ALL FROM c")
            session.execute("COMMIT")
        assert fetched.fetchall() == [(TRIPS,)]
