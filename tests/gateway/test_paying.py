"""How much a statement may pay, and must, and that nothing is paid twice or in part."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from threading import Barrier

import pytest

from dpsql.errors import BudgetExhausted, InvalidSetting, QueryCanceled, Unsupported
from dpsql.gateway import measuring
from dpsql.gateway.request import Request
from dpsql.policy.model import NoiseLevel, Policy
from dpsql.question import Cancellation, Settings
from tests.gateway.engines import Watched
from tests.gateway.ledgers import costs, entries, with_least, with_total
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import Client, NewClient, answered
from tests.support.memory import Memory

COUNT = "SELECT paid, count(*) FROM rides GROUP BY paid"


@pytest.mark.parametrize("epsilon", ["2", "0", "-1", "nan", "1e999999999", "1/0", "x"])
def test_an_epsilon_that_is_none_is_refused(epsilon: str, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """More than the role may pay for a question, and what is no amount, cost nothing."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1)))
    with pytest.raises(InvalidSetting):
        client.ask(COUNT, Settings(epsilon=epsilon))
    assert client.charges == 0


LEAST = "SELECT (SELECT count(*) FROM rides) AS a, (SELECT count(DISTINCT rider) FROM rides) AS b"
"""Two measurements."""


@pytest.fixture
def least_client(rides: Memory, policy: Policy, new_client: NewClient) -> Client:
    """A client whose statements pay ε = 1 and whose measurements a thousandth of it at least."""
    return new_client(rides, policy=with_least(policy, None))


@pytest.mark.parametrize(
    ("sql", "epsilon", "told", "enough"),
    [
        (COUNT, "1e-12", '"1e-12", it must be a number from 0.001 to 1', "1"),
        (COUNT, "0.0009999", '"0.0009999", it must be a number from 0.001 to 1', "1"),
        (LEAST, "0.0015", "pays at least ε = 0.001 for each of the 2 measurements", "0.002"),
    ],
)
def test_a_measurement_has_a_least_epsilon(
    sql: str, epsilon: str, told: str, enough: str, least_client: Client
) -> None:
    """Less would let errors, memory and time be asked about for nothing; the refusal names the least, the hint suffices."""
    client = least_client
    with pytest.raises((InvalidSetting, Unsupported)) as caught:
        client.ask(sql, Settings(epsilon=epsilon))
    assert (told in caught.value.message, caught.value.hint) == (True, f"SET dpsql.epsilon = '{enough}'")
    assert client.charges == 0
    client.ask(sql, Settings(epsilon=enough))


def test_a_statement_of_too_many_measurements_is_refused(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Where even `per_query` is too little for each, the refusal says how many share it."""
    client = new_client(rides, policy=with_least(policy, Fraction("0.6")))
    with pytest.raises(Unsupported) as caught:
        client.ask(LEAST)
    assert caught.value.hint == "Ask for less at once: at most 1 measurements share a statement's ε."
    assert client.charges == 0


def test_a_noise_level_pays_the_least_at_least(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """A level for which less would do is rounded up to it."""
    policy = with_least(policy, Fraction("0.4"))
    roles = {name: replace(role, noise=NoiseLevel.HIGH) for name, role in policy.roles.items()}
    client = new_client(rides, policy=replace(policy, roles=roles))
    client.ask("SELECT count(*) FROM rides")
    client.ask(LEAST)
    assert costs(client)[0] == Fraction("0.4")
    assert min(costs(client)) >= Fraction("0.4")


def test_the_budget_ends(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """The question that would pass it is refused before the engine is asked; what was answered stays free."""
    engine = Watched(rides)
    client = new_client(engine, policy=with_total(policy, 2))
    for number in (1, 2):
        client.ask(f"SELECT count(*) FROM rides WHERE fare > {number}")
    with pytest.raises(BudgetExhausted):
        client.ask("SELECT count(*) FROM rides WHERE fare > 3")
    client.ask("SELECT count(*) FROM rides WHERE fare > 2")
    assert (engine.runs, client.charges) == (2, 2)


def test_a_statement_is_paid_as_a_whole(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """One that the budget suffices for in part is not begun."""
    engine = Watched(rides)
    client = new_client(engine, policy=with_total(policy, 1))
    client.ask(COUNT, Settings(epsilon="0.6"))
    with pytest.raises(BudgetExhausted):
        client.ask("SELECT median(fare), count(*) FROM rides", Settings(epsilon="0.5", reuse="off"))
    assert (engine.runs, costs(client)) == (1, [Fraction(3, 5)])


def test_no_measurement_begins_when_its_charge_counts_no_more(
    rides: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window counts an hour from the charge for what is read; the engine is not asked later, and that is a failure."""
    engine = Watched(rides)
    client = new_client(engine)
    monkeypatch.setattr(measuring, "_MARGIN", 3600.0)
    with pytest.raises(QueryCanceled):
        client.ask(COUNT)
    assert (engine.runs, client.charges) == (0, 1)


def test_one_of_fifty_sessions_wins_the_last_question(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Of fifty different questions asked at once, with budget for one, exactly one is answered."""
    engine = Watched(rides)
    client = new_client(engine, policy=with_total(policy, 1))
    questions = [
        client.gateway.examine(f"SELECT count(*) FROM rides WHERE fare > {n}", client.asker) for n in range(50)
    ]
    together = Barrier(50)

    def ask(n: int) -> bool:
        question = questions[n]
        assert question is not None
        together.wait()
        try:
            answered(client.gateway, Request(question, (), Settings(), client.asker, Cancellation()))
        except BudgetExhausted:
            return False
        return True

    with ThreadPoolExecutor(50) as pool:
        assert sum(pool.map(ask, range(50))) == 1
    assert (engine.runs, costs(client)) == (1, [Fraction(1)])


def test_two_identical_questions_at_once_are_one_measurement(rides: Memory, new_client: NewClient) -> None:
    """The second waits for the first and gets the same answer; twenty do."""
    engine = Watched(rides)
    client = new_client(engine)
    question = client.gateway.examine(COUNT, client.asker)
    assert question is not None
    together = Barrier(20)

    def ask(_: int) -> str:
        together.wait()
        return answered(client.gateway, Request(question, (), Settings(), client.asker, Cancellation()))

    with ThreadPoolExecutor(20) as pool:
        texts = set(pool.map(ask, range(20)))
    assert (len(texts), engine.runs, client.charges) == (1, 1, 1)


def test_another_role_pays_for_what_was_measured(rides: Memory, new_client: NewClient) -> None:
    """Roles that protect the same units share a measurement; each pays in full, the data set once."""
    ana, eve = new_client(rides), new_client(rides, "eve")
    first, second = ana.ask("SELECT count(*) FROM rides"), eve.ask("SELECT count(*) FROM rides")
    assert first.rows == second.rows
    assert [entry.measured for entry in entries(eve)] == [False, True]
