"""Spark as the engine, by Sail: sessions, what is made ready, and what is said when something fails."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import NoEngine
from dpsql.engines.spark.client import SparkConnection
from dpsql.engines.spark.engine import SparkEngine
from dpsql.engines.tables import require_tables
from dpsql.errors import ConfigError, EngineFailed, EngineNotReady
from dpsql.policy.model import Policy
from dpsql.question import Cancellation
from tests.engines.asking import asked
from tests.support.sailing import Sailing

TYPES = {"i": pa.int32(), "name": pa.string(), "x": pa.float64(), "n": pa.decimal128(6, 2), "at": pa.timestamp("us")}
ROWS: Mapping[str, Sequence[object]] = {
    "i": [1, 2, 3],
    "name": ["Ada Lovelace", None, "a\"b\\c'$"],
    "x": [0.5, float("nan"), None],
    "n": [1, 2, None],
    "at": [0, 1_500_000, None],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make one table, of one file."""
    (tmp_path / "people").mkdir()
    _write(tmp_path / "people" / "1.parquet")
    return tmp_path


def _write(file: Path) -> None:
    pq.write_table(pa.table({name: pa.array(cells, TYPES[name]) for name, cells in ROWS.items()}), file)


@pytest.fixture
def engine(spark_server: str, folder: Path) -> Iterator[SparkEngine]:
    """Give an engine over the table, and over one that there is not."""
    engine = SparkEngine(spark_server, {"people": f"parquet:{folder / 'people'}", "nothing": "nothing"})
    yield engine
    engine.close()


def test_rows_are_integers_and_texts(engine: SparkEngine, charge: Charge) -> None:
    """Sums beyond 64 bits come whole, and texts as they are, whatever marks they have."""
    total = engine.dialect.as_text(engine.dialect.total('9223372036854775807 + 0 * "i"'))
    assert list(asked(engine, f"SELECT {total}, NULL FROM {{people}}", charge)) == [("27670116110564327421", None)]
    name = engine.dialect.text(str(ROWS["name"][2]))
    sql = f'SELECT CAST("i" AS BIGINT), "name" FROM {{people}} WHERE "name" = {name}'
    assert list(asked(engine, sql, charge)) == [(3, ROWS["name"][2])]


def test_columns_have_the_types_of_sql(engine: SparkEngine) -> None:
    """A table that there is not has none; nothing is unique, since Spark enforces no constraint."""
    assert engine.columns("people") == {"i": "integer", "name": "string", "x": "double", "n": "decimal(6,2)",
                                        "at": "timestamp_ntz"}  # fmt: skip
    assert engine.columns("nothing") == {}
    assert engine.unique_keys("people") == frozenset()


def test_a_table_whose_changes_are_not_seen_is_refused(engine: SparkEngine) -> None:
    """Two scans of one statement could see other rows of somebody: so of a server's tables, say, that Spark asks itself."""
    engine._connection.session.sql("CREATE TEMPORARY VIEW nothing AS SELECT 1 AS i").toArrow()
    with pytest.raises(ConfigError, match='table "nothing": Spark lists no files'):
        engine.columns("nothing")
    assert engine.columns("people")


def test_public_rows_are_exact(engine: SparkEngine) -> None:
    """Numbers are whole or fractions, times count from 1970, and what is not finite is NULL."""
    rows = sorted(map(tuple, engine.public_rows("people", list(TYPES), 10)))
    assert [row[3:] for row in rows] == [(1, 0), (2, 1_500_000), (None, None)]
    assert [row[1] for row in rows] == ROWS["name"]
    assert len(engine.public_rows("people", ["i"], 1)) == 2


@pytest.mark.parametrize(
    "sql",
    ["CREATE TABLE more (i INT)", "DROP TABLE people", "INSERT INTO {people} VALUES (1)", "SELECT 1; SELECT 2",
     "WITH a AS (SELECT 1 AS i) INSERT INTO {people} SELECT * FROM a", "SET spark.sql.ansi.enabled = true"],
)  # fmt: skip
def test_nothing_but_a_query_is_sent(sql: str, engine: SparkEngine, folder: Path, charge: Charge) -> None:
    """Spark would do whatever it is told, and at once."""
    with pytest.raises(EngineNotReady):
        asked(engine, sql, charge)
    assert [file.name for file in folder.rglob("*.parquet")] == ["1.parquet"]
    assert engine._connection.session.conf.get("spark.sql.ansi.enabled") == "false"


def test_a_session_with_other_settings_is_not_asked(engine: SparkEngine, charge: Charge) -> None:
    """A server that has started anew gives the session its own settings: another one is made."""
    before = engine._connection
    before.session.conf.set("spark.sql.session.timeZone", "America/New_York")
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]
    assert engine._connection is not before
    engine._connection.check()


def test_a_lost_connection_is_made_again(engine: SparkEngine, charge: Charge) -> None:
    """Before anything was charged."""
    engine._connection.drop()
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]


def test_files_that_come_are_noticed(engine: SparkEngine, folder: Path, charge: Charge) -> None:
    """One scan of a statement must not see what another does not; only tables that it reads matter."""
    assert engine.columns("people")
    assert engine.is_current()
    _write(folder / "people" / "2.parquet")
    with pytest.raises(EngineNotReady):
        asked(engine, "SELECT count(*) FROM {people}", charge)
    assert list(asked(engine, "SELECT '1'", charge)) == [("1",)]
    assert not engine.is_current()


