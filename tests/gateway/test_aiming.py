"""Errors as a target: what is asked is measured until it errs by no more, or until the most that it may pay is paid."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import BudgetExhausted, InvalidSetting
from dpsql.policy.interval import Interval
from dpsql.policy.model import NoiseLevel, Policy, Privacy, UnitBound
from dpsql.question import Settings
from tests.gateway.ledgers import with_least
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker

NewAimed = Callable[..., Client]
FIVE = Settings(error="5 %")


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """20,000 rides of as many riders, which is four times what the policy expects; fares spread evenly from 0 to 30."""
    engine, maker = Memory(policy), Maker(7)
    fares = [(n * 7919 % 3000) / 100 for n in range(20_000)]
    others = [maker.row(policy.tables["rides"]) for _ in range(1_000)]
    engine.fill(
        "rides", [others[n % 1_000] | {"rider": n, "fare": fare, "age": n % 70} for n, fare in enumerate(fares)]
    )
    return engine


@pytest.fixture
def aimed(rides: Memory, policy: Policy, new_client: NewClient) -> Client:
    """Give a client that may pay ε = 1 a question, and has a large budget."""
    return new_client(rides, policy=with_epsilon(policy, Fraction(1)))


def spent(client: Client) -> Fraction:
    """Return what all its questions have cost."""
    return sum((entry.cost.epsilon for entry in client.ledger.entries(None, 10**6)), Fraction(0))


def value(client: Client, sql: str, settings: Settings) -> float:
    """Return the one number that an answer has."""
    return float(str(client.ask(sql, settings).rows[0][0]))


@pytest.mark.parametrize(
    ("asked", "exact"),
    [
        ("count(*) FROM rides", 20_000),
        ("sum(fare) FROM rides", 299_900),
        ("avg(fare) FROM rides", 14.995),
        ("count(DISTINCT rider) FROM rides WHERE age = 5", 286),
        ("sum(fare) FROM rides WHERE fare > 15", 225_000),
        ("median(fare) FROM rides", 14.995),
    ],
)
def test_answers_err_by_what_is_asked_for(asked: str, exact: float, aimed: Client) -> None:
    """The typical error of 20 answers is not above the target, but for what 20 answers may differ by; the cap is kept."""
    errors = []
    for _ in range(20):
        aimed.ledger.advance("another")
        before = spent(aimed)
        errors.append(abs(value(aimed, f"SELECT {asked}", Settings(error="10 %")) / exact - 1))
        assert spent(aimed) - before <= 1
    assert np.mean(errors) < 0.1 * 2.5


def test_a_mean_at_its_bound_goes_on_searching(policy: Policy, new_client: NewClient, rides: Memory) -> None:
    """A first look that noise has made 0 tells that more is needed, and not that all is: it paid five times as much."""
    table = policy.tables["rides"]
    table = replace(table, expected_rows=20_000, units={**table.units, "passenger": UnitBound("rider", 1)})
    aimed = with_epsilon(replace(policy, tables={**policy.tables, "rides": table}), Fraction(1))
    client = new_client(rides, policy=aimed)
    errors = []
    for _ in range(40):
        client.ledger.advance("another")
        errors.append(abs(value(client, "SELECT avg(fare) FROM rides", Settings(error="7.5 %")) / 14.995 - 1))
    assert spent(client) / 40 < Fraction(3, 100)
    assert np.mean(errors) < 0.075 * 1.5


@pytest.mark.parametrize("error", ["2.5 %", "15 %"])
def test_buckets_that_are_too_wide_are_said(error: str, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Half of one is what a median is off by, whatever it pays: it is said each time, with its cause, and not paid for."""
    client = new_client(rides, policy=_with_fares(policy, -(10**9)))
    question = client.gateway.examine("SELECT median(fare) FROM rides", client.asker)
    assert question is not None
    for _ in range(10):
        client.ledger.advance("another")
        (notice,) = replied(client.gateway, client.request(question, Settings(error=error))).notices
        assert "buckets of [-1e+09, 1e+06] are too wide for it" in notice
    assert spent(client) < 5


