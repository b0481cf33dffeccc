"""What a question costs, when it is free, and what is kept when something breaks."""

import traceback
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import ChargeItem, DataSet, OpeningWay
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.errors import DpsqlError, TooComplex
from dpsql.policy.model import DatasetBudget, Policy, Privacy
from dpsql.question import Cancellation, Settings
from dpsql.shadow.questions import oracle
from tests.gateway.engines import Watched, shuffled
from tests.gateway.ledgers import costs, entries
from tests.support.fix_policy import with_epsilon
from tests.support.fix_world import NewClient, noon
from tests.support.memory import Memory

COUNT = "SELECT paid, count(*) FROM rides GROUP BY paid"


def test_the_same_question_again_is_free(rides: Memory, new_client: NewClient) -> None:
    """It has the same answer, however it is written, and nothing more is measured."""
    engine = Watched(rides)
    client = new_client(engine)
    first = client.ask(COUNT)
    assert client.ask(COUNT).rows == first.rows
    assert client.ask("select r.paid as p, count( 1 ) from public.rides r group by 1 -- again").rows == first.rows
    assert client.ask(f"SELECT * FROM ({COUNT}) AS q WHERE count > -1").rows == first.rows
    assert (engine.runs, client.charges) == (1, 1)


def test_units_of_several_tables_are_grouped(new_client: NewClient, policy: Policy) -> None:
    """The engine is not asked which columns it keeps unique of rows that a statement makes."""
    every = "SELECT passenger_id AS p FROM trips UNION ALL SELECT rider FROM rides"
    client = new_client(Memory(policy))
    assert client.ask(f"EXPLAIN SELECT avg(n) FROM (SELECT p, count(*) AS n FROM ({every}) AS t GROUP BY p) AS u").rows


def test_another_epsilon_is_another_question(rides: Memory, new_client: NewClient) -> None:
    """An answer with other noise is measured and paid again, at what the session asks."""
    client = new_client(rides)
    client.ask(COUNT, Settings(epsilon="0.25"))
    client.ask(COUNT)
    assert costs(client) == [Fraction(1, 4), Fraction(10**12)]


def test_an_explanation_says_that_the_budget_does_not_suffice(
    rides: Memory, policy: Policy, new_client: NewClient
) -> None:
    """In the words of the refusal that would come; what was answered before stays free, and nothing is said of it."""
    role = policy.roles["owner"]
    poor = replace(role, budget=replace(role.budget, total=Privacy(Fraction("1.5"))), per_query=Privacy(Fraction(1)))
    client = new_client(rides, policy=replace(policy, roles={**policy.roles, "owner": poor}))

    def told(sql: str) -> str:
        return str(client.ask(f"EXPLAIN {sql}").rows)

    other = "SELECT count(*) FROM rides"
    assert "Refused now" not in told(COUNT) + told(other)
    client.ask(COUNT)
    assert "Refused now" not in told(COUNT)
    refused = 'Refused now: the budget of role "owner" has ε = 0.5 left, the statement asks for ε = 1'
    assert refused in told("SELECT sum(tip) FROM trips")
    with pytest.raises(DpsqlError, match=r"has ε = 0\.5 left, the statement asks for ε = 1"):
        client.ask("SELECT sum(tip) FROM trips")


def test_the_next_epoch_measures_again(rides: Memory, new_client: NewClient) -> None:
    """After a refresh the same question is paid again; what was charged stays."""
    client = new_client(rides)
    for _ in range(3):
        client.ask(COUNT)
        client.ledger.advance("refresh")
    assert client.charges == 3


def test_a_release_that_comes_after_its_epoch_answers_nothing(rides: Memory, new_client: NewClient) -> None:
    """What is measured while another epoch begins is stored as what it is: the next epoch measures again."""
    engine = Watched(rides)
    client = new_client(engine)

    def begin(_: Cancellation) -> None:
        engine.before = lambda _: None
        client.ledger.advance("refresh")

    engine.before = begin
    for _ in range(3):
        client.ask(COUNT)
    assert (engine.runs, client.charges) == (2, 2)


def test_another_policy_measures_again(rides: Memory, policy: Policy, new_client: NewClient, tmp_path: Path) -> None:
    """Whatever has changed in it: what was released under the one is no answer under the other."""
    with SqliteLedger(tmp_path / "ledger.db", noon) as ledger:
        for print_ in ("one", "other", "one"):
            client = new_client(rides, policy=replace(policy, fingerprint=print_), ledger=ledger)
            client.ask(COUNT)
        assert client.charges == 2


def test_a_release_answers_for_its_own_records_only(rides: Memory, new_client: NewClient, tmp_path: Path) -> None:
    """Where the data set is another, or elsewhere, the same question is measured and paid again."""
    engine, places = Watched(rides), (DataSet("taxi", "here"), DataSet("taxi", "there"), DataSet("bikes", "there"))
    for place in places:
        with SqliteLedger(tmp_path / "ledger.db", noon, place, OpeningWay.ADOPTED) as ledger:
            client = new_client(engine, ledger=ledger)
            client.ask(COUNT)
            client.ask(COUNT)
            charges = client.charges
    assert (engine.runs, charges) == (3, 3)


