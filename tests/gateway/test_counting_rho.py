"""Gaussian noise is for those who count ρ alone: the role, the data set and each user; nobody else gets or buys it."""

from dataclasses import replace
from fractions import Fraction
from statistics import pstdev

import pytest

from dpsql.accounting.balance import require_rho
from dpsql.accounting.zcdp import rho_of
from dpsql.errors import ConfigError
from dpsql.gateway.measuring import account
from dpsql.policy.model import MechanismName, NoiseLevel, Policy
from dpsql.privacy.measurement import pricing
from dpsql.privacy.measurement.sums import Sums
from dpsql.question import Asker, Settings
from tests.support.fix_policy import counting_rho, with_chosen_rows, with_epsilon, with_rows
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory
from tests.support.records import Maker, Row

BY_SEATS = "SELECT seats, count(*), avg(fare) FROM rides GROUP BY seats ORDER BY 1"
EPSILON = Fraction(1)
MARGIN = "dpsql.margin(count(*))"
ROLES = ("owner", "clamped", "explorer")


@pytest.fixture(autouse=True)
def _of_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose a C for lengths over any number of groups."""
    monkeypatch.setattr(pricing, "FEWEST_CHOSEN", 2)


@pytest.fixture(scope="module")
def scattered(policy: Policy) -> Memory:
    """300 riders with a ride for each number of seats, and twenty with sixty of one number."""
    base = Maker(3, dirt=0.0).row(policy.tables["rides"])
    rows: list[Row] = [base | {"rider": r, "seats": s, "fare": 10.0 + s} for r in range(300) for s in range(7)]
    rows += [base | {"rider": r, "seats": 3, "fare": 20.0} for r in range(300, 320) for _ in range(60)]
    engine = Memory(policy)
    engine.fill("rides", rows)
    return engine


def _policy(policy: Policy) -> Policy:
    return counting_rho(with_epsilon(with_rows(policy, "rides", "passenger", 7), EPSILON), *ROLES)


@pytest.fixture
def client(scattered: Memory, policy: Policy, new_client: NewClient) -> Client:
    """A role that counts ρ."""
    return new_client(scattered, policy=_policy(policy))


def _notes(client: Client) -> list[tuple[Fraction, str]]:
    return [(entry.cost.rho, entry.note) for entry in client.ledger.entries(None, 20)]


def test_the_line_holds_rho(client: Client) -> None:
    """And says so; the role and the data set are charged with it, once."""
    client.ask(BY_SEATS)
    rho = rho_of(EPSILON)
    ((paid, note),) = _notes(client)
    assert paid == rho
    assert "Gaussian noise of ρ = " in note
    balance = client.ledger.balance(account(client.gateway._deps.policy, client.asker))
    assert balance.role_filter.charged.epsilon == balance.dataset_filter.charged.epsilon == rho
    client.ask(BY_SEATS)
    client.ask("SELECT seats, avg(fare) FROM rides GROUP BY seats")
    assert client.charges == 1


def test_it_is_nearer_and_margins_know_it(scattered: Memory, policy: Policy, new_client: NewClient) -> None:
    """Of 80 answers at the same price: counts are a third nearer, beside an average; margins cover 95 % ± 3 of 480."""
    spreads, covered = [], []
    for of in (with_epsilon(with_rows(policy, "rides", "passenger", 7), EPSILON), _policy(policy)):
        client, found = new_client(scattered, policy=of), list[tuple[object, ...]]()
        for _ in range(80):
            client.ledger.advance("again")
            found += client.ask(f"SELECT seats, count(*), {MARGIN}, avg(fare) FROM rides GROUP BY seats").rows
        errors = [float(str(count)) - 300 for seats, count, *_ in found if seats != 3]
        margins = [float(str(margin)) for seats, _, margin, _ in found if seats != 3]
        spreads.append(pstdev(errors))
        covered.append(sum(abs(e) <= m for e, m in zip(errors, margins, strict=True)) / len(errors))
    assert spreads[1] < spreads[0] / 1.2
    assert 0.92 < covered[1] < 0.99


def test_no_other_role_has_it_or_buys_it(client: Client) -> None:
    """Though it counts ρ as well: the key is another, so that it is measured anew, and the data set is charged again."""
    client.ask(BY_SEATS)
    keys = {entry.key for entry in client.ledger.entries(None, 20)}
    question = client.gateway.examine(BY_SEATS, client.asker)
    assert question is not None
    request = client.request(question)
    analyzed = client.gateway.analyzed(request)
    assert analyzed is not None
    (part,) = client.gateway.priced(analyzed, request).measurements
    measuring = client.gateway._measuring
    epoch = measuring.epoch(request)
    assert measuring._key(part, client.asker, epoch, {}) in keys
    assert measuring._key(part, Asker("cleo", "clamped"), epoch, {}) not in keys
    assert isinstance(part.measurement, Sums)
    plain = replace(part, measurement=replace(part.measurement, mechanism=MechanismName.CUBE))
    shared = {measuring._key(plain, asker, epoch, {}) for asker in (client.asker, Asker("cleo", "clamped"))}
    assert len(shared) == 1


@pytest.mark.parametrize("missing", ["role", "data set", "user", "mechanism", "aim", "one group", "level"])
def test_otherwise_the_noise_stays_what_it_was(
    missing: str, scattered: Memory, policy: Policy, new_client: NewClient
) -> None:
    """If one of them adds up ε, if the role wants Laplace noise, if an error is aimed at, and where nothing is won."""
    counting, settings, sql = _policy(policy), Settings(), BY_SEATS
    owner, kind = counting.roles["owner"], counting.budgets["passenger"]
    match missing:
        case "role":
            budget = replace(owner.budget, concentrated=None)
            counting = replace(counting, roles={**counting.roles, "owner": replace(owner, budget=budget)})
        case "data set":
            counting = replace(counting, budgets={**counting.budgets, "passenger": replace(kind, concentrated=None)})
        case "user":
            counting = replace(counting, roles={**counting.roles, "owner": replace(owner, shares={"ana": Fraction(5)})})
        case "mechanism":
            laplace = policy.roles["auditor"].mechanism
            counting = replace(counting, roles={**counting.roles, "owner": replace(owner, mechanism=laplace)})
        case "aim":
            settings = Settings(error="20 %")
        case "level":
            counting = replace(counting, roles={**counting.roles, "owner": replace(owner, noise=NoiseLevel.HIGH)})
        case _:
            sql = "SELECT count(*), avg(fare) FROM rides"
    client = new_client(scattered, policy=counting)
    client.ask(sql, settings)
    assert client.charges
    assert all(not rho and "Gaussian" not in note for rho, note in _notes(client))


def test_a_chosen_bound_pays_its_part_of_rho(scattered: Memory, policy: Policy, new_client: NewClient) -> None:
    """The ladder's own, and the sums the rest of what the statement pays: not that of the rest of ε, which is less."""
    client = new_client(scattered, policy=with_chosen_rows(_policy(policy), "rides", "passenger"))
    client.ledger.advance("once more")
    before = client.charges
    ((_, count), *_) = client.ask("SELECT seats, count(*) FROM rides WHERE seats < 3 GROUP BY seats ORDER BY 1").rows
    assert abs(float(str(count)) - 300) < 150
    assert client.charges == before + 2
    newest = client.ledger.entries(None, 2)
    assert sum(entry.cost.epsilon for entry in newest) == EPSILON
    (ladder,), (sums,) = ([e for e in newest if bool(e.cost.rho) == normal] for normal in (False, True))
    whole = sums.cost.rho + rho_of(ladder.cost.epsilon)
    assert whole <= rho_of(EPSILON)
    assert float(whole) == pytest.approx(float(rho_of(EPSILON)), rel=1e-6)
    assert sums.cost.rho > rho_of(sums.cost.epsilon) * Fraction(14, 10)
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN {BY_SEATS}").rows]
    assert any("at most C rows each; C is chosen privately" in line and "squares" in line for line in lines)


