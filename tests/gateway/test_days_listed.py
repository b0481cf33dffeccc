"""The groups of times in a session's zone: those that the conditions leave, and no day beside them."""

from fractions import Fraction

import pytest

from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import NewClient
from tests.support.memory import Memory

_ZONED = "(dropped AT TIME ZONE 'UTC')"
"""A time with a zone."""


@pytest.mark.parametrize(
    ("unit", "low", "high", "listed"),
    [
        ("day", "2019-03-02", "2019-03-04", ["2019-03-02 00:00:00-05:00", "2019-03-03 00:00:00-05:00"]),
        ("day", "2019-03-10", "2019-03-12", ["2019-03-10 00:00:00-05:00", "2019-03-11 00:00:00-04:00"]),
        ("day", "2019-03-20", "2019-03-21", ["2019-03-20 00:00:00-04:00"]),
        (
            "hour",
            "2019-03-10 01:00",
            "2019-03-10 05:00",
            ["2019-03-10 01:00:00-05:00", "2019-03-10 03:00:00-04:00", "2019-03-10 04:00:00-04:00"],
        ),
        ("month", "2019-03-01", "2019-04-01", ["2019-03-01 00:00:00-05:00"]),
    ],
)
def test_days_that_a_condition_excludes_are_not_listed(
    unit: str, low: str, high: str, listed: list[str], policy: Policy, new_client: NewClient
) -> None:
    """New York changes its clock on the 10th of March: before and after it a day begins at other moments."""
    client = new_client(Memory(policy), policy=with_epsilon(policy, Fraction(100)))
    client.connection.execute("SET timezone = 'America/New_York'")
    between = f"{_ZONED} >= '{low}' AND {_ZONED} < '{high}'"
    asked = f"SELECT date_trunc('{unit}', {_ZONED}), count(*) FROM rides WHERE {between} GROUP BY 1"
    rows = client.ask(asked, Settings(time_zone="America/New_York")).rows
    assert [str(row[0]) for row in rows] == listed
