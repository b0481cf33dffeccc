"""Profiles, as tools make them of every column: the unit's column among them refuses no statement."""

import pytest

from dpsql.errors import MissingBounds
from tests.support.fix_world import NewClient, replied
from tests.support.memory import Memory

PROFILE = (
    "SELECT count(*), count(rider), count(DISTINCT rider), min(rider), max(rider), avg(rider), stddev(rider),"
    " sum(DISTINCT rider), percentile_cont(0.5) WITHIN GROUP (ORDER BY rider), avg(fare) FROM rides"
)


@pytest.mark.parametrize("tail", ["", " WHERE seats > 1", " GROUP BY paid", " GROUP BY ROLLUP (paid)"])
def test_what_is_computed_of_units_is_null(tail: str, rides: Memory, new_client: NewClient) -> None:
    """Whoever asks is told so, and that their number can be had; the rest is answered as without them."""
    client = new_client(rides)
    rollup = "ROLLUP" in tail
    profile = "SELECT count(*), min(rider), avg(rider), avg(fare) FROM rides" if rollup else PROFILE
    question = client.gateway.examine(f"{profile}{tail}", client.asker)
    assert question is not None
    reply = replied(client.gateway, client.request(question))
    (notice,) = (text for text in reply.notices if "NULL" in text)
    assert notice.startswith("what is computed of rider is NULL: it identifies individuals")
    rows = client.connection.execute(reply.text.encode()).fetchall()
    assert rows
    for row in rows:
        nulls = {1, 2} if rollup else {3, 4, 5, 6, 7, 8}
        assert [place for place in nulls if row[place] is not None] == []
    alone = client.ask(f"SELECT count(*), avg(fare) FROM rides{tail}").rows
    assert [(row[0], row[-1]) for row in rows] == [pytest.approx(row) for row in alone]


def test_a_profile_of_keys_that_are_found_has_it_too(rides: Memory, new_client: NewClient) -> None:
    """Whichever way the groups are found."""
    client = new_client(rides, "eve")
    rows = client.ask("SELECT number, count(*), min(rider), avg(fare) FROM rides GROUP BY number").rows
    assert all(row[2] is None for row in rows)


@pytest.mark.parametrize("asked", ["min(rider)", "avg(rider), max(rider)", "count(*), avg(rider + 1)"])
def test_what_has_nothing_else_in_it_is_refused(asked: str, rides: Memory, new_client: NewClient) -> None:
    """NULL alone would be no answer, and in an expression it would be a mistake."""
    with pytest.raises(MissingBounds, match="identifies individuals"):
        new_client(rides).ask(f"SELECT {asked} FROM rides")


def test_units_of_other_kinds_are_no_numbers_either(rides: Memory, new_client: NewClient) -> None:
    """Whatever kind is protected from the role."""
    ((_, mean),) = new_client(rides, "tess").ask("SELECT count(*), avg(rider) FROM rides").rows
    assert mean is None


@pytest.mark.parametrize("column", ["fare", "stars", "from_zone", "rider", "shared", "day", "note"])
def test_null_shares_of_columns_without_null_are_free(column: str, rides: Memory, new_client: NewClient) -> None:
    """The policy has the answer."""
    client = new_client(rides)
    assert client.ask(f"SELECT count(*) FROM rides WHERE {column} IS NULL").rows == [(0,)]
    assert client.charges == 0
    assert client.ask("SELECT count(*) FROM rides WHERE tip IS NULL").rows != [(0,)]
    assert client.charges == 1


def test_what_is_computed_of_columns_without_bounds_is_null_in_a_profile(rides: Memory, new_client: NewClient) -> None:
    """Where tools ask it of every column at once; who asks for one thing hears what is missing."""
    client = new_client(rides)
    asked = "SELECT count(*), min(number), max(number), avg(number), count(DISTINCT number), avg(fare) FROM rides"
    question = client.gateway.examine(asked, client.asker)
    assert question is not None
    reply = replied(client.gateway, client.request(question))
    (notice,) = (text for text in reply.notices if "NULL" in text)
    assert notice.startswith("what is computed of number is NULL: it has no declared bounds")
    ((many, low, high, mean, distinct, fare),) = client.connection.execute(reply.text.encode()).fetchall()
    assert (low, high, mean) == (None, None, None)
    assert None not in (many, distinct, fare)


def test_four_things_at_once_are_a_profile(rides: Memory, new_client: NewClient) -> None:
    """Soda's has no extremes in it."""
    asked = (
        "avg(number), sum(number), var_samp(number), stddev_samp(number), count(DISTINCT number),"
        " sum(CASE WHEN number IS NULL THEN 1 ELSE 0 END)"
    )
    ((*computed, distinct, missing),) = new_client(rides).ask(f"SELECT {asked} FROM rides").rows
    assert computed == [None] * 4
    assert None not in (distinct, missing)


@pytest.mark.parametrize(
    "asked",
    [
        "min(number), max(number)",
        "count(*), avg(number), sum(number), stddev(number)",
        "min(number), max(number), avg(number)",
        "count(*), min(number + 1), max(number + 1), avg(number + 1)",
        "count(*), min(number), max(number), avg(number), sum(sqrt(number))",
    ],
)
def test_what_is_no_profile_says_which_bounds_are_missing(asked: str, rides: Memory, new_client: NewClient) -> None:
    """NULL would hide it."""
    with pytest.raises(MissingBounds, match='"number" has no declared bounds'):
        new_client(rides).ask(f"SELECT {asked} FROM rides")
