"""A client's text where planning has PostgreSQL bind it: it is analyzed and never run, and leaves nothing behind."""

import threading
from collections.abc import Iterator

import psycopg
import pytest

from dpsql.errors import DpsqlError, TooComplex, Unsupported
from dpsql.question import Settings, TemporaryTable
from dpsql.rewrite.ir.literal import SpelledSql
from dpsql.shadow.contents.role import ORACLE
from dpsql.shadow.questions import oracle
from dpsql.shadow.questions.oracle import OracleSession, ShadowOracle
from dpsql.shadow.server.postgres import Postgres
from dpsql.shadow.watch.warden import LeftoverSessions


@pytest.fixture(scope="module")
def sessions(shadow: Postgres) -> Iterator[OracleSession]:
    """The sessions that planning asks."""
    made = OracleSession(shadow.dsn("taxi", ORACLE), LeftoverSessions())
    yield made
    made.close()


def _bound(sessions: OracleSession, query: str, settings: Settings = Settings()) -> str:
    return " ".join(ShadowOracle(sessions, settings, "ana").canonical(query, ()).split())


ESCAPES = [
    "SELECT 1; END; CREATE TABLE public.left_behind (a int); BEGIN ATOMIC SELECT 1",
    "SELECT 1; END",
    "SELECT 1 $$; DROP TABLE trips; --",
    "SELECT 1 /*",
    "SELECT 'a",
    "SELECT 1; COMMIT",
    "COMMIT",
    "END; SELECT 1",
    "SELECT 1 INTO TEMP left_behind",
    "DROP TABLE zones",
    "SET ROLE dpsql_owner",
    "COPY zones TO STDOUT",
    "DECLARE c CURSOR FOR SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "DO $$ BEGIN PERFORM 1; END $$",
    "CREATE TEMP TABLE left_behind (a int)",
    "PREPARE p AS SELECT 1",
    "LISTEN x",
    "CALL pg_catalog.nothing()",
]


@pytest.mark.parametrize("query", ESCAPES)
def test_nothing_but_a_query_is_bound(sessions: OracleSession, shadow: Postgres, query: str) -> None:
    """It can't end what it stands in, begin another statement, or be one that is no query."""
    with pytest.raises(DpsqlError):
        _bound(sessions, query)
    with psycopg.connect(shadow.dsn("taxi")) as owner:
        count = owner.execute("SELECT count(*) FROM pg_class WHERE relname = 'left_behind'").fetchone()
        functions = owner.execute("SELECT count(*) FROM pg_proc WHERE proname = 'dpsql_query'").fetchone()
    assert (count, functions) == ((0,), (0,))


def test_several_statements_are_said_as_several(sessions: OracleSession) -> None:
    """What is read of them is no one query."""
    assert _bound(sessions, "SELECT 1; SELECT 2") == "SELECT 1; SELECT 2"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT pg_sleep(60)",
        "SELECT 1 / 0",
        "SELECT * FROM trips",
        "SELECT set_config('datestyle', 'German', false)",
        "SELECT * FROM generate_series(1, 10000000000)",
        "SELECT pg_terminate_backend(1)",
        "INSERT INTO zones VALUES (99)",
        "DELETE FROM zones",
    ],
)
def test_nothing_is_run(sessions: OracleSession, shadow: Postgres, query: str) -> None:
    """Neither a function nor an operator, nor what reads or writes a table."""
    assert _bound(sessions, query)
    assert _bound(sessions, "SELECT DATE '02.03.2019'") == "SELECT '2019-02-03'::date AS date"
    with psycopg.connect(shadow.dsn("taxi")) as owner:
        assert owner.execute("SELECT count(*) FROM zones").fetchone() == (10,)


def test_what_is_made_is_gone(sessions: OracleSession) -> None:
    """Temporary tables are there for one query."""
    kept = Settings(temporary=(TemporaryTable('a "b"', (('c "d"', "numeric(10,2)"), ("e", "text[]"))),))
    assert _bound(sessions, 'SELECT * FROM "a ""b"""', kept) == 'SELECT "a ""b"""."c ""d""", "a ""b""".e FROM "a ""b"""'
    with pytest.raises(Unsupported, match="does not exist"):
        _bound(sessions, 'SELECT * FROM "a ""b"""')


def test_a_temporary_table_has_its_key(sessions: OracleSession) -> None:
    """What is grouped by that has one value of each of its columns."""
    query, columns = "SELECT k.id, k.name, count(*) FROM kept k GROUP BY k.id", (("id", "integer"), ("name", "text"))
    assert _bound(sessions, query, Settings(temporary=(TemporaryTable("kept", columns, ("id",)),)))
    with pytest.raises(Unsupported, match="must appear in the GROUP BY clause"):
        _bound(sessions, query, Settings(temporary=(TemporaryTable("kept", columns),)))


def test_names_in_settings_are_names(sessions: OracleSession) -> None:
    """A search path or a table's name is written in quotes, whatever is in it."""
    for path in ("public; drop table zones", '"x"", y"', "'a'", "$user"):
        with pytest.raises(DpsqlError):
            _bound(sessions, "SELECT * FROM zones, nowhere", Settings(search_path=path))
    assert _bound(sessions, "SELECT 1 FROM zones")


def test_a_query_is_as_long_as_it_is_written_out(sessions: OracleSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stars may stand for many columns."""
    monkeypatch.setattr(oracle, "_LONGEST_QUERY", 200)
    with pytest.raises(TooComplex, match="the limit is 200"):
        _bound(sessions, f"SELECT * FROM {', '.join(f'trips t{i}' for i in range(20))}")


def test_what_takes_long_to_bind_is_ended(sessions: OracleSession) -> None:
    """PostgreSQL writes BETWEEN out, twice as long with each step."""
    query = "1"
    for _ in range(40):
        query = f"(({query}) BETWEEN 1 AND 2)::int"
    with pytest.raises(TooComplex, match="takes too long to bind"):
        _bound(sessions, f"SELECT {query}")


def test_many_threads_bind_at_once(sessions: OracleSession) -> None:
    """Each hears of its own."""
    heard: dict[int, str] = {}

    def ask(number: int) -> None:
        heard[number] = _bound(sessions, f"SELECT {number} AS n")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {number: f"SELECT {number} AS n" for number in range(40)}


def test_a_constant_is_in_the_settings_of_its_own_session(sessions: OracleSession) -> None:
    """The session that is asked is the same: what another client has set is set no more, and what is set is not missed."""
    text = SpelledSql("(timestamptz '2019-03-02 12:00+00')::text || (interval '1 day 2 hours')::text")
    there = Settings(time_zone="Asia/Tokyo", date_order="DMY", date_style="SQL", interval_style="iso_8601")
    here = Settings(time_zone="UTC", interval_style="postgres")
    texts = [ShadowOracle(sessions, each, "ana").constant(text)[0] for each in (there, here, there, here)]
    assert texts == ["02/03/2019 21:00:00 JSTP1DT2H", "2019-03-02 12:00:00+001 day 02:00:00"] * 2
