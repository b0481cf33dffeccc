"""Errors as a target where a query waits for another: that is measured until it errs little enough, and stays then."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.gateway import gateway
from dpsql.gateway.gateway import splice
from dpsql.gateway.inner_answers import Reading
from dpsql.gateway.pricing import Drawn, PricedPlan
from dpsql.policy.model import NoiseLevel, Policy
from dpsql.question import Settings
from tests.support.fix_policy import with_chosen_rows, with_epsilon
from tests.support.fix_world import Client, NewClient, replied
from tests.support.memory import Memory
from tests.support.records import Maker

FIVE, TWO = Settings(error="5 %"), Settings(error="2 %")
ABOVE = "SELECT count(*) FROM rides WHERE fare > (SELECT avg(fare) FROM rides)"
FIRST = (
    "SELECT age, count(*) FROM rides WHERE age IN (SELECT age FROM rides GROUP BY age ORDER BY count(*) DESC LIMIT 5)"
    " GROUP BY age"
)
NESTED = (
    "SELECT count(*) FROM rides WHERE fare > (SELECT avg(fare) FROM rides WHERE age > (SELECT avg(age) FROM rides))"
)
FEW = "SELECT count(*) FROM rides WHERE age IN (SELECT age FROM rides WHERE fare > 29 GROUP BY age HAVING count(*) > 2)"


@pytest.fixture(scope="module")
def rides(policy: Policy) -> Memory:
    """20,000 rides of as many riders; fares spread evenly from 0 to 30, and five ages with a tenth of the rides each."""
    engine, maker = Memory(policy), Maker(7)
    others = [maker.row(policy.tables["rides"]) for _ in range(1_000)]
    engine.fill(
        "rides",
        [
            others[n % 1_000]
            | {"rider": n, "fare": (n * 7919 % 3000) / 100, "age": n % 10 if n % 10 < 5 else 10 + n % 60}
            for n in range(20_000)
        ],
    )
    return engine


@pytest.fixture(params=["20", "auto"])
def aimed(request: pytest.FixtureRequest, rides: Memory, policy: Policy, new_client: NewClient) -> Client:
    """Give a client that may pay ε = 1 a question, and has a large budget."""
    policy = policy if request.param == "20" else with_chosen_rows(policy, "rides", "passenger")
    return new_client(rides, policy=with_epsilon(policy, Fraction(1)))


def _paid(client: Client, sql: str, settings: Settings = FIVE) -> Fraction:
    before = sum((entry.cost.epsilon for entry in client.ledger.entries(None, 10**6)), Fraction(0))
    client.ask(sql, settings)
    return sum((entry.cost.epsilon for entry in client.ledger.entries(None, 10**6)), Fraction(0)) - before


@pytest.mark.parametrize(("sql", "error"), [(ABOVE, "5 %"), (FIRST.replace("age", "stars"), "10 %")])
def test_it_pays_what_it_takes(sql: str, error: str, aimed: Client) -> None:
    """And not at once all that it may; the same again is free, and so is what may err more."""
    settings = Settings(error=error)
    assert 0 < _paid(aimed, sql, settings) < Fraction(7, 10)
    assert _paid(aimed, sql, settings) == 0
    told = aimed.ask(sql, settings).rows
    assert aimed.ask(sql, settings).rows == told
    assert _paid(aimed, sql, Settings(error="20 %")) == 0
    assert aimed.ask(sql, Settings(error="20 %")).rows == told


def test_the_answer_is_that_of_the_inner_answer(aimed: Client) -> None:
    """Half of the rides are dearer than the mean; the five ages are those with many."""
    ((above,),) = aimed.ask(ABOVE, FIVE).rows
    assert float(str(above)) == pytest.approx(10_000, rel=0.2)
    assert {int(str(age)) for age, _ in aimed.ask(FIRST, FIVE).rows} == {0, 1, 2, 3, 4}


def test_an_inner_answer_that_is_there_is_taken(aimed: Client) -> None:
    """The best of it, in whichever statement it was asked."""
    assert _paid(aimed, "SELECT avg(fare) FROM rides", TWO) > 0
    before = len(aimed.ledger.entries(None, 100))
    assert _paid(aimed, ABOVE) > 0
    more = list(aimed.ledger.entries(None, 100))[:-before]
    assert not any(entry.note.startswith("2 sums") for entry in more)  # which the mean is
    told = aimed.ask(ABOVE, FIVE).rows
    assert _paid(aimed, ABOVE) == 0
    assert aimed.ask(ABOVE, FIVE).rows == told


def test_what_was_measured_with_another_inner_answer_is_not_read(aimed: Client) -> None:
    """A better one is asked for by itself: what is told then follows from it, whether it is paid for again or not."""
    aimed.ask(ABOVE, Settings(error="20 %"))
    before = len(aimed.ledger.entries(None, 100))
    aimed.ask("SELECT avg(fare) FROM rides", FIVE)
    better = len(aimed.ledger.entries(None, 100)) > before
    paid = _paid(aimed, ABOVE, Settings(error="20 %"))
    assert (paid > 0) == better


@pytest.mark.parametrize("sql", [ABOVE, FIRST, NESTED])
def test_what_waits_is_measured_with_the_inner_answer_that_is_told(sql: str, aimed: Client) -> None:
    """A more exact target that makes the inner answer better asks all that waits for it anew, in the same statement."""
    for error in ("20 %", "7 %", "3 %", "1 %"):
        told = aimed.ask(sql, Settings(error=error)).rows
        assert _paid(aimed, sql, Settings(error=error)) == 0
        assert aimed.ask(sql, Settings(error=error)).rows == told


def test_an_inner_answer_is_read_off_one_release(aimed: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for it was measured with what that says, and not with what several say together."""
    read: list[int] = []

    def noted(priced: PricedPlan, drawn: Drawn, reading: Reading) -> str:
        read.extend(len(drawn[part.identity].drawn) for inner in priced.inner for part in inner.measurements)
        return splice(priced, drawn, reading)

    monkeypatch.setattr(gateway, "splice", noted)
    for error in ("20 %", "5 %", "2 %"):
        aimed.ask("SELECT avg(fare) FROM rides", Settings(error=error))
    aimed.ask(ABOVE, FIVE)
    aimed.ask(ABOVE, FIVE)
    assert read
    assert set(read) == {1}


