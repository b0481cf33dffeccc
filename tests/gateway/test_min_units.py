"""Where answers are about no fewer units than a role's policy says: groups of few are left out, as far as noise lets tell."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import Unsupported
from dpsql.policy.model import Policy
from dpsql.question import Settings
from tests.gateway.ledgers import costs
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory

NewOf = Callable[..., Client]


@pytest.fixture
def of_few(rides: Memory, policy: Policy, new_client: NewClient) -> NewOf:
    """Make a client who sees groups of `least` units or more; with so much ε that numbers are exact, unless it is said."""

    def made(least: int, user: str = "ana", epsilon: Fraction | None = None) -> Client:
        roles = {name: replace(role, min_units=least) for name, role in policy.roles.items()}
        asked = replace(policy, roles=roles)
        return new_client(rides, user, policy=asked if epsilon is None else with_epsilon(asked, epsilon))

    return made


def _units(rides: Memory, key: str, where: str = "TRUE") -> Mapping[object, int]:
    rows = rides.execute(f"SELECT {key}, count(DISTINCT rider) FROM rides WHERE {where} GROUP BY 1")
    return {key: int(str(number)) for key, number in rows}


def _told_apart(numbers: Iterable[int]) -> list[int]:
    """Return the numbers of which no other is less by one: noise decides whether a group with a unit less is shown."""
    every = set(numbers)
    return [number for number in every if number - 1 not in every]


@pytest.mark.parametrize("key", ["paid", "shared", "late"])
@pytest.mark.parametrize("asked", ["count(*)", "sum(tip)", "median(tip)", "count(DISTINCT rider)", "max(seats)"])
def test_groups_of_few_are_left_out(key: str, asked: str, of_few: NewOf, rides: Memory) -> None:
    """All that have fewer units, and no others; whatever is asked of them. Dirty values are in the group of NULL."""
    units = _units(rides, key, f"{key}::text <> 'dispute'")
    for least in _told_apart((*units.values(), max(units.values()) + 2)):
        rows = of_few(least).ask(f"SELECT {key}, {asked} FROM rides GROUP BY 1").rows
        shown = {row[0] for row in rows} - {None}
        assert shown & units.keys() == {key for key, number in units.items() if number >= least}


def test_one_group_of_all_is_null(of_few: NewOf, rides: Memory) -> None:
    """Where WHERE leaves few, whatever is asked is NULL, and a NOTICE says why."""
    (everybody,) = _units(rides, "1").values()
    asked = "SELECT count(*), avg(tip) FROM rides"
    assert of_few(everybody).ask(asked).rows != [(None, None)]
    client = of_few(everybody + 2)
    assert client.ask(asked).rows == [(None, None)]
    question = client.gateway.examine(asked, client.asker)
    assert question is not None
    assert replied(client.gateway, client.request(question)).notices == (
        f"the answer is NULL: they can't be shown to have {everybody + 2:,} units (min_units), by their noisy number",
    )
    assert client.ask(f"{asked} WHERE rider IS NULL").rows == [(None, None)]


def test_what_is_computed_of_groups_lacks_those_of_few(of_few: NewOf, rides: Memory) -> None:
    """An outer query sees the groups that are shown, and no others."""
    units = _units(rides, "paid", "paid IS NOT NULL")
    least = max(_told_apart(units.values()))
    each = "SELECT paid, avg(tip) FROM rides WHERE paid IS NOT NULL GROUP BY 1"
    rows = of_few(least).ask(f"SELECT count(*) FROM ({each}) AS t").rows
    assert rows == [(sum(number >= least for number in units.values()),)]


def test_keys_that_are_found_are_counted_too(of_few: NewOf, rides: Memory) -> None:
    """Keys that nobody has declared are found by their number, and shown by that of their units."""
    units = _units(rides, "note", "note IS NOT NULL")
    least = max(units.values(), default=0) + 2
    assert of_few(least, "eve").ask("SELECT note, count(*) FROM rides GROUP BY 1").rows == []


def test_it_is_told_by_noise(of_few: NewOf) -> None:
    """With little ε a group of hundreds can't be shown to have one unit but by chance; that is paid with the rest."""
    client = of_few(1, epsilon=Fraction(1, 1000))
    assert len(client.ask("SELECT paid, sum(tip) FROM rides GROUP BY 1").rows) < 3
    assert sum(costs(client)) == Fraction(1, 1000)


def test_explain_says_so(of_few: NewOf) -> None:
    """With what is measured for it."""
    told = "\n".join(str(row[0]) for row in of_few(5).ask("EXPLAIN SELECT paid, sum(tip) FROM rides GROUP BY 1").rows)
    assert "Left out: groups that can't be shown to have 5 units (min_units), whose number is measured for it" in told


def test_grouping_sets_are_refused(of_few: NewOf) -> None:
    """Their units don't add up."""
    with pytest.raises(Unsupported, match="min_units"):
        of_few(2).ask("SELECT paid, count(*) FROM rides GROUP BY ROLLUP (paid)")


FORMS = (
    "SELECT v.x, (SELECT count(*) FROM rides r WHERE r.fare > v.x) FROM (VALUES (1), (5)) AS v (x)",
    "SELECT n, count(*) FROM (SELECT rider, count(*) AS n FROM rides GROUP BY 1) AS t GROUP BY n",
    "SELECT count(*), (SELECT avg(fare) FROM rides) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)",
    "SELECT mode() WITHIN GROUP (ORDER BY paid), min(fare), dpsql.margin(count(*)), dpsql.cut(count(*)) FROM rides",
    "SELECT paid, median(tip) FROM rides GROUP BY 1 ORDER BY 2 DESC LIMIT 2",
    "SELECT count(*) FROM rides WHERE FALSE",
)


@pytest.mark.parametrize("sql", FORMS)
@pytest.mark.parametrize("error", [None, "5 %"])
def test_whatever_is_asked_goes_on(sql: str, error: str | None, of_few: NewOf) -> None:
    """Also with a target, where an answer has several measurements or is read off one; asked again it is the same."""
    client = of_few(2, epsilon=Fraction(1))
    first = client.ask(sql, Settings(error=error)).rows
    paid = sum(costs(client))
    assert client.ask(sql, Settings(error=error)).rows == first
    assert sum(costs(client)) == paid


def test_public_rows_beside_groups_of_few_are_left_out_too(of_few: NewOf, rides: Memory) -> None:
    """A 0 would say that there is nobody: of a group that is not shown there is nothing to say."""
    number = _units(rides, "paid")["card"]
    beside = "(VALUES ('card'), ('cash')) AS p (k) LEFT JOIN rides r ON r.paid = k AND (k = 'card' OR r.rider IS NULL)"
    sql = f"SELECT k, count(r.rider) FROM {beside} GROUP BY 1"
    assert {row[0] for row in of_few(number).ask(sql).rows} == {"card"}
    counted = "SELECT k, (SELECT count(*) FROM rides r WHERE r.paid = k) IS NULL FROM (VALUES ('card')) AS p (k)"
    assert of_few(number).ask(counted).rows == [("card", False)]
    assert of_few(number + 2).ask(counted).rows == [("card", True)]
