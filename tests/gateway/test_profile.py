"""The profile: what is known of whole tables, paid for once an epoch by each role that sees it."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.errors import BudgetExhausted, Unsupported
from dpsql.gateway.request import Request
from dpsql.policy.model import Policy, Privacy, RoleBudget
from dpsql.question import Cancellation, Settings
from tests.gateway.test_chosen_bounds import RIDERS, RIDES, auto, charges, rides
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, noon, replied
from tests.support.memory import Memory
from tests.support.quick_ledger import quick_ledger
from tests.support.records import Maker

__all__ = ["auto", "rides"]

TAKE = "SELECT dpsql.take_profile()"
KNOWN = "SELECT column_name, what, value, margin FROM dpsql.profile WHERE table_name = 'rides'"
PASSENGER = Fraction(10)
"""So much that thirty riders with ninety rides each are seen."""


def with_profile(policy: Policy, epsilon: Fraction = PASSENGER) -> Policy:
    """Return the policy that allows a profile of passengers."""
    budgets = {**policy.budgets, "passenger": replace(policy.budgets["passenger"], profile=epsilon)}
    return replace(policy, budgets=budgets)


@pytest.fixture
def declared(policy: Policy) -> Policy:
    """Give a policy with 20 rows a rider, and a profile."""
    return with_profile(with_epsilon(policy, Fraction(1)))


@pytest.fixture
def client(rides: Memory, declared: Policy, new_client: NewClient) -> Client:
    """Give a client of it."""
    return new_client(rides, policy=declared)


def profile_of_rides(client: Client) -> dict[tuple[object, str], tuple[float, float | None]]:
    """Return what a role knows of rides."""
    rows = client.ask(KNOWN).rows
    return {
        (column, str(what)): (float(str(value)), None if margin is None else float(str(margin)))
        for column, what, value, margin in rows
    }


def told(client: Client, sql: str) -> Sequence[str]:
    """Return the notices of an answer."""
    question = client.gateway.examine(sql, client.asker)
    assert question is not None
    return replied(client.gateway, client.request(question)).notices


def test_nothing_is_known_before(client: Client) -> None:
    """Reading is free, and shows nothing."""
    assert client.ask(KNOWN).rows == []
    assert client.ask("SELECT share_above FROM dpsql.columns WHERE table_name = 'rides'").rows[0] == (None,)
    assert client.charges == 0


def test_it_tells_how_many_rows_units_have(client: Client) -> None:
    """Each number lies within four times its margin of the truth, what a declared C takes off among them."""
    client.ask(TAKE)
    profile, units = profile_of_rides(client), sum(RIDERS.values())
    cut = sum(max(rides - 20, 0) * riders for rides, riders in RIDERS.items())
    for what, truth in (
        ("number of passenger units", units),
        ("number of rows", RIDES),
        ("share of rows cut by max_rows: 20", cut / RIDES),
    ):
        value, margin = profile[None, what]
        assert margin is not None
        assert abs(value - truth) <= 4 * margin, what


def test_values_beyond_bounds_are_told(client: Client) -> None:
    """As shares, in the profile and beside what is declared."""
    client.ask(TAKE)
    profile = profile_of_rides(client)
    assert profile["fare", "share of values above the bounds"][0] < 0.1
    ((below, above),) = client.ask(
        "SELECT c.share_below, c.share_above FROM dpsql.columns AS c WHERE table_name = 'rides' AND column_name = 'fare'"
    ).rows
    assert (float(str(below)), float(str(above))) == (
        profile["fare", "share of values below the bounds"][0],
        profile["fare", "share of values above the bounds"][0],
    )


def test_it_is_paid_for_once(client: Client) -> None:
    """In equal parts for each table's rows, and for its values; the policy says how much it is at most."""
    client.ask(TAKE)
    paid = charges(client)
    assert sum(paid) <= PASSENGER
    assert len(set(paid)) == 1
    assert client.ask(TAKE).rows
    assert charges(client) == paid


@pytest.mark.parametrize("said", ["/* a tool */ {}", "{} -- 6dcd92a0", "{};", 'SELECT "dpsql" . take_profile ( ) ;'])
def test_it_is_taken_with_a_comment(said: str, client: Client) -> None:
    """Which tools write before and behind each statement: it said how it is taken, and did nothing."""
    assert "is taken" in str(client.ask(said.format(TAKE)).rows[0][0])
    assert charges(client)


@pytest.mark.parametrize("said", ["EXPLAIN {}", "EXPLAIN (FORMAT JSON) {}", "explain verbose /* a tool */ {};"])
def test_its_price_is_explained(said: str, client: Client) -> None:
    """It is not a statement's, and tools that plan first would take it for nothing."""
    told = str(client.ask(said.format(TAKE)).rows)
    assert f"'Epsilon': '{PASSENGER}'" in told or f"Private answer: ε = {PASSENGER}," in told
    assert "count(*):" not in told
    assert client.charges == 0
    client.ask(TAKE)
    assert "Left to pay: ε = 0" in str(client.ask(said.format(TAKE)).rows)


