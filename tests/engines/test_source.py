"""The line that says where an engine's records are."""

import os
from pathlib import Path

import pytest

from dpsql.engines.source import Wordings, other_wordings, source
from dpsql.policy.config import CopiedDatabase, DuckDbFile, DuckDbTables, PostgresServer, SparkServer


def test_two_files_are_two_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one stands; a link is what it is called, since what it points to may change with every load."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "now.duckdb").symlink_to("of monday.duckdb")
    assert source(DuckDbFile(Path("now.duckdb"))) == f"duckdb {tmp_path}/now.duckdb"
    assert source(DuckDbFile(tmp_path / "x" / ".." / "now.duckdb")) == f"duckdb {tmp_path}/now.duckdb"
    assert source(DuckDbFile(tmp_path / "other.duckdb")) != source(DuckDbFile(tmp_path / "now.duckdb"))


def test_tables_of_files_are_named_in_order() -> None:
    """Which file stands for which table matters, the order in which they are given does not."""
    statement = source(DuckDbTables({"b": Path("/d/b.csv"), "a": Path("/d/a.parquet")}))
    assert (
        statement
        == "duckdb a=/d/a.parquet b=/d/b.csv"
        == source(DuckDbTables({"a": Path("/d/a.parquet"), "b": Path("/d/b.csv")}))
    )


