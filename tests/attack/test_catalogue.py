"""What the shadow's catalogue says to one log-in of what another was told: nothing.

All sessions share one database, and everybody reads its catalogue. Names and DEFAULTs that a user writes himself may be seen
there. What dpsql has told him may not.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.attack.strangers import STRANGERS, log_in, with_strangers
from tests.clients.site import Site, configure, serving

ASKED = "SELECT payment_type AS paid, count(*) AS n, avg(fare) AS mean FROM trips GROUP BY 1"
JOINED = """
  WITH w AS (SELECT max(tip) AS m FROM trips WHERE fare > (SELECT avg(fare) FROM trips))
  SELECT w.m, x.mean FROM w, (SELECT avg(fare) AS mean FROM trips) AS x ORDER BY 1"""
NOTED = """
  (m text DEFAULT 'a word in a default', CHECK (m <> 'a word in a check'), EXCLUDE ((m || 'a word in an index') WITH =))"""
KEPT = (
    f"CREATE TEMP VIEW mine AS {ASKED}",
    "CREATE OR REPLACE TEMP VIEW twice AS SELECT 1::bigint AS n",
    "CREATE OR REPLACE TEMP VIEW twice AS SELECT sum(fare)::bigint AS n FROM trips",
    f"CREATE TEMP VIEW joined (a, b) AS {JOINED}",
    "CREATE TEMP VIEW over AS SELECT mean * 2 AS doubled FROM mine",
    f"CREATE TEMP TABLE kept AS {ASKED}",
    f"PREPARE again AS {ASKED}",
    f"DECLARE c CURSOR WITH HOLD FOR {ASKED}",
    "CREATE TEMP VIEW spent AS SELECT epsilon_spent, epsilon_left FROM dpsql.budget",
    f"CREATE TEMP TABLE noted {NOTED}",
    "CREATE TEMP VIEW words AS SELECT 'a word in a view'::text AS m",
)
"""All ways to keep an answer in a session."""
_READABLE = """
SELECT c.oid::regclass::text FROM pg_catalog.pg_class AS c
 WHERE relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AND relkind IN ('r', 'v')
 ORDER BY 1"""
_COLUMNS = """
SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
   AND has_column_privilege(attrelid, attnum, 'select') ORDER BY attnum"""
_PRINTING = """
SELECT p.oid::regprocedure::text, p.proname, p.proargtypes::regtype[]::text[] FROM pg_catalog.pg_proc AS p
 WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
   AND prorettype IN ('text'::regtype, 'bigint'::regtype, 'double precision'::regtype)
   AND proargtypes[0] IN ('oid'::regtype, 'regclass'::regtype)
   AND (pronargs = 1 OR proargtypes[1] IN ('boolean'::regtype, 'integer'::regtype) AND pronargs = 2)
   AND has_function_privilege(p.oid, 'execute') ORDER BY 1"""
_OBJECTS = """
SELECT oid FROM pg_catalog.pg_class WHERE relpersistence = 't'
UNION SELECT oid FROM pg_catalog.pg_rewrite WHERE oid >= 16384 UNION SELECT oid FROM pg_catalog.pg_constraint
 WHERE oid >= 16384 UNION SELECT oid FROM pg_catalog.pg_database UNION SELECT oid FROM pg_catalog.pg_type
 WHERE oid >= 16384"""
_FURTHER = {"": ("",), "boolean": (", true", ", false"), "integer": (", 0", ", 1")}
_BYTES = re.compile(r"\[((?: -?\d+)+) \]")
"""A constant in PostgreSQL's own trees."""