def test_another_role_pays_for_itself(client: Client, new_client: NewClient, declared: Policy, rides: Memory) -> None:
    """The same numbers, which the data set has told before; until then it knows nothing."""
    client.ask(TAKE)
    other = new_client(rides, "leo", policy=declared, ledger=client.ledger)
    assert other.ask(KNOWN).rows == []
    other.ask(TAKE)
    assert profile_of_rides(other) == {key: profile_of_rides(client)[key] for key in profile_of_rides(other)}
    newest = client.ledger.entries(other.asker.role, 100)
    assert sum(entry.cost.epsilon for entry in newest) == sum(charges(client)) / 2
    assert not any(entry.measured for entry in newest)


def test_a_role_knows_only_of_tables_that_it_may_use(rides: Memory, declared: Policy, new_client: NewClient) -> None:
    """And pays for these alone."""
    client = new_client(rides, "cleo", policy=declared)
    client.ask(TAKE)
    assert {row[0] for row in client.ask("SELECT DISTINCT table_name FROM dpsql.profile").rows} == {"trips"}
    assert 0 < sum(charges(client)) <= PASSENGER / 2


def test_another_epoch_knows_nothing(client: Client) -> None:
    """It is taken of the records as they are in one."""
    client.ask(TAKE)
    client.ledger.advance("for a test")
    assert client.ask(KNOWN).rows == []


def test_who_cannot_pay_pays_nothing(rides: Memory, declared: Policy, new_client: NewClient) -> None:
    """And knows nothing."""
    poor = {
        name: replace(role, budget=RoleBudget(Privacy(Fraction(1, 100)), role.budget.period))
        for name, role in declared.roles.items()
    }
    client = new_client(rides, policy=replace(declared, roles=poor))
    with pytest.raises(BudgetExhausted):
        client.ask(TAKE)
    assert client.charges == 0
    assert client.ask(KNOWN).rows == []


