"""Statements whose inner columns nobody named, and plans in every format: a slip in either failed after the charge."""

import json
import xml.etree.ElementTree as ET

import psycopg
import pytest
from ruamel.yaml import YAML

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

_SPACE = "{http://www.postgresql.org/2009/explain}"


def _columns(cursor: psycopg.Cursor) -> list[tuple[str, int]]:
    return [(column.name, column.type_code) for column in cursor.description or ()]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("inner", INNER)
def test_inner_columns_have_postgresqls_names(here: Site, plain: Site, around: str, inner: str) -> None:
    """What was paid for is answered, with the names and types that PostgreSQL gives."""
    statement = around.format(inner)
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        assert _columns(asked.execute(statement)) == _columns(beside.execute(statement))


@pytest.mark.parametrize("inner", INNER)
def test_prepared_and_kept_answers_have_postgresqls_names(here: Site, plain: Site, inner: str) -> None:
    """By PREPARE and EXECUTE, and in a table of one's own that is filled once more."""
    select = f"SELECT {inner} FROM trips"
    steps = [f"PREPARE asked AS {select}", "EXECUTE asked", f"CREATE TEMP TABLE kept AS SELECT * FROM ({select}) AS w"]
    steps += [f"INSERT INTO kept {select}", "SELECT * FROM kept"]
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursors = [(asked.execute(step.encode()), beside.execute(step.encode())) for step in steps]
        for ours, theirs in (cursors[1], cursors[-1]):
            assert _columns(ours) == _columns(theirs)
        assert len(cursors[-1][0].fetchall()) == 2


def test_a_plan_may_be_json(here: Site, plain: Site) -> None:
    """As tools ask for it that draw plans: one value, with a node."""
    median = "percentile_cont(0.5) WITHIN GROUP (ORDER BY fare)"
    ask = f"EXPLAIN (FORMAT JSON) SELECT payment_type, count(*), {median} FROM trips GROUP BY 1"
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursor = asked.execute(ask)
        (((plan,),), wanted) = cursor.fetchall(), beside.execute(ask)
    assert _columns(cursor) == _columns(wanted)
    node = plan[0]["Plan"]
    assert node["Node Type"] == "Private Answer"
    assert any(
        "noisy count over trips" in line or ("noisy sum" in line and "over trips" in line) for line in node["Details"]
    )
    assert [measurement["Tables"] for measurement in node["Measurements"]] == [["trips"]] * 2
    told = [(output["Output"], output["Unit"], output["Margin"] >= 0) for output in node["Outputs"]]
    assert told == [("count(*)", None, True), ("median(fare)", "ranks", True)]
    assert any(f"ε = {node['Epsilon']}" in line for line in node["Details"])
    assert json.dumps(plan)


def test_a_plan_may_be_text(here: Site, plain: Site) -> None:
    """A line a row, under PostgreSQL's column."""
    ask = "EXPLAIN (FORMAT TEXT) SELECT count(*) FROM trips WHERE fare > 3 AND tip < 2"
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        cursor = asked.execute(ask)
        rows = cursor.fetchall()
        assert _columns(cursor) == _columns(beside.execute(ask))
    assert any("ε = " in str(row[0]) for row in rows)


def _value(node: ET.Element) -> object:
    """Return what an element of a plan says, as JSON has it; everything that is no list or object is text."""
    if not len(node):
        return node.text or ""
    if {child.tag for child in node} == {f"{_SPACE}Item"}:
        return [_value(child) for child in node]
    return {child.tag.removeprefix(_SPACE).replace("-", " "): _value(child) for child in node}


def _texts(value: object) -> object:
    """Return a value of JSON with everything that is no list or object as text; what is empty is no list."""
    match value:
        case dict():
            return {name: _texts(item) for name, item in value.items()}
        case list() if value:
            return [_texts(item) for item in value]
        case str():
            return value
        case _:
            return "" if value is None or value == [] else json.dumps(value)


def test_a_plan_may_be_yaml_and_xml(here: Site, plain: Site) -> None:
    """They say in one value what JSON says, typed as PostgreSQL's own are."""
    outputs = "payment_type, sum(fare), percentile_cont(0.5) WITHIN GROUP (ORDER BY tip)"
    query = f"SELECT {outputs} FROM trips WHERE fare < 40 AND '<&\"' <> 'x' GROUP BY 1"
    with psycopg.connect(here.dsn) as asked, psycopg.connect(plain.dsn) as beside:
        asked.execute(f"EXPLAIN {query}".encode())  # the first time it says how long the statement was tried
        ((explained,),) = asked.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {query}".encode()).fetchall()
        texts = {}
        for name in ("YAML", "XML"):
            ask = f"EXPLAIN (VERBOSE, FORMAT {name}) {query}".encode()
            cursor = asked.execute(ask)
            ((texts[name],),) = cursor.fetchall()
            assert _columns(cursor) == _columns(beside.execute(ask))
    assert YAML(typ="safe").load(texts["YAML"]) == explained
    (plan,) = ET.fromstring(texts["XML"]).iter(f"{_SPACE}Plan")  # noqa: S314 # our own
    assert _value(plan) == _texts(explained[0]["Plan"])


def test_budgets_are_tables_like_others(here: Site) -> None:
    """TABLESAMPLE and MERGE are PostgreSQL's to answer or refuse, also over what dpsql tells in tables."""
    with psycopg.connect(here.dsn, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM dpsql.budget TABLESAMPLE BERNOULLI (100)").fetchone()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("MERGE INTO dpsql.budget USING (SELECT 1) t ON true WHEN MATCHED THEN DELETE")
        assert connection.execute("SELECT count(*) FROM trips").fetchone() == (TRIPS,)
