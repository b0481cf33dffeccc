"""Which queries over released rows may have several rows, told without any of them."""

import pytest
from sqlglot import exp

from dpsql.rewrite.syntax.parse import parsed
from dpsql.rewrite.syntax.single_row import ReleasedRows, several_rows, values_of_several_rows

RELEASED = {
    "one": ReleasedRows(1, frozenset()),
    "zones": ReleasedRows(200, frozenset({"g0"})),
    "found": ReleasedRows(None, frozenset({"g0", "g1"})),
    "rolled": ReleasedRows(None, None),
}
SINGLE = [
    "SELECT a0 FROM one AS _dp",
    "SELECT max(a0) FROM zones AS _dp",
    "SELECT count(*) FROM zones HAVING count(*) > 3",
    "SELECT 2 * (SELECT a0 FROM one) AS answer",
    "SELECT g0 FROM zones ORDER BY a0 DESC LIMIT 1",
    "SELECT g0 FROM zones LIMIT 0",
    "(SELECT g0 FROM zones FETCH FIRST ROW ONLY)",
    "SELECT * FROM (SELECT g0 FROM zones ORDER BY a0 LIMIT 1) AS t WHERE g0 > 3",
    "SELECT a0 FROM zones WHERE g0 = 7",
    "SELECT a0 FROM found WHERE 3 = g1 AND a0 > 2 AND g0 = 'x'",
    "SELECT n FROM (SELECT g0 AS zone, a0 AS n FROM zones) AS t WHERE zone = 7",
    "SELECT * FROM one, (VALUES (1)) AS v (x) CROSS JOIN (SELECT max(a0) FROM zones) AS m",
    "SELECT a0 FROM one GROUP BY a0",
    "SELECT a0 FROM one EXCEPT SELECT a0 FROM zones",
]
SEVERAL = [
    "SELECT a0 FROM zones",
    "SELECT a0 FROM rolled WHERE g0 = 1",
    "SELECT max(a0) FROM zones GROUP BY g1",
    "SELECT a0 FROM zones LIMIT 2",
    "SELECT a0 FROM zones LIMIT (SELECT 1)",
    "SELECT a0 FROM zones FETCH FIRST 2 ROWS ONLY",
    "SELECT a0 FROM zones ORDER BY a0 FETCH FIRST 1 ROWS WITH TIES",
    "SELECT a0 FROM zones WHERE g0 > 7",
    "SELECT a0 FROM zones WHERE g0 = 7 OR a0 = 7",
    "SELECT a0 FROM zones WHERE g0 = a0",
    "SELECT a0 FROM found WHERE g0 = 7",
    "SELECT n FROM (SELECT a0 AS zone, a0 AS n FROM zones) AS t WHERE zone = 7",
    "SELECT n FROM (SELECT g0 AS zone, a0 AS n FROM zones) AS t (n, zone) WHERE zone = 7",
    "SELECT zones.a0 FROM zones, zones AS z WHERE zones.g0 = 7",
    "SELECT a0 FROM one UNION ALL SELECT a0 FROM one",
    "SELECT x FROM (VALUES (1), (2)) AS v (x)",
    "SELECT unnest(ARRAY[a0, 1]) FROM one",
    "SELECT generate_series(1, a0) FROM one",
    "SELECT a0 FROM one GROUP BY GROUPING SETS ((a0), ())",
    "SELECT a0, max(a0) FROM one GROUP BY ROLLUP (a0)",
    "SELECT rank() OVER (ORDER BY a0) FROM zones",
]


def _parsed(sql: str) -> exp.Query:
    tree = parsed(sql)
    assert tree is not None
    return tree


@pytest.mark.parametrize("sql", SINGLE)
def test_what_has_one_row_at_most_is_told(sql: str) -> None:
    """As a total, by its limit, by its sources, or by the key of its one row."""
    assert not several_rows(_parsed(sql), RELEASED)


@pytest.mark.parametrize("sql", SEVERAL)
def test_what_may_have_several_rows_is_told(sql: str) -> None:
    """Whatever else is in it."""
    assert several_rows(_parsed(sql), RELEASED)


@pytest.mark.parametrize("query", SEVERAL)
@pytest.mark.parametrize("around", ["SELECT 1 + ({}) AS n", "SELECT ({})", "SELECT max(a0) FROM one WHERE a0 > ({})"])
def test_a_value_within_a_query_is_one_value(around: str, query: str) -> None:
    """Wherever it stands for a value; lists, tables and tests may have several rows."""
    assert values_of_several_rows(_parsed(around.format(query)), RELEASED)
    for table in (
        "SELECT max(a0) FROM ({}) AS t",
        "SELECT 1 WHERE 1 IN ({})",
        "SELECT EXISTS ({})",
        "SELECT ARRAY({})",
    ):
        assert not values_of_several_rows(_parsed(table.format(query)), RELEASED)
