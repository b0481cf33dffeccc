"""What can't but fail is tried before anything is paid for, and nothing else is."""

import pytest
from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.read.trees import every
from dpsql.rewrite.syntax.whole.constant_probes import constant_probes, has_constants, probes_around

DOOMED = {
    "count(*) / 0": "SELECT 1 / (0)",
    "count(*) % (2 - 2)": "SELECT 1 / ((2 - 2))",
    "div(a, -0.0)": "SELECT 1 / (-0.0)",
    "g ~ '('": "SELECT '' ~ '('",
    "g !~* '('": "SELECT '' ~ '('",
    "g ~ similar_to_escape('(')": "SELECT '' ~ similar_to_escape('(')",
    "split_part(g, ',', 0)": "SELECT pg_catalog.split_part('', '', 0)",
    "substring(g, 1, -2)": "SELECT SUBSTRING('' FROM 1 FOR -2)",
    "substr(g, 1, -2)": "SELECT pg_catalog.substr('', 1, -2)",
    "d AT TIME ZONE 'Nowhere'": "SELECT pg_catalog.now() AT TIME ZONE 'Nowhere'",
    "extract(fortnight FROM d)": "SELECT EXTRACT(FORTNIGHT FROM pg_catalog.now())",
    "date_trunc('fortnight', d)": "SELECT pg_catalog.date_trunc('fortnight', pg_catalog.now())",
    "ntile(0) OVER ()": "SELECT pg_catalog.ntile(0) OVER ()",
    "nth_value(a, -1) OVER ()": "SELECT pg_catalog.nth_value(1, -1) OVER ()",
    "percentile_cont(1.5) WITHIN GROUP (ORDER BY a)": "SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY 1)",
    "to_date('x', 'YYYY')": "SELECT pg_catalog.to_date('x', 'YYYY') LIMIT 1",
    "current_setting('no')": "SELECT pg_catalog.current_setting('no') LIMIT 1",
    "generate_series(1, 3, 0)": "SELECT pg_catalog.generate_series(1, 3, 0) LIMIT 1",
    "format('%2$s', g)": "SELECT pg_catalog.format('%2$s', '')",
    "sum(a) OVER (ROWS -1 PRECEDING)": "SELECT pg_catalog.count(1) OVER (ROWS -1 PRECEDING)",
    "sum(a) OVER (ROWS BETWEEN CURRENT ROW AND 1 - 2 FOLLOWING)": "SELECT pg_catalog.count(1) OVER (ROWS 1 - 2 PRECEDING)",
    "json_build_object('a', 1, 'b')": "SELECT pg_catalog.json_build_object(1, 1, 1)",
}


@pytest.mark.parametrize("expression", DOOMED)
def test_what_depends_on_a_constant_is_tried(expression: str) -> None:
    """With a constant in the place of what is released."""
    tree = parse_query(f"SELECT {expression} FROM t")
    assert tree is not None
    assert constant_probes(every(tree, exp.Expr)) == (DOOMED[expression],)


@pytest.mark.parametrize("tail", ["LIMIT -1", "OFFSET -1", "LIMIT 1 - 2"])
def test_a_limit_below_0_is_tried(tail: str) -> None:
    """As it is written."""
    tree = parse_query(f"SELECT a FROM t {tail}")
    assert tree is not None
    assert constant_probes(every(tree, exp.Expr)) == (f"SELECT {tail}",)


@pytest.mark.parametrize(
    ("around", "tried"),
    [
        (("UPDATE kept SET n = (", ") / 0"), ["SELECT 1 / 0"]),
        (("WITH a AS (", ") DELETE FROM kept USING a WHERE a.c % 0.0 = 1"), ["SELECT 1 / 0.0"]),
        (("UPDATE kept SET n = (", ") / 10, g = '1 / 0'"), []),
        (("UPDATE kept SET n = CASE WHEN n > 0 THEN n / 0 END WHERE n < (", ")"), []),
    ],
)
def test_a_division_by_0_around_a_query_is_tried(around: tuple[str, ...], tried: list[str]) -> None:
    """Nobody reads what is written there but by its words."""
    assert list(probes_around(around)) == tried


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a / 2, a / b, a % 0.5, a / '0', a / $1 FROM t LIMIT 3 OFFSET 4",
        "SELECT CASE WHEN a > 0 THEN a / 0 END FROM t",
        "SELECT coalesce(a, to_number('x', '9')), to_date(g, 'YYYY'), generate_series(1, a), format(g, a) FROM t",
        "SELECT sum(a) OVER (ROWS 1 PRECEDING), to_date($1, 'YYYY'), b OR current_setting('no') = 'x' FROM t",
        "SELECT extract(day FROM d), date_trunc('day', d), d AT TIME ZONE z, split_part(g, ',', n), substr(g, 1, n) FROM t",
    ],
)
def test_what_may_succeed_is_not_tried(query: str) -> None:
    """Because it depends on what is released, or PostgreSQL may never come to it."""
    tree = parse_query(query)
    assert tree is not None
    assert constant_probes(every(tree, exp.Expr)) == ()


@pytest.mark.parametrize("expression", ["chr(0)", "1 + 1", "('a' || 'b')::int", "a + length('x')"])
def test_constants_that_are_computed_are_found(expression: str) -> None:
    """PostgreSQL computes them when it plans the statement."""
    tree = parse_query(f"SELECT {expression} FROM t")
    assert tree is not None
    assert has_constants(every(tree, exp.Expr))


@pytest.mark.parametrize(
    "expression", ["count(*)", "now()", "date '2019-03-01'", "-1", "a + 1", "round(a, 2)", "interval '1 day'"]
)
def test_constants_that_are_written_are_not_computed(expression: str) -> None:
    """Nor is what has a value that is released."""
    tree = parse_query(f"SELECT {expression} FROM t WHERE d > '2019-03-01' AND a = 1")
    assert tree is not None
    assert not has_constants(every(tree, exp.Expr))
