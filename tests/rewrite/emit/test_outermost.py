"""The outermost rows: as many units lie beyond each bucket as of all rows, up to the number that is told apart."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import duckdb
import pytest

from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.binning import outermost
from tests.support.dialects import DUCKDB, SPARK
from tests.support.samples import examples

Row = tuple[int, float]
VALUES = {float("-inf"): 0, 0.5: 1, 1.0: 1, float("inf"): 2}
"""What rows may have, and its bucket."""
BUCKET = "(CASE WHEN x > 0.25 AND x < 2 THEN 1 WHEN x >= 2 THEN 2 WHEN x IS NOT NULL THEN 0 END)"
TOLD_APART, READ_FIRST = (1, 2), (0, 1, 2)
Changed = Callable[[str], str]


def _tables() -> Iterator[Sequence[Row]]:
    """Yield all tables of two units with at most three rows, and of three with two values; in `make test` a third of them."""
    every = list(itertools.product((1, 2), VALUES))
    few = list(itertools.product((1, 2, 3), (0.5, float("inf"))))
    for number in range(4):
        yield from itertools.combinations_with_replacement(every, number)
        yield from itertools.combinations_with_replacement(few, number)


TABLES = list(_tables())[:: examples(3, 1)]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give DuckDB with a thread, which is enough."""
    with duckdb.connect(config={"threads": 1}) as made:
        made.execute("CREATE TABLE t (u INTEGER, x DOUBLE)")
        yield made


def _beyond(units_and_buckets: Sequence[tuple[int, int]], *, largest: bool, most: int) -> list[int]:
    """Return how many units there are, and how many beyond each bucket, up to so many."""
    edges = (-1, 0, 1) if largest else (3, 2, 1)
    return [min(len({u for u, b in units_and_buckets if (b > e if largest else b < e)}), most) for e in edges]


def _wrong(connection: duckdb.DuckDBPyConnection, dialect: Dialect, changed: Changed) -> Iterator[Sequence[Row]]:
    """Yield the small tables of which the numbers are not those of all rows, whichever rows are read first."""
    rows = f"SELECT u, {BUCKET} AS b, x FROM t"
    for table in TABLES:
        connection.execute("DELETE FROM t")
        values = ", ".join(f"({u}, CAST('{x}' AS DOUBLE))" for u, x in table)
        connection.execute(f"INSERT INTO t VALUES {values}" if table else "SELECT 1")  # our own numbers
        every = sorted((u, VALUES[x]) for u, x in table)
        for largest, most, some in itertools.product((True, False), TOLD_APART, READ_FIRST):
            text = changed(outermost(rows, dialect, largest=largest, most=most, some=some))
            kept_rows = connection.execute(text).fetchall()
            alike = _beyond(kept_rows, largest=largest, most=most) == _beyond(every, largest=largest, most=most)
            if not alike or any(kept_rows.count(row) > every.count(row) for row in kept_rows):
                yield table


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=lambda dialect: dialect.name)
def test_as_many_units_lie_beyond_each_bucket(connection: duckdb.DuckDBPyConnection, dialect: Dialect) -> None:
    """Of all small tables, so that taking a unit away moves each number by 0 or 1; no row is there twice."""
    assert not list(_wrong(connection, dialect, lambda text: text))


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("OFFSET 1", "OFFSET 0"),
        ("WHERE x <= (", "WHERE x < ("),
        ("UNION ALL SELECT u, b FROM s WHERE x <=", "UNION ALL SELECT u, b FROM s WHERE x >"),
        ("count(*) > 0", "count(*) >= 0"),
        ("ORDER BY x DESC", "ORDER BY x ASC"),
    ],
)
def test_a_mistake_would_be_seen(connection: duckdb.DuckDBPyConnection, what: str, instead: str) -> None:
    """Such as a value that fewer units reach, or what is left out where there is none."""
    assert next(_wrong(connection, DUCKDB, lambda text: text.replace(what, instead)), None) is not None
