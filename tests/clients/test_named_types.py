"""Enumerations have the names that the database has for them, and what may not be NULL is shown so."""

import asyncio
from collections.abc import Iterator

import asyncpg
import duckdb
import psycopg
import pytest

from dpsql.agents.session import AgentRefused, Login
from tests.clients.site import Site, configure, serving
from tests.support.plain_server import installed_servers, running_server

VISITS = """
table: visits
privacy_units: {patient: {column: patient, max_rows: 1}}
columns:
  patient: {type: bigint}
  felt: {type: enum, type_name: mood, values: [sad, ok, happy], nullable: true}
  ward: {type: bigint, references: wards.ward}
"""
WARDS = """
table: wards
public: true
key: ward
columns:
  ward: {type: integer}
  usual: {type: enum, type_name: mood, values: [sad, ok, happy]}
  name: {type: text}
  note: {type: text}
"""
TABLES = """
CREATE TABLE visits AS SELECT n AS patient, ['sad', 'ok', 'happy'][1 + n % 3] AS felt, 1 + n % 2 AS ward
FROM range(600) AS r (n);
CREATE TABLE wards AS SELECT * FROM (VALUES (1, 'ok', 'ICU', NULL), (2, 'sad', 'ER', 'open')) AS w (ward, usual, name, note)
"""
SAD = "SELECT count(*) FROM visits WHERE felt = "


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with two tables of moods."""
    place = tmp_path_factory.mktemp("moods")
    schemas = place / "moods"
    schemas.mkdir()
    (schemas / "visits.yaml").write_text(VISITS)
    (schemas / "wards.yaml").write_text(WARDS)
    config = configure(place, schemas=schemas)
    config.write_text(config.read_text().replace("passenger", "patient"))
    (place / "taxi.duckdb").unlink()
    with duckdb.connect(place / "taxi.duckdb") as connection:
        connection.execute(TABLES)
    with serving(config) as served:
        yield served


def test_an_agent_is_told_the_labels(site: Site) -> None:
    """PostgreSQL names the wrong one alone, of which no other follows."""

    async def refused(asked: str) -> str:
        async with Login(site.dsn).session() as session:
            with pytest.raises(AgentRefused) as caught:
                await session.rows(asked)
            return str(caught.value)

    for asked in (f"{SAD}'glad'", "SELECT 'glad'::mood", "SELECT count(*) FROM wards WHERE usual = 'glad'"):
        assert asyncio.run(refused(asked)).endswith(
            "invalid input value for enum mood: \"glad\".\nInstead: one of 'sad', 'ok', 'happy'"
        )


def test_a_cast_may_name_the_type(site: Site) -> None:
    """In any of its spellings, and as a parameter."""
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        for spelled in (
            "'sad'::mood",
            "CAST('sad' AS public.mood)",
            "mood 'sad'",
            "'sad'",
            "ANY(ARRAY['sad']::mood[])",
        ):
            assert connection.execute(f"{SAD}{spelled}".encode()).fetchall() == [(200,)]
        assert connection.execute(f"{SAD}%s::mood".encode(), ["sad"]).fetchall() == [(200,)]
        for array, number in (("= ANY(%s)", 200), ("= ANY(%s::mood[])", 200), ("<> ALL(%s)", 400), ("> ANY(%s)", 400)):
            asked = f"SELECT count(*) FROM visits WHERE felt {array}".encode()
            assert connection.execute(asked, [["sad"]]).fetchall() == [(number,)]
            assert connection.execute(asked, [None]).fetchall() == [(0,)]
        grouped = (
            "SELECT felt, count(*) FROM visits JOIN wards USING (ward) WHERE usual = 'ok'::mood GROUP BY 1 ORDER BY 1"
        )
        assert connection.execute(grouped.encode()).fetchall() == [
            ("sad", 100),
            ("ok", 100),
            ("happy", 100),
            (None, 0),
        ]
        shown = connection.execute("SELECT pg_typeof(usual)::text FROM wards LIMIT 1").fetchall()
        assert shown == [("mood",)]


def test_a_binary_driver_finds_the_type(site: Site) -> None:
    """It asks the catalogue for its labels."""

    async def ask() -> int:
        connection = await asyncpg.connect(site.url(), ssl=False)
        try:
            return int(await connection.fetchval(f"{SAD}$1::mood", "sad"))
        finally:
            await connection.close()

    assert asyncio.run(ask()) == 200


def test_what_may_not_be_null_is_shown_so(site: Site) -> None:
    """Of public tables, too: what is declared, unless a row has none."""
    asked = (
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attnotnull ORDER BY attnum"
    )
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        required = {table: connection.execute(asked, [table]).fetchall() for table in ("wards", "visits")}
    assert required == {
        "wards": [("ward",), ("usual",), ("name",)],
        "visits": [("patient",), ("ward",)],
    }


def test_another_server_imports_the_tables(site: Site) -> None:
    """With the type of the same name, which it has itself."""
    with running_server(installed_servers()[17]) as server, psycopg.connect(server.dsn(), autocommit=True) as owner:
        password = psycopg.conninfo.conninfo_to_dict(site.dsn)["password"]
        owner.execute("CREATE EXTENSION postgres_fdw; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        owner.execute(
            f"CREATE SERVER private FOREIGN DATA WRAPPER postgres_fdw OPTIONS "
            f"(host '127.0.0.1', port '{site.port}', dbname 'taxi')"
        )
        owner.execute(f"CREATE USER MAPPING FOR keeper SERVER private OPTIONS (user 'ana', password '{password}')")
        owner.execute("IMPORT FOREIGN SCHEMA public LIMIT TO (visits, wards) FROM SERVER private INTO public")
        shown = "SELECT attname, atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'visits'::regclass AND attnum > 0"
        types = owner.execute(shown).fetchall()
        asked = owner.execute("SELECT count(*) FROM visits WHERE ward = 1").fetchall()
        owner.execute("ALTER SERVER private OPTIONS (use_remote_estimate 'true')")
        estimated = owner.execute("SELECT count(*) FROM visits WHERE ward = 1").fetchall()
        grouped = owner.execute("SELECT ward, count(*) FROM visits GROUP BY ward ORDER BY ward").fetchall()
        with pytest.raises(psycopg.Error, match="rows of visits are protected"):
            owner.execute("SELECT * FROM visits")
    assert estimated == asked
    assert (1, 300) in grouped
    assert types == [("patient", "bigint"), ("felt", "mood"), ("ward", "bigint")]
    assert asked == [(300,)]


def test_formats_of_plans_are_not_estimated(site: Site) -> None:
    """Whoever asks for JSON is no other server that plans: rows are refused, as to everybody."""
    with psycopg.connect(site.dsn, autocommit=True, application_name="postgres_fdw") as connection:
        for kind in ("json", "xml", "yaml", "text"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"EXPLAIN (FORMAT {kind}) SELECT ward FROM visits".encode())
        ((plan,),) = connection.execute("EXPLAIN SELECT ward FROM visits").fetchall()
    assert "cost=" in plan