def test_where_none_is_allowed_it_is_refused(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """The message says where it would be."""
    with pytest.raises(Unsupported, match='no profile of unit kind "passenger"') as refused:
        new_client(rides, policy=policy).ask(TAKE)
    assert "profile: 0.1" in str(refused.value.hint)


@pytest.mark.parametrize("around", ["SELECT dpsql.take_profile() AS x", "SELECT 1, dpsql.take_profile()"])
def test_within_another_statement_it_does_nothing(around: str, client: Client) -> None:
    """It says how it is taken."""
    assert "alone" in str(client.ask(around).rows[0][-1])
    assert client.charges == 0


def test_a_declared_bound_that_cuts_is_said(client: Client) -> None:
    """In a notice, in dpsql.cut, and in a margin that covers what is missing: a quarter of the rides is."""
    counted = "SELECT count(*), dpsql.margin(count(*)), dpsql.cut(count(*)) FROM rides"
    assert not told(client, counted)
    before = client.ask(counted).rows[0]
    assert before[2] is None
    client.ask(TAKE)
    count, margin, cut = (float(str(cell)) for cell in client.ask(counted).rows[0])
    assert count == float(str(before[0]))
    assert abs(RIDES - count) <= margin < RIDES
    assert cut == pytest.approx(1 - count / RIDES, abs=0.1)
    (notice,) = told(client, counted)
    assert "max_rows: 20" in notice
    assert "margins cover it" in notice


OF_FARES = (
    *("stddev(fare)", "avg(fare + 1)", "percentile_cont(0.9) WITHIN GROUP (ORDER BY fare)", "max(fare)", "sum(fare)"),
    *(
        "sum(fare) / count(*)",
        "sum(CASE WHEN late THEN fare ELSE 0 END)",
        "avg(fare) FILTER (WHERE late)",
        "corr(fare, tip)",
    ),
    *("regr_slope(tip, fare)", "variance(fare - tip)", "percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY fare)"),
    *(
        "avg(n) FROM (SELECT rider, sum(fare) AS n FROM rides GROUP BY rider) AS t",
        "sum(f) FROM (SELECT fare AS f FROM rides) t",
    ),
    "median(n) FROM (SELECT rider, max(fare) AS n FROM rides GROUP BY rider) AS t",
    "avg(f) FROM (SELECT fare AS f FROM rides UNION ALL SELECT price FROM rides) AS t",
    "avg(seats) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)",
)
"""What depends on values beyond the upper bound of fares."""


def test_values_beyond_bounds_are_said(policy: Policy, new_client: NewClient) -> None:
    """Beside what is computed of them, as far as it depends on them: a spread was 83 margins off without a word."""
    engine, made = Memory(policy), Maker(3, dirt=0.0)
    table = policy.tables["rides"]
    high = table.columns["fare"].bounds
    assert high is not None
    engine.fill(
        "rides",
        [made.row(table) | {"rider": n, "fare": float(high.high) * (3 if n % 4 == 0 else 0.5)} for n in range(2_000)],
    )
    client = new_client(engine, policy=with_profile(policy))
    assert not any("lie above" in notice for notice in told(client, "SELECT stddev(fare) FROM rides"))
    client.ask(TAKE)
    for asked in OF_FARES:
        text = asked if " FROM " in asked else f"{asked} FROM rides"
        assert [said[:43] for said in told(client, f"SELECT {text}") if "lie above" in said] == [
            "about 25 % of the values of fare lie above "
        ], asked
    for asked in ("count(*)", "avg(tip)", "median(fare)", "min(fare)"):
        assert not any("lie above" in text for text in told(client, f"SELECT {asked} FROM rides"))


def test_what_keeps_few_rows_is_not_said_to_be_cut(client: Client) -> None:
    """A condition leaves each unit fewer rows."""
    client.ask(TAKE)
    assert not told(client, "SELECT count(*) FROM rides WHERE seats = 3 AND stars = 1 AND paid = 'cash'")


def test_explain_tells_it(client: Client) -> None:
    """Free; with what the declared C takes off."""
    client.ask(TAKE)
    lines = [str(row[0]) for row in client.ask("EXPLAIN SELECT count(*) FROM rides").rows]
    assert any(line.startswith("Profile: rides has about ") and "C = 20 takes about" in line for line in lines)


def test_explain_says_nothing_of_rows_that_are_others(client: Client) -> None:
    """Of rows that a join makes of rides the profile does not tell how many a unit has."""
    client.ask(TAKE)
    lines = [str(row[0]) for row in client.ask("EXPLAIN SELECT count(*) FROM rides, zones").rows]
    assert any(line.startswith("Profile: rides has about ") for line in lines)
    assert not any("takes about" in line for line in lines)


def test_what_is_no_number_is_not_beyond_bounds(client: Client, rides: Memory) -> None:
    """NaN reads as NULL, and wider bounds would keep no more of it; infinity is beyond."""
    rides.execute("UPDATE rides SET fare = 'NaN'::DOUBLE, tip = 'Infinity'::DOUBLE")
    client.ask(TAKE)
    profile = profile_of_rides(client)
    assert profile["fare", "share of values above the bounds"][0] < 0.1
    assert profile["tip", "share of values above the bounds"][0] > 0.9


def test_errors_are_told_for_the_bound_that_a_profile_foresees(
    rides: Memory, auto: Policy, new_client: NewClient
) -> None:
    """Of all rows of a table; of some nobody knows how many rows of a unit they are."""
    client = new_client(rides, policy=with_profile(with_epsilon(auto, Fraction(1))))
    client.ask(TAKE)

    def output(rest: str) -> str:
        lines = (str(line).strip() for (line,) in client.ask(f"EXPLAIN SELECT count(*) FROM rides {rest}").rows)
        return next(line for line in lines if line.startswith("Output"))

    (seen,) = re.findall(r"if C is (\d+), by the profile$", output(""))
    assert 128 <= int(seen) <= 256  # the most that riders have are 90
    assert output("WHERE fare > 5").endswith(f"for C from 2 to {seen}: that of all rows at most, by the profile")


def test_no_role_is_told_what_another_knows(rides: Memory, auto: Policy, new_client: NewClient) -> None:
    """A release may be bought by a role that has no profile: the same C is chosen with one as without.

    The profile says more of what that C takes off, so that the margin is another.
    """
    little, answers = with_profile(with_epsilon(auto, Fraction(1, 50)), Fraction(1_000)), []
    for taken in (False, True):
        with quick_ledger(noon) as ledger:
            draw = random.Random(5)  # noqa: S311
            client = new_client(rides, policy=little, ledger=ledger, entropy=lambda n, draw=draw: draw.randbytes(n))
            if taken:
                client.ask(TAKE)
                draw.seed(5)
            answers.append(client.ask("SELECT count(*), dpsql.margin(count(*)) FROM rides").rows[0])
    (plain, of_few), (profiled, known) = answers
    assert plain == profiled
    assert float(str(known)) < float(str(of_few))


def test_a_release_of_before_stays_free(client: Client) -> None:
    """What is known changes what is said of an answer, and not the answer."""
    first = client.ask("SELECT count(*) FROM rides").rows
    client.ask(TAKE)
    paid = client.charges
    assert client.ask("SELECT count(*) FROM rides").rows == first
    assert client.charges == paid


def test_it_can_be_cancelled(client: Client) -> None:
    """Like any other statement that measures."""
    question = client.gateway.examine(TAKE, client.asker)
    assert question is not None
    cancelled = Cancellation()
    cancelled.cancel()
    with pytest.raises(Exception, match="cancel"):
        replied(client.gateway, Request(question, (), Settings(), client.asker, cancelled))
    assert client.charges == 0
