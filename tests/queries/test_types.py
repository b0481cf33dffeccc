"""Columns of rarer types mean on both engines what they mean to PostgreSQL."""

from collections.abc import Sequence

import pytest

from dpsql.errors import Unsupported
from dpsql.question import Settings
from tests.queries.test_golden import compare
from tests.support.fix_types import NewTyped
from tests.support.golden import Golden
from tests.support.reference import Reference

ENGINES = ("duckdb", "postgres")
SESSIONS = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
"""Bounds are from February to April 2019, in which the clocks of Berlin, New York and Lord Howe are changed."""
_QUICK = {("duckdb", "Europe/Berlin"), ("postgres", "UTC")}
PLACES = [
    pytest.param(engine, zone, marks=() if (engine, zone) in _QUICK else pytest.mark.slow)
    for engine in ENGINES
    for zone in SESSIONS
]
HALF_HOURS = "Australia/Lord_Howe"
"""Where the clock is changed by half an hour, so that no hour by it is one by UTC's."""
ZONED = (
    "SELECT date_trunc('day', made) AS d, count(*) FROM visits GROUP BY 1",
    "SELECT date_trunc('month', made) AS d, count(*) FROM visits GROUP BY 1",
    "SELECT date_trunc('week', left_at) AS d, count(*) FROM visits GROUP BY 1",
    "SELECT date_trunc('day', made AT TIME ZONE 'Europe/Berlin') AS d, count(*) FROM visits GROUP BY 1",
    "SELECT date_trunc('day', made, 'America/New_York') AS d, count(*) FROM visits GROUP BY 1",
    "SELECT extract(hour FROM made) AS h, extract(dow FROM made AT TIME ZONE 'UTC') AS w, count(*) FROM visits GROUP BY 1, 2",
    "SELECT made::date AS d, count(*) FROM visits GROUP BY 1",
    "SELECT to_char(made, 'YYYY-MM-DD') AS d, count(*) FROM visits GROUP BY 1",
    "SELECT count(*) FROM visits WHERE made >= '2019-03-31T00:30:00.000Z'::timestamptz AND made <= '2019-04-01 12:00'",
    "SELECT count(*) FROM visits WHERE made >= '2019-03-31' AND made < date '2019-04-07'",
    "SELECT count(*) FROM visits WHERE made < at_desk",
    "SELECT count(*) FROM visits WHERE made = at_desk",
    "SELECT count(*), sum(extract(epoch FROM made) - 1551398400) FROM visits WHERE made > timestamp '2019-03-10 02:30'",
    "SELECT avg(left_at - made), count(*) FILTER (WHERE left_at - made > interval '1 day') FROM visits",
    "SELECT count(*) FROM visits WHERE left_at > made + interval '1 day' AND left_at < made + interval '36 hours'",
    "SELECT count(*) FROM visits WHERE made + interval '1 month' > timestamptz '2019-04-28 12:00Z'",
    "SELECT count(*) FROM visits WHERE made::time BETWEEN '08:00' AND '09:30'",
    "SELECT count(*) FROM visits WHERE made IN (timestamptz '2019-03-31 01:00Z', '2019-03-31 03:00')",
    "SELECT count(*) FROM visits WHERE coalesce(left_at, made) < '2019-03-20'",
    "SELECT date_trunc('day', m AT TIME ZONE 'Asia/Tokyo') AS d, count(*) FROM (SELECT made AS m FROM visits) t GROUP BY 1",
    (
        "SELECT date_trunc('day', m AT TIME ZONE 'UTC') AS d, count(*)"
        " FROM (SELECT date_trunc('day', made) AS m FROM visits) AS t GROUP BY 1"
    ),
    "SELECT count(*) FROM visits JOIN doors USING (door) WHERE made > opened + interval '60 days'",
    "SELECT opened, count(*) FROM visits JOIN doors USING (door) GROUP BY 1",
    (
        "SELECT date_trunc('hour', made) AS d, count(*) FROM visits"
        " WHERE made > '2019-03-30 12:00Z' AND made < '2019-03-31 12:00Z' GROUP BY 1"
    ),
    "SELECT count(*) FROM visits WHERE seen < '2019-03-31 01:30Z'",
    "SELECT CASE WHEN made < '2019-03-15' THEN 'early' ELSE 'late' END AS x, count(DISTINCT visitor) FROM visits GROUP BY 1",
)  # fmt: skip
PLAIN = (
    "SELECT count(DISTINCT visitor), count(DISTINCT badge), count(*) FROM visits",
    "SELECT door, count(*) FROM visits GROUP BY 1",
    "SELECT kind, count(*) FROM visits JOIN doors USING (door) GROUP BY 1",
    "SELECT code, count(*) FROM visits GROUP BY 1 ORDER BY 1",
    "SELECT code::text || '.' AS c, count(*) FROM visits GROUP BY 1",
    "SELECT count(*) FROM visits WHERE code = 'a  '",
    "SELECT count(*) FROM visits WHERE code IN ('a', 'ab ') OR code > 'b'",
    "SELECT count(*) FROM visits WHERE code LIKE 'a%' AND length(code) = 1",
    "SELECT count(*) FROM visits WHERE code LIKE 'a'",
    "SELECT concat(code, '|') AS c, upper(code) AS u, count(*) FROM visits GROUP BY 1, 2",
    "SELECT count(*) FROM visits WHERE badge = 'a' OR badge = 'ab  '",
    "SELECT count(*) FROM visits WHERE badge > 'b' AND badge <> 'c d'",
    "SELECT count(*) FROM visits WHERE badge::text LIKE 'a%' OR upper(badge) = 'WXYZ'",
    "SELECT avg(length(badge)) FROM visits",
    "SELECT count(*) FROM visits WHERE badge::text SIMILAR TO 'a%|_xyz|c d' AND NOT badge::text SIMILAR TO 'ab'",
    "SELECT count(*) FROM visits WHERE badge IN ('a', 'wxyz')",
    "SELECT kind, count(*) FROM visits JOIN doors ON doors.door = visits.door AND kind <> 'up' GROUP BY 1",
    "SELECT count(*) FROM visits WHERE door = '0C15B5C0-3B6E-5C4D-9B0E-000000000000' OR door IS NULL",
    "SELECT count(*) FROM visits a JOIN visits b ON a.visitor = b.visitor",
    "SELECT min(size), max(size), min(code), max(code) FROM visits",
    "SELECT hours, max(size), min(upper(size)) FROM visits WHERE size <> 'small' GROUP BY 1",
    "SELECT percentile_disc(ARRAY[0, 0.4, 1]) WITHIN GROUP (ORDER BY size) FROM visits",
    "SELECT max(size || '\\\"') FROM visits",
    "SELECT mood, count(*) FROM visits WHERE mood IS NOT NULL GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM visits WHERE mood > 'sad' AND mood <= 'so so' OR mood IN ('sad')",
    "SELECT min(mood), max(mood), count(DISTINCT mood) FROM visits WHERE mood <> 'sad'",
    "SELECT upper(mood::text) AS m, count(*) FROM visits GROUP BY 1",
    "SELECT count(*) FROM visits WHERE mood = 'glad'::\"visits_mood\" AND mood = ANY('{sad,glad}')",
    "SELECT coalesce(mood, 'fine') AS m, count(*) FROM visits GROUP BY 1",
    "SELECT CASE WHEN mood >= 'fine' THEN 'good' ELSE 'bad' END AS x, max(mood) FROM visits GROUP BY 1",
    "SELECT avg(n) FROM (SELECT visitor, count(*) AS n FROM visits GROUP BY visitor) AS t",
)


