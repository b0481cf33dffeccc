"""Questions about real flights, compared with the same SQL on the clamped data."""

import math
from decimal import Decimal

import duckdb
import psycopg
import pytest

from tests.support.samples import in_one_way

EXACT = {
    "all flights": "SELECT count(*) FROM flights",
    "by carrier": "SELECT carrier, count(*) FROM flights GROUP BY carrier ORDER BY carrier",
    "by origin": "SELECT origin, count(*), sum(distance) FROM flights GROUP BY 1 ORDER BY 1",
    "where": "SELECT count(*) FROM flights WHERE dep_delay > 15 AND origin IN ('JFK', 'LGA') AND NOT carrier = 'UA'",
    "delays by month": "SELECT month, avg(dep_delay), count(dep_delay) FROM flights GROUP BY month ORDER BY month",
    "late share": "SELECT carrier, 100.0 * count(*) FILTER (WHERE arr_delay > 30) / count(*) AS share FROM flights "
    "WHERE carrier IN ('AA', 'B6', 'DL', 'UA') GROUP BY carrier ORDER BY share DESC",
    "spread": "SELECT origin, stddev_samp(arr_delay), variance(dep_delay) FROM flights GROUP BY 1 ORDER BY 1",
    "correlation": "SELECT corr(dep_delay, arr_delay), covar_pop(distance, air_time) FROM flights",
    "planes by origin": "SELECT origin, count(DISTINCT tailnum) FROM flights GROUP BY 1 ORDER BY 1",
    "destinations": "SELECT count(DISTINCT dest) FROM flights WHERE distance > 2000",
    "having": "SELECT carrier, count(*) AS n FROM flights GROUP BY 1 HAVING count(*) > 30000 ORDER BY n DESC",
    "airlines by name": "SELECT a.name, count(*) FROM flights f JOIN airlines a ON f.carrier = a.carrier "
    "GROUP BY a.name ORDER BY a.name",
    "time zones": "SELECT p.tzone, count(*), avg(f.air_time) FROM flights f JOIN airports p ON f.dest = p.faa "
    "WHERE p.tzone IS NOT NULL GROUP BY p.tzone HAVING count(*) > 0.5 ORDER BY p.tzone",
    "engines": "SELECT pl.engine, count(*) FROM flights f JOIN planes pl ON f.tailnum = pl.tailnum "
    "GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1",
    "two look-ups": "SELECT a.name, p.tzone, count(*) AS n FROM flights f JOIN airlines a USING (carrier) "
    "JOIN airports p ON p.faa = f.dest WHERE a.carrier IN ('HA', 'AS') GROUP BY 1, 2 HAVING count(*) > 0.5 ORDER BY 1, 2",
    "weeks": "SELECT date_trunc('week', time_hour) AS w, count(*) FROM flights WHERE month = 3 "
    "GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1",
    "hours": "SELECT extract(hour FROM time_hour) AS h, avg(dep_delay) FROM flights WHERE hour BETWEEN 6 AND 22 "
    "GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1",
    "histogram": "SELECT floor(distance / 500) * 500 AS miles, count(*) FROM flights "
    "GROUP BY 1 HAVING count(*) > 0.5 ORDER BY 1",
    "bands": "SELECT CASE WHEN dep_delay > 60 THEN 'very late' WHEN dep_delay > 0 THEN 'late' ELSE 'good' END AS band, "
    "count(*), avg(distance) FROM flights GROUP BY 1 ORDER BY 1",
    "subqueries": "WITH long AS (SELECT * FROM flights WHERE distance > 1000) SELECT origin, avg(air_time) AS t, "
    "rank() OVER (ORDER BY avg(air_time) DESC) FROM (SELECT * FROM long WHERE month < 7) AS q GROUP BY origin ORDER BY 1",
    "two answers": "SELECT l.origin, l.n, s.n "
    "FROM (SELECT origin, count(*) AS n FROM flights WHERE distance > 1000 GROUP BY 1) l "
    "JOIN (SELECT origin, count(*) AS n FROM flights WHERE distance <= 1000 GROUP BY 1) s USING (origin) ORDER BY 1",
    "rollup": "SELECT origin, month > 6 AS half, count(*), grouping(origin) FROM flights "
    "GROUP BY ROLLUP (1, 2) ORDER BY 1 NULLS LAST, 2 NULLS LAST",
}


