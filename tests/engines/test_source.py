"""The line that says where an engine's records are."""

import os
from pathlib import Path

import pytest

from dpsql.engines.source import source
from dpsql.policy.config import DuckDbFile, DuckDbTables, PostgresServer, SparkServer


def test_two_files_are_two_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one stands; a link is what it is called, since what it points to may change with every load."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "now.duckdb").symlink_to("of monday.duckdb")
    assert source(DuckDbFile(Path("now.duckdb"))) == f"duckdb {tmp_path}/now.duckdb"
    assert source(DuckDbFile(tmp_path / "x" / ".." / "now.duckdb")) == f"duckdb {tmp_path}/now.duckdb"
    assert source(DuckDbFile(tmp_path / "other.duckdb")) != source(DuckDbFile(tmp_path / "now.duckdb"))


def test_tables_of_files_are_named_in_order() -> None:
    """Which file stands for which table matters, the order in which they are given does not."""
    one = source(DuckDbTables({"b": Path("/d/b.csv"), "a": Path("/d/a.parquet")}))
    assert (
        one
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
