"""Columns of a query that are a table's as they stand."""

import pytest
import sqlglot
from sqlglot import exp

from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.named.origins import origins
from dpsql.rewrite.syntax.read.dialect import Client

FARE, TIP, ZONE = ("rides", "fare"), ("rides", "tip"), ("zones", "zone_id")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT r.fare, tip AS t, fare + tip AS total FROM rides AS r", {"fare": FARE, "t": TIP}),
        ("SELECT avg(fare) AS fare, tip FROM rides GROUP BY tip", {"tip": TIP}),
        ("SELECT f FROM (SELECT fare AS f FROM (SELECT * FROM rides) AS a) AS b", {"f": FARE}),
        ("WITH w AS (SELECT fare AS f FROM rides) SELECT w.f, zone_id FROM w, zones", {"f": FARE, "zone_id": ZONE}),
        ("WITH rides AS (SELECT 1 AS fare) SELECT fare FROM rides", {}),
        ("WITH w (tip) AS (SELECT fare FROM rides) SELECT tip FROM w", {}),
        ("SELECT tip FROM (SELECT fare FROM rides) AS r (tip)", {}),
        ("SELECT fare FROM rides UNION ALL SELECT tip FROM rides", {}),
        ("SELECT f FROM (SELECT fare AS f FROM rides UNION ALL SELECT tip FROM rides) AS u", {}),
        ("SELECT fare FROM rides AS a, rides AS b", {}),
        ("SELECT b.fare FROM rides AS a, rides AS b", {"fare": FARE}),
    ],
)
def test_what_is_computed_comes_from_nowhere(sql: str, expected: dict[str, tuple[str, str]], policy: Policy) -> None:
    """Nor does what stands in a union, or has a name that two tables have."""
    tree = sqlglot.parse_one(sql, read=Client)
    assert isinstance(tree, exp.Expr)
    assert origins(tree, policy) == expected
