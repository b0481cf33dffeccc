"""Measurements that DuckDB has accepted, on a cursor of their own."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.files import Watched
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import EngineFailed, EngineNotReady, InternalError, QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.engine")
_MANY = 100
"""From this many rows on, columns are fetched as arrays: 20 times faster for 65,000 rows."""


@dataclass(frozen=True, slots=True)
class DuckPrepared:
    """See `Prepared`."""

    cursor: duckdb.DuckDBPyConnection
    names: Mapping[str, str]
    """The prepared statements by their text."""
    watched: Watched
    timeout: float
    cancellation: Cancellation

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, whoever pays."""
        with stopping_when_cancelled(self.cursor.interrupt, self.timeout, self.cancellation) as stopped:
            try:
                rows = _fetched(self.cursor.execute(f"EXECUTE {self.names[sql]}" if sql in self.names else sql))
            except (duckdb.Error, RuntimeError) as error:
                if stopped.is_set():
                    raise QueryCanceled from None
                _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
                raise EngineFailed from None
        changed = self.watched.changed()
        if changed is not None:
            # One scan may have seen what was there before, and another what is there now.
            _LOG.error("%s changed while it was read; send SIGHUP to serve it as it is now", changed)
            raise EngineFailed
        return rows


def prepare(cursor: duckdb.DuckDBPyConnection, statements: Sequence[str]) -> Mapping[str, str]:
    """Have DuckDB parse, bind and plan some queries, which reads no row; return their names by their texts.

    Raises:
        EngineNotReady: it does not take one.
    """
    names = {sql: f"dpsql_{index}" for index, sql in enumerate(dict.fromkeys(statements))}
    for sql, name in names.items():
        try:
            _see_that_it_reads(sql)
            cursor.execute(f"PREPARE {name} AS {sql}")
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the engine does not take a measurement: %s; statement: %s", error, sql)
            raise EngineNotReady from None
    return names


def _see_that_it_reads(sql: str) -> None:
    if [found.type for found in duckdb.extract_statements(sql)] != [duckdb.StatementType.SELECT]:
        _LOG.error("the engine is asked for something else than a query: %s", sql)
        raise EngineNotReady


def _fetched(result: duckdb.DuckDBPyConnection) -> Sequence[EngineRow]:
    """Return all rows; every column is BIGINT or VARCHAR, so that no array can turn a whole number into a float."""
    first = result.fetchmany(_MANY)
    if len(first) < _MANY:
        return first
    columns = list(result.fetchnumpy().values())
    if any(column.dtype.kind not in "iO" for column in columns):
        raise InternalError
    return [*first, *zip(*(column.tolist() for column in columns), strict=True)]
