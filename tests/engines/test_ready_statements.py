"""What DuckDB has accepted: parsed and bound once, however often it is asked."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.engine import DuckDb, ready_statements, statement_cache, with_parameters
from dpsql.engines.duckdb.files import TableFile
from dpsql.errors import EngineNotReady
from dpsql.policy.model import SqlType
from dpsql.question import Cancellation

COUNT = "SELECT count(*) FROM t"


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A table with two rows, of which one is no number."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest(['1', 'one']) AS a")
        yield connection


def test_what_was_accepted_is_parsed_and_bound_once(cursor: duckdb.DuckDBPyConnection) -> None:
    """The next who ask run the same; another statement is looked at by itself."""
    before = statement_cache()
    first = ready_statements(cursor, [COUNT, COUNT], before)
    assert ready_statements(cursor, [COUNT], before)[COUNT].parsed is first[COUNT].parsed
    assert cursor.execute(first[COUNT].parsed).fetchall() == [(2,)]
    with pytest.raises(EngineNotReady):
        ready_statements(cursor, [COUNT, "SELECT b FROM t"], before)


def test_what_is_too_long_to_be_kept_is_accepted_each_time(cursor: duckdb.DuckDBPyConnection) -> None:
    """What is kept has a limit, and takes nothing from what can be asked."""
    before, long = statement_cache(), f"{COUNT} WHERE a <> '{'x' * 2**18}'"
    first = ready_statements(cursor, [long], before)
    assert before.size == 0
    assert cursor.execute(first[long].parsed).fetchall() == [(2,)]


ABOVE = "SELECT count(*) FROM range(100) AS r(n) WHERE CAST(n AS DOUBLE) * 1e0 > {} AND '7e0?' <> '''8e0'"


def test_constants_in_double_precision_are_parameters(cursor: duckdb.DuckDBPyConnection) -> None:
    """What was accepted with others is neither parsed nor bound again, and each has its own, also at the same time."""
    before = statement_cache()
    texts = [ABOVE.format(f"{n / 3!r}e0") for n in range(60)]
    accepted = ready_statements(cursor, texts, before)
    assert len({id(each.parsed) for each in accepted.values()}) == 1

    def counted(n: int) -> list[tuple[object, ...]]:
        each = accepted[texts[n]]
        with cursor.cursor() as own:
            return own.execute(each.parsed, each.constants).fetchall()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(counted, range(60))) == [cursor.execute(text).fetchall() for text in texts]


@pytest.mark.parametrize(
    ("sql", "text", "constants"),
    [
        ("SELECT 1, 1.5, x FROM t LIMIT 3", None, []),
        ("SELECT 1.5e0 - (-2.0e-3), 1e21", "SELECT ? - (-?), ?", [1.5, 0.002, 1e21]),
        ("SELECT '1e0', \"2e0\", 'it''s 3e0' FROM t2e0", None, []),
        ("SELECT x1e0, 4.e0 FROM t.e1e1", "SELECT x1e0, ? FROM t.e1e1", [4.0]),
        ("SELECT ?, 1e0", None, []),
        ("SELECT '?', 1e0", "SELECT '?', ?", [1.0]),
        ("SELECT CAST(7 AS INTEGER), CAST(7 AS DATE)", "SELECT CAST(? AS INTEGER), CAST(7 AS DATE)", [7]),
        ("SELECT CAST(2147483648 AS INTEGER), 65535", None, []),
        ("SELECT CAST(2147483647 AS INTEGER)", "SELECT CAST(? AS INTEGER)", [2147483647]),
        ("SELECT TRY_CAST(7 AS INTEGER), 'CAST(7 AS INTEGER)'", None, []),
    ],
)
def test_a_template_has_all_else(sql: str, text: str | None, constants: Sequence[float]) -> None:
    """Whole numbers, decimals, texts and names stay as they are."""
    assert with_parameters(sql) == (text or sql, constants)


@pytest.mark.parametrize("type_", ["INTEGER", "BIGINT"])
def test_whole_numbers_that_are_cast_are_parameters_of_that_type(type_: str, cursor: duckdb.DuckDBPyConnection) -> None:
    """What was accepted with others is the same statement, and each has its own number."""
    before = statement_cache()
    texts = [
        f"SELECT n, typeof(CAST({k} AS {type_})) FROM range(100000) AS r(n) WHERE n = CAST({k} AS {type_})"
        for k in (1, 65535)
    ]
    accepted = ready_statements(cursor, texts, before)
    assert len({id(each.parsed) for each in accepted.values()}) == 1
    for text in texts:
        each = accepted[text]
        assert cursor.execute(each.parsed, each.constants).fetchall() == cursor.execute(text).fetchall()


def test_another_constant_that_is_no_double_is_another_statement(cursor: duckdb.DuckDBPyConnection) -> None:
    """A number of another size may have another type, and an ordinal is a column."""
    before = statement_cache()
    ready_statements(cursor, ["SELECT a, count(*) FROM t GROUP BY 1"], before)
    with pytest.raises(EngineNotReady):
        ready_statements(cursor, ["SELECT a, count(*) FROM t GROUP BY 2"], before)


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
    before = statement_cache()
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
    assert [*ready_statements(cursor, statements, statement_cache())] == statements
    assert cursor.execute("SELECT nextval('n')").fetchall() == [(1,)]


def test_what_a_released_value_decides_is_parsed_once(
    tmp_path: Path, charge: Charge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not made ready, as nobody knew it; the next with other constants runs as it was parsed."""
    table = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT n FROM range(10) AS r(n)) TO '{table}'")
    engine, parsed = DuckDb({"t": TableFile(table, {"n": SqlType.BIGINT})}), list[str]()

    def counted(text: str, *, parse: Callable[[str], list[duckdb.Statement]] = duckdb.extract_statements) -> object:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(duckdb, "extract_statements", counted)
    for least in (3, 7):
        with engine.ready([], timeout=30, cancellation=Cancellation()) as prepared:
            rows = prepared.run(f"SELECT count(*) FROM {engine.named('t')} WHERE n >= {least}.0e0", charge)
        assert rows == [(10 - least,)]
    assert len(parsed) == 1
    engine.close()
