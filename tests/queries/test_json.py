"""Declared paths in columns of JSON mean on both engines what they mean to PostgreSQL."""

import pytest

from dpsql.errors import AccessDenied, Unsupported
from dpsql.question import Settings
from tests.queries.test_golden import compare
from tests.support.fix_json import JsonEngines, NewJson
from tests.support.fix_world import World
from tests.support.golden import Golden
from tests.support.reference import Reference
from tests.support.samples import in_one_way

ENGINES = ("duckdb", "postgres")
ANSWERED = (
    "SELECT props->>'plan' AS plan, count(*) FROM events GROUP BY 1",
    "SELECT props #>> '{address,city}' AS city, count(*), avg(amount) FROM events GROUP BY 1",
    "SELECT count(*) FROM events WHERE props->>'plan' = 'pro'",
    "SELECT count(*) FROM events WHERE props->>'plan' IN ('pro', 'team') AND props->'address'->>'city' = 'Rome'",
    "SELECT count(*) FROM events WHERE props->>'plan' IS NULL",
    "SELECT count(props->>'plan'), count(DISTINCT props->>'plan'), count(props->>'note') FROM events",
    "SELECT count(*), count(props), count(*) FILTER (WHERE props IS NOT NULL) FROM events WHERE props IS NOT NULL",
    "SELECT sum((props->>'age')::integer), avg((props->>'age')::int) FROM events",
    "SELECT avg((props->>'age')::numeric), sum((props->>'age')::bigint) FROM events WHERE (props->>'age')::int > 17",
    "SELECT sum((props->>'score')::numeric), avg((props->>'score')::double precision) FROM events",
    "SELECT sum((props->>'weight')::float8), count((props->>'weight')::float8) FROM events",
    "SELECT (props->>'active')::boolean AS a, count(*) FROM events GROUP BY 1",
    "SELECT count(*) FILTER (WHERE (props->>'active')::boolean), count(*) FROM events WHERE NOT (props->>'active')::bool",
    "SELECT date_trunc('month', (props->>'since')::date) AS m, count(*) FROM events GROUP BY 1",
    "SELECT date_trunc('day', (props->>'at')::timestamp) AS d, count(*) FROM events GROUP BY 1",
    (
        "SELECT count(*) FROM events WHERE (props->>'at')::timestamp >= '2019-03-20 12:00'"
        " AND (props->>'since')::date < '2019-06-01'"
    ),
    "SELECT extract(hour FROM (props->>'at')::timestamp) AS h, count(*) FROM events GROUP BY 1",
    "SELECT (props->>'level')::smallint AS l, sum(amount) FROM events GROUP BY 1",
    "SELECT props->>'level' AS l, count(*) FROM events GROUP BY 1",
    "SELECT props->>'active' AS l, count(*) FROM events GROUP BY 1",
    "SELECT CASE WHEN props->>'plan' = 'free' THEN 'no' ELSE 'yes' END AS pays, count(*) FROM events GROUP BY 1",
    "SELECT sum(CASE WHEN props->>'plan' = 'pro' THEN (props->>'age')::int ELSE 0 END) FROM events",
    "SELECT upper(props->>'plan') || '!' AS p, count(*) FROM events GROUP BY 1",
    "SELECT coalesce(props->>'plan', 'none') AS p, count(*) FROM events GROUP BY 1",
    "SELECT count(*) FROM events WHERE props->>'note' = 'c d' OR props->>'note' LIKE 'O%'",
    "SELECT count(*) FROM events WHERE length(props->>'note') = 1",
    "SELECT count(*) FROM events WHERE (props->>'serial')::bigint < 10",
    "SELECT plan, count(*) FROM (SELECT props->>'plan' AS plan FROM events) AS t GROUP BY 1",
    "SELECT t.p->>'plan' AS plan, count(*) FROM (SELECT props AS p FROM events WHERE amount > 20) AS t GROUP BY 1",
    "WITH e AS (SELECT * FROM events) SELECT e.props->>'plan' AS plan, sum((e.props->>'age')::int) FROM e GROUP BY 1",
    "SELECT count(*) FROM (SELECT person, count(*) AS n FROM events WHERE props->>'plan' = 'pro' GROUP BY 1) t WHERE n > 2",
    "SELECT p, count(*) FROM (SELECT person, props->>'plan' AS p, count(*) FROM events GROUP BY 1, 2) AS t GROUP BY 1",
    "SELECT count(*) FROM (SELECT person, max((props->>'age')::int) AS m FROM events GROUP BY 1) AS t WHERE m >= 100",
    (
        "SELECT p, count(*) FROM (SELECT props->>'plan' AS p FROM events UNION ALL SELECT props->>'plan' FROM events) AS t"
        " GROUP BY 1"
    ),
    "SELECT count(*) FROM events a JOIN events b ON a.person = b.person AND a.props->>'plan' = b.props->>'plan'",
    (
        "SELECT count(*) FROM (SELECT lag((props->>'age')::int) OVER (PARTITION BY person ORDER BY amount) AS p"
        " FROM events WHERE amount < 100) AS t WHERE p > 50"
    ),
    "SELECT props->>'plan' AS p, props->'address'->>'city' AS c, count(*) FROM events GROUP BY CUBE (1, 2)",
    "SELECT count(*) FROM events WHERE (props #> '{address}') ->> 'city' = 'Oslo' AND props->>'plan' > 'free'",
    "SELECT max((props->>'age')::int), min((props->>'since')::date) FROM events",
    "SELECT props->>'plan' AS p, count(*) FROM events GROUP BY 1 HAVING count(*) > 100 ORDER BY 2 DESC LIMIT 2",
)


