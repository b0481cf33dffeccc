"""Which statements are tried with made-up answers before they are paid for."""

import pytest

from dpsql.gateway.rehearsal import is_tried, nodes_of
from dpsql.policy.model import Policy
from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.whole.analyze import analyze

COUNT = "SELECT vendor AS v, count(*) AS n FROM rides GROUP BY 1"


@pytest.mark.parametrize(
    ("statement", "tried"),
    [
        (COUNT, False),
        (f"SELECT round(n / 7.0, 2), n::text FROM ({COUNT}) AS a ORDER BY n LIMIT 3", False),
        ("SELECT median(fare), min(fare), max(fare), sum(fare) / count(*) FROM rides", False),
        (f"CREATE TEMP TABLE kept AS {COUNT}", False),
        (f"COPY ({COUNT}) TO STDOUT (FORMAT csv)", False),
        (f"EXPLAIN INSERT INTO kept {COUNT}", False),
        (f"COPY ({COUNT}) TO STDOUT (ENCODING 'LATIN1')", True),
        (f"INSERT INTO kept {COUNT}", True),
        (f"SELECT json_object_agg(v, n) FROM ({COUNT}) AS a", True),
        ("VALUES ((SELECT count(*) FROM rides))", True),
    ],
)
def test_what_writes_or_may_fail_is_tried_and_nothing_else(policy: Policy, statement: str, tried: bool) -> None:
    """A plain question takes no longer for it."""
    asked = analyze(statement, policy, parse_query)
    assert asked is not None
    assert asked.statement is not None
    assert is_tried(asked.statement, nodes_of(asked)) == tried