def test_keys_of_releases_contain_whose_they_are(rides: Memory, new_client: NewClient, tmp_path: Path) -> None:
    """Releases of two ledgers, or of two data sets, bear different names, so that none is ever taken for another."""
    keys = []
    for number, name in enumerate(("taxi", "taxi", "bikes")):
        with SqliteLedger(tmp_path / f"{number}.db", noon, DataSet(name, "here")) as ledger:
            client = new_client(rides, ledger=ledger)
            client.ask(COUNT)
            keys.append(entries(client)[0].key)
    assert len(set(keys)) == 3


def test_the_parts_of_a_statement_share_its_epsilon(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """However many measurements a statement needs, their costs add up to its ε."""
    client = new_client(rides, policy=with_epsilon(policy, Fraction(1)))
    client.ask("SELECT median(fare), count(DISTINCT rider), avg(tip), max(seats) FROM rides")
    client.ask("SELECT (SELECT count(*) FROM rides WHERE late) AS a, (SELECT sum(fare) FROM rides) AS b")
    shares = costs(client)
    assert len(shares) == 6
    assert (sum(shares[:4]), sum(shares[4:])) == (1, 1)


def test_scopes_that_find_keys_share_delta(rides: Memory, policy: Policy, new_client: NewClient) -> None:
    """Two lists of keys that nobody declared are both paid from the δ of one statement, and a third of the same is free."""
    client = new_client(rides, "eve")
    keyed = "(SELECT note, count(*) AS n FROM rides GROUP BY note)"
    other = "(SELECT number, count(*) AS n FROM rides GROUP BY number)"
    client.ask(f"SELECT sum(a.n) FROM {keyed} AS a, {other} AS b, {keyed} AS c")
    role = policy.roles["explorer"]
    deltas = [entry.cost.delta for entry in entries(client)]
    assert [delta for delta in deltas if delta] == [role.per_query.delta / 2] * 2


def test_no_statement_hides_the_others_charges(rides: Memory, new_client: NewClient) -> None:
    """Whatever text is in the ledger `dpsql.charges` can be read, the beginning of a long one."""
    client = new_client(rides)
    client.ask(COUNT)
    cost = Privacy(Fraction(1))
    account = Account("ana", client.gateway._deps.policy.roles["owner"], DatasetBudget(Privacy(Fraction(10**30))))
    for key, text in (("zero", "SELECT '\0'"), ("quotes", "'\\\"{}$$\n\x1b"), ("long", "x" * 10**5)):
        with client.ledger.open_statement(account, text, [ChargeItem(key, cost, "count")]):
            pass
    rows = client.ask("SELECT statement FROM dpsql.charges ORDER BY charge_id").rows
    assert rows == [(COUNT,), ("SELECT '\ufffd'",), ("'\\\"{}$$\n\x1b",), ("x" * 2000 + "…",)]


def test_looking_costs_nothing(rides: Memory, new_client: NewClient) -> None:
    """To examine, to describe, to probe columns, to explain and to be refused is free."""
    engine = Watched(rides)
    client = new_client(engine)
    question = client.gateway.examine(COUNT, client.asker)
    assert question is not None
    assert question.probes == ()
    for sql in ("SELECT * FROM rides LIMIT 0", "SELECT DISTINCT paid FROM rides", f"EXPLAIN {COUNT}"):
        client.ask(sql)
    for sql in ("SELECT * FROM rides", "SELECT note, count(*) FROM rides GROUP BY 1", "SELECT sum(number) FROM rides"):
        with pytest.raises(DpsqlError):
            client.ask(sql)
    assert (engine.runs, client.charges) == (0, 0)


def test_a_refusal_is_a_new_exception_every_time(rides: Memory, new_client: NewClient) -> None:
    """What a statement is refused with is kept as a value: nobody sees where another's exception has been."""
    client = new_client(rides)
    caught = []
    for _ in range(3):
        with pytest.raises(DpsqlError) as failed:
            client.ask("SELECT paid, fare FROM rides")
        caught.append(failed.value)
    assert len(set(map(id, caught))) == 3
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in caught}) == 1
    assert len({(error.message, error.hint, error.position) for error in caught}) == 1


def test_what_a_moment_refuses_is_not_remembered(
    rides: Memory, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has cancelled, or waits for what was left behind, takes nobody's statement away, not even the own one."""
    client, sql = new_client(rides), "SELECT count(*) FROM rides WHERE seats > 1"
    with monkeypatch.context() as busy:
        busy.setattr(oracle, "_MOST_LEFT", 0)
        with pytest.raises(TooComplex):
            client.ask(sql)
    assert len(client.ask(sql).rows) == 1


def test_rows_come_in_the_order_of_their_domain(rides: Memory, new_client: NewClient) -> None:
    """The order in which the engine returns groups, which says something about data, is nowhere in the answer."""
    sql = "SELECT from_zone, paid, count(*), sum(fare) FROM rides GROUP BY 1, 2"
    texts = []
    for seed in range(4):
        client = new_client(Watched(rides, after=shuffled(seed)), entropy=np.random.default_rng(7).bytes)
        client.ledger.advance("again")
        question = client.gateway.examine(sql, client.asker)
        assert question is not None
        texts.append(client.text(question))
    assert len(set(texts)) == 1


def test_groups_that_nobody_declared_are_dropped(rides: Memory, new_client: NewClient) -> None:
    """A group that the engine returns though the policy does not know it reaches nobody."""
    client = new_client(Watched(rides, after=lambda rows: [*rows, ("secret", "65536")]))
    assert "secret" not in str(client.ask(COUNT).rows)