def test_files_that_come_meanwhile_are_noticed(engine: SparkEngine, folder: Path, charge: Charge) -> None:
    """What was measured is not released."""
    assert engine.columns("people")
    sql = f"SELECT count(*) FROM {engine.named('people')}"
    with engine.ready([sql], timeout=30, cancellation=Cancellation()) as prepared:
        _write(folder / "people" / "2.parquet")
        with pytest.raises(EngineFailed):
            prepared.run(sql, charge)


def test_a_failure_tells_nobody_what_was_read(
    engine: SparkEngine, charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    """The text of the error is fixed, and the log has the statement and what Spark calls the failure."""
    sql = 'SELECT raise_error("name") FROM {people} WHERE "i" = 1'
    with caplog.at_level(logging.DEBUG), pytest.raises(EngineFailed) as caught:
        asked(engine, sql, charge)
    assert "Ada" not in f"{caught.value}{caught.value.hint}{caplog.text}"
    assert "raise_error" in caplog.text


def test_a_failure_names_its_cause(
    engine: SparkEngine, folder: Path, charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    """In words of ours: a file that is garbage when it is read, after it was taken."""
    sql = f"SELECT count(*) FROM {engine.named('people')} WHERE \"name\" > ''"
    assert engine.columns("people")
    with engine.ready([sql], timeout=30, cancellation=Cancellation()) as prepared:
        for file in (folder / "people").glob("*.parquet"):
            file.write_bytes(b"Ada, and nothing else that Parquet would know")
        with pytest.raises(EngineFailed):
            prepared.run(sql, charge)
    assert "a file can't be read; statement: SELECT" in caplog.text
    assert "Ada" not in caplog.text


def test_what_is_ready_may_end_after_the_engine_was_closed(engine: SparkEngine, charge: Charge) -> None:
    """A reload closes the engine that it replaces, under measurements that are paid."""
    with engine.ready(["SELECT '1'"], timeout=30, cancellation=Cancellation()) as prepared:
        engine.close()
        assert list(prepared.run("SELECT '1'", charge)) == [("1",)]


def test_versions_stay_what_they_are(spark_server: str, tmp_path: Path, charge: Charge) -> None:
    """A version of a Delta table that is named in the configuration is read whatever is written later."""
    place = f"delta:{tmp_path / 'rides'}"
    engine = SparkEngine(spark_server, {"rides": f"{place}@1"})
    for sql in (
        f"CREATE TABLE rides (i INT) USING delta LOCATION '{tmp_path / 'rides'}'",
        *("INSERT INTO rides VALUES (1)",) * 3,
    ):
        engine._connection.session.sql(sql).collect()
    assert engine.columns("rides") == {"i": "integer"}
    assert list(asked(engine, "SELECT count(*) FROM {rides}", charge)) == [(1,)]
    assert engine.is_current()
    engine.close()


def test_versions_of_iceberg_stay_what_they_are(spark_server: str, tmp_path: Path, charge: Charge) -> None:
    """A snapshot of a table that is named in the configuration is read whatever is written later."""
    at = tmp_path / "rides_on_ice"
    session = SparkConnection.of(spark_server).session
    session.sql(f"CREATE TABLE rides_on_ice (i INT) USING iceberg LOCATION '{at}'").collect()
    snapshots = []
    for _ in range(3):
        session.sql("INSERT INTO rides_on_ice VALUES (1)").collect()
        newest = max(at.glob("metadata/v*.metadata.json"), key=lambda file: int(file.name[1:].partition(".")[0]))
        snapshots.append(json.loads(newest.read_text())["current-snapshot-id"])
    for rows, snapshot in enumerate(snapshots, 1):
        engine = SparkEngine(spark_server, {"rides": f"iceberg:{at}@{snapshot}"})
        assert engine.columns("rides") == {"i": "integer"}
        assert list(asked(engine, "SELECT count(*) FROM {rides}", charge)) == [(rows,)]
        assert engine.is_current()
        engine.close()


def test_the_tables_of_a_policy_can_be_served(dirty_spark: Sailing, policy: Policy) -> None:
    """Every type of the tests' policy is one of Spark's."""
    require_tables(policy, dirty_spark)


def test_a_server_that_is_not_there_is_a_failure() -> None:
    """Neither is the address shown, which may hold a token."""
    with pytest.raises(NoEngine) as caught:
        SparkEngine("sc://127.0.0.1:1/;token=hidden", {})
    assert "hidden" not in f"{caught.value}{caught.value.hint}"
    assert "Connection refused" in (caught.value.hint or "")
    assert "(UNAVAILABLE)" in (caught.value.hint or "")


def test_without_the_client_it_is_said_what_to_install() -> None:
    """It is no part of what dpsql needs, and is imported only where a configuration names Spark."""
    program = (
        "import sys; import dpsql.engines.open\n"
        "assert 'pyspark' not in sys.modules and 'pandas' not in sys.modules\n"
        "sys.modules['pyspark'] = None\n"
        "from dpsql.engines.spark.engine import SparkEngine\n"
        "try: SparkEngine('sc://127.0.0.1:1', {})\n"
        "except Exception as error: print(type(error).__name__, error, error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith(f"{ConfigError.__name__} engine: kind spark needs Spark's client")
    assert "pip install -e '.[spark]'" in done.stdout


def test_a_program_without_a_file_can_ask(spark_server: str) -> None:
    """Spark's client takes what `python -c` runs for tests of its own, whose server it looks for, and ends."""
    asked = f"from dpsql.engines.spark.engine import SparkEngine; SparkEngine({spark_server!r}, {{}}).close(); print('asked')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", asked], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "asked\n"
