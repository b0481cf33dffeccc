"""What is said of dashboards that count ρ: their errors are those of the noise that answers, within the same total."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean

import pytest

from dpsql.accounting.zcdp import rho_of, rho_within
from dpsql.epsilon.advising.advice import EpsilonPlan, Holder, Size
from dpsql.epsilon.advising.rule import Promises
from dpsql.epsilon.noise.outputs import OutputKind
from dpsql.policy.model import Period, Policy
from dpsql.privacy.accuracy.dashboards import DELTA, dashboard, error_of_rho, length
from tests.policy.fix_config import load_changed
from tests.support.fix_policy import counting_rho, with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker, Row

PEOPLE, SEATS, LARGEST = 400, 7, 150.0
SIZE = Size(PEOPLE, PEOPLE * SEATS, max_rows=SEATS, groups=SEATS)
EPSILON = Fraction(1, 2)
PROMISES = Promises(10_000, Fraction("0.33"), Fraction("0.75"), Fraction("0.9"))
AGGREGATES = {
    OutputKind.COUNT: ("count(*)", float(PEOPLE)),
    OutputKind.AVG: ("avg(fare)", LARGEST / 2),
    OutputKind.VARIANCE: ("var_pop(fare)", LARGEST**2 / 12 * (1 + 2 / (PEOPLE - 1))),
    OutputKind.SUM: ("sum(fare)", PEOPLE * LARGEST / 2),
}


@pytest.fixture(scope="module")
def spread(policy: Policy) -> Memory:
    """Riders with a ride for each number of seats, whose fares lie evenly from nothing to the largest."""
    base = Maker(3, dirt=0.0).row(policy.tables["rides"])
    engine = Memory(policy)
    rows: list[Row] = [
        base | {"rider": r, "seats": s, "fare": LARGEST * r / (PEOPLE - 1)}
        for r, s in product(range(PEOPLE), range(SEATS))
    ]
    engine.fill("rides", rows)
    return engine


def _error(client: Client, output: OutputKind, answers: int = 60) -> float:
    """Return the mean error, relative to the truth, over all groups."""
    aggregate, true = AGGREGATES[output]
    found = list[float]()
    for _ in range(answers):
        client.ledger.advance("again")
        rows = client.ask(f"SELECT seats, {aggregate} FROM rides GROUP BY seats").rows
        found += [abs(float(str(value)) - true) / true for _, value in rows]
    return fmean(found)


@pytest.mark.parametrize("output", AGGREGATES)
@pytest.mark.parametrize("limit", [SEATS, length(SIZE)])
def test_errors_are_those_of_the_noise_that_answers(
    output: OutputKind, limit: int, spread: Memory, policy: Policy, new_client: NewClient
) -> None:
    """Of 420 numbers, within a quarter: 1.5 standard errors of a fifth would be a false alarm in one run of a thousand."""
    counting = counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", limit), EPSILON), "owner")
    if output is OutputKind.SUM and limit < SEATS:
        return  # lone sums keep the limit for rows, which would take four of seven
    said = error_of_rho(output, SIZE, EPSILON, limit)
    assert _error(new_client(spread, policy=counting), output) == pytest.approx(said, rel=0.25)


def test_errors_of_pure_epsilon_are_those_of_the_noise_that_answers(
    spread: Memory, policy: Policy, new_client: NewClient
) -> None:
    """The other column of the comparison, at the same ε."""
    pure = with_epsilon(with_rows(policy, "rides", "passenger", SEATS), EPSILON)
    for output in (OutputKind.COUNT, OutputKind.AVG):
        said = SIZE.question(output).error(float(EPSILON))
        assert _error(new_client(spread, policy=pure), output) == pytest.approx(said, rel=0.25)


@pytest.mark.parametrize(("period", "stay"), [(Period.NEVER, None), (Period.DAY, 30), (Period.MONTH, 365)])
@pytest.mark.parametrize("total", ["1.0986", "5", "0.01"])
@pytest.mark.parametrize("questions", [1, 12, 1500])
def test_all_questions_stay_within_the_total(period: Period, stay: int | None, total: str, questions: int) -> None:
    """What the questions of all periods of a stay come to is (ε, δ) for the total ε: in ρ, exactly."""
    plan = EpsilonPlan.of(PROMISES, period, stay, Fraction(total))
    of_rho = dashboard(SIZE, plan, questions)
    of_period = rho_within(of_rho.each, DELTA)
    assert questions * rho_of(of_rho.per_query) <= of_period
    assert plan.periods * of_period <= rho_within(plan.total, DELTA)
    assert questions * rho_of(of_rho.per_query) > of_period * Fraction(99, 100)  # and nothing is given away


def test_few_questions_are_not_advised_to_count_rho() -> None:
    """Of one question ρ at a δ is further off; no lines are written, and it is said."""
    plan = EpsilonPlan.of(PROMISES, Period.NEVER, None)
    one = dashboard(replace(SIZE, groups=1000, max_rows=1), plan, 1)
    assert one.least < 1
    assert one.lines(plan, Holder("ana", "person", Fraction(1))) == ""
    assert "not for so few questions" in one.verdict


def test_a_person_in_many_groups_has_a_smaller_length() -> None:
    """√C where each row is in a group of its own, C in one group; and it only counts where C may be chosen for lengths."""
    assert [length(Size(10, 10, 16, groups)) for groups in (1, 4, 16, 100)] == [16, 8, 4, 4]
    plan = EpsilonPlan.of(PROMISES, Period.NEVER, None)
    few, many = (dashboard(Size(10_000, 10_000, 16, groups), plan, 100) for groups in (11, 12))
    assert all(one.spread is None for one in few.compared)
    assert all(one.spread is not None for one in many.compared)


def test_the_lines_are_a_policy_that_counts_rho(tmp_path: Path) -> None:
    """All of them are comments; without the marks they load, for the data set and the role."""
    plan = EpsilonPlan.of(PROMISES, Period.MONTH, 365, Fraction(5))
    lines = dashboard(SIZE, plan, 200).lines(plan, Holder("owner", "passenger", Fraction(1, 10))).splitlines()
    assert all(line.startswith("# ") for line in lines)
    _, _, *bare = [line.removeprefix("# ") for line in lines]
    assert bare[0] == "budget:"
    role = bare[bare.index("roles:") + 2 :]
    old = (
        "    protects: passenger\n    budget: {epsilon: 5, delta: 1e-6, period: week}\n"
        "    per_query: {noise: low, epsilon: 0.1}\n"
    )
    policy = load_changed(tmp_path, "config.yaml", old, "\n".join(role) + "\n").policy
    assert policy.roles["owner"].budget.concentrated == DELTA
    assert "accounting: zcdp" in bare[1]
    assert "delta: 1e-6" in bare[1]
    assert policy.roles["owner"].per_query.delta == 0
