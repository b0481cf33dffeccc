"""Parts of a statement that look alike are not taken for the same: DuckDB's own rewriting would mix up their columns."""

from pathlib import Path

import duckdb
import pytest

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.duckdb.engine import DuckDb
from tests.engines.asking import asked

NOTES = """
  (39, 'xyz'), (16, 'b'), (14, 'b'), (37, 'a'), (40, 'ab '), (43, 'xyz'), (27, 'a'), (38, 'a'), (NULL, 'ab '), (40, 'b'),
  (11, 'a'), (NULL, 'b'), (27, 'b'), (1, 'a')
"""
ITEMS = """
  (29, 11), (43, 15), (34, NULL), (1, NULL), (5, 11), (4, 0), (39, 15), (14, NULL), (16, 11), (37, 17), (40, NULL), (46, 7),
  (11, 18), (49, 0), (27, 18), (38, 99), (21, 23)
"""
ORDERS = "(7, 1), (0, 2), (23, 5), (15, 1), (17, 1), (11, 1), (18, 2), (16, 2)"
JOINED = """
  FROM {notes} AS s0 LEFT JOIN {notes} AS s1 ON s1.about IS NOT NULL AND s0.about = s1.about
       AND rtrim(left(s1.grade, 3), ' ') IN ('xyz', 'ab')
       JOIN {items} AS s2 ON s0.about = s2.item JOIN {orders} AS s3 ON s2.of_order = s3.order_id
 WHERE s3.buyer IS NOT NULL AND s0.about IS NOT NULL AND s2.item IS NOT NULL AND s2.of_order IS NOT NULL
       AND s3.order_id IS NOT NULL
"""
STATEMENT = """
WITH h AS MATERIALIZED (SELECT s3.buyer AS hu, count(*) AS n JOINED GROUP BY 1)
SELECT k0, CAST(sum(n) AS VARCHAR)
  FROM (SELECT s3.buyer AS u, rtrim(left(s0.grade, 3), ' ') = 'ab' AS k0 JOINED) AS r JOIN h ON u = hu GROUP BY k0
""".replace("JOINED", JOINED)


@pytest.fixture
def engine(tmp_path: Path) -> DuckDb:
    """Give notes about items of orders."""
    with duckdb.connect(tmp_path / "records.duckdb") as connection:
        connection.execute("CREATE TABLE notes (about BIGINT, grade VARCHAR)")
        connection.execute("CREATE TABLE items (item BIGINT, of_order BIGINT)")
        connection.execute("CREATE TABLE orders (order_id BIGINT, buyer INTEGER)")
        for table, rows in (("notes", NOTES), ("items", ITEMS), ("orders", ORDERS)):
            connection.execute(f"INSERT INTO {table} VALUES {rows}")
    return DuckDb(tmp_path / "records.duckdb")


def test_a_table_joined_with_itself_keeps_its_columns_apart(engine: DuckDb, charge: Charge) -> None:
    """A key of the one is not the other's, which has none in most rows."""
    assert asked(engine, STATEMENT, charge) == [(False, "25")]
