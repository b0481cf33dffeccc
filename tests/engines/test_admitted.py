"""Versions of engines that nobody has tried are refused, and pass where the owner says so."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pytest
from typer.testing import CliRunner

from dpsql.cli.main import app
from dpsql.engines import connect
from dpsql.engines.connect import ADMITTED, AdmittedVersion, require_admitted
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.open import open_engine
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import ConfigError
from dpsql.policy.model import SqlType
from tests.docs.pages import ROOT, text
from tests.engines.copies import column, copying, table
from tests.policy.fix_config import write_files

OTHERS = (
    AdmittedVersion("DuckDB", "1.0.0", "2024-06-03", "none"),
    AdmittedVersion("PostgreSQL", "9", "2010-09-20", "none"),
)
TABLES = """
CREATE TABLE zones (zone_id INT, borough TEXT);
CREATE TABLE trips
  (passenger_id INT, pickup_ts TIMESTAMP, day DATE, zone INT, payment TEXT, fare DECIMAL(10, 2), seats SMALLINT)
"""


def test_what_is_installed_with_dpsql_is_admitted() -> None:
    """A range would let `pip install` bring a release that nobody has tried, and README's first command would fail."""
    needed = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["dependencies"]
    assert [f"duckdb=={admission.version}" for admission in ADMITTED if admission.engine == "DuckDB"] == [
        requirement for requirement in needed if requirement.startswith("duckdb")
    ]


@pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("DuckDB", "2.0.2"),
        ("DuckDB", "2.0.1.dev3"),
        ("DuckDB", "1.5.6"),
        ("PostgreSQL", "19"),
        ("Spark", "5.0.0"),
        ("Sail", "0.8.0"),
        ("Another", "1"),
    ],
)
def test_another_version_is_refused(engine: str, version: str, caplog: pytest.LogCaptureFixture) -> None:
    """The message names it, those that are admitted, and the setting; with that it passes, and the log warns."""
    with pytest.raises(
        ConfigError, match=re.escape(f"engine: {engine} {version} is not among the tested versions")
    ) as refused:
        require_admitted((engine, version), unverified=False)
    for admission in ADMITTED:
        assert admission.engine != engine or admission.version in str(refused.value.hint)
    assert "unverified: true" in str(refused.value.hint)
    assert not caplog.records
    require_admitted((engine, version), unverified=True)
    assert f"engine.unverified is set: {engine} {version} is not among the tested versions" in caplog.text


def test_an_admitted_version_needs_no_setting(caplog: pytest.LogCaptureFixture) -> None:
    """Where it is set nevertheless the log says so: it would let the next version pass unseen."""
    for product in (("DuckDB", "2.0.1"), ("PostgreSQL", "16"), ("Spark", "4.1.0"), ("Sail", "0.7.9")):
        require_admitted(product, unverified=False)
    assert not caplog.records
    require_admitted(("DuckDB", "2.0.1"), unverified=True)
    assert "is a tested version, and needs no such setting" in caplog.text


def test_check_refuses_what_is_not_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does so as `serve` does, and passes where the configuration has the setting."""
    path = write_files(tmp_path)
    with duckdb.connect(tmp_path / "taxi.duckdb") as connection:
        connection.execute(TABLES)
    monkeypatch.setattr(connect, "ADMITTED", OTHERS)
    done = CliRunner().invoke(app, ["check", "--config", str(path)])
    assert (done.exit_code, f"DuckDB {duckdb.__version__} is not among the tested versions" in done.stderr) == (1, True)
    assert "Tested: DuckDB 1.0.0." in done.stderr
    path.write_text(path.read_text().replace("database: taxi.duckdb", "database: taxi.duckdb, unverified: true"))
    assert CliRunner().invoke(app, ["check", "--config", str(path)]).exit_code == 0


def test_a_copy_is_in_an_admitted_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever engine has the records: DuckDB is the one that answers, be the copy made already or not."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE t (u INT)")
    config = copying(tmp_path, None, table("t", column("u", SqlType.INTEGER), unit="u"))
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(connect, "ADMITTED", OTHERS)
            with pytest.raises(ConfigError, match="is not among the tested versions"):
                open_engine(config)
            open_engine(replace(config, unverified=True)).close()


def test_engines_know_what_they_are(owner: psycopg.Connection, reader_dsn: str, spark_server: str) -> None:
    """Each by its own word; of a server of Spark Connect it tells whether it is Spark."""
    owner.execute("CREATE TABLE t (a INT)")
    served = PostgresEngine(reader_dsn, {"t": None})
    assert served.product == ("PostgreSQL", str(owner.info.server_version // 10_000))
    served.close()
    spark = SparkEngine(spark_server, {})
    assert spark.product[0] in {"Sail", "Spark"}
    require_admitted(spark.product, unverified=False)
    spark.close()
    require_admitted(DuckDb.product, unverified=False)


def test_the_page_has_what_is_admitted() -> None:
    """Its table is ours, row by row; tests/docs/test_pages.py sees that each test is one."""
    page = text(ROOT / "docs" / "engines.md").partition("## What is admitted")[2].partition("\n## ")[0]
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")][:4] for line in page.splitlines() if "| 20" in line
    ]
    assert rows == [[admission.engine, admission.version, admission.day, admission.by] for admission in ADMITTED]
