"""Statements of two stages: everything is paid before the first, and nothing but releases leads to the second."""

from collections.abc import Callable
from typing import Any

import pytest

from dpsql.accounting.ledger import Beside, PaidStatement
from dpsql.errors import BudgetExhausted, LedgerFailed, TooManyRows, TrialFailed, Unsupported
from dpsql.gateway.gateway import Gateway
from dpsql.gateway.measuring import PaidPlan
from dpsql.gateway.plans import planning
from dpsql.gateway.pricing import PricedPlan
from dpsql.policy.model import Policy
from dpsql.privacy.release.release import Release
from dpsql.question import Settings
from dpsql.rewrite.ir.constant_table import DeferredTable
from tests.gateway.engines import Watched
from tests.gateway.ledgers import with_total
from tests.support.fix_dirty import Records
from tests.support.fix_policy import NO_NOISE
from tests.support.fix_world import Client, NewClient
from tests.support.memory import Memory

ABOVE = "SELECT count(*) FROM trips WHERE fare > (SELECT avg(fare) FROM trips)"
SEVERAL = "SELECT count(*) FROM trips WHERE fare > (SELECT avg(fare) FROM trips GROUP BY payment_type)"
ONE = SEVERAL.replace("payment_type)", "payment_type ORDER BY 1 LIMIT 1)")
TOP = "SELECT pickup_zone, count(*) FROM trips WHERE pickup_zone IN (SELECT pickup_zone FROM trips GROUP BY 1 ORDER BY count(*) DESC LIMIT 2) GROUP BY 1"  # noqa: E501
Break = Callable[[pytest.MonkeyPatch], None]


def kept_alone(patch: pytest.MonkeyPatch) -> None:
    """Store what was measured with a release that could not be stored."""
    right = PaidPlan.keep

    def keep(self: PaidPlan, part: Any, release: Release) -> None:
        untold = set(self.untold)
        self.untold.clear()
        right(self, part, release)
        self.untold.update(untold)

    patch.setattr(PaidPlan, "keep", keep)


@pytest.fixture
def engine(dirty: Memory, records: Records) -> Watched:
    """The dirty records, and how often they are read."""
    assert records
    return Watched(dirty)


def charged_late(patch: pytest.MonkeyPatch) -> None:
    """Pay for each stage when its turn comes: whoever can't pay for the second has the first answer none the less."""
    right = Gateway._released

    def released(self: Gateway, priced: Any, *rest: Any) -> Any:
        for inner in priced.inner:
            right(self, inner, *rest)
        return right(self, priced, *rest)

    patch.setattr(Gateway, "_released", released)


def unpaid(patch: pytest.MonkeyPatch) -> None:
    """Pay for what is shown, and not for what led to it."""

    def own(self: Any) -> Any:
        return tuple({p.identity: p for scope in self.scopes for p in scope.parts}.values())

    patch.setattr(PricedPlan, "measurements", property(own))


def taken_for_one(patch: pytest.MonkeyPatch) -> None:
    """Believe of every query that it has one row at most."""
    patch.setattr(planning, "several_rows", lambda *_: False)


def first_row(patch: pytest.MonkeyPatch) -> None:
    """Take the first of several rows for the value: harmless, but not what PostgreSQL says."""
    right = DeferredTable._made
    patch.setattr(DeferredTable, "_made", lambda self, rows: right(self, rows[:1]))


def _tells_what_it_can_not_pay(client: Client, engine: Watched) -> bool:
    """Return whether the engine is asked, or anything charged, where the budget has room for one measurement only."""
    client.ask("SELECT count(*) FROM trips", Settings(epsilon="0.25"))
    before = engine.runs, client.charges
    with pytest.raises(BudgetExhausted):
        client.ask(ABOVE)  # 0.5 for each of its measurements
    return (engine.runs, client.charges) != before


def test_a_statement_that_can_not_pay_for_all_stages_begins_none(
    policy: Policy, engine: Watched, new_client: NewClient
) -> None:
    """Its second stage is reserved with the first: nothing is charged, and the engine is not asked."""
    client = new_client(engine, policy=with_total(policy, 1))
    assert not _tells_what_it_can_not_pay(client, engine)


def test_a_released_scalar_charged_late_is_noticed(
    policy: Policy, engine: Watched, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same check catches a gateway that pays for each stage when its turn comes."""
    charged_late(monkeypatch)
    client = new_client(engine, policy=with_total(policy, 1))
    assert _tells_what_it_can_not_pay(client, engine)


def test_both_stages_are_paid_before_the_first_runs(engine: Watched, new_client: NewClient) -> None:
    """The ledger has them when the engine is asked for the first row."""
    paid: list[int] = []
    client = new_client(engine)
    engine.before = lambda _: paid.append(client.charges)
    client.ask(ABOVE)
    assert paid == [2, 2]


def test_what_leads_to_an_answer_can_not_be_left_unpaid(
    engine: Watched, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway that forgets the inner measurements finds no release to read, when it runs through them."""
    unpaid(monkeypatch)
    client = new_client(engine)
    with pytest.raises(TrialFailed):
        client.ask(ABOVE)
    assert engine.runs == 0


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(fare) FROM trips GROUP BY payment_type",
        "SELECT n FROM (SELECT payment_type AS p, count(*) AS n FROM trips GROUP BY 1) AS t WHERE n > 3",
        "SELECT 2 * (SELECT avg(fare) FROM trips GROUP BY payment_type)",
        "SELECT max(fare) FROM trips UNION ALL SELECT min(fare) FROM trips",
    ],
)
def test_a_value_that_may_have_several_rows_is_refused_before_it_is_paid(
    inner: str, engine: Watched, new_client: NewClient
) -> None:
    """PostgreSQL would fail with it when it is too late, unless the one row is told by the statement itself."""
    client = new_client(engine)
    with pytest.raises(Unsupported, match="several rows") as refused:
        client.ask(f"SELECT count(*) FROM trips WHERE fare > ({inner})")
    assert refused.value.hint is not None
    assert (client.charges, engine.runs) == (0, 0)


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT avg(fare) FROM trips WHERE payment_type = 'cash' GROUP BY payment_type",
        "SELECT n FROM (SELECT payment_type AS p, avg(fare) AS n FROM trips GROUP BY 1) AS t WHERE p = 'cash'",
        "SELECT avg(fare) FROM trips GROUP BY payment_type ORDER BY 1 LIMIT 1",
        "SELECT max(n) FROM (SELECT avg(fare) AS n FROM trips GROUP BY payment_type) AS t",
    ],
)
def test_a_value_whose_one_row_is_told_is_answered(inner: str, engine: Watched, new_client: NewClient) -> None:
    """By its key, its limit, or because it is a total."""
    assert len(new_client(engine).ask(f"SELECT count(*) FROM trips WHERE fare > ({inner})").rows) == 1


