"""Columns of rarer types mean on both engines what they mean to PostgreSQL."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import pytest

from dpsql.engines.tables import unique_as_declared
from dpsql.errors import DpsqlError, Unsupported
from dpsql.policy.interval import Interval
from dpsql.question import Settings
from dpsql.rewrite.emit.emitter import micros_of_interval
from tests.queries.test_golden import compare
from tests.support.exactness import measurements
from tests.support.fix_types import NewTyped, TypedEngines
from tests.support.fix_world import World
from tests.support.golden import NEARLY, Golden
from tests.support.reference import Reference
from tests.support.samples import in_one_way

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
    "SELECT count(*) FROM (SELECT stay, lag(stay) OVER (PARTITION BY visitor ORDER BY made) AS p FROM visits) WHERE stay > p",
    "SELECT count(*), avg(s) FROM (SELECT stay AS s FROM visits UNION ALL SELECT stay FROM visits) t WHERE s > '1 hour'",
    "SELECT count(*) FROM (SELECT visitor, stay, opens FROM visits GROUP BY 1,2,3) WHERE stay > '1 hour' AND opens > '6:00'",
    "SELECT count(*) FROM (SELECT visitor, max(stay) AS m FROM visits GROUP BY visitor) t WHERE m > '86400'",
    "SELECT count(*) FROM (SELECT visitor, max(opens) AS m FROM visits GROUP BY visitor) t WHERE m > '06:00'",
    "SELECT count(*) FROM (SELECT visitor FROM visits GROUP BY visitor HAVING avg(opens) > interval '12 hours') t",
    "SELECT count(DISTINCT visitor), count(DISTINCT badge), count(*) FROM visits",
    "SELECT size, count(*) FROM (SELECT DISTINCT ON (visitor) visitor, size FROM visits ORDER BY visitor, made) GROUP BY 1",
    "SELECT mood, count(*) FROM (SELECT DISTINCT ON (visitor) visitor, mood FROM visits ORDER BY visitor, mood) t GROUP BY 1",
    "SELECT f, count(*) FROM (SELECT first_value(mood) OVER (PARTITION BY visitor ORDER BY mood) f FROM visits) GROUP BY 1",
    "SELECT avg(h) FROM (SELECT hours h, rank() OVER (PARTITION BY visitor ORDER BY visitor, made) p FROM visits) WHERE p=1",
    "SELECT count(*) FROM (SELECT DISTINCT ON (visitor) visitor, hours FROM visits ORDER BY visitor) t",
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
    "SELECT count(*) FROM visits WHERE opens BETWEEN '08:00' AND '09:30:15.5' OR opens > time '22:00'",
    "SELECT extract(hour FROM opens) AS h, count(*) FROM visits GROUP BY 1",
    "SELECT count(stay), sum(stay), avg(stay) FROM visits",
    "SELECT count(*) FROM visits WHERE stay > interval '1 day 30 minutes' OR stay < '00:45:30'",
    "SELECT sum(extract(epoch FROM stay)) FROM visits WHERE stay < interval '12 hours'",
    "SELECT avg(opens) FROM visits",
    "SELECT count(*) FROM visits WHERE opens IS DISTINCT FROM time '09:09' AND opens IN ('07:07', time '10:10:10.00007')",
    "SELECT count(*) FROM visits WHERE stay IS DISTINCT FROM interval '3 min' AND stay NOT IN ('00:45:45', interval '1 h')",
    "SELECT hours::boolean AS any, count(*) FILTER (WHERE NOT hours::boolean) FROM visits GROUP BY 1",
    "SELECT kept, late, count(*) FROM marks GROUP BY 1, 2",
    "SELECT count(*) FROM marks WHERE kept AND late OR NOT paid",
    "SELECT count(kept), count(*) FILTER (WHERE kept IS NULL), sum(kept::int), count(DISTINCT kept) FROM marks",
    "SELECT kept IS NOT TRUE AS x, kept = late AS y, coalesce(kept, late) AS z, count(*) FROM marks GROUP BY 1, 2, 3",
    "SELECT k, count(*) FROM (SELECT visitor, kept AS k, count(*) AS n FROM marks GROUP BY 1, 2) AS t GROUP BY 1",
    "SELECT x, count(*) FROM (SELECT kept AS x FROM marks UNION ALL SELECT paid FROM marks) AS t GROUP BY 1",
    "SELECT l, count(*) FROM (SELECT visitor, bool_or(late) AS l FROM marks GROUP BY 1) AS t GROUP BY 1",
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
        answer,
        expected,
        Golden("types", sql, sql, "answered", within=1e-5 if "avg(" in sql or "sum(" in sql else NEARLY),
    )
    assert all(row[-1] in (0, None) for row in extra)


@pytest.mark.parametrize(
    ("user", "sql", "engine"),
    [
        *in_one_way({sql: ("ana", sql) for sql in PLAIN}, ENGINES, ENGINES),
        *(
            pytest.param("gus", sql, engine, marks=pytest.mark.slow)
            for engine in ENGINES
            for sql in PLAIN
            if "visitor" not in sql
        ),
    ],
)
def test_other_types(sql: str, user: str, engine: str, typed: NewTyped, typed_reference: Reference) -> None:
    """Without noise the answer is PostgreSQL's, whoever is protected."""
    answer = typed(engine, user).ask(sql, Settings(reuse="off"))  # rows lack values that are declared to be there
    expected = typed_reference.answer(sql, "person" if user == "ana" else "badge")
    assert (answer.names, _own(answer.types)) == (expected.names, _own(expected.types))
    # Of few units' small numbers the noise of one step is a ten-thousandth of the mean.
    extra = compare(answer, expected, Golden("types", sql, sql, "answered", within=1e-3 if "avg(n)" in sql else 1e-4))
    assert all(row[-1] in (0, None) for row in extra)