ENGINES = ("duckdb", "postgres")


@pytest.mark.parametrize(
    ("question", "engine"),
    in_one_way({name: (question,) for name, question in EXACT.items()}, ENGINES, ENGINES),
    indirect=["engine"],
)
def test_means_what_sql_means(question: str, exact: psycopg.Connection, truth: duckdb.DuckDBPyConnection) -> None:
    """With negligible noise every answer is the plain SQL's over the clamped rows."""
    expected = truth.execute(question).fetchall()
    assert expected
    assert _near(exact.execute(question.encode()).fetchall(), expected)


def _near(answer: list[tuple[object, ...]], expected: list[tuple[object, ...]]) -> bool:
    shape = [len(row) for row in answer] == [len(row) for row in expected]
    return shape and all(
        _same(a, e) for row, other in zip(answer, expected, strict=True) for a, e in zip(row, other, strict=True)
    )


def _same(value: object, expected: object) -> bool:
    if isinstance(value, (float, Decimal)) and isinstance(expected, (int, float, Decimal)):
        return math.isclose(float(value), float(expected), rel_tol=1e-5, abs_tol=1e-5)
    return value == expected


def test_median_is_in_the_right_bucket(exact: psycopg.Connection, truth: duckdb.DuckDBPyConnection) -> None:
    """Delays are whole minutes within 361 values, so each has a bucket of its own and the median is exact."""
    question = (
        "SELECT origin, percentile_disc(0.5) WITHIN GROUP (ORDER BY dep_delay) FROM flights GROUP BY 1 ORDER BY 1"
    )
    assert exact.execute(question).fetchall() == truth.execute(question).fetchall()


def test_extremes_end_where_the_rows_do(exact: psycopg.Connection) -> None:
    """At the largest ε they are the rows' own."""
    ends = exact.execute("SELECT min(dep_delay), max(dep_delay), max(month) FROM flights").fetchone()
    assert ends is not None
    assert ends == (-43, 300, 12)


QUESTIONS = {
    "SELECT count(*) FROM flights": 334_264,
    "SELECT count(*) FROM flights WHERE carrier = 'UA'": 57_979,
    "SELECT sum(distance) FROM flights WHERE origin = 'JFK'": 140_906_931,
    "SELECT avg(dep_delay) FROM flights": None,
    "SELECT count(DISTINCT tailnum) FROM flights": 4043,
}


@pytest.mark.parametrize(
    ("question", "engine"),
    in_one_way({question: (question,) for question in QUESTIONS}, ENGINES, ENGINES),
    indirect=["engine"],
)
def test_answers_are_useful_at_two_epsilon(
    question: str, analyst: psycopg.Connection, truth: duckdb.DuckDBPyConnection
) -> None:
    """At ε = 2 and 575 flights a plane the error stays within 25 scales of noise: false alarms below 1e-9."""
    truths = truth.execute(question).fetchone()
    answers = analyst.execute(question.encode()).fetchone()
    assert truths is not None
    assert answers is not None
    scale = 575 / 2
    size = 5000 if "distance" in question else 1
    allowed = 25 * scale * size if "avg" not in question else 25 * scale * 360 / 330_000
    assert abs(float(answers[0]) - float(truths[0])) < allowed


def test_the_same_question_again_is_free(analyst: psycopg.Connection) -> None:
    """A stored release answers again with the same number and no charge."""
    first = analyst.execute("SELECT count(*) FROM flights WHERE month = 2").fetchone()
    spent = analyst.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone()
    assert analyst.execute("SELECT count(*) FROM flights WHERE month = 2").fetchone() == first
    assert analyst.execute("SELECT epsilon_spent FROM dpsql.budget").fetchone() == spent
