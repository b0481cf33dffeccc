"""Derived tables and common table expressions that only pass columns on are the table that they are of."""

import pytest

from dpsql.rewrite.bind.deparsed import with_tables_in_place
from dpsql.rewrite.syntax.read.dialect import parse_query, render

PASSED = {
    "SELECT t.a, t.y FROM (SELECT u.x, u.y FROM public.u) t(a)": 'SELECT t."x" AS "a", t.y FROM public.u AS t',
    "WITH c(a) AS (SELECT u.x FROM public.u) SELECT c.a FROM c": (
        'WITH c(a) AS (SELECT u.x FROM public.u) SELECT c."x" AS "a" FROM public.u AS c'
    ),
    "WITH c(a) AS (SELECT u.x FROM public.u) SELECT count(d.b) AS n FROM c d(b) WHERE d.b > 1": (
        'WITH c(a) AS (SELECT u.x FROM public.u) SELECT count(d."x") AS n FROM public.u AS d WHERE d."x" > 1'
    ),
    "SELECT q.b FROM (SELECT p.a AS b FROM (SELECT u.x AS a FROM public.u) p) q": 'SELECT q."x" AS "b" FROM public.u AS q',
    "SELECT v.x, (SELECT count(*) AS n FROM (SELECT u.x FROM public.u) t(a) WHERE t.a > v.x) AS n FROM public.v": (
        'SELECT v.x, (SELECT count(*) AS n FROM public.u AS t WHERE t."x" > v.x) AS n FROM public.v'
    ),
    "SELECT (SELECT count(t.a) AS n FROM (SELECT u.x FROM public.u WHERE u.y = v.y) t(a) WHERE t.a > 1) AS n FROM public.v": (
        'SELECT (SELECT count(t."x") AS n FROM public.u AS t WHERE t."x" > 1 AND t.y = v.y) AS n FROM public.v'
    ),
    "SELECT t.x FROM public.v LEFT JOIN (SELECT u.x FROM public.u) t ON t.x = v.x": (
        "SELECT t.x FROM public.v LEFT JOIN public.u AS t ON t.x = v.x"
    ),
}  # fmt: skip
KEPT = [
    "SELECT (SELECT t.x FROM public.w LEFT JOIN (SELECT u.x FROM public.u WHERE u.y = v.y) AS t ON TRUE) AS n FROM public.v",
    "SELECT t.a FROM (SELECT u.x + 1 AS a FROM public.u) AS t",
    "SELECT t.x FROM (SELECT u.x FROM public.u WHERE u.y) AS t",
    "SELECT t.x FROM (SELECT u.x FROM public.u LIMIT 3) AS t",
    "SELECT t.x FROM (SELECT DISTINCT u.x FROM public.u) AS t",
    "SELECT t.x FROM (SELECT u.x FROM public.u, public.v) AS t",
    "SELECT t.x FROM (SELECT u.x, u.y AS x FROM public.u) AS t",
    "SELECT t.* FROM (SELECT u.x FROM public.u) AS t",
    "SELECT t.x FROM (SELECT u.x FROM public.u) AS t JOIN public.v USING (x)",
    "WITH RECURSIVE c AS (SELECT c.x FROM c) SELECT c.x FROM c",
    "SELECT t.x FROM (SELECT u.x FROM public.u AS u(x)) AS t",
]


@pytest.mark.parametrize(("said", "made"), PASSED.items())
def test_a_table_stands_where_its_columns_were_passed_on(said: str, made: str) -> None:
    """By whatever names they were called, and however deep; an output keeps its name."""
    tree = parse_query(said)
    assert tree is not None
    with_tables_in_place(tree)
    assert render(tree) == made


@pytest.mark.parametrize("said", KEPT)
def test_what_does_more_stays(said: str) -> None:
    """Conditions, computed columns, two of one name, whole rows, and what names itself."""
    tree = parse_query(said)
    assert tree is not None
    with_tables_in_place(tree)
    assert render(tree) == said
