"""What can fail for some numbers is replaced by what is NULL there; names and everything else stay."""

import pytest

from dpsql.rewrite.syntax.read.dialect import parse_query, render
from dpsql.rewrite.syntax.whole.constant_probes import without_failing

REWRITTEN = {
    "SELECT a / b / c AS q FROM t": "SELECT ((a OPERATOR(pg_dpsql./) b) OPERATOR(pg_dpsql./) c) AS q FROM t",
    "SELECT mod(a, b % c) FROM t": "SELECT pg_dpsql.mod(a, (b OPERATOR(pg_dpsql.%) c)) FROM t",
    "SELECT a * 100 > 7 OR g NOT LIKE h FROM t": (
        "SELECT (a OPERATOR(pg_dpsql.*) 100) > 7 OR (NOT g OPERATOR(pg_dpsql.~~) h) FROM t"
    ),
    "SELECT sqrt(sqrt(a) + 1) FROM t": "SELECT pg_dpsql.sqrt((pg_dpsql.sqrt(a) OPERATOR(pg_dpsql.+) 1)) FROM t",
    "SELECT pg_catalog.ln(a) FROM t": "SELECT pg_dpsql.ln(a) FROM t",
    "SELECT a ^ b ^ 2 FROM t": "SELECT ((a OPERATOR(pg_dpsql.^) b) OPERATOR(pg_dpsql.^) 2) FROM t",
    "SELECT a::int FROM t": "SELECT CAST(pg_dpsql.fits_integer(a) AS INT) FROM t",
    "SELECT (a % b)::pg_catalog.int2 FROM t": (
        "SELECT CAST(pg_dpsql.fits_smallint(((a OPERATOR(pg_dpsql.%) b))) AS pg_catalog.int2) FROM t"
    ),
    "SELECT a::decimal(4), $1::date FROM t": (
        "SELECT CAST(pg_dpsql.fits_numeric(a, 4, 0) AS DECIMAL(4)), "
        "CAST(pg_dpsql.fits($1, CAST(NULL AS DATE)) AS DATE) FROM t"
    ),
    "SELECT a FROM t LIMIT (SELECT b / c FROM u)": (
        "SELECT a FROM t LIMIT pg_dpsql.not_negative((SELECT (b OPERATOR(pg_dpsql./) c) FROM u))"
    ),
    "SELECT ntile(a) OVER (), nth_value(b, a) OVER () FROM t": (
        "SELECT ntile(pg_dpsql.positive(a)) OVER (), nth_value(b, pg_dpsql.positive(a)) OVER () FROM t"
    ),
    "SELECT substring(g FOR a), extract(era FROM d), extract(day FROM d), d AT TIME ZONE g, -a FROM t": (
        """SELECT pg_dpsql.substring(g, 1, a), pg_dpsql.extract('era', d), EXTRACT(DAY FROM d), """
        """pg_dpsql.timezone(g, d), pg_dpsql.negative(a) FROM t"""
    ),
    "SELECT * FROM t, generate_series(1, a) AS n": "SELECT * FROM t, pg_dpsql.generate_series(1, a) AS n",
}


@pytest.mark.parametrize("text", REWRITTEN)
def test_what_can_fail_is_replaced(text: str) -> None:
    """Inside first, wherever it stands."""
    tree = parse_query(text)
    assert tree is not None
    without_failing(tree)
    assert render(tree) == REWRITTEN[text]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a / 2, a % 7, sqrt(2), 1 / 0, g LIKE 'x' FROM t LIMIT 3 OFFSET 4",
        "SELECT CAST(a AS TEXT), CAST(a AS VARCHAR(3)), round(a, 2), date_trunc('day', d), count(*) FROM t",
    ],
)
def test_what_cannot_fail_for_noise_stays(text: str) -> None:
    """Constants fail as they do, and what never fails is PostgreSQL's own."""
    tree = parse_query(text)
    assert tree is not None
    without_failing(tree)
    assert render(tree) == text