def test_who_fails_between_stages_has_paid_for_both(
    engine: Watched, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That an answer has several rows is told by what was released; the retry pays for what was not, and no more."""
    taken_for_one(monkeypatch)
    client = new_client(engine)
    with pytest.raises(TooManyRows):
        client.ask(SEVERAL)
    assert (client.charges, engine.runs) == (2, 1)
    client.ask(ONE)
    assert (client.charges, engine.runs) == (3, 2)


def test_several_rows_are_no_value(engine: Watched, new_client: NewClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above sees a gateway that takes the first of them."""
    taken_for_one(monkeypatch)
    first_row(monkeypatch)
    assert new_client(engine).ask(SEVERAL).rows


def test_an_inner_answer_is_reused(engine: Watched, new_client: NewClient) -> None:
    """What was released once is free, for other statements with the same inner query too."""
    client = new_client(engine)
    first = client.ask(ABOVE)
    assert client.ask(ABOVE).rows == first.rows
    assert (client.charges, engine.runs) == (2, 2)
    client.ask(ABOVE.replace("count(*)", "sum(tip)"))
    assert (client.charges, engine.runs) == (3, 3)


def test_another_inner_answer_is_another_question(engine: Watched, new_client: NewClient) -> None:
    """A constant that was released with other noise is not taken for the same: each ε has its own second stage."""
    client = new_client(engine)
    client.ask(ABOVE)
    client.ask(ABOVE, Settings(epsilon="1000"))
    assert (client.charges, engine.runs) == (4, 4)


def test_the_price_is_known_before_the_first_stage(engine: Watched, new_client: NewClient) -> None:
    """EXPLAIN shows the stages and their ε, which is what is charged, and asks the engine nothing."""
    client = new_client(engine)
    lines = [str(line) for (line,) in client.ask(f"EXPLAIN {TOP}").rows]
    assert engine.runs == client.charges == 0
    assert [line.strip() for line in lines if "Stage" in line] == [
        "Stage 1 of 2: an inner answer, released before the next",
        "Stage 2 of 2: the statement",
    ]
    client.ask(TOP)
    entries = client.ledger.entries(None, 10)
    assert sum(entry.cost.epsilon for entry in entries) == NO_NOISE


def test_groups_that_an_answer_leaves_out_are_not_shown(engine: Watched, new_client: NewClient) -> None:
    """They are measured, since the price may not depend on the answer, and left out."""
    assert len(new_client(engine).ask(TOP).rows) == 2


@pytest.mark.parametrize(
    ("asked", "nothing"),
    [
        ("count(*), sum(fare), avg(fare), var_pop(fare)", (0, None, None, None)),
        ("grouping(payment_type), count(fare), covar_pop(fare, tip)", (1, 0, None)),
    ],
)
def test_the_total_of_groups_that_an_answer_leaves_none_of_is_that_of_no_rows(
    asked: str, nothing: tuple[object, ...], engine: Watched, new_client: NewClient
) -> None:
    """It is one row, as in PostgreSQL, though much was measured for the groups that there might have been."""
    few = "SELECT payment_type FROM trips GROUP BY 1 HAVING count(*) < -1000000"
    sql = f"SELECT payment_type, {asked} FROM trips WHERE payment_type IN ({few}) GROUP BY ROLLUP (1)"
    assert new_client(engine).ask(sql).rows == [(None, *nothing)]


@pytest.mark.parametrize("broken", [None, kept_alone], ids=["as it is", "kept alone"])
def test_an_outer_release_is_not_kept_without_its_inner_one(
    broken: Break | None, engine: Watched, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again the inner answer is another: beside it the outer one, which was made of the first, would be told."""
    client, failing = new_client(engine), [True]
    if broken is not None:
        broken(monkeypatch)
    store = PaidStatement.store

    def stored(self: PaidStatement, key: str, release: bytes, beside: Beside | None = None) -> bytes:
        if failing:
            failing.pop()
            raise LedgerFailed
        return store(self, key, release, beside)

    monkeypatch.setattr(PaidStatement, "store", stored)
    client.ask(ABOVE)
    assert not failing
    before = engine.runs
    client.ask(ABOVE)
    assert engine.runs - before == (2 if broken is None else 1)
