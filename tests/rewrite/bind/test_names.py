"""Common table expressions that are called alike get names of their own."""

import pytest

from dpsql.rewrite.bind.deparsed import with_own_names
from dpsql.rewrite.syntax.read.dialect import parse_query, render

NAMED = {
    "WITH a AS (SELECT 1 AS x) SELECT a.x FROM a": "WITH a AS (SELECT 1 AS x) SELECT a.x FROM a",
    "WITH a AS (SELECT 1 AS x) SELECT s.x FROM (WITH a AS (SELECT a.x FROM a) SELECT a.x FROM a) s": (
        'WITH a AS (SELECT 1 AS x) SELECT s.x FROM (WITH "a_1" AS (SELECT a.x FROM a) SELECT a.x FROM "a_1" AS a) AS s'
    ),
    (
        "SELECT p.x, q.x FROM (WITH a AS (SELECT 1 AS x) SELECT b.x FROM a b) p, "
        "(WITH a AS (SELECT 2 AS x) SELECT a.x FROM a) q"
    ): (
        "SELECT p.x, q.x FROM (WITH a AS (SELECT 1 AS x) SELECT b.x FROM a AS b) AS p, "
        '(WITH "a_1" AS (SELECT 2 AS x) SELECT a.x FROM "a_1" AS a) AS q'
    ),
    (
        "WITH a AS (SELECT 1 AS x), a_1 AS (SELECT 2 AS x) "
        "SELECT s.x FROM (WITH a AS (SELECT 3 AS x) SELECT a.x FROM a) s"
    ): (
        "WITH a AS (SELECT 1 AS x), a_1 AS (SELECT 2 AS x) SELECT s.x FROM "
        '(WITH "a_2" AS (SELECT 3 AS x) SELECT a.x FROM "a_2" AS a) AS s'
    ),
    (
        "WITH a AS (SELECT 1 AS x) SELECT (WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT a.x FROM a) "
        "SELECT a.x FROM a) AS y, (SELECT t.x FROM public.a t) AS z FROM a"
    ): (
        'WITH a AS (SELECT 1 AS x) SELECT (WITH RECURSIVE "a_1" AS (SELECT 1 AS x UNION ALL SELECT a.x FROM "a_1" AS a) '
        'SELECT a.x FROM "a_1" AS a) AS y, (SELECT t.x FROM public.a AS t) AS z FROM a'
    ),
    "SELECT a.x, s.y FROM a, (WITH a AS (SELECT z.y FROM public.z) SELECT a.y FROM a) s": (
        'SELECT a.x, s.y FROM a, (WITH "a_1" AS (SELECT z.y FROM public.z) SELECT a.y FROM "a_1" AS a) AS s'
    ),
    "WITH a AS (SELECT a.x FROM a) SELECT a.x FROM a": ('WITH "a_1" AS (SELECT a.x FROM a) SELECT a.x FROM "a_1" AS a'),
    (
        "WITH a AS (SELECT 1 AS x) SELECT s.x FROM "
        "(WITH a AS (SELECT 2 AS x) SELECT a.x FROM a, a_1 b) s, (SELECT a.x FROM a) r"
    ): (
        "WITH a AS (SELECT 1 AS x) SELECT s.x FROM "
        '(WITH "a_2" AS (SELECT 2 AS x) SELECT a.x FROM "a_2" AS a, a_1 AS b) AS s, (SELECT a.x FROM a) AS r'
    ),
}


@pytest.mark.parametrize(("said", "named"), NAMED.items())
def test_a_name_is_one_cte(said: str, named: str) -> None:
    """Whoever reads one reads the same as before, by the name that columns have; a table keeps its own."""
    tree = parse_query(said)
    assert tree is not None
    with_own_names(tree)
    assert render(tree) == named
