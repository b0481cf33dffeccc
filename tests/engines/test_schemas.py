"""Tables of schemas on each engine: what has no schema is of `public`, wherever that is."""

from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import Engine
from dpsql.engines.connect import connect_engine
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.snapshot.open import SnapshotEngine, open_snapshot
from dpsql.engines.spark.engine import SparkEngine
from dpsql.policy.config import DuckDbFile, SparkServer
from dpsql.policy.model import SqlType
from tests.engines.asking import asked
from tests.engines.copies import column, copying, table, written
from tests.engines.reader import READER

NAMES = ("people", "clinical.people", 'Old Ward.peo"ple')
SIZES = (3, 5, 7)
_WRITTEN = ("people", "clinical.people", '"Old Ward"."peo""ple"')


def _records(file: Path) -> Path:
    with duckdb.connect(str(file)) as connection:
        connection.execute('CREATE SCHEMA clinical; CREATE SCHEMA "Old Ward"; CREATE SCHEMA other')
        for name, size in zip((*_WRITTEN, "other.people"), (*SIZES, 11), strict=True):
            connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, of INTEGER NOT NULL CHECK (of > 0))")
            connection.execute(f"INSERT INTO {name} SELECT i, 1 FROM range({size}) AS r (i)")
        connection.execute("CREATE TABLE clinical.visits (id INTEGER, of INTEGER REFERENCES clinical.people (id))")
    return file


def _sizes(engine: Engine, charge: Charge) -> tuple[int, ...]:
    counts = (asked(engine, f"SELECT count(*) FROM {engine.named(name)}", charge) for name in NAMES)
    return tuple(int(str(rows[0][0])) for rows in map(list, counts))


def test_duckdbs_schemas(tmp_path: Path, charge: Charge) -> None:
    """Each table has its own columns, keys, constraints and rows; `public` is DuckDB's main, and others are nowhere."""
    engine = DuckDb(_records(tmp_path / "records.duckdb"))
    assert _sizes(engine, charge) == SIZES
    for name in NAMES:
        assert engine.columns(name) == {"id": "INTEGER", "of": "INTEGER"}
        assert engine.unique_keys(name) == {frozenset({"id"})}
    visits = table("clinical.visits", column("id", SqlType.INTEGER), column("of", SqlType.INTEGER))
    assert engine.constraints(visits.name).references == {"of": ('records."clinical"."people"', "id")}
    assert [engine.columns(name) for name in ("visits", "other.visits", "nowhere.people", "main")] == [{}] * 4
    engine.close()


def test_files_that_stand_for_tables_of_schemas(tmp_path: Path, charge: Charge) -> None:
    """By the table's whole name."""
    files = {}
    for name, size in zip(NAMES, SIZES, strict=True):
        file = tmp_path / f"{size}.parquet"
        pq.write_table(pa.table({"id": list(range(size))}), file)
        files[name] = TableFile(file, {"id": SqlType.INTEGER})
    engine = DuckDb(files)
    assert _sizes(engine, charge) == SIZES
    engine.close()


def test_a_snapshot_of_schemas(tmp_path: Path, charge: Charge) -> None:
    """The copy has each table, with its keys."""
    tables = [table(name, column("id", SqlType.INTEGER), unit="id") for name in NAMES]
    config = copying(tmp_path, DuckDbFile(_records(tmp_path / "records.duckdb")), *tables)
    written(config)
    engine = open_snapshot(config)
    assert isinstance(engine, SnapshotEngine)
    assert _sizes(engine, charge) == SIZES
    assert [engine.unique_keys(name) for name in NAMES] == [frozenset({frozenset({"id"})})] * 3
    engine.close()


def test_postgresqls_schemas(owner: psycopg.Connection, reader_dsn: str, charge: Charge) -> None:
    """A name without a schema is looked for in the search path, one with it there alone, unless a place is given."""
    for schema in ("clinical", '"Old Ward"', "other"):
        owner.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}".encode())
        owner.execute(f"GRANT USAGE ON SCHEMA {schema} TO {READER}".encode())
    for name, size in zip((*_WRITTEN, "other.people"), (*SIZES, 11), strict=True):
        owner.execute(f"CREATE TABLE {name} AS SELECT 1 AS of, i AS id FROM generate_series(1, {size}) AS i".encode())
        owner.execute(f"GRANT SELECT ON {name} TO {READER}".encode())
    declared = {name: ["id"] for name in NAMES}
    engine = PostgresEngine(reader_dsn, declared)
    assert _sizes(engine, charge) == SIZES
    assert [engine.columns(name) for name in ("clinical.none", "Clinical.people")] == [{}, {}]
    engine.close()
    engine = PostgresEngine(reader_dsn, declared, {"clinical.people": "other.people"})
    assert _sizes(engine, charge) == (3, 11, 7)
    engine.close()


def test_sparks_schemas(spark_server: str, tmp_path: Path, charge: Charge) -> None:
    """A table of a schema is there under that name."""
    pq.write_table(pa.table({"id": list(range(5))}), tmp_path / "1.parquet")
    policy_table = table("clinical.people", column("id", SqlType.BIGINT), unit="id")
    config = copying(tmp_path, SparkServer(spark_server), policy_table)
    engine = connect_engine(config)
    assert isinstance(engine, SparkEngine)
    engine._connection.session.sql("CREATE SCHEMA IF NOT EXISTS clinical").toArrow()
    engine._connection.session.sql(
        f"CREATE TABLE clinical.people (id BIGINT) USING parquet LOCATION '{tmp_path}'"
    ).toArrow()
    assert engine.named("clinical.people").lower().count("clinical") == 1
    assert engine.columns("clinical.people") == {"id": "bigint"}
    counted = list(asked(engine, f"SELECT count(*) FROM {engine.named('clinical.people')}", charge))
    assert [int(str(row[0])) for row in counted] == [5]
    engine.close()
