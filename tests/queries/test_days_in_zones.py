"""Days of many years, where the session's clock is not UTC's: PostgreSQL takes them for midnights."""

import re
from dataclasses import replace
from datetime import date

import pytest

from dpsql.policy.interval import Interval
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory

_GROUPS = {
    "date_trunc('month', day)": 912,
    "date_trunc('month', day)::date": 912,
    "date_trunc('quarter', day)::date": 304,
    "(date_trunc('year', day) + interval '1 month')::date": 76,
    "to_char(day, 'YYYY')": 76,
    "extract(year FROM age(date '2026-01-01', day))": 77,
}
"""How many there are from 1950 to 2025."""


@pytest.fixture(params=["UTC", "Europe/Oslo", "America/New_York"])
def zone(request: pytest.FixtureRequest, client: Client) -> str:
    """Give a session by another clock."""
    zone = str(request.param)
    client.connection.execute(f"SET TimeZone = '{zone}'")
    return zone


@pytest.fixture
def client(policy: Policy, new_client: NewClient) -> Client:
    """Give a client of a table whose days lie in 76 years."""
    rides, epoch = policy.tables["rides"], date(1970, 1, 1)
    bounds = Interval.of((date(1950, 1, 1) - epoch).days, (date(2025, 12, 31) - epoch).days)
    columns = {**rides.columns, "day": replace(rides.columns["day"], bounds=bounds)}
    long = replace(policy, tables={**policy.tables, "rides": replace(rides, columns=columns)})
    return new_client(Memory(long), policy=long)


def test_periods_of_days_are_as_many_as_there_are(client: Client, zone: str) -> None:
    """A month by the session's clock begins on a day, so that there is no group for each day."""
    for key, groups in _GROUPS.items():
        lines = client.ask(f"EXPLAIN SELECT {key} AS k, count(*) FROM rides GROUP BY 1", Settings(time_zone=zone)).rows
        assert re.search(rf", {groups} groups", str(lines[1][0])), (key, lines[1])


def test_days_are_compared_with_moments(client: Client, zone: str) -> None:
    """By the session's clock."""
    for condition in ("day < now() - interval '50 years'", "date_trunc('month', day) >= '2024-01-01'"):
        client.ask(f"EXPLAIN SELECT count(*) FROM rides WHERE {condition}", Settings(time_zone=zone))


def test_days_that_are_listed_are_midnights_of_one_clock_each(client: Client, zone: str) -> None:
    """Of those in winter there is none an hour before, as if it were summer."""
    days = "(VALUES (1, date '2019-01-15'), (2, '2019-07-15'), (3, '2020-02-15')) AS v (z, d)"
    for key, groups in {
        "date_trunc('year', d)": 2,
        "d::timestamptz": 3,
        "date_trunc('quarter', d::timestamptz)": 3,
    }.items():
        asked = f"EXPLAIN SELECT {key} AS k, count(*) FROM rides JOIN {days} ON from_zone = z GROUP BY 1"
        lines = client.ask(asked, Settings(time_zone=zone)).rows
        assert re.search(rf", {groups} groups", str(lines[1][0])), (key, lines[1])
