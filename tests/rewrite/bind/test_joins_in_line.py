"""Joins in brackets stand in one line with those before them."""

import pytest

from dpsql.rewrite.bind.deparsed import with_joins_in_line
from dpsql.rewrite.syntax.read.dialect import parse_query, render

IN_LINE = {
    "SELECT 1 AS n FROM d, (t JOIN z ON t.a = z.a) WHERE d.x < t.x": (
        "SELECT 1 AS n FROM d CROSS JOIN t JOIN z ON t.a = z.a WHERE d.x < t.x"
    ),
    "SELECT 1 AS n FROM p JOIN (t LEFT JOIN z ON t.a = z.a) ON p.x = t.x": (
        "SELECT 1 AS n FROM p CROSS JOIN t LEFT JOIN z ON t.a = z.a WHERE p.x = t.x"
    ),
    "SELECT 1 AS n FROM d, ((t JOIN z ON t.a = z.a) JOIN y ON y.b = z.b), (e LEFT JOIN f ON e.a = f.a)": (
        "SELECT 1 AS n FROM d CROSS JOIN t JOIN z ON t.a = z.a JOIN y ON y.b = z.b CROSS JOIN e LEFT JOIN f ON e.a = f.a"
    ),
    "SELECT 1 AS n FROM d, (b JOIN (t JOIN z ON t.a = z.a) ON b.x = t.x) WHERE d.y OR t.y": (
        "SELECT 1 AS n FROM d CROSS JOIN b CROSS JOIN t JOIN z ON t.a = z.a WHERE (d.y OR t.y) AND b.x = t.x"
    ),
    "SELECT 1 AS n FROM d, ((SELECT t.a FROM t) AS q JOIN z ON q.a = z.a)": (
        "SELECT 1 AS n FROM d CROSS JOIN (SELECT t.a FROM t) AS q JOIN z ON q.a = z.a"
    ),
}
KEPT = [
    "SELECT 1 AS n FROM d LEFT JOIN (t JOIN z ON t.a = z.a) ON d.x = t.x",
    "SELECT 1 AS n FROM d, (t RIGHT JOIN z ON t.a = z.a)",
    "SELECT 1 AS n FROM d JOIN (t JOIN z ON t.a = z.a) ON d.x = t.x FULL JOIN y ON y.a = t.a",
    "SELECT 1 AS n FROM d JOIN (t JOIN z ON t.a = z.a) USING (x)",
    "SELECT 1 AS n FROM d, (t JOIN z ON t.a = z.a JOIN y USING (b))",
    "SELECT 1 AS n FROM d, (t FULL JOIN z USING (a))",
    "SELECT 1 AS n FROM d, (t JOIN z ON t.a = z.a) AS q",
    "SELECT 1 AS n FROM d, (SELECT t.a FROM t) AS q",
]


@pytest.mark.parametrize(("said", "made"), IN_LINE.items())
def test_brackets_are_not_needed(said: str, made: str) -> None:
    """Of inner joins, and of left ones within; what they were joined on is a condition."""
    tree = parse_query(said)
    assert tree is not None
    with_joins_in_line(tree)
    assert render(tree) == made


@pytest.mark.parametrize("said", KEPT)
def test_others_stay(said: str) -> None:
    """What makes rows of those in brackets, and what merges columns of several tables."""
    tree = parse_query(said)
    assert tree is not None
    before = render(tree)
    with_joins_in_line(tree)
    assert render(tree) == before
