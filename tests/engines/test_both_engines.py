"""What an engine promises, kept by DuckDB and by PostgreSQL."""

import logging
import threading
import time
from collections.abc import Callable
from fractions import Fraction

import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import Engine
from dpsql.errors import EngineFailed, EngineNotReady, QueryCanceled
from dpsql.question import Cancellation
from tests.engines.asking import asked

Make = Callable[[str], Engine]
SLOW = "SELECT CAST(sum(a.i * b.i) AS VARCHAR) FROM {numbers} AS a, {numbers} AS b, {numbers} AS c"
NUMBERS = "CREATE TABLE numbers AS SELECT i FROM generate_series(1, 3000) AS g (i)"


@pytest.fixture(params=["duck", "postgres"])
def make(request: pytest.FixtureRequest) -> Make:
    """Give each engine in turn."""
    made: Make = request.getfixturevalue(request.param)
    return made


def _run(engine: Engine, sql: str, charge: Charge, timeout: float = 30.0) -> list[list[object]]:
    return [list(row) for row in asked(engine, sql, charge, timeout=timeout)]


def test_rows_are_integers_and_texts(make: Make, charge: Charge) -> None:
    """Sums beyond 64 bits come whole, in few rows and in many."""
    engine = make(NUMBERS)
    sql = "SELECT CAST(i AS BIGINT), CAST(600 * 17592186044416000000 + i AS VARCHAR), NULL FROM {numbers} ORDER BY i"
    rows = _run(engine, sql, charge)
    assert rows[0] == [1, "10555311626649600000001", None]
    assert rows[2999] == [3000, "10555311626649600003000", None]
    assert _run(engine, f"{sql} LIMIT 2", charge) == rows[:2]


def test_the_deadline_stops_a_statement(make: Make, charge: Charge) -> None:
    """Time over is a cancel; the engine answers the next statement."""
    engine = make(NUMBERS)
    began = time.monotonic()
    with pytest.raises(QueryCanceled):
        _run(engine, SLOW, charge, timeout=1)
    assert time.monotonic() - began < 60  # the whole would take hours
    assert _run(engine, "SELECT '1'", charge) == [["1"]]


def test_a_cancel_stops_a_statement(make: Make, charge: Charge) -> None:
    """A cancel from another thread ends it long before the deadline."""
    engine, cancellation = make(NUMBERS), Cancellation()
    timer = threading.Timer(0.2, cancellation.cancel)
    timer.start()
    with pytest.raises(QueryCanceled):
        asked(engine, SLOW, charge, cancellation=cancellation)
    timer.join()
    assert _run(engine, "SELECT '1'", charge) == [["1"]]


def test_a_cancel_before_the_statement_stops_it(make: Make, charge: Charge) -> None:
    """A cancel is not lost when it comes first."""
    engine, cancellation = make(NUMBERS), Cancellation()
    cancellation.cancel()
    with pytest.raises(QueryCanceled):
        asked(engine, SLOW, charge, cancellation=cancellation)


def test_a_failure_tells_only_the_operator(make: Make, charge: Charge, caplog: pytest.LogCaptureFixture) -> None:
    """The text of the error is fixed; the cause is in the log."""
    engine = make("CREATE TABLE names AS SELECT 'Ada Lovelace' AS name")
    with caplog.at_level(logging.ERROR, "dpsql.engine"), pytest.raises(EngineFailed) as caught:
        _run(engine, "SELECT CAST(name AS INTEGER) FROM {names}", charge)
    assert "Ada" not in f"{caught.value}{caught.value.hint}"
    assert caught.value.__suppress_context__
    assert "Ada Lovelace" in caplog.text


def test_nothing_can_be_written(make: Make, charge: Charge) -> None:
    """Neither tables nor files."""
    engine = make(NUMBERS)
    for sql in ("CREATE TABLE more (i INT)", "DELETE FROM {numbers}", "COPY {numbers} TO '/tmp/dpsql-test-out.csv'"):
        with pytest.raises(EngineNotReady):
            _run(engine, sql, charge)


def test_unique_keys_are_those_of_constraints(make: Make) -> None:
    """One over two columns makes neither of them unique by itself; an unknown table has none."""
    engine = make("CREATE TABLE t (a INT PRIMARY KEY, b INT UNIQUE, c INT, d INT, UNIQUE (c, d))")
    assert engine.unique_keys("t") == {frozenset({"a"}), frozenset({"b"}), frozenset({"c", "d"})}
    assert list(engine.columns("t")) == ["a", "b", "c", "d"]
    assert engine.unique_keys("nothing") == frozenset()
    assert engine.columns("nothing") == {}


def test_public_rows_are_exact(make: Make) -> None:
    """Numbers are fractions, times count from 1970, and what is not finite is NULL."""
    engine = make("""
        CREATE TABLE p (i INT, n NUMERIC(6, 2), x DOUBLE PRECISION, t TEXT, b BOOLEAN, d DATE, m TIMESTAMP);
        INSERT INTO p VALUES (1, 0.1, 0.5, 'a''b', true, '1970-01-03', '1970-01-01 00:00:01.5'),
          (NULL, NULL, 'NaN', '', NULL, 'infinity', '-infinity'), (2, 2, '-Infinity', NULL, false, NULL, NULL)""")
    rows = sorted(map(tuple, engine.public_rows("p", list("inxtbdm"), 10)), key=lambda row: (row[0] is None, row[0]))
    assert rows == [
        (1, Fraction(1, 10), Fraction(1, 2), "a'b", True, 2, 1_500_000),
        (2, 2, None, None, False, None, None),
        (None, None, None, "", None, None, None),
    ]
    assert len(engine.public_rows("p", ["i"], 1)) == 2


def test_no_name_of_a_table_is_taken_for_ours(make: Make, charge: Charge) -> None:
    """What statements call `h` is not the table `h`, and a table `duckdb_tables` is no catalogue."""
    engine = make("CREATE TABLE h AS SELECT 1 AS a; CREATE TABLE duckdb_tables AS SELECT 2 AS a")
    assert _run(engine, "WITH h AS (SELECT 9 AS a) SELECT s.a, h.a FROM {h} AS s, h", charge) == [[1, 9]]
    assert _run(engine, "SELECT a FROM {duckdb_tables}", charge) == [[2]]


def test_what_is_ready_may_end_after_the_engine_was_closed(make: Make, charge: Charge) -> None:
    """A reload closes the engine that it replaces, under measurements that are paid."""
    engine = make(NUMBERS)
    sql = f"SELECT CAST(sum(i) AS VARCHAR) FROM {engine.named('numbers')}"
    with engine.ready([sql], timeout=30, cancellation=Cancellation()) as prepared:
        engine.close()
        assert list(prepared.run(sql, charge)[0]) == ["4501500"]
