"""Spark as the engine over tables that a test fills: files that a Spark Connect server reads in a session of ours."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shutil import rmtree

import pyarrow as pa
import pyarrow.parquet as pq

from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import EngineFailed
from dpsql.policy.model import Policy, SqlType
from dpsql.privacy.release.exact import EngineRow
from tests.support.memory import _ARROW, _arrow
from tests.support.records import ZONES, Row

_DECIMAL = pa.decimal128(18, 4)


class Sailing(SparkEngine):
    """A `SparkEngine` over the policy's tables, each a Parquet file."""

    def __init__(self, remote: str, policy: Policy, public: Mapping[str, Sequence[Row]] = {"zones": ZONES}) -> None:
        """Make the files, empty but for the public tables."""
        self._policy, self._directory = policy, Path(tempfile.mkdtemp(prefix="dpsql-spark-"))
        tables = {table.name: f"parquet:{self._directory / table.name}.parquet" for table in policy.tables.values()}
        for table in tables:
            self._write(table, public.get(table, []))
        super().__init__(remote, tables)

    def measured(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a measurement, bound and run at once."""
        try:
            arrow = self._connection.bind(sql).toArrow()
        except Exception as error:
            raise EngineFailed from error
        return list(zip(*(column.to_pylist() for column in arrow.columns), strict=True))

    def execute(self, sql: str) -> list[tuple[object, ...]]:
        """Run whatever a test wants."""
        arrow = self._connection.session.sql(sql).toArrow()
        return list(zip(*(column.to_pylist() for column in arrow.columns), strict=True))

    def fill(self, table: str, rows: Iterable[Row]) -> None:
        """Let a table hold just these rows, in this order."""
        self._write(table, rows)

    def close(self) -> None:
        """Close the session, and remove the files."""
        super().close()
        rmtree(self._directory, ignore_errors=True)

    def _write(self, table: str, rows: Iterable[Row]) -> None:
        columns, rows = self._policy.tables[table].columns, list(rows)
        cells = {
            name: pa.array(_arrow([row[name] for row in rows], c.type), _ARROW[c.type]) for name, c in columns.items()
        }
        cells |= {n: cells[n].cast(_DECIMAL) for n, c in columns.items() if c.type is SqlType.NUMERIC}
        pq.write_table(pa.table(cells), self._directory / f"{table}.parquet")
