"""What *Choose* and `dpsql epsilon advise` say of a noise level is what a role gets, asked of the gateway and its ledger."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import geometric_mean, mean

import numpy as np
import pytest

from dpsql.accounting.balance import Account
from dpsql.epsilon.noise.outputs import OutputKind, SoughtAnswer, level_epsilon, price_question
from dpsql.policy.model import NoiseLevel, Policy, Privacy, UnitBound
from dpsql.question import Settings
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker
from tests.support.samples import slow
from tests.support.samples import spread as sample

ROWS = 20_000
MANY = 30
"""How many questions a budget pays for, by what is said."""
LOOKS = {80: "enough for any search", 1: "one look a statement", 0: "what suffices"}
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
ASKED: dict[OutputKind, tuple[str, Callable[[Values], object]]] = {
    OutputKind.COUNT: ("count(*)", len),
    OutputKind.SUM: ("sum(fare)", np.sum),
    OutputKind.AVG: ("avg(fare)", np.mean),
    OutputKind.VARIANCE: ("variance(fare)", np.var),
    OutputKind.MEDIAN: ("median(fare)", np.median),
}
SPREADS = {"evenly": Fraction(1, 2), "low": Fraction(1, 10)}
"""The mean of the fares as a share of the largest, which is 150."""


def _fares(spread: str) -> Values:
    return np.random.default_rng(5).uniform(0, 300 * float(SPREADS[spread]), ROWS)


def _outputs() -> Iterator[pytest.ParameterSet]:
    """Yield every output with a cap on what is paid, for each spread of the fares; one spread of each is not slow."""
    for output, (looks, name), spread in itertools.product(OutputKind, LOOKS.items(), SPREADS):
        long = looks != 1 and output in (OutputKind.VARIANCE, OutputKind.MEDIAN)
        other = list(SPREADS)[sample(f"{output} {name}", len(SPREADS))] != spread
        yield pytest.param(output, looks, spread, id=f"{spread}-{output}-{name}", marks=slow if long or other else ())


@pytest.fixture(scope="module")
def spread(request: pytest.FixtureRequest) -> str:
    """Name how the fares are spread."""
    return str(request.param)


@pytest.fixture(scope="module")
def rides(policy: Policy, spread: str) -> Memory:
    """Give one ride each of many riders."""
    engine, row = Memory(policy), Maker(7).row(policy.tables["rides"])
    riders = [row | {"rider": n, "fare": float(fare), "number": n % 500} for n, fare in enumerate(_fares(spread))]
    engine.fill("rides", riders)
    return engine


def _role_of(policy: Policy, level: NoiseLevel, cap: Fraction) -> Policy:
    """Return the policy for a role with a noise level, and a table that is declared as large as it is."""
    table = replace(policy.tables["rides"], expected_rows=ROWS)
    table = replace(table, units={**table.units, "passenger": UnitBound("rider", 1)})
    owner = replace(policy.roles["owner"], noise=level, per_query=Privacy(cap), least=cap / 10**6)
    return replace(policy, tables={**policy.tables, "rides": table}, roles={**policy.roles, "owner": owner})


def _asked(client: Client, asked: str, budget: Fraction) -> tuple[Sequence[float], Fraction]:
    """Ask questions, each about nearly all rides, until so much is spent; return the answers, and what one has cost."""
    role, numbers = client.gateway._deps.policy.roles["owner"], list[float]()
    account = Account("ana", role, client.gateway._deps.policy.budgets["passenger"])
    before = client.ledger.balance(account).role_spent.epsilon
    while (spent := client.ledger.balance(account).role_spent.epsilon - before) < budget:
        question = client.gateway.examine(f"SELECT {asked} FROM rides WHERE number <> {len(numbers)}", client.asker)
        assert question is not None
        reply = replied(client.gateway, client.request(question, Settings(), ()))
        numbers.append(float(str(client.connection.execute(reply.text.encode()).fetchall()[0][0])))
    return numbers, spent / len(numbers)


@pytest.mark.parametrize(("output", "looks", "spread"), list(_outputs()), indirect=["spread"])
def test_a_role_gets_what_is_said(
    output: OutputKind, looks: int, spread: str, rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """A question costs what is said, search included, and errs by as much, or says nothing where that is said.

    The noise is the same in every run; with that of others costs of single levels differ by a half, and of all by a fifth.
    """
    asked, (words, exact) = SoughtAnswer(output, 1, Fraction(ROWS), SPREADS[spread]), ASKED[output]
    right, costs, errors = float(str(exact(_fares(spread)))), list[float](), list[float]()
    for level in NoiseLevel:
        look = level_epsilon(level, [output], contribution=1, rows=asked.rows, cap=None)
        cap = look * looks or price_question(asked, level, 80 * look).epsilon
        said, noise = price_question(asked, level, cap), random.Random(level.value).randbytes  # noqa: S311
        if not said.answered:  # a median that is mostly NULL from the first look on, or only noise
            continue
        client = new_client(rides, policy=_role_of(policy, level, cap), entropy=noise)
        client.ledger.advance(level)
        answers, paid = _asked(client, words, said.epsilon * MANY)
        costs.append(float(paid / said.epsilon))
        errors.append(mean(abs(answer / right - 1) for answer in answers) / said.error)
        assert said.error <= 1.5 * float(level.error) or looks < 80
    assert costs or output in (OutputKind.VARIANCE, OutputKind.MEDIAN)
    assert all(0.4 < ratio < 2 for ratio in (*costs, *errors)), (costs, errors)
    assert all(0.6 < geometric_mean(ratios) < 1.4 for ratios in (costs, errors) if len(ratios) > 1), (costs, errors)
