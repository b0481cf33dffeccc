"""What can fail for some numbers is replaced by what is NULL there; names and everything else stay."""

import pytest

from dpsql.rewrite.syntax.dialect import render
from dpsql.rewrite.syntax.parse import parsed
from dpsql.rewrite.syntax.undefined import without_failing

REWRITTEN = {
    "SELECT a / b / c AS q FROM t": "SELECT a / dpsql.nonzero(b) / dpsql.nonzero(c) AS q FROM t",
    "SELECT mod(a, b / c) FROM t": "SELECT mod(a, dpsql.nonzero(b / dpsql.nonzero(c))) FROM t",
    "SELECT sqrt(sqrt(a) + 1) FROM t": "SELECT dpsql.sqrt(dpsql.sqrt(a) + 1) FROM t",
    "SELECT pg_catalog.ln(a) FROM t": "SELECT dpsql.ln(a) FROM t",
    "SELECT a ^ b ^ 2 FROM t": 'SELECT dpsql.power(dpsql.power(a, b), 2) AS "?column?" FROM t',
    "SELECT a::int FROM t": 'SELECT CAST(dpsql.fits_integer(a) AS INT) AS "a" FROM t',
    "SELECT (a / b)::pg_catalog.int2 FROM t": (
        'SELECT CAST(dpsql.fits_smallint((a / dpsql.nonzero(b))) AS pg_catalog.int2) AS "int2" FROM t'
    ),
    "SELECT a::decimal(4) FROM t": 'SELECT CAST(dpsql.fits_numeric(a, 4, 0) AS DECIMAL(4)) AS "a" FROM t',
    "SELECT a FROM t LIMIT (SELECT b / c FROM u)": (
        "SELECT a FROM t LIMIT dpsql.not_negative((SELECT b / dpsql.nonzero(c) FROM u))"
    ),
}


@pytest.mark.parametrize("text", REWRITTEN)
def test_what_can_fail_is_replaced(text: str) -> None:
    """Inside first, wherever it stands; an output keeps the name that PostgreSQL gave it."""
    tree = parsed(text)
    assert tree is not None
    without_failing(tree)
    assert render(tree) == REWRITTEN[text]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a / 2, mod(a, 7), sqrt(2), 1 / 0 FROM t LIMIT 3 OFFSET 4",
        "SELECT CAST(a AS TEXT), CAST(a AS DECIMAL), CAST(ARRAY[a] AS INT[]), round(a, 2) FROM t",
    ],
)
def test_what_cannot_fail_for_noise_stays(text: str) -> None:
    """Constants fail as they do, and what never fails is PostgreSQL's own."""
    tree = parsed(text)
    assert tree is not None
    without_failing(tree)
    assert render(tree) == text