def test_explain_says_which_noise_it_is(client: Client) -> None:
    """And what it costs."""
    lines = [str(row[0]).strip() for row in client.ask(f"EXPLAIN {BY_SEATS}").rows]
    assert any("ρ = " in line and "by Gaussian noise, which has no ε" in line for line in lines)
    assert any("mass scaling by the root of its rows' squares over the groups" in line for line in lines)


def test_totals_are_read_off_it(client: Client) -> None:
    """Free, with their margins, as of any answer."""
    client.ask("SELECT paid, seats, count(*) FROM rides GROUP BY paid, seats")
    of_seats = client.ask(f"SELECT seats, count(*), {MARGIN} FROM rides GROUP BY seats ORDER BY 1").rows
    one = client.ask(f"SELECT seats, count(*), {MARGIN} FROM rides WHERE seats = 2 GROUP BY seats").rows
    assert client.charges == 1
    assert one == [row for row in of_seats if row[0] == 2]
    assert all(abs(float(str(count)) - 300) < 3 * float(str(width)) for seats, count, width in of_seats if seats != 3)


def test_budgets_do_not_go_back_to_sums(client: Client) -> None:
    """While something counts that has no ε; and should it come to that, nothing is paid any more."""
    client.ask(BY_SEATS)
    policy = client.gateway._deps.policy
    owner, kind = policy.roles["owner"], policy.budgets["passenger"]
    right = account(policy, client.asker)
    require_rho(client.ledger.balance(right))
    wrong = (
        replace(right, role=replace(owner, budget=replace(owner.budget, concentrated=None))),
        replace(right, dataset=replace(kind, concentrated=None)),
        replace(right, role=replace(owner, shares={"ana": Fraction(5)})),
    )
    for changed in wrong:
        with pytest.raises(ConfigError, match="Gaussian noise count in it"):
            require_rho(client.ledger.balance(changed))
    for changed in wrong[:2]:
        balance = client.ledger.balance(changed)
        assert min(balance.role_left.epsilon, balance.dataset_left.epsilon) == 0
