"""Names of columns as they are written before anything is moved."""

import pytest
from sqlglot import exp

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.qualified import qualify
from dpsql.rewrite.syntax.read.dialect import parsed, render
from dpsql.rewrite.syntax.read.trees import every

_SAME = """\
SELECT fare FROM rides
SELECT d, (SELECT 1 FROM rides s WHERE s.fare > seats) FROM (VALUES (1)) AS v(d)
SELECT d, (SELECT 1 FROM rides AS v WHERE v.fare > d) FROM (VALUES (1)) AS v(d)
SELECT d, (SELECT 1 FROM rides, pg_class WHERE fare > d) FROM (VALUES (1)) AS v(d)
SELECT d, (SELECT 1 FROM rides, json_each('{}') WHERE fare > d) FROM (VALUES (1)) AS v(d)
SELECT d, (SELECT fare AS d FROM rides ORDER BY d LIMIT 1) FROM (VALUES (1)) AS v(d)
SELECT xmin, (SELECT 1 FROM rides AS s WHERE fare > xmin) FROM (VALUES (1)) AS v(xmin)
SELECT (SELECT 1 FROM rides WHERE fare > d) FROM (VALUES (1)) AS v(d), (VALUES (2)) AS w(d)
SELECT (SELECT 1 FROM rides WHERE fare > d) FROM (VALUES (1)) AS v(d) JOIN (VALUES (1)) AS w(d) USING (d)
WITH d AS (SELECT 1 AS fare) SELECT (SELECT count(*) FROM d WHERE fare > 0) FROM rides
"""
_CHANGED = {
    "SELECT d, (SELECT 1 FROM rides AS s WHERE s.fare > d) FROM (VALUES (1)) AS v(d)": "s.fare > v.d",
    'SELECT d, (SELECT 1 FROM rides WHERE fare > D) FROM (VALUES (1)) AS "V"(d)': 'fare > "V".D',
    "SELECT (SELECT (SELECT 1 FROM zones WHERE zone_id = d) FROM rides) FROM (VALUES (1)) AS v(d)": "zone_id = v.d",
    "WITH v(d) AS (VALUES (1)) SELECT (SELECT 1 FROM rides WHERE fare > d) FROM v": "fare > v.d",
    "WITH v AS (SELECT 1 AS d) SELECT (SELECT 1 FROM rides WHERE fare > d) FROM v AS w": "fare > w.d",
    "SELECT (SELECT 1 FROM rides WHERE fare > d) FROM generate_series(1, 3) AS d": "fare > d.d",
    "SELECT (SELECT 1 FROM rides WHERE fare > generate_series) FROM generate_series(1)": '"generate_series".generate_series',
    "SELECT (SELECT 1 FROM rides WHERE fare > d) FROM unnest(ARRAY[1]) AS d": "fare > d.d",
    "SELECT 1 FROM (VALUES (1)) AS v(d), LATERAL (SELECT 1 FROM rides WHERE fare > d) AS l": "fare > v.d",
    "SELECT 1 FROM (VALUES (1)) AS v(d), LATERAL (SELECT 1 FROM rides, generate_series(1, d) AS n) AS l": "(1, v.d)",
    "SELECT 1 FROM (VALUES (1)) AS v(d) WHERE EXISTS(SELECT 1 FROM rides GROUP BY fare HAVING max(fare) > d)": "> v.d",
    "SELECT 1 FROM rides AS r WHERE shared OR EXISTS(SELECT 1 FROM zones WHERE zone_id = from_zone)": "= r.from_zone",
    "SELECT public.rides.fare FROM rides": "SELECT rides.fare FROM rides",
    "SELECT taxi.public.rides.* FROM public.rides": "SELECT rides.* FROM public.rides",
    "SELECT 1 FROM rides WHERE EXISTS(SELECT 1 FROM zones WHERE zone_id = public.rides.from_zone)": "= rides.from_zone",
    "SELECT (SELECT lower(public.rides.paid)) FROM rides": "lower(rides.paid)",
}


def _qualified(sql: str, policy: Policy) -> str:
    tree = parsed(sql)
    assert tree is not None
    qualify(tree, policy, every(tree, exp.Expr))
    return render(tree)


@pytest.mark.parametrize("sql", _SAME.splitlines())
def test_what_is_not_of_a_query_around_or_not_for_certain_stays(sql: str, policy: Policy) -> None:
    """Own columns, those that another table in between may have, and those whose table's name is taken there."""
    tree = parsed(sql)
    assert tree is not None
    assert _qualified(sql, policy) == render(tree)


@pytest.mark.parametrize("sql", _CHANGED)
def test_columns_of_a_query_around_have_their_tables_name(sql: str, policy: Policy) -> None:
    """By the name that the table has there."""
    assert _CHANGED[sql] in _qualified(sql, policy)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM rides WHERE EXISTS (SELECT 1 FROM zones AS rides WHERE zone_id = public.rides.from_zone)",
        "WITH rides AS (SELECT 1 AS fare) SELECT public.rides.fare FROM rides",
    ],
)
def test_a_schemas_table_is_none_of_another_with_its_name(sql: str, policy: Policy) -> None:
    """Without its schema it would be another table's column."""
    with pytest.raises(Unsupported, match="is not the table"):
        _qualified(sql, policy)


@pytest.mark.parametrize("star", ["*", "x.*", "x.d"])
def test_queries_that_double_are_looked_at_once(star: str, policy: Policy) -> None:
    """Eighteen CTEs that each join the one before with itself: written out they would be 2^18."""
    doubling = ", ".join(f"c{i} AS (SELECT {star} FROM c{i - 1} x JOIN c{i - 1} y ON true)" for i in range(1, 19))
    sql = f"WITH c0 AS (SELECT 1 AS d), {doubling} SELECT (SELECT 1 FROM rides WHERE fare > d) FROM c18"
    assert ("fare > c18.d" in _qualified(sql, policy)) == (star != "*")
