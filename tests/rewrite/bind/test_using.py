"""USING is the equations that it is, and what it calls by a name of its own are columns."""

import pytest

from dpsql.rewrite.bind.deparsed import in_equations
from dpsql.rewrite.syntax.read.dialect import parse_query, render

MADE = {
    "SELECT t.a FROM t JOIN z USING (a)": 'SELECT t.a FROM t JOIN z ON "t".a = "z".a',
    "SELECT t.a FROM p, (t AS x LEFT JOIN z USING (a, b))": (
        'SELECT t.a FROM p, (t AS x LEFT JOIN z ON "x".a = "z".a AND "x".b = "z".b)'
    ),
    "SELECT j.a, j.b + 1 AS c FROM t LEFT JOIN z USING (a, b) AS j WHERE j.a > 2": (
        'SELECT "t".a, "t".b + 1 AS c FROM t LEFT JOIN z ON "t".a = "z".a AND "t".b = "z".b WHERE "t".a > 2'
    ),
    "SELECT j.a FROM t RIGHT JOIN z USING (a) AS j": 'SELECT "z".a FROM t RIGHT JOIN z ON "t".a = "z".a',
    "SELECT j.a, j.a IS NULL AS n FROM t FULL JOIN z USING (a) AS j": (
        'SELECT coalesce("t".a, "z".a) AS a, coalesce("t".a, "z".a) IS NULL AS n FROM t FULL JOIN z USING (a)'
    ),
    "SELECT w.a FROM (SELECT t.a FROM t LEFT JOIN z USING (a)) AS w": (
        'SELECT w.a FROM (SELECT t.a FROM t LEFT JOIN z ON "t".a = "z".a) AS w'
    ),
    "SELECT j.a FROM t JOIN z USING (a) AS j JOIN y USING (b)": 'SELECT "t".a FROM t JOIN z USING (a) JOIN y USING (b)',
}
KEPT = [
    "SELECT a FROM t FULL JOIN z USING (a)",
    "SELECT t.a FROM t JOIN z USING (a) JOIN y USING (a)",
    "SELECT x.q FROM (t JOIN z USING (a)) AS x(q, w)",
    "SELECT j.b FROM t JOIN z USING (a) AS j",
    "SELECT t.a FROM t JOIN z ON t.b = z.b JOIN y USING (a) AS j",
]


@pytest.mark.parametrize(("said", "made"), MADE.items())
def test_using_is_equations(said: str, made: str) -> None:
    """Of two tables; a name of the joined columns is that of the side which always has them."""
    tree = parse_query(said)
    assert tree is not None
    in_equations(tree)
    assert render(tree) == made


@pytest.mark.parametrize("said", KEPT)
def test_others_stay(said: str) -> None:
    """Of several tables, where the name stands for what is merged, or for something else; written as it was read."""
    tree = parse_query(said)
    assert tree is not None
    in_equations(tree)
    assert render(tree) == said