def _as_text(constant: str) -> str:
    return bytes(int(number) % 256 for number in constant.split()).decode("latin-1")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Serve several roles."""
    directory = Path(tempfile.mkdtemp(prefix="dpsql-attack-"))
    directory.chmod(0o711)
    with serving(with_strangers(configure(directory))) as served:
        yield served
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def keeping(site: Site) -> Iterator[psycopg.Connection]:
    """Give a session that keeps answers in every way."""
    with log_in(site, "ana") as session:
        for statement in KEPT:
            session.execute(statement.encode())
        yield session


def _told(keeping: psycopg.Connection) -> Sequence[str]:
    """Return the numbers that its views show, those that nothing else in a catalogue is."""
    rows = keeping.execute("SELECT mean FROM mine UNION ALL SELECT n FROM twice UNION ALL SELECT b FROM joined")
    told = [str(value) for (value,) in rows.fetchall()]
    told += [str(spent) for row in keeping.execute("SELECT * FROM spent").fetchall() for spent in row]
    return [number for number in told if len(number) > 4]


def _everything(session: psycopg.Connection) -> Iterator[tuple[str, str]]:
    """Yield every text that a session can read in the catalogue, with where it is."""
    for (name,) in session.execute(_READABLE).fetchall():
        columns = [column for (column,) in session.execute(_COLUMNS, (name,)).fetchall()]
        shown = ", ".join(f'"{column}"::text' for column in columns)
        for text in _all_of(session, f"concat_ws(' ', {shown}) FROM {name}") if columns else ():
            yield name, text + "".join(map(_as_text, _BYTES.findall(text)))
    oids = ",".join(str(oid) for (oid,) in session.execute(_OBJECTS).fetchall())
    for function, name, types in session.execute(_PRINTING).fetchall():
        for further in _FURTHER[types[1] if len(types) > 1 else ""]:
            call = f"pg_catalog.{name}(o::{types[0]}{further})::text FROM unnest('{{{oids}}}'::oid[]) AS o"
            for text in _all_of(session, call):
                yield function, text


def _all_of(session: psycopg.Connection, query: str) -> Iterator[str]:
    """Yield what a query shows, in one text; nothing where it is denied, or does not take an object."""
    with suppress(psycopg.Error):
        yield "\n".join(text or "" for (text,) in session.execute(f"SELECT {query}".encode()).fetchall())


@pytest.mark.parametrize("user", STRANGERS)
def test_no_text_of_the_catalogue_has_what_another_was_told(site: Site, keeping: psycopg.Connection, user: str) -> None:
    """Neither tables nor views nor functions that print, whatever the session keeps that was told."""
    told = _told(keeping)
    assert len(told) >= 5
    with log_in(site, user) as stranger:
        found = {(where, number) for where, text in _everything(stranger) for number in told if number in text}
        assert found == set()


def test_the_walk_reads_what_views_say(site: Site, keeping: psycopg.Connection) -> None:
    """A test that finds nothing has looked: the author himself finds the words that he wrote, and where they are."""
    printed = {"a word in a view": "pg_get_viewdef(oid)", "a word in a check": "pg_get_constraintdef(oid)"}
    printed |= {"a word in an index": "pg_get_indexdef(oid)", "a word in a default": "pg_attrdef"}
    with log_in(site, "ana") as author, log_in(site, "dan") as stranger:
        found = {(where, word) for where, text in _everything(author) for word in printed if word in text}
        assert {("pg_views", "a word in a view"), ("pg_indexes", "a word in an index")} < found
        assert {(where, word) for word, where in printed.items()} < found
        seen = {(where, word) for where, text in _everything(stranger) for word in printed if word in text}
        # What users write themselves as DEFAULT and CHECK stands in trees that every client reads, through no function.
        assert {where for where, _ in seen} == {"pg_attrdef", "pg_constraint", "pg_index"}
        assert "a word in a view" not in {word for _, word in seen}
    assert keeping.execute("SELECT count(*) FROM mine").fetchone() == (3,)


def test_rows_of_views_go_with_them(site: Site) -> None:
    """What a view that was replaced or dropped has shown is not kept, but for what a cursor reads still."""
    tables = "SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r' ORDER BY 1"
    made = "CREATE OR REPLACE TEMP VIEW v AS SELECT count(*) AS n FROM trips WHERE fare > {}"
    with log_in(site, "ana") as session:
        for number in range(4):
            session.execute(made.format(number).encode())
        assert len(session.execute(tables).fetchall()) == 2
        with session.transaction():
            session.execute("DECLARE c CURSOR FOR SELECT * FROM v")
            session.execute(made.format(9).encode())
            session.execute(made.format(10).encode())
            assert session.execute("FETCH c").fetchone()
        session.execute("DROP VIEW v")
        session.execute("CREATE TEMP VIEW w AS SELECT count(*) AS n FROM trips")
        assert len(session.execute(tables).fetchall()) == 1
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            session.execute("UPDATE w SET n = 3")
        session.execute("CREATE TEMP TABLE _dpsql_rows_2 AS SELECT 1 AS mine")
        session.execute("CREATE TEMP VIEW x AS SELECT min(fare) AS n FROM trips")
        assert session.execute("SELECT count(*) FROM x, w").fetchone() == (1,)
