"""Which queries over released rows may have several rows, told without any of them."""

import pytest
from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.whole.single_row import ReleasedRows, several_rows

RELEASED = {
    "one": ReleasedRows(1, frozenset()),
    "zones": ReleasedRows(200, frozenset({"g0"})),
    "found": ReleasedRows(None, frozenset({"g0", "g1"})),
    "rolled": ReleasedRows(None, None),
    "towns": ReleasedRows(
        3,
        frozenset({"id"}),
        ("id", "name", "kind"),
        {"id": [1, 2, 3], "name": ["a", "b", "c"], "kind": ["x", "x", "y"]},
    ),
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
    "SELECT a0 FROM zones WHERE g0 IN (7) AND a0 > 3",
    "SELECT a0 FROM zones AS z WHERE z.g0 = elsewhere.x",
    "SELECT sum(a0) FROM found WHERE g0 = 7 GROUP BY g0",
    "SELECT g0 + 1 AS x, sum(a0) FROM found WHERE g0 = 7 GROUP BY x",
    "SELECT g0, sum(a0) FROM found GROUP BY 1 HAVING g0 = 7",
    "SELECT a0 FROM zones WHERE NOT g0",
    "SELECT n FROM (SELECT a0, row_number() OVER (ORDER BY a0) FROM zones) AS t (n, place) WHERE place = 1",
    "SELECT t.x FROM (SELECT * FROM (SELECT g0 AS x FROM zones) AS u) AS t WHERE t.x = 7",
    "SELECT z.a0 FROM one AS o JOIN zones AS z ON z.g0 = o.a0",
    "SELECT z.a0 FROM one AS o LEFT JOIN zones AS z ON z.g0 = o.a0",
    "SELECT z.a0 FROM one AS o JOIN zones AS z USING (g0)",
    "SELECT y.a0 FROM zones AS z, zones AS y WHERE y.g0 = z.a0 AND z.g0 = 7",
    "SELECT name FROM public.towns WHERE id = 7",
    "SELECT id FROM towns AS t WHERE t.name = other.name",
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
    "SELECT a0 FROM zones WHERE g0 IN (7, 8)",
    "SELECT a0 FROM zones AS z WHERE z.g0 = z.a0",
    "SELECT a0 FROM zones AS z WHERE elsewhere.g0 = 7",
    "SELECT sum(a0) FROM found WHERE g0 = 7 GROUP BY g1",
    "SELECT upper(name) AS u FROM towns GROUP BY u",
    "SELECT g0, g1, sum(a0) FROM found GROUP BY 1, 2 HAVING g0 = 7",
    "SELECT n FROM (SELECT a0, row_number() OVER (PARTITION BY g1 ORDER BY a0) FROM zones) AS t (n, place) WHERE place = 1",
    "SELECT n FROM (SELECT a0, rank() OVER (ORDER BY a0) FROM zones) AS t (n, place) WHERE place = 1",
    "SELECT t.y FROM (SELECT * FROM (SELECT g0 AS x FROM zones) AS u) AS t (y) WHERE t.x = 7",
    "SELECT z.a0 FROM zones AS z LEFT JOIN one AS o ON z.g0 = o.a0",
    "SELECT z.a0 FROM one AS o LEFT JOIN zones AS z ON z.g0 = z.a0",
    "SELECT z.a0 FROM one AS o RIGHT JOIN zones AS z ON z.g0 = o.a0",
    "SELECT o.a0 FROM one AS o FULL JOIN one AS p ON o.a0 = p.a0",
    "SELECT o.a0 FROM one AS o NATURAL JOIN zones AS z",
    "SELECT z.a0 FROM found AS o JOIN zones AS z USING (g0)",
    "SELECT y.a0 FROM zones AS z, zones AS y WHERE y.g0 = z.a0",
    "SELECT y.a0 FROM zones AS z, zones AS y WHERE y.g0 = z.g0 AND z.g0 = y.g0",
    "SELECT id FROM towns WHERE kind = 'x'",
    "SELECT id FROM towns AS t (name, id, kind) WHERE name = 'x'",
    "SELECT id FROM elsewhere.towns WHERE id = 7",
    "SELECT id FROM towns WHERE name = x.name OR id = 7",
    "SELECT rank() OVER (ORDER BY a0) FROM zones",
]


def _parsed(sql: str) -> exp.Query:
    tree = parse_query(sql)
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
