"""Times in time zones: on both engines what PostgreSQL says in the same session, also where clocks are changed."""

import pytest

from dpsql.question import Settings
from dpsql.rewrite.dialects.base import Dialect
from tests.queries.test_golden import compare
from tests.support.dialects import DIALECTS, NAMES
from tests.support.fix_dirty import NewUser
from tests.support.golden import NEARLY, Golden
from tests.support.reference import Reference
from tests.support.samples import in_one_way

SESSIONS = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
"""Bounds are in March 2019: New York changes its clock on the 10th, Berlin on the 31st, the others do not."""

EXACT = (
    "SELECT date_trunc('day', (pickup_ts::timestamptz AT TIME ZONE 'UTC')) AS d, count(*) FROM trips GROUP BY 1",
    ("SELECT date_trunc('hour', pickup_ts AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York') AS d, count(*) FROM trips"
    " WHERE pickup_ts BETWEEN '2019-03-09 20:00' AND '2019-03-11' GROUP BY 1"),
    ("SELECT date_trunc('hour', timezone('Europe/Berlin', timezone('UTC', dropped))) AS d, count(*) FROM rides"
    " WHERE dropped BETWEEN '2019-03-30 12:00' AND '2019-04-01' GROUP BY 1"),
    ("SELECT date_trunc('hour', dropped AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'UTC') AS d, count(*) FROM rides"
    " WHERE dropped BETWEEN '2019-03-30 12:00' AND '2019-04-01' GROUP BY 1"),
    "SELECT (dropped::timestamptz AT TIME ZONE 'Australia/Lord_Howe')::date AS d, count(*) FROM rides GROUP BY 1",
    "SELECT extract(hour FROM picked AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Kolkata') AS h, count(*) FROM rides GROUP BY 1",
    "SELECT count(*), sum(extract(epoch FROM pickup_ts::timestamptz) - 1551398400) FROM trips WHERE fare > 20",
    ("SELECT count(*) FROM trips WHERE pickup_ts >= '2019-03-10T06:59:59.5Z'::timestamptz"
    " AND pickup_ts::timestamptz < '2019-03-31T01:30:00Z'"),
    "SELECT count(*) FROM rides WHERE dropped BETWEEN timestamptz '2019-03-31 00:30Z' AND timestamptz '2019-03-31 01:30Z'",
    "SELECT count(*) FROM rides WHERE dropped AT TIME ZONE 'Europe/Berlin' < timestamptz '2019-03-31 01:30Z'",
    "SELECT count(*) FROM rides WHERE dropped IN (timestamptz '2019-03-31 01:00Z', '2019-03-31 03:00')",
    "SELECT count(*) FROM rides WHERE timestamptz '2019-04-02 00:00Z' - dropped < interval '2 days'",
    "SELECT date_trunc('day', day::timestamptz AT TIME ZONE 'UTC') AS d, count(*) FROM rides GROUP BY 1",
    "SELECT left(picked::timestamptz::text, 10) AS d, count(*) FROM rides GROUP BY 1",
    ("SELECT left((pickup_ts AT TIME ZONE 'UTC')::text, 13) AS d, count(*) FROM trips"
    " WHERE pickup_ts BETWEEN '2019-03-09 20:00' AND '2019-03-11' GROUP BY 1"),
)  # fmt: skip
ZONED = (
    "SELECT date_trunc('day', picked AT TIME ZONE 'UTC') AS d, count(*) FROM rides GROUP BY 1",
    (
        "SELECT date_trunc('day', picked::timestamptz) AS d, extract(dow FROM picked AT TIME ZONE 'Asia/Tokyo'), count(*)"
        " FROM rides GROUP BY 1, 2"
    ),
    "SELECT date_trunc('day', picked AT TIME ZONE 'UTC', 'Asia/Kolkata') AS d, count(*) FROM rides GROUP BY 1",
    "SELECT (picked AT TIME ZONE 'America/New_York')::date AS d, count(*) FROM rides GROUP BY 1",
    "SELECT date_trunc('day', dropped::timestamptz) AS d, count(*) FROM rides GROUP BY 1",
)
"""Those with a value of the type `timestamptz`."""
OF_DAYS = (
    "SELECT date_trunc('week', day)::date AS d, count(*) FROM rides GROUP BY 1",
    "SELECT date_trunc('month', day) AS d, count(*) FROM rides GROUP BY 1",
    "SELECT date_trunc('day', day) AS d, count(*) FROM rides GROUP BY 1",
    "SELECT date_trunc('week', day) + interval '1 week' AS d, count(*) FROM rides WHERE seats > 2 GROUP BY 1",
    "SELECT to_char(day, 'YYYY-MM-DD') AS d, count(*) FROM rides GROUP BY 1",
    "SELECT to_char(date_trunc('week', day), 'DD.MM.') AS d, count(*) FROM rides GROUP BY 1",
    "SELECT count(*) FROM rides WHERE date_trunc('week', day) >= '2019-03-11'",
    "SELECT count(*) FROM rides WHERE day::timestamptz <= timestamptz '2019-03-10 05:30Z'",
    "SELECT extract(month FROM age(date '2020-01-01', day)) AS m, count(*) FROM rides GROUP BY 1",
    "SELECT extract(day FROM date_trunc('day', day)) AS d, count(*) FROM rides GROUP BY 1",
    "SELECT count(*) FROM rides WHERE day AT TIME ZONE 'Asia/Tokyo' > '2019-03-05'",
    "SELECT count(*) FROM rides WHERE ((day) AT TIME ZONE 'Asia/Tokyo')::date = day",
    "SELECT extract(hour FROM day AT TIME ZONE 'Asia/Tokyo') AS h, count(*) FROM rides GROUP BY 1",
    "SELECT (timezone('Asia/Tokyo', day))::date AS d, count(*) FROM rides GROUP BY 1",
)
"""Days, which PostgreSQL takes for midnights by the session's clock."""
HAVANA = "America/Havana"
"""Where the clock was put forward at midnight, on 10 March 2019: that day began at one o'clock."""


@pytest.mark.parametrize(
    ("sql", "zone", "dialect"),
    in_one_way(
        {f"{zone} {sql}": (sql, zone) for sql in (*EXACT, *ZONED) for zone in SESSIONS}
        | {f"{zone} {sql}": (sql, zone) for sql in OF_DAYS for zone in (*SESSIONS, HAVANA)},
        DIALECTS,
        NAMES,
    ),
)
def test_meaning_in_each_session(sql: str, zone: str, dialect: Dialect, user: NewUser, reference: Reference) -> None:
    """Without noise the answer is PostgreSQL's on the clamped tables; other groups are empty."""
    client = user("ana", dialect)
    kind = reference.policy.roles[client.asker.role].protects
    for connection in (client.connection, reference.connection):
        connection.execute(f"SET TimeZone = '{zone}'")
    try:
        answer, expected = client.ask(sql, Settings(time_zone=zone)), reference.answer(sql, kind)
    finally:
        for connection in (client.connection, reference.connection):
            connection.execute("RESET TimeZone")
    assert (answer.names, answer.types) == (expected.names, expected.types)
    extra = compare(answer, expected, Golden("zones", sql, sql, "answered", within=1e-5 if "sum(" in sql else NEARLY))
    assert all(row[-1] in (0, None) for row in extra)