@pytest.mark.parametrize("engine", ENGINES)
def test_extremes_of_times_of_the_day_and_of_intervals(
    engine: str, typed: NewTyped, typed_reference: Reference
) -> None:
    """They are the middle of one of 1,024 parts of the bounds."""
    sql = "SELECT min(opens)::interval, max(opens)::interval, min(stay), max(stay) FROM visits"
    (row,), (expected,) = typed(engine).ask(sql).rows, typed_reference.answer(sql, "person").rows
    widths = [dt.timedelta(days=1)] * 2 + [dt.timedelta(days=2, hours=12)] * 2
    for value, other, width in zip(row, expected, widths, strict=True):
        assert isinstance(value, dt.timedelta)
        assert abs(value - other) <= width / 1024  # type: ignore[operator]  # an interval


_NASTY = (
    "1 mon", "-1 mon", "1 year -12 mons", "100000 days", "99999 days 999999 hours", "-99999 days -999999 hours",
    "2147483647 days", "-2147483648 days", "2562047788 hours", "-2562047788 hours", "178000000 years", "99999 days -1 hour",
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_any_interval_can_be_read(engine: str, typed_world: tuple[World, TypedEngines]) -> None:
    """Months have no length, and what is longer than 64 bits of microseconds must not fail."""
    values = ", ".join(f"(CAST('{text}' AS INTERVAL))" for text in _NASTY)
    rows = typed_world[1][engine].execute(f"SELECT {micros_of_interval('x')} FROM (VALUES {values}) AS v (x)")
    day, hour = 86_400_000_000, 3_600_000_000
    assert [row[0] for row in rows] == [
        None, None, 0, None, 99999 * day + 999999 * hour, -99999 * day - 999999 * hour,
        None, None, None, None, None, 99999 * day - hour,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "because"),
    [
        ("SELECT count(*) FROM visits WHERE badge LIKE 'a%'", "pattern-of-padded"),
        ("SELECT extract(day FROM stay) AS d, count(*) FROM visits GROUP BY 1", "field-of-span"),
        ("SELECT sum(stay * 2) FROM visits", "interval-arithmetic"),
        ("SELECT count(*) FROM visits WHERE at_desk + stay > '2019-03-01'", "interval-arithmetic"),
        ("SELECT max(badge) FROM visits", "extreme-of-ordered"),
        ("SELECT concat(mood, '!') AS m, count(*) FROM visits GROUP BY 1", "function-of-enum"),
        ("SELECT visitor::text, count(*) FROM visits GROUP BY 1", "key-is-unit"),
        ("SELECT badge, count(*) FROM visits GROUP BY 1", "key-is-unit"),
        ("SELECT count(*) FROM visits WHERE badge::text SIMILAR TO '(a|b)%'", "similar-pattern"),
        ("SELECT date_trunc('day', seen) AS d, count(*) FROM visits GROUP BY 1", "column-without-bounds"),
        (
            "SELECT count(*) FROM visits v WHERE code = (SELECT max(code) FROM visits w WHERE w.visitor = v.visitor)",
            "aggregate-of-units",
        ),
        ("SELECT count(*) FROM visits WHERE mood = (SELECT max(mood) FROM visits)", "constant-type"),
    ],
)
def test_what_is_refused(sql: str, because: str, typed: NewTyped) -> None:
    """Each with the code of its rule, before anything is charged."""
    client = typed("duckdb")
    before = client.charges
    with pytest.raises(DpsqlError) as caught:
        client.ask(sql)
    assert (caught.value.because, client.charges) == (because, before)


def test_blanks_make_no_second_unit(typed_world: tuple[World, TypedEngines]) -> None:
    """What a char(n) takes for one is one unit: a constraint of the engine's that keeps "a" and "a " apart says nothing."""
    world, _ = typed_world
    table = world.policy.tables["visits"]
    badge, visitor, both = frozenset({"badge"}), frozenset({"visitor"}), frozenset({"badge", "visitor"})
    keys = frozenset({badge, visitor, both})
    assert unique_as_declared(table, keys, lambda _: {"badge": "VARCHAR"}) == {visitor}
    assert unique_as_declared(table, keys, lambda _: {"badge": "character(4)"}) == keys
    assert unique_as_declared(table, frozenset({badge}), lambda _: {"badge": "character(9)"}) == frozenset()


def test_a_zone_needs_near_bounds_whatever_where_says(typed_world: tuple[World, TypedEngines]) -> None:
    """Where a clock is changed is looked for between the declared bounds; the hint says no more than helps."""
    world, engines = typed_world
    marks = world.policy.tables["marks"]
    wide = replace(marks.columns["came"], bounds=Interval.of(0, 60 * 366 * 86_400_000_000))
    policy = replace(
        world.policy, tables={**world.policy.tables, "marks": replace(marks, columns={**marks.columns, "came": wide})}
    )
    sql = "SELECT count(*) FROM marks WHERE came AT TIME ZONE 'UTC' AT TIME ZONE '{}' > '2019-03-02' AND came > '2019-03-01'"
    with pytest.raises(Unsupported) as refused:
        measurements(sql.format("Asia/Tokyo"), policy, world, engines["duckdb"])
    assert refused.value.because == "zone-bounds-too-wide"
    assert refused.value.hint is not None
    assert "WHERE" not in refused.value.hint
    assert measurements(sql.format("UTC"), policy, world, engines["duckdb"])