@pytest.mark.parametrize("low", [0, -(10**6)])
@pytest.mark.parametrize("error", ["2.5 %", "15 %"])
def test_far_bounds_are_not_too_wide_where_values_begin_near_nothing(
    error: str, low: int, rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Buckets are the finer the smaller values are: a median of fares up to 30 is found among those up to a million."""
    client, errors = new_client(rides, policy=_with_fares(policy, low)), []
    for _ in range(20):
        client.ledger.advance("another")
        errors.append(abs(value(client, "SELECT median(fare) FROM rides", Settings(error=error)) / 14.995 - 1))
    assert np.mean(errors) < 2.5 * float(Fraction(error.removesuffix(" %"))) / 100


def _with_fares(policy: Policy, low: int) -> Policy:
    """Return the policy with fares from `low` to a million."""
    table = policy.tables["rides"]
    fare = replace(table.columns["fare"], bounds=Interval(Fraction(low), Fraction(10**6)))
    table = replace(table, columns={**table.columns, "fare": fare}, expected_rows=20_000)
    return with_epsilon(replace(policy, tables={**policy.tables, "rides": table}), Fraction(1))


def test_no_more_is_paid_than_is_needed(aimed: Client) -> None:
    """Large answers cost little, small ones more; what can't be had costs at most the cap, each time the same."""
    costs = []
    for where in ("fare < 31", "fare < 3", "age = 5 AND fare > 29"):
        before = spent(aimed)
        aimed.ask(f"SELECT count(*) FROM rides WHERE {where}", FIVE)
        costs.append(spent(aimed) - before)
    assert costs == sorted(costs)
    assert costs[0] < Fraction(1, 10) < Fraction(9, 10) < costs[2] <= 1


@pytest.mark.parametrize("where", ["fare < 31", "fare < 3", "age = 5 AND fare > 29"])
@pytest.mark.parametrize("asked", ["count(*)", "avg(fare), median(fare)"])
def test_the_same_and_less_exact_targets_are_free(asked: str, where: str, aimed: Client) -> None:
    """What was released for one target answers every question that may err by more, and itself again."""
    sql = f"SELECT {asked} FROM rides WHERE {where}"
    first = aimed.ask(sql, FIVE).rows
    paid = spent(aimed)
    assert aimed.ask(sql, FIVE).rows == first
    assert spent(aimed) == paid
    for error in ("7 %", "0.2"):
        aimed.ask(sql, Settings(error=error))
    assert spent(aimed) == paid


def test_a_more_exact_target_pays_the_difference(aimed: Client) -> None:
    """All that was paid for a question stays within what one may cost, and old releases go into the new answer."""
    sql = "SELECT count(*) FROM rides WHERE fare < 15"
    for error in ("20 %", "10 %", "5 %", "2 %", "0.1 %", "0.01 %"):
        aimed.ask(sql, Settings(error=error))
    assert Fraction(1, 2) < spent(aimed) <= 1


def test_no_release_is_read_twice(aimed: Client) -> None:
    """However near what is needed is to what is paid: one ε has one release, which says nothing new the second time."""
    for where in ("age < 13", "age < 40", "fare < 4"):
        for percent in ("3", "2", "1.5", "1.2", "1", "0.8", "0.6"):
            aimed.ledger.advance("another")
            aimed.ask(f"SELECT count(*), median(fare) FROM rides WHERE {where}", Settings(error=f"{percent} %"))


def test_what_was_paid_under_another_cap_is_found(aimed: Client) -> None:
    """The amounts do not depend on it: a less exact question is free after a more exact one."""
    sql = "SELECT count(*) FROM rides WHERE age < 20"
    aimed.ask(sql, Settings(error="3 %"))
    paid = spent(aimed)
    aimed.ask(sql, Settings(error="10 %", epsilon="0.9"))
    assert spent(aimed) == paid


def test_a_statement_belongs_to_one_epoch(aimed: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read once: what is looked up, paid and stored is of the same data, also about midnight."""
    read: list[int] = []
    epoch = aimed.ledger.epoch

    def counted(*given: object) -> int:
        read.append(1)
        return epoch(*given)  # type: ignore[arg-type]  # whatever it takes

    monkeypatch.setattr(aimed.ledger, "epoch", counted)
    aimed.ask("SELECT count(*) FROM rides WHERE age = 5", FIVE)
    assert aimed.charges > 1
    assert len(read) == 1


@pytest.mark.parametrize("error", ["1 %", "5 %", "50 %"])
def test_the_choice_of_a_bound_pays_no_less_than_the_owner_wants(
    error: str, rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Also where its usual part of the most, a twentieth, would be less."""
    chosen = with_chosen_rows(with_least(policy, Fraction("0.2")), "rides", "passenger")
    client = new_client(rides, policy=chosen)
    for sql in ("SELECT count(*) FROM rides", "SELECT paid, avg(fare) FROM rides GROUP BY paid"):
        client.ask(sql, Settings(error=error))
    assert min(entry.cost.epsilon for entry in client.ledger.entries(None, 100)) >= Fraction("0.2")


def test_no_look_pays_less_than_the_least(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Where keys are found by one part more than was planned, too."""
    roles = {
        name: replace(role, noise=NoiseLevel.MEDIUM, least=None)
        for name, role in with_epsilon(policy, Fraction(2)).roles.items()
    }
    levelled = replace(policy, roles=roles)
    client = new_client(rides, "eve", policy=levelled)
    many = " UNION ALL ".join(f"SELECT number, count(*) FROM rides WHERE seats = {n} GROUP BY number" for n in range(4))
    client.ask(f"{many} UNION ALL SELECT 0, count(*) FROM rides")
    costs = [entry.cost.epsilon for entry in client.ledger.entries(None, 100)]
    assert len(costs) > 5
    assert min(costs) >= levelled.roles["explorer"].least_epsilon


def test_levels_are_targets_unless_an_amount_is_set(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """A role's level asks for its error; `dpsql.epsilon` alone pays that, and beside a target it is the most."""
    roles = {
        name: replace(role, noise=NoiseLevel.HIGH) for name, role in with_epsilon(policy, Fraction(1)).roles.items()
    }
    client = new_client(rides, policy=replace(policy, roles=roles))
    sql = "SELECT count(*) FROM rides WHERE age = 5"
    client.ask(sql)
    assert client.charges > 1
    client.ledger.advance("another")
    before = spent(client)
    client.ask(sql, Settings(epsilon="0.25"))
    assert spent(client) - before == Fraction(1, 4)
    client.ledger.advance("another")
    before = spent(client)
    client.ask(sql, Settings(epsilon="0.25", error="1 %"))
    assert Fraction(1, 5) < spent(client) - before <= Fraction(1, 4)


def test_what_is_left_answers_when_the_budget_ends(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """A first look that is paid for is an answer; where not even that can be paid the question is refused."""
    limited = with_epsilon(policy, Fraction(1))
    budget = Privacy(Fraction(1, 10))
    roles = {n: replace(r, budget=replace(r.budget, total=budget)) for n, r in limited.roles.items()}
    client = new_client(rides, policy=replace(limited, roles=roles))
    aim = Settings(error="10 %")
    client.ask("SELECT count(*) FROM rides WHERE age = 5", aim)
    paid = spent(client)
    assert 0 < paid <= budget.epsilon
    client.ask("SELECT count(*) FROM rides WHERE age = 5", aim)
    assert spent(client) == paid
    with pytest.raises(BudgetExhausted):
        client.ask("SELECT variance(fare) FROM rides WHERE age = 6", Settings(error="0.1 %"))


def test_keys_that_are_found_pay_once(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Selecting keys again would cost δ again: they pay their share of the cap, and asking again is free."""
    client = new_client(rides, "eve", policy=with_epsilon(policy, Fraction(1)))
    client.ask("SELECT number, count(*), sum(fare) FROM rides GROUP BY number", FIVE)
    charges = client.charges
    assert spent(client) == 1
    client.ask("SELECT number, count(*), sum(fare) FROM rides GROUP BY number", FIVE)
    assert client.charges == charges


def test_an_explanation_has_the_target_the_cap_and_what_is_expected(aimed: Client) -> None:
    """Before anything is paid."""
    explained = aimed.ask("EXPLAIN SELECT count(*), avg(fare) FROM rides WHERE fare > 3", FIVE).rows
    lines = "\n".join(str(row[0]) for row in explained)
    assert "Target: a typical error of 5 %" in lines
    assert "At most: ε = 1," in lines
    assert "Output avg(fare) with all of it: ±" in lines
    assert aimed.charges == 0


@pytest.mark.parametrize("error", ["0", "101 %", "-5 %", "five", "5 % of it", "1e-3", "nan"])
def test_an_error_that_is_none_is_refused(error: str, aimed: Client) -> None:
    """It costs nothing, and the hint works."""
    with pytest.raises(InvalidSetting) as refused:
        aimed.ask("SELECT count(*) FROM rides", Settings(error=error))
    assert refused.value.hint == "SET dpsql.error = '5 %'"
    assert aimed.charges == 0
