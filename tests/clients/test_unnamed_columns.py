"""Statements whose inner columns nobody named, and plans in every format: a slip in either failed after the charge."""

import json

import psycopg
import pytest

from tests.clients.data import TRIPS
from tests.clients.site import Site

INNER = [
    "count(*) FILTER (WHERE tip > 0)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY fare)",
    "mode() WITHIN GROUP (ORDER BY payment_type)",
    "extract(year FROM max(pickup_ts))",
    "CASE WHEN count(*) > 1 THEN 1 END",
    "CASE WHEN count(*) > 1 THEN 1 ELSE count(*) END",
    "trim(mode() WITHIN GROUP (ORDER BY payment_type))",
    "sum(count(*)) OVER ()",
    "ARRAY[count(*)]",
    "current_date, count(*)",
    "EXISTS (SELECT 1), count(*)",
    "count(*)::integer",
    "(count(*) + 1)::integer",
    "count(*) + 1",
    "(SELECT 1), count(*)",
    "coalesce(count(*), 0), -count(*), round(avg(fare)::numeric, 2)",
]
AROUND = [
    "SELECT * FROM (SELECT {} FROM trips) w",
    "WITH w AS (SELECT {} FROM trips) SELECT * FROM w",
    "SELECT {0} FROM trips UNION ALL SELECT {0} FROM trips",
    "SELECT * FROM (SELECT {0} FROM trips INTERSECT SELECT {0} FROM trips) w",
]


def _columns(cursor: psycopg.Cursor) -> list[tuple[str, int]]:
    return [(column.name, column.type_code) for column in cursor.description or ()]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("inner", INNER)
def test_inner_columns_have_postgresqls_names(here: Site, plain: Site, around: str, inner: str) -> None:
    """What was paid for is answered, with the names and types that PostgreSQL gives."""
    statement = around.format(inner)
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        assert _columns(asked.execute(statement)) == _columns(beside.execute(statement))


def test_a_plan_may_be_json(here: Site, plain: Site) -> None:
    """As tools ask for it that draw plans: one value, with a node."""
    ask = "EXPLAIN (FORMAT JSON) SELECT payment_type, count(*) FROM trips GROUP BY 1"
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursor = asked.execute(ask)
        (((plan,),), wanted) = cursor.fetchall(), beside.execute(ask)
    assert _columns(cursor) == _columns(wanted)
    node = plan[0]["Plan"]
    assert node["Node Type"] == "Private Answer"
    assert any("noisy sums of trips" in line for line in node["Details"])
    assert [one["Tables"] for one in node["Measurements"]] == [["trips"]]
    assert [(one["Output"], one["Margin"] > 0) for one in node["Outputs"]] == [("count(*)", True)]
    assert any(f"ε = {node['Epsilon']}" in line for line in node["Details"])
    assert json.dumps(plan)


@pytest.mark.parametrize("format_", ["YAML", "TEXT"])
def test_a_plan_may_be_text(here: Site, plain: Site, format_: str) -> None:
    """A line a row, under PostgreSQL's column."""
    ask = f"EXPLAIN (FORMAT {format_}) SELECT count(*) FROM trips WHERE fare > 3 AND tip < 2"
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursor = asked.execute(ask)
        rows = cursor.fetchall()
        assert _columns(cursor) == _columns(beside.execute(ask))
    assert any("ε = " in str(row[0]) for row in rows)


def test_a_plan_is_no_xml(here: Site) -> None:
    """PostgreSQL may be built without XML: the refusal says what has the same."""
    with psycopg.connect(here.dsn) as asked, pytest.raises(psycopg.errors.FeatureNotSupported, match="FORMAT JSON"):
        asked.execute("EXPLAIN (FORMAT XML) SELECT count(*) FROM trips")


def test_budgets_are_tables_like_others(here: Site) -> None:
    """TABLESAMPLE and MERGE are PostgreSQL's to answer or refuse, also over what dpsql tells in tables."""
    with psycopg.connect(here.dsn, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM dpsql.budget TABLESAMPLE BERNOULLI (100)").fetchone()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("MERGE INTO dpsql.budget USING (SELECT 1) t ON true WHEN MATCHED THEN DELETE")
        assert connection.execute("SELECT count(*) FROM trips").fetchone() == (TRIPS,)
