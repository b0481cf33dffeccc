"""What DuckDB has accepted: parsed and bound once, however often it is asked."""

from collections.abc import Iterator

import duckdb
import pytest

from dpsql.engines.duckdb.prepared import no_statements, ready_statements
from dpsql.errors import EngineNotReady

COUNT = "SELECT count(*) FROM t"


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A table with two rows, of which one is no number."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest(['1', 'one']) AS a")
        yield connection


def test_what_was_accepted_is_parsed_and_bound_once(cursor: duckdb.DuckDBPyConnection) -> None:
    """The next who ask run the same; another statement is looked at by itself."""
    before = no_statements()
    first = ready_statements(cursor, [COUNT, COUNT], before)
    assert ready_statements(cursor, [COUNT], before)[COUNT] is first[COUNT]
    assert cursor.execute(first[COUNT]).fetchall() == [(2,)]
    with pytest.raises(EngineNotReady):
        ready_statements(cursor, [COUNT, "SELECT b FROM t"], before)


def test_what_is_too_long_to_be_kept_is_accepted_each_time(cursor: duckdb.DuckDBPyConnection) -> None:
    """What is kept has a limit, and takes nothing from what can be asked."""
    before, long = no_statements(), f"{COUNT} WHERE a <> '{'x' * 2**18}'"
    first = ready_statements(cursor, [long], before)
    assert before.size == 0
    assert cursor.execute(first[long]).fetchall() == [(2,)]


WRITES = "INSERT INTO t VALUES ('2')"


@pytest.mark.parametrize(
    "sql",
    [
        WRITES,
        f"WITH w AS ({WRITES} RETURNING a) SELECT a FROM w",
        "WITH w AS (UPDATE t SET a = '3' RETURNING a) SELECT a FROM w",
        "WITH w AS (DELETE FROM t RETURNING a) SELECT a FROM w",
        "WITH w AS (MERGE INTO t USING t AS s ON s.a = t.a WHEN MATCHED THEN DELETE RETURNING a) SELECT a FROM w",
        f"{COUNT}; {COUNT}",
        f"{COUNT}; {WRITES}",
        "",
        "SELECT",
    ],
)
def test_nothing_but_one_query_is_accepted(sql: str, cursor: duckdb.DuckDBPyConnection) -> None:
    """It is neither run nor remembered."""
    before = no_statements()
    for _ in range(2):
        with pytest.raises(EngineNotReady):
            ready_statements(cursor, [sql], before)
    assert cursor.execute(COUNT).fetchall() == [(2,)]


def test_no_row_is_read(cursor: duckdb.DuckDBPyConnection) -> None:
    """What would fail or take for ever is accepted, for it is not begun."""
    statements = [
        "SELECT count(*) FROM range(1000000000000)",
        "SELECT sum(a::int) FROM t",
        "SELECT nextval('n') FROM t",
    ]
    cursor.execute("CREATE SEQUENCE n")
    assert [*ready_statements(cursor, statements, no_statements())] == statements
    assert cursor.execute("SELECT nextval('n')").fetchall() == [(1,)]
