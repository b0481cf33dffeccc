"""Where a query in a query, or in what is written around one, stands for one value."""

import pytest
from sqlglot import exp

from dpsql.rewrite.syntax.read.dialect import parse_query
from dpsql.rewrite.syntax.whole.single_row import (
    ReleasedRows,
    depends_on_nothing,
    is_written_value,
    values_of_several_rows,
)

RELEASED = {"zones": ReleasedRows(200, frozenset({"g0"}))}
SEVERAL = "SELECT a0 FROM zones"
VALUES = [
    "SELECT 1 + ({}) AS n",
    "SELECT ({})",
    "SELECT (({}))",
    "SELECT max(a0) FROM zones WHERE a0 > ({})",
    "SELECT max(a0) FROM zones JOIN zones AS y ON ({})",
    "SELECT 1 WHERE ({}) IN (1, 2)",
    "SELECT 1 WHERE 1 IN (({}), 2)",
    "SELECT 1 WHERE (1, 2) = ({})",
    "SELECT ARRAY[({})]",
    "SELECT 1 LIMIT ({})",
    "SELECT 1 OFFSET ({})",
    "SELECT 1 FETCH FIRST ({}) ROWS ONLY",
    "SELECT CASE ({}) WHEN 1 THEN 2 END",
    "SELECT EXISTS (SELECT 1 WHERE ({}) = 1)",
    "SELECT 1 UNION ALL SELECT ({})",
]
TABLES = [
    "SELECT max(a0) FROM ({}) AS t",
    "SELECT max(t.a0) FROM zones CROSS JOIN ({}) AS t",
    "SELECT 1 WHERE 1 IN ({})",
    "SELECT 1 WHERE 1 NOT IN (({}))",
    "SELECT 1 = ANY ({})",
    "SELECT 1 <> ALL (({}))",
    "SELECT EXISTS ({})",
    "SELECT EXISTS (({}))",
    "SELECT ARRAY({})",
    "SELECT ARRAY(({}))",
    "SELECT max(a0) FROM (({}) UNION ALL ({})) AS t",
    "WITH t AS ({}) SELECT max(a0) FROM t",
    "({}) EXCEPT ({})",
]


def _parsed(sql: str) -> exp.Query:
    tree = parse_query(sql)
    assert tree is not None
    return tree


@pytest.mark.parametrize("around", VALUES)
def test_a_value_is_told(around: str) -> None:
    """Wherever an expression stands."""
    assert list(values_of_several_rows(_parsed(around.format(SEVERAL)), RELEASED))
    assert not list(values_of_several_rows(_parsed(around.format(f"{SEVERAL} LIMIT 1")), RELEASED))


@pytest.mark.parametrize("around", TABLES)
def test_lists_tables_and_tests_are_no_values(around: str) -> None:
    """They may have several rows."""
    assert not list(values_of_several_rows(_parsed(around.format(SEVERAL, SEVERAL)), RELEASED))


@pytest.mark.parametrize(
    ("text", "is_value"),
    [
        ("UPDATE kept SET n = ( ?)", True),
        ("UPDATE kept SET (n, g) = ( ?)", True),
        ("DELETE FROM kept WHERE n < ( ?) RETURNING n", True),
        ("INSERT INTO kept VALUES (( ?), 2)", True),
        ("INSERT INTO kept VALUES (1, ( ?))", True),
        ("VALUES (1, coalesce(( ?), 2))", True),
        ("INSERT INTO kept  ? ON CONFLICT DO NOTHING", False),
        ("DELETE FROM kept USING ( ?) AS l", False),
        ("UPDATE kept SET n = 1 FROM a, ( ?) AS l", False),
        ("UPDATE kept SET n = 1 FROM a, ( ?) l WHERE true", False),
        ("DELETE FROM kept WHERE n IN ( ?)", False),
        ("DELETE FROM kept WHERE n = ANY (( ?))", False),
        ("WITH a AS ( ?) INSERT INTO kept TABLE a", False),
        ("WITH a AS MATERIALIZED ( ?) INSERT INTO kept TABLE a", False),
    ],
)
def test_what_is_written_around_tells(text: str, is_value: bool) -> None:
    """By the words before it, and behind it where it stands in a list."""
    before, behind = text.split("?")
    assert is_written_value(before, behind) == is_value


@pytest.mark.parametrize(
    ("inner", "alone"),
    [
        ("SELECT n FROM kept", True),
        ("SELECT k.n FROM kept AS k WHERE k.g = 'x'", True),
        ("SELECT zones.borough FROM public.zones WHERE zones.zone > 'x'", True),
        ("SELECT kept.n FROM kept WHERE kept.g = t.payment_type", False),
        ("SELECT r.x FROM r", False),
    ],
)
def test_what_depends_on_nothing_around_it_is_told(inner: str, alone: bool) -> None:
    """No column is of a table around it, and no CTE is read."""
    tree = _parsed(f"WITH RECURSIVE r AS (SELECT 1) SELECT ({inner}), t.x AS named FROM public.trips AS t")
    (query,) = tree.find_all(exp.Subquery)
    assert depends_on_nothing(query, tree) == alone