def test_one_that_errs_too_much_is_told(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """With the most that it may pay."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1, 50)))
    question = client.gateway.examine(FEW, client.asker)
    assert question is not None
    notices = replied(client.gateway, client.request(question, TWO)).notices
    assert any(notice.startswith("an inner query: the typical error is above 2 %") for notice in notices)


@pytest.mark.parametrize("level", list(NoiseLevel))
def test_no_more_is_paid_than_the_most(level: NoiseLevel, rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """All stages together."""
    roles = {name: replace(role, noise=level) for name, role in with_epsilon(policy, Fraction(1, 2)).roles.items()}
    client = new_client(rides, policy=replace(policy, roles=roles))
    for sql in (ABOVE, FIRST, FEW):
        assert 0 < _paid(client, sql, Settings()) <= Fraction(1, 2)


TARGETS = ("50 %", "20 %", "10 %", "5 %", "2 %", "1 %", "0.5 %", "0.2 %", "0.1 %")


@pytest.mark.parametrize("sql", [ABOVE, FIRST.replace("age", "stars"), NESTED])
@pytest.mark.parametrize("targets", [TARGETS, ("20 %", "2 %"), ("5 %", "0.5 %", "0.1 %")])
def test_more_exact_targets_pay_the_difference(sql: str, targets: tuple[str, ...], aimed: Client) -> None:
    """All together no more than the most, though a better inner answer asks what waits for it anew; each is answered."""
    for epoch in range(3):
        aimed.ledger.advance(f"epoch {epoch}")
        paid = [_paid(aimed, sql, Settings(error=error)) for error in targets]
        assert 0 < sum(paid) <= 1
        for error in targets:
            assert _paid(aimed, sql, Settings(error=error)) == 0


def test_nor_where_the_inner_answer_becomes_better_elsewhere(aimed: Client) -> None:
    """What waits for it may pay what it has left; where that is nothing, the earlier inner answer is told."""
    inner = "SELECT avg(fare) FROM rides"
    for epoch in range(3):
        aimed.ledger.advance(f"epoch {epoch}")
        paid = Fraction(0)
        for error in TARGETS[1:]:
            paid += _paid(aimed, ABOVE, Settings(error=error))
            paid += _paid(aimed, inner, Settings(error=error))
            told = aimed.ask(ABOVE, Settings(error=error)).rows
            paid += _paid(aimed, ABOVE, Settings(error=error))
            assert aimed.ask(ABOVE, Settings(error=error)).rows == told
        assert paid <= Fraction(3, 2)  # of which the inner query by itself may have paid half