@pytest.mark.parametrize(("sql", "engine"), in_one_way({sql: (sql,) for sql in ANSWERED}, ENGINES, ENGINES))
def test_paths_mean_what_they_mean_to_postgresql(
    sql: str, engine: str, of_json: NewJson, json_reference: Reference
) -> None:
    """Without noise the answer is PostgreSQL's over the values that fit their declared types."""
    answer, expected = of_json(engine).ask(sql, Settings(reuse="off")), json_reference.answer(sql, "person")
    assert (answer.names, answer.types) == (expected.names, expected.types)
    extra = compare(answer, expected, Golden("json", sql, sql, "answered", within=1e-4))
    assert all(row[-1] in (0, None) for row in extra)


REFUSED = {
    "SELECT props->>'secret', count(*) FROM events GROUP BY 1": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props->'address'->>'zip' = '0150'": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props #>> '{address}' LIKE '%0150%'": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props->>'Plan' = 'pro'": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props->'plan'->>0 = 'pro'": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props #>> '{}' = 'pro'": "json-path-not-declared",
    "SELECT count(*) FROM events WHERE props->>(CASE WHEN amount > 3 THEN 'plan' ELSE 'secret' END) = 'pro'": (
        "json-path-not-declared"
    ),
    "SELECT props, count(*) FROM events GROUP BY 1": "json-as-a-whole",
    "SELECT count(DISTINCT props) FROM events": "json-as-a-whole",
    "SELECT props->'plan', count(*) FROM events GROUP BY 1": "json-as-a-whole",
    "SELECT count(*) FROM events WHERE props::text LIKE '%secret%'": "json-as-a-whole",
    "SELECT count(*) FROM events WHERE props = '{}'": "json-as-a-whole",
    "SELECT count(*) FROM (SELECT DISTINCT props FROM events) AS t": "json-as-a-whole",
    "SELECT count(*) FROM events AS a JOIN events AS b USING (person, props)": "json-as-a-whole",
    "SELECT count(*) FROM events AS a NATURAL JOIN events AS b": "json-as-a-whole",
    "SELECT count(*) FROM events WHERE props IN (SELECT props FROM events)": "json-as-a-whole",
    "SELECT count(DISTINCT (person, props)) FROM events": "json-as-a-whole",
    "SELECT count(*) FROM (SELECT person, props, count(*) FROM events GROUP BY 1, 2) AS t": "json-as-a-whole",
    "SELECT count(*) FROM events AS a WHERE EXISTS (SELECT FROM events AS b WHERE a.props = b.props)": "json-as-a-whole",
    "SELECT t.props->>'plan', count(*) FROM (SELECT props FROM events UNION ALL SELECT props FROM events) AS t GROUP BY 1": (
        "json-as-a-whole"
    ),
    (
        "SELECT count(*) FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY amount) AS n FROM events) AS t"
        " WHERE props->>'plan' = 'pro'"
    ): "json-as-a-whole",
    "SELECT count(*) FROM events WHERE (props->>'serial')::int > 3": "json-path-type",
    "SELECT count(*) FROM events WHERE (props->>'score')::int > 3": "json-path-type",
    "SELECT count(*) FROM events WHERE (props->>'at')::timestamptz > now()": "json-path-type",
    "SELECT props->>'score', count(*) FROM events GROUP BY 1": "json-path-type",
    "SELECT count(*) FROM events WHERE props ? 'secret'": "construct-not-known",
    "SELECT count(*) FROM events WHERE props @> '{\"secret\": 1}'": "construct-not-known",
    "SELECT count(*) FROM events WHERE props['plan'] IS NOT NULL": "construct-not-known",
    "SELECT count(*) FROM events WHERE jsonb_typeof(props) = 'object'": "function-not-known",
    "SELECT count(*) FROM events AS e, jsonb_each(e.props) AS x": "join-public-tables",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_else_of_json_is_read(sql: str, of_json: NewJson) -> None:
    """What is not declared is no part of any answer, nor is JSON itself."""
    with pytest.raises(Unsupported) as caught:
        of_json("duckdb").ask(sql)
    assert caught.value.because == REFUSED[sql]


def test_what_can_be_read_is_said(of_json: NewJson) -> None:
    """The hint has every declared path as a statement can have it."""
    with pytest.raises(Unsupported) as caught:
        of_json("duckdb").ask("SELECT props->'address'->>'zip', count(*) FROM events GROUP BY 1")
    assert str(caught.value) == "props->'address'->>'zip' is no declared path of column \"props\""
    assert caught.value.hint == (
        "Declared are props->>'plan', (props->>'age')::integer, (props->>'score')::numeric(6,2), "
        "(props->>'weight')::double precision, (props->>'active')::boolean, (props->>'since')::date, "
        "(props->>'at')::timestamp, props->'address'->>'city', (props->>'level')::smallint, props->>'note', "
        "(props->>'serial')::bigint."
    )


def test_a_column_that_is_not_granted_has_no_paths(of_json: NewJson) -> None:
    """The right is to the column, however a path in it is reached."""
    for sql in (
        "SELECT count(*) FROM events WHERE props->>'plan' = 'pro'",
        "SELECT count(props) FROM events",
        "SELECT count(*) FROM (SELECT props AS p FROM events) AS t WHERE p->>'plan' = 'pro'",
        "SELECT sum((props->>'age')::int) FROM events",
    ):
        with pytest.raises(AccessDenied) as caught:
            of_json("duckdb", "vic").ask(sql)
        assert str(caught.value) == 'permission denied for column "props" of table "events"'
    assert of_json("duckdb", "vic").ask("SELECT count(*) FROM events").rows == [(1485,)]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_path_in_other_words_is_one_release(engine: str, of_json: NewJson) -> None:
    """However a path is written, it is asked once."""
    client = of_json(engine)
    first = client.ask("SELECT props->'address'->>'city' AS c, sum((props->>'age')::int) FROM events GROUP BY 1")
    charges = client.charges
    for sql in (
        "SELECT props #>> '{address,city}' AS c, sum((props->>'age')::integer) FROM events GROUP BY 1",
        "SELECT (e.props #> '{address}') ->> 'city' AS c, sum((e.props #>> '{age}')::int4) FROM events AS e GROUP BY 1",
        "SELECT p->'address'->>'city' AS c, sum((p->>'age')::int) FROM (SELECT props AS p FROM events) AS t GROUP BY 1",
    ):
        assert client.ask(sql).rows == first.rows
    assert client.charges == charges


@pytest.mark.parametrize("engine", ENGINES)
def test_undeclared_texts_are_found_by_a_threshold(engine: str, of_json: NewJson) -> None:
    """A path without values is a key like any other column without."""
    rows = of_json(engine, "eve").ask("SELECT props->>'note' AS n, count(*) FROM events GROUP BY 1").rows
    assert {"a", "b", "c d", "O'Hare"} <= {row[0] for row in rows}


@pytest.mark.parametrize("engine", ENGINES)
def test_quantiles_of_a_path(engine: str, of_json: NewJson, json_reference: Reference) -> None:
    """They are read off a histogram of its bounds."""
    quantile = "percentile_cont(0.5) WITHIN GROUP (ORDER BY (props->>'age')::int)"
    ((answer,),) = of_json(engine).ask(f"SELECT {quantile} FROM events").rows
    ((expected,),) = json_reference.answer(f"SELECT {quantile} FROM events", "person").rows
    assert isinstance(answer, float)
    assert isinstance(expected, float)
    assert abs(answer - expected) < 0.1


def test_the_catalogue_shows_the_paths(json_world: tuple[World, JsonEngines]) -> None:
    """By the names that statements have for them, to those who have a right to the column."""
    shown = "SELECT column_name, type, lower_bound, upper_bound, values, nullable, description FROM dpsql.columns"
    with json_world[0].connect("ana") as client:
        rows = client.execute(f"{shown} WHERE table_name = 'events'").fetchall()
        assert [row[0] for row in rows] == [
            "person", "amount", "props", "props->>'plan'", "props->>'age'", "props->>'score'", "props->>'weight'",
            "props->>'active'", "props->>'since'", "props->>'at'", "props->'address'->>'city'", "props->>'level'",
            "props->>'note'", "props->>'serial'",
        ]  # fmt: skip
        assert rows[2] == ("props", "jsonb", None, None, None, True, None)
        assert rows[3] == ("props->>'plan'", "text", None, None, ["free", "pro", "team"], True, "what they pay for")
        assert rows[5] == ("props->>'score'", "numeric(6,2)", "-5", "10", None, True, None)
        rows = client.execute(f"{shown} WHERE table_name = 'large'").fetchall()
        assert [row[0] for row in rows[:5]] == ["person", "amount", "p", "p->>'plan'", "p->>'age'"]
        assert rows[3][4:6] == (["free", "pro", "team"], True)
    with json_world[0].connect("vic") as client:
        assert [row[0] for row in client.execute(f"{shown} WHERE table_name = 'events'")] == ["person", "amount"]


@pytest.mark.parametrize("engine", ENGINES)
def test_views_and_rights_to_rows_read_paths(engine: str, of_json: NewJson) -> None:
    """A view passes JSON on under another name; a condition on rows may be about a path."""
    ask = of_json(engine).ask
    plans = "SELECT p->>'plan' AS plan, count(*) FROM large GROUP BY 1"
    assert ask(plans).rows == ask("SELECT props->>'plan', count(*) FROM events WHERE amount > 50 GROUP BY 1").rows
    condition = "props->'address'->>'city' = 'Oslo' AND (props->>'age')::int >= 18"
    some = ask(f"SELECT count(*), sum(amount) FROM events WHERE {condition}").rows
    assert of_json(engine, "nor").ask("SELECT count(*), sum(amount) FROM events").rows == some


@pytest.mark.parametrize("engine", ENGINES)
def test_a_profile_has_the_paths_with_bounds(engine: str, of_json: NewJson, json_reference: Reference) -> None:
    """Which share of their values lies beyond, of those that are of the declared type."""
    client = of_json(engine, "eve")
    client.ask("SELECT dpsql.take_profile()")
    shares = "SELECT share_below, share_above FROM dpsql.columns WHERE table_name = 'events' AND column_name = "
    ((below, above),) = client.ask(f"{shares} 'props->>''age'''").rows
    ends = "count(*) FILTER (WHERE (props->>'age')::int IN (0, 120))::float8 / count(*)"
    ((most,),) = json_reference.answer(f"SELECT {ends} FROM events", "person").rows
    assert isinstance(below, float)
    assert isinstance(above, float)
    assert isinstance(most, float)
    assert 0.01 < below < above < most
    assert client.ask(f"{shares} 'props->>''plan'''").rows == [(None, None)]