def _own(types: Sequence[int]) -> list[int]:
    """Return the numbers of PostgreSQL's own types; those of enumerations differ from database to database."""
    return [type_ if type_ < 16_384 else 0 for type_ in types]


@pytest.mark.parametrize(("engine", "zone"), PLACES)
@pytest.mark.parametrize("sql", ZONED)
def test_times_with_a_zone(sql: str, engine: str, zone: str, typed: NewTyped, typed_reference: Reference) -> None:
    """Without noise the answer is PostgreSQL's in the same session, also where its clock is changed."""
    client = typed(engine)
    if zone == HALF_HOURS and "date_trunc('hour', made)" in sql:
        with pytest.raises(Unsupported) as caught:
            client.ask(sql, Settings(time_zone=zone))
        assert caught.value.because == "session-clock-changes"
        return
    for connection in (client.connection, typed_reference.connection):
        connection.execute(f"SET TimeZone = '{zone}'")
    try:
        answer, expected = client.ask(sql, Settings(time_zone=zone)), typed_reference.answer(sql, "person")
    finally:
        for connection in (client.connection, typed_reference.connection):
            connection.execute("RESET TimeZone")
    assert (answer.names, answer.types) == (expected.names, expected.types)
    extra = compare(
        answer, expected, Golden("types", sql, sql, "answered", within=1e-5 if "avg(" in sql or "sum(" in sql else 1e-9)
    )
    assert all(row[-1] in (0, None) for row in extra)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("user", ["ana", pytest.param("gus", marks=pytest.mark.slow)])
@pytest.mark.parametrize("sql", PLAIN)
def test_other_types(sql: str, user: str, engine: str, typed: NewTyped, typed_reference: Reference) -> None:
    """Without noise the answer is PostgreSQL's, whoever is protected."""
    if user == "gus" and "visitor" in sql:
        pytest.skip("about persons")
    answer = typed(engine, user).ask(sql)
    expected = typed_reference.answer(sql, "person" if user == "ana" else "badge")
    assert (answer.names, _own(answer.types)) == (expected.names, _own(expected.types))
    extra = compare(answer, expected, Golden("types", sql, sql, "answered", within=1e-4))
    assert all(row[-1] in (0, None) for row in extra)
