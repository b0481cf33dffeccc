"""Common table expressions of subqueries stand where they are read."""

import pytest

from dpsql.rewrite.bind.deparsed import with_ctes_inside
from dpsql.rewrite.syntax.read.dialect import parse_query, render

INSIDE = {
    "SELECT (WITH x AS (SELECT t.a FROM t WHERE t.b = z.c) SELECT count(*) AS n FROM x) AS n FROM z": (
        "SELECT (SELECT count(*) AS n FROM (SELECT t.a FROM t WHERE t.b = z.c) AS x) AS n FROM z"
    ),
    "SELECT q.a FROM (WITH x(a) AS (SELECT t.b FROM t), y AS (SELECT x.a FROM x) SELECT y.a FROM y v) AS q": (
        "SELECT q.a FROM (SELECT y.a FROM (SELECT x.a FROM (SELECT t.b FROM t) AS x(a)) AS v) AS q"
    ),
    "SELECT q.c FROM (WITH x(a, b) AS (SELECT t.a, t.b FROM t) SELECT v.c FROM x AS v(c)) AS q": (
        "SELECT q.c FROM (SELECT v.c FROM (SELECT t.a, t.b FROM t) AS v(c, b)) AS q"
    ),
    "SELECT q.a FROM (WITH x AS (SELECT 1 / 0 AS a) SELECT t.a FROM t) AS q": "SELECT q.a FROM (SELECT t.a FROM t) AS q",
}  # fmt: skip
KEPT = [
    "WITH x AS (SELECT t.a FROM t) SELECT x.a FROM x",
    "SELECT q.a FROM (WITH x AS (SELECT t.a FROM t) SELECT x.a FROM x JOIN x AS y ON x.a = y.a) AS q",
    "SELECT q.a FROM (WITH RECURSIVE x AS (SELECT x.a FROM x) SELECT x.a FROM x) AS q",
    "SELECT q.a FROM (WITH x AS MATERIALIZED (SELECT t.a FROM t) SELECT x.a FROM x) AS q",
]


@pytest.mark.parametrize(("said", "made"), INSIDE.items())
def test_what_is_read_once_stands_there(said: str, made: str) -> None:
    """By the names that its columns had; what nobody reads is gone."""
    tree = parse_query(said)
    assert tree is not None
    with_ctes_inside(tree)
    assert render(tree) == made


@pytest.mark.parametrize("said", KEPT)
def test_others_stay(said: str) -> None:
    """Those of the whole query, what is read twice, what names itself, and what is to be computed first."""
    tree = parse_query(said)
    assert tree is not None
    before = render(tree)
    with_ctes_inside(tree)
    assert render(tree) == before