def test_a_server_is_named_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """By host, port, database and options, also those of the environment; a new password or account is the same place."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    here = source(PostgresServer("postgresql://me:hunter2@db.example.org:5433/rides?sslmode=require"))
    assert here == "postgres host=db.example.org port=5433 dbname=rides"
    assert here == source(PostgresServer("host=db.example.org port=5433 dbname=rides user=you password=other"))
    assert here != source(PostgresServer("host=db.example.org port=5433 dbname=rides options=-csearch_path=old"))
    assert here != source(PostgresServer("postgresql://me@db.example.org:5433/other"))
    monkeypatch.setenv("PGHOST", "db.example.org")
    monkeypatch.setenv("PGPORT", "5433")
    assert here == source(PostgresServer("dbname=rides"))


def test_places_of_tables_are_part_of_a_servers_name() -> None:
    """What is stored of one table is no answer about another."""
    dsn = "host=h dbname=d"
    plain, labs = PostgresServer(dsn), PostgresServer(dsn, {"labs": "clinical.labs"})
    assert source(labs) == f"{source(plain)} labs=clinical.labs"
    assert source(PostgresServer(dsn, {"labs": "old.labs"})) != source(labs)


def test_a_cluster_is_named_without_its_token() -> None:
    """By the server and what is read there; another token is the same place, another version is not."""
    here = source(SparkServer("sc://spark.example.org:15002/;use_ssl=true;token=hunter2", {"rides": "lake.rides@4"}))
    assert here == "spark spark.example.org:15002 rides=lake.rides@4"
    assert here == source(SparkServer("sc://spark.example.org:15002", {"rides": "lake.rides@4"}))
    assert here != source(SparkServer("sc://spark.example.org:15002", {"rides": "lake.rides@5"}))


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be said of servers but by connection strings."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)


TABLES = ("labs", "visits")
SAME = (
    PostgresServer("host=localhost dbname=d options='-c search_path=clinical'"),
    PostgresServer("host=127.0.0.1 dbname=d options='-csearch_path=clinical'"),
    PostgresServer("postgresql://me@127.0.0.1:5432/d?options=--search_path%3Dclinical"),
    PostgresServer("host=localhost dbname=d", {"labs": "clinical.labs", "visits": "clinical.visits"}),
    PostgresServer("host=127.0.0.1 port=5432 dbname=d", {"labs": "clinical.labs", "visits": "clinical.visits"}),
)
OTHERS = (
    PostgresServer("host=localhost dbname=d"),
    PostgresServer("host=localhost dbname=e options='-c search_path=clinical'"),
    PostgresServer("host=localhost port=5433 dbname=d options='-c search_path=clinical'"),
    PostgresServer("host=db.example dbname=d options='-c search_path=clinical'"),
    PostgresServer("host=localhost dbname=d options='-c search_path=clinical,public'"),
    PostgresServer("host=localhost dbname=d options='-c search_path=archive'"),
    PostgresServer("host=localhost dbname=d", {"labs": "clinical.labs", "visits": "archive.visits"}),
    PostgresServer("host=localhost dbname=d", {"labs": "clinical.labs"}),
    PostgresServer("host=localhost dbname=d", {"labs": "clinical.visits", "visits": "clinical.labs"}),
)


@pytest.mark.usefixtures("no_environment")
@pytest.mark.parametrize("now", SAME)
@pytest.mark.parametrize("before", SAME)
def test_one_place_in_other_words(before: PostgresServer, now: PostgresServer) -> None:
    """A search path or a place for each table, localhost or its address, the port or none."""
    assert source(before) in {source(now), *other_wordings(now, TABLES)}


@pytest.mark.usefixtures("no_environment")
def test_no_two_places_have_words_in_common() -> None:
    """Neither of those that differ, nor with those that are one."""
    words_of = [{source(tables), *other_wordings(tables, TABLES)} for tables in (SAME[0], *OTHERS)]
    assert [(a, b) for a, own in enumerate(words_of) for b, other in enumerate(words_of) if a < b and own & other] == []
    assert other_wordings(DuckDbFile(Path("now.duckdb")), TABLES) == frozenset()
    assert other_wordings(PostgresServer("service=records host=localhost"), TABLES) == frozenset()


IN_SCHEMAS = ("clinical.labs", "clinical.patients", "core.patients", "visits")
BEFORE = {"labs": "clinical.labs", "clinical_patients": "clinical.patients", "core_patients": "core.patients"}


def _opens(now: Wordings, before: str) -> bool:
    """Return whether a ledger of earlier is one of what is configured now."""
    return before == source(now.engine) or before in now


@pytest.mark.usefixtures("no_environment")
def test_a_table_that_has_its_schema_now_is_the_same_one() -> None:
    """As `init` called it before, with its place in engine.tables: by its name, or with its schema where that was taken."""
    now = Wordings(PostgresServer("host=127.0.0.1 dbname=d"), IN_SCHEMAS)
    for before in (
        PostgresServer("host=localhost dbname=d", BEFORE),
        PostgresServer("host=localhost port=5432 dbname=d", {"labs": "clinical.labs"}),
        PostgresServer("host=localhost dbname=d", {"patients": "clinical.patients", "core_patients": "core.patients"}),
        PostgresServer("host=localhost dbname=d"),
    ):
        assert _opens(now, source(before))
    kept = Wordings(PostgresServer("host=localhost dbname=d", {"visits": "old.visits"}), IN_SCHEMAS)
    assert _opens(kept, source(PostgresServer("host=localhost dbname=d", {**BEFORE, "visits": "old.visits"})))
    one = Wordings(PostgresServer("host=localhost dbname=d"), ("clinical.labs", "clinical.visits"))
    assert all(_opens(one, source(before)) for before in SAME)


@pytest.mark.usefixtures("no_environment")
def test_other_records_are_not_taken_for_those_of_a_schema() -> None:
    """Another server, another place, a place that is given now, one that no table has, one table for two."""
    now = Wordings(PostgresServer("host=localhost dbname=d", {"visits": "old.visits"}), IN_SCHEMAS)
    for before in (
        PostgresServer("host=localhost dbname=d", BEFORE),
        PostgresServer("host=localhost dbname=e", {**BEFORE, "visits": "old.visits"}),
        PostgresServer("host=localhost dbname=d", {**BEFORE, "visits": "new.visits"}),
        PostgresServer("host=localhost dbname=d", {"visits": "old.visits", "labs": "archive.labs"}),
        PostgresServer("host=localhost dbname=d", {"visits": "old.visits", "labs": "core.patients"}),
        PostgresServer("host=localhost dbname=d", {"visits": "old.visits", "x": "clinical.labs"}),
        PostgresServer(
            "host=localhost dbname=d",
            {"visits": "old.visits", "clinical_labs": "clinical.labs", "labs": "clinical.labs"},
        ),
        PostgresServer("host=localhost dbname=d options='-c search_path=clinical'", {"visits": "old.visits"}),
    ):
        assert not _opens(now, source(before)), before
    public = Wordings(PostgresServer("host=localhost dbname=d"), ("labs", "visits"))
    assert not _opens(public, source(PostgresServer("host=localhost dbname=d", {"labs": "clinical.labs"})))


def test_files_and_clusters_keep_their_ledgers() -> None:
    """Of a table that has its schema now the file is the same one, and so is its place in a cluster."""
    files = {"clinical.labs": Path("/d/my labs.parquet"), "core.labs": Path("/d/labs.csv"), "b": Path("/d/b.csv")}
    now = Wordings(DuckDbTables(files), tuple(files))
    before = {"labs": files["clinical.labs"], "core_labs": files["core.labs"], "b": files["b"]}
    assert _opens(now, source(DuckDbTables(before)))
    assert not _opens(
        now, source(DuckDbTables({**before, "labs": files["core.labs"], "core_labs": files["clinical.labs"]}))
    )
    assert not _opens(now, source(DuckDbTables({**before, "b": Path("/d/c.csv")})))
    assert not _opens(now, source(DuckDbTables({name: before[name] for name in ("labs", "b")})))
    assert not _opens(Wordings(DuckDbFile(Path("/d/x.duckdb")), ("clinical.labs",)), "duckdb /d/y.duckdb")
    cluster = SparkServer("sc://spark:15002", {"rides": "lake.rides@4"})
    spark = Wordings(cluster, ("rides", "clinical.labs"))
    was = SparkServer("sc://spark:15002", {"labs": "clinical.labs", "rides": "lake.rides@4"})
    assert _opens(spark, source(was))
    assert not _opens(spark, source(SparkServer("sc://spark:15002", {"labs": "clinical.labs"})))


def test_a_database_that_is_copied_is_its_kind_and_its_place() -> None:
    """Not its account, its driver or its settings, and MariaDB's two names are one; of SQLite it is the file."""
    here = source(
        CopiedDatabase("mysql+pymysql://me:hunter2@db.example.org:3307/rides?ssl_ca=/x", {"labs": "old.labs"})
    )
    assert here == "mysql host=db.example.org port=3307 database=rides labs=old.labs"
    assert here == source(CopiedDatabase("mariadb://you@db.example.org:3307/rides", {"labs": "old.labs"}))
    assert here != source(CopiedDatabase("mysql://me@db.example.org:3307/other", {"labs": "old.labs"}))
    assert source(CopiedDatabase("sqlite:////var/records.db?timeout=5")) == "sqlite /var/records.db"


def test_a_database_whose_table_has_a_schema_now_is_the_same() -> None:
    """What its place said before its name does."""
    now = CopiedDatabase("mysql://me@db.example.org/rides")
    before = source(CopiedDatabase(now.url, {"labs": "clinical.labs"}))
    assert before in Wordings(now, ["clinical.labs"])
    assert before not in Wordings(now, ["other.labs"])
