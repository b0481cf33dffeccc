"""Texts of times in sessions that write dates in another style: on both engines what PostgreSQL says in the same session."""

import pytest

from dpsql.errors import Unsupported
from dpsql.question import Settings
from dpsql.rewrite.dialects.base import Dialect
from tests.queries.test_golden import compare
from tests.support.dialects import DIALECTS, NAMES
from tests.support.fix_dirty import NewUser
from tests.support.golden import NEARLY, Golden
from tests.support.reference import Reference
from tests.support.samples import in_one_way

STYLES = ("ISO, DMY", "German, DMY", "SQL, DMY", "SQL, MDY", "Postgres, MDY")
WRITTEN = (
    "SELECT day::text AS d, count(*) FROM rides GROUP BY 1",
    "SELECT 'on ' || day AS d, length(day::text) AS n, count(*) FROM rides GROUP BY 1, 2",
    "SELECT date_trunc('day', picked)::text AS d, count(*) FROM rides GROUP BY 1",
    "SELECT (day + 1)::date AS d, count(*) FROM rides WHERE day::text = (DATE '2019-03-04')::text GROUP BY 1",
    (
        "SELECT d.t AS t, count(*) FROM rides JOIN (SELECT extract(day FROM x) AS n, x::date::text AS t FROM (VALUES "
        "(DATE '2019-03-04'), (DATE '2019-03-05')) AS v (x)) AS d ON d.n = extract(day FROM day) GROUP BY 1"
    ),
)


@pytest.mark.parametrize(
    ("sql", "style", "dialect"),
    in_one_way({f"{style} {sql}": (sql, style) for sql in WRITTEN for style in STYLES}, DIALECTS, NAMES),
)
def test_texts_of_times_are_in_the_session_s_style(
    sql: str, style: str, dialect: Dialect, user: NewUser, reference: Reference
) -> None:
    """Keys and conditions are of the texts that the analyst would see."""
    client = user("ana", dialect)
    kind = reference.policy.roles[client.asker.role].protects
    for connection in (client.connection, reference.connection):
        connection.execute(f"SET DateStyle = '{style}'".encode())
    name, order = style.split(", ")
    try:
        answer = client.ask(sql, Settings(date_style=name, date_order=order))
        expected = reference.answer(sql, kind)
    finally:
        for connection in (client.connection, reference.connection):
            connection.execute("RESET DateStyle")
    assert (answer.names, answer.types) == (expected.names, expected.types)
    extra = compare(answer, expected, Golden("styles", sql, sql, "answered", within=NEARLY))
    assert all(row[-1] in (0, None) for row in extra)


@pytest.mark.parametrize("style", ["German", "SQL", "Postgres"])
def test_beginnings_of_other_texts_are_refused(style: str, user: NewUser) -> None:
    """Where the day stands first, the first characters are of no unit of time."""
    with pytest.raises(Unsupported) as refusal:
        user("ana").ask("SELECT left(picked::text, 10), count(*) FROM rides GROUP BY 1", Settings(date_style=style))
    assert refusal.value.because == "function-needs-domain"


def test_texts_of_dates_beside_dates_are_refused(user: NewUser) -> None:
    """One style is that of what is read, the other that of what is shown."""
    dates = "(SELECT x, x::text AS t FROM (VALUES (DATE '2019-03-04'), (DATE '2019-03-05')) AS v (x)) AS d"
    sql = f"SELECT d.t AS t, count(*) FROM rides JOIN {dates} ON d.x = day GROUP BY 1"
    with pytest.raises(Unsupported) as refusal:
        user("ana").ask(sql, Settings(date_style="German"))
    assert refusal.value.because == "texts-beside-dates"
    assert len(user("ana").ask(sql).rows) == 2


INTERVALS = (
    "SELECT count(*) FROM rides WHERE fare > length((interval '1 day 2 hours')::text)",
    "SELECT (interval '1 mon -2 hours')::text AS t, count(*) FROM rides WHERE picked > now() - interval '9 years' GROUP BY 1",
    "SELECT count(*) FROM rides WHERE fare > (SELECT max(length(x::text)) FROM (VALUES (interval '1 day')) AS v (x))",
    "SELECT count(*) FROM rides WHERE fare > length(concat(ARRAY[interval '1 day 2 hours'], 'x'))",
)


@pytest.mark.parametrize(
    ("sql", "style", "dialect"),
    in_one_way(
        {f"{style} {sql}": (sql, style) for sql in INTERVALS for style in ("postgres", "postgres_verbose", "iso_8601")},
        DIALECTS,
        NAMES,
    ),
)
def test_texts_of_intervals_are_in_the_session_s_style(
    sql: str, style: str, dialect: Dialect, user: NewUser, reference: Reference
) -> None:
    """Constants are what the analyst would see, and intervals are what they are."""
    client = user("ana", dialect)
    kind = reference.policy.roles[client.asker.role].protects
    for connection in (client.connection, reference.connection):
        connection.execute(f"SET IntervalStyle = '{style}'".encode())
    try:
        answer = client.ask(sql, Settings(interval_style=style))
        expected = reference.answer(sql, kind)
    finally:
        for connection in (client.connection, reference.connection):
            connection.execute("RESET IntervalStyle")
    extra = compare(answer, expected, Golden("styles", sql, sql, "answered", within=NEARLY))
    assert all(row[-1] in (0, None) for row in extra)
