"""Measurements that DuckDB has accepted, on a cursor of their own."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.files import Watched
from dpsql.engines.watch import stopping_when_cancelled
from dpsql.errors import EngineFailed, EngineNotReady, InternalError, QueryCanceled
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.remembered import Remembered

# A statement without its constants in double precision, which become parameters, so that the next one is known by it.
#
# Claim: what DuckDB says when it binds a statement is the same for all that differ in these constants alone, because it binds
# by types, and a parameter that is given a float has theirs. Whole numbers and texts stay: by their size a number may have
# another type, as an ordinal it means a column, and a text may be read as a date.
#
# WHERE s0."fare" > 20.5e0 LIMIT 1  →  WHERE s0."fare" > ? LIMIT 1, with 20.5

_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
_PART = re.compile(rf"({_QUOTED}|\?)|(?<![\w.])(\d+(?:\.\d*)?e[+-]?\d+)(?![\w.])")


def with_parameters(sql: str) -> tuple[str, list[float]]:
    """Return the text with `?` for such constants, and what they are; the statement itself where it has a `?` already."""
    numbers: list[float] = []
    parts: list[str] = []
    end = 0
    for part in _PART.finditer(sql):
        if part[1] == "?":
            return sql, []
        if part[2]:
            numbers.append(float(part[2]))
            parts += (sql[end : part.start()], "?")
            end = part.end()
    return "".join((*parts, sql[end:])), numbers


_LOG = logging.getLogger("dpsql.engine")
KnownStatements = Remembered[duckdb.Statement]
_MOST = 2**24
"""Bytes for the statements that are kept."""
_PARSED = 64
"""Bytes that DuckDB takes for each character of a statement that it has parsed, about."""
_MANY = 100
"""From this many rows on, columns are fetched as arrays: 20 times faster for 65,000 rows."""
_AT_ONCE = re.compile(r"insert|update|delete|merge|nextval|pivot", re.IGNORECASE)
"""Parts of every query that DuckDB's `sql` would run at once: one that changes something, or that it first rewrites."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A statement that DuckDB has accepted, but perhaps with other constants."""

    parsed: duckdb.Statement
    constants: Sequence[float] = ()
    """Its parameters."""


@dataclass(frozen=True, slots=True)
class DuckPrepared:
    """See `Prepared`."""

    cursor: duckdb.DuckDBPyConnection
    statements: Mapping[str, Accepted]
    """By their texts."""
    watched: Watched
    timeout: float
    cancellation: Cancellation
    failed: Callable[[], duckdb.DuckDBPyConnection | None]
    """Is told that DuckDB has failed; returns a cursor of another database with the same records if it was its mistake."""

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement."""
        _ = charge
        return self.rows(sql)

    def rows(self, sql: str) -> Sequence[EngineRow]:
        """Return the rows of a statement, for any payer; it runs again where DuckDB failed by a mistake of its own."""
        begin = time.monotonic()
        try:
            rows = self._rows(self.cursor, self.statements.get(sql, sql), self.timeout)
        except (duckdb.Error, RuntimeError) as error:
            other = self.failed()
            _LOG.error("the engine failed: %s; statement: %s", error, sql)  # no traceback with values
            if other is None:
                raise EngineFailed from None
            rows = self._again(other, sql, self.timeout - (time.monotonic() - begin))
        changed = self.watched.changed()
        if changed is not None:
            # One scan may have seen what was there before, and another what is there now.
            _LOG.error("%s changed while it was read; send SIGHUP to serve it as it is now", changed)
            raise EngineFailed
        return rows

    def _again(self, other: duckdb.DuckDBPyConnection, sql: str, timeout: float) -> Sequence[EngineRow]:
        try:
            with other:
                return self._rows(other, sql, timeout)
        except (duckdb.Error, RuntimeError) as error:
            _LOG.error("the engine failed again: %s", error)
            raise EngineFailed from None

    def _rows(
        self, cursor: duckdb.DuckDBPyConnection, statement: Accepted | str, timeout: float
    ) -> Sequence[EngineRow]:
        with stopping_when_cancelled(cursor.interrupt, timeout, self.cancellation) as stopped:
            try:
                if isinstance(statement, str):
                    return _fetched(cursor.execute(statement))
                return _fetched(cursor.execute(statement.parsed, statement.constants))
            except (duckdb.Error, RuntimeError):
                if stopped.is_set():
                    raise QueryCanceled from None
                raise


def no_statements() -> KnownStatements:
    """Return what remembers the statements that a database has accepted."""
    return Remembered(_MOST, lambda part: _PARSED * len(part) if isinstance(part, str) else 0)


def ready_statements(
    cursor: duckdb.DuckDBPyConnection, statements: Sequence[str], before: KnownStatements
) -> Mapping[str, Accepted]:
    """Have DuckDB parse and bind some queries, which reads no row; return them parsed, by their texts.

    Statements that it has accepted `before` it accepts again, also with other constants, for its catalogue stays the
    same. It is not asked to PREPARE them: it would bind each twice, and again to run it.

    Raises:
        EngineNotReady: it does not take one.
    """
    accepted: dict[str, Accepted] = {}
    for sql in statements:
        text, constants = with_parameters(sql)
        parsed = before.get(text) or _accepted(cursor, sql, text)
        before.keep(text, parsed)
        accepted[sql] = Accepted(parsed, constants)
    return accepted


def _accepted(cursor: duckdb.DuckDBPyConnection, sql: str, text: str) -> duckdb.Statement:
    """Return a query parsed that DuckDB accepts, with parameters for the constants that `text` has none of."""
    try:
        parsed = duckdb.extract_statements(sql)
        if [statement.type for statement in parsed] != [duckdb.StatementType.SELECT]:
            _LOG.error("the engine is asked for something else than a query: %s", sql)
            raise EngineNotReady
        if _AT_ONCE.search(sql):
            cursor.execute(f"DESCRIBE {sql}")
        else:
            cursor.sql(parsed[0])  # binds what is parsed already, three times as fast; nobody fetches its rows
        return parsed[0] if text == sql else duckdb.extract_statements(text)[0]
    except (duckdb.Error, RuntimeError) as error:
        _LOG.error("the engine does not take a measurement: %s; statement: %s", error, sql)
        raise EngineNotReady from None


def _fetched(result: duckdb.DuckDBPyConnection) -> Sequence[EngineRow]:
    """Return all rows; every column is BIGINT or VARCHAR, so that no array can turn a whole number into a float."""
    first = result.fetchmany(_MANY)
    if len(first) < _MANY:
        return first
    columns = list(result.fetchnumpy().values())
    if any(column.dtype.kind not in "iO" for column in columns):
        raise InternalError
    return [*first, *zip(*(column.tolist() for column in columns), strict=True)]
