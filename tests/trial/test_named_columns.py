"""Named columns are put back where they are read, and nothing else is taken for one."""

import pytest
import sqlglot

from dpsql.trial.named_columns import with_columns_in_place, with_rows_in_place
from dpsql.trial.row_contribution import NotProvedError


def _in_place(sql: str) -> str:
    return str(with_columns_in_place(sqlglot.parse_one(sql, dialect="duckdb")).sql("duckdb"))


def _same(sql: str) -> str:
    return str(sqlglot.parse_one(sql, dialect="duckdb").sql("duckdb"))


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        (
            "SELECT s0.n + 1 FROM (SELECT (s0.a * 2) AS n, s0.* FROM t AS s0) AS s0 WHERE s0.n > 1",
            "SELECT ((s0.a * 2)) + 1 FROM t AS s0 WHERE ((s0.a * 2)) > 1",
        ),
        (
            "SELECT s1.n FROM t AS s0 JOIN (SELECT s1.b AS n, s1.* FROM z AS s1) AS s1 ON s0.b = s1.n",
            "SELECT (s1.b) FROM t AS s0 JOIN z AS s1 ON s0.b = (s1.b)",
        ),
        (
            (
                "SELECT s0.n FROM (SELECT s0.a AS n, s0.* FROM t AS s0) AS s0"
                " WHERE EXISTS(SELECT 1 FROM z AS s1 WHERE s1.b = s0.n)"
            ),
            "SELECT (s0.a) FROM t AS s0 WHERE EXISTS(SELECT 1 FROM z AS s1 WHERE s1.b = (s0.a))",
        ),
        (  # of a table whose columns are named one by one
            "SELECT s0.n + s0.b FROM (SELECT (s0.a * 2) AS n, s0.a, s0.b FROM t AS s0) AS s0",
            "SELECT ((s0.a * 2)) + s0.b FROM t AS s0",
        ),
        (  # another table, whose own column has the name
            "SELECT s0.n FROM (SELECT s0.a AS n, s0.* FROM t AS s0) AS s0 WHERE EXISTS(SELECT s0.n FROM z AS s0)",
            "SELECT (s0.a) FROM t AS s0 WHERE EXISTS(SELECT s0.n FROM z AS s0)",
        ),
    ],
)
def test_it_says_the_same_without_names(sql: str, plain: str) -> None:
    """Of the nearest table of that name."""
    assert _in_place(sql) == _same(plain)


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT s0.*, s0.a AS n FROM t AS s0) AS s0",
        "(SELECT s0.a AS n, s0.* FROM t AS s0 WHERE s0.a > 1) AS s0",
        "(SELECT DISTINCT s0.a AS n, s0.* FROM t AS s0) AS s0",
        "(SELECT s0.a AS n, s0.* FROM t AS s0 LIMIT 1) AS s0",
        "(SELECT s0.a AS n, s0.* FROM t AS s0 JOIN z AS s1 ON TRUE) AS s0",
        "(SELECT s0.a AS n FROM t AS s0) AS s0",
        "(SELECT s0.b, s0.a AS n FROM t AS s0) AS s0",
        "(SELECT s0.n, s0.* FROM t AS s0) AS s0",
        "(SELECT s0.a AS n, s0.b, s0.b AS c FROM t AS s0) AS s0",
        "(SELECT s1.a AS n, s1.* FROM t AS s1) AS s0",
        "(SELECT s0.a AS n, * FROM t AS s0) AS s0",
    ],
)
def test_other_subqueries_stay(source: str) -> None:
    """They may have other rows, or columns of other things."""
    sql = f"SELECT s0.n FROM {source}"
    assert _in_place(sql) == _same(sql)


@pytest.mark.parametrize(
    "named",
    [
        "max(s0.a) AS n",
        "row_number() OVER () AS n",
        "(SELECT 1) AS n",
        "random_of(s0.a) AS n",
        "s1.a AS n",
        "s0.a AS n, s0.b AS n",
    ],
)
def test_what_is_not_of_one_row_is_not_proved(named: str) -> None:
    """Nor what has one name twice."""
    with pytest.raises(NotProvedError):
        _in_place(f"SELECT s0.n FROM (SELECT {named}, s0.* FROM t AS s0) AS s0")


_ROWS = "WITH r AS NOT MATERIALIZED (SELECT s0.a AS u, s0.b AS f0 FROM t AS s0 WHERE s0.a > 0) "


def _without_rows(sql: str) -> str:
    return str(with_rows_in_place(sqlglot.parse_one(sql, dialect="duckdb")).sql("duckdb"))


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        (
            "SELECT sum(f0) FROM r",
            "SELECT sum(f0) FROM (SELECT s0.a AS u, s0.b AS f0 FROM t AS s0 WHERE s0.a > 0) AS r",
        ),
        (
            "SELECT sum(f0) FROM r WHERE u // 2 IN (SELECT u FROM heavy)",
            (
                "SELECT sum(f0) FROM (SELECT s0.a AS u, s0.b AS f0 FROM t AS s0"
                " WHERE s0.a > 0 AND s0.a // 2 IN (SELECT u FROM heavy)) AS r"
            ),
        ),
        (
            "SELECT f0 FROM (SELECT * FROM r WHERE u = 1 OR u = 2 OFFSET 0) AS x",
            (
                "SELECT f0 FROM (SELECT s0.a AS u, s0.b AS f0 FROM t AS s0"
                " WHERE s0.a > 0 AND (s0.a = 1 OR s0.a = 2) OFFSET 0) AS x"
            ),
        ),
    ],
)
def test_rows_stand_where_they_are_read(sql: str, plain: str) -> None:
    """With what is asked of their units there."""
    assert _without_rows(_ROWS + sql) == _same(plain)


def test_who_reads_units_alone_reads_the_tables() -> None:
    """As a list of heavy units does, and what weighs them."""
    listed = _without_rows(
        f"{_ROWS}, heavy AS (SELECT u // 2 AS u FROM r GROUP BY 1 HAVING count(*) > 3) SELECT u FROM heavy"
    )
    plain = "SELECT s0.a // 2 AS u FROM t AS s0 WHERE s0.a > 0 GROUP BY 1 HAVING count(*) > 3"
    assert listed == _same(f"WITH heavy AS ({plain}) SELECT u FROM heavy")


@pytest.mark.parametrize(
    "sql",
    [
        _ROWS + "SELECT sum(f0) FROM r WHERE f0 > 1",
        _ROWS + "SELECT sum(f0) FROM r WHERE r.u > 1",
        _ROWS + "SELECT * FROM r ORDER BY 1",
        _ROWS + "SELECT sum(f0) FROM t JOIN r ON TRUE",
        _ROWS + "SELECT sum(f0) FROM r JOIN t ON TRUE WHERE u > 1",
        _ROWS.replace("WHERE s0.a > 0", "GROUP BY 1, 2") + "SELECT sum(f0) FROM r",
        _ROWS.replace("WHERE s0.a > 0", "LIMIT 3") + "SELECT sum(f0) FROM r",
        _ROWS.replace("SELECT s0", "SELECT DISTINCT s0") + "SELECT sum(f0) FROM r",
        _ROWS + ", r AS NOT MATERIALIZED (SELECT 1 AS u) SELECT sum(f0) FROM r",
    ],
)
def test_rows_that_are_not_plain_stay_unread(sql: str) -> None:
    """Nor are conditions on other columns than the unit."""
    with pytest.raises(NotProvedError):
        _without_rows(sql)
