"""Standing questions in a ledger: paid once, claimed in order, by one store, and locked by failures."""

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

from dpsql.accounting.balance import Account
from dpsql.accounting.ledger import (
    ChargeItem,
    ClaimDenial,
    Failure,
    FailureKind,
    LastMeasurement,
    StandingQuestion,
    State,
    WantedClaim,
    standing_key,
)
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.errors import AccountClosed, BudgetExhausted, InternalError
from dpsql.policy.model import Period, Privacy, Role
from tests.accounting.conftest import Opened
from tests.support.fix_ledger import Clock, account_of, ask, item_of, spent

KEY = standing_key("q")
UNTIL = datetime(2025, 2, 2, tzinfo=UTC)
DAY = date(2024, 5, 10)


def _item(key: str = KEY, last: date = UNTIL.date()) -> ChargeItem:
    return ChargeItem(key, Privacy(Fraction("0.4")), "a standing question", read=ReadDays(date(2024, 5, 15), last))


def _wanted(name: str, stands: LastMeasurement, lineage: str = "l", until: datetime = UNTIL) -> WantedClaim:
    return WantedClaim(KEY, name, lineage, stands, (DAY,), until)


@pytest.fixture
def payer(ledger: SqlLedger) -> Account:
    """Return who has paid for the question, where the lineage is `l`."""
    account = account_of()
    ask(ledger, account, _item())
    ledger.begin_lineage("l")
    return account


def _claimed(ledger: SqlLedger, payer: Account, wanted: WantedClaim) -> LastMeasurement:
    claim = ledger.claim(payer, wanted)
    assert isinstance(claim, LastMeasurement)
    return claim


def test_it_is_paid_once_through_epochs(ledger: SqlLedger, payer: Account) -> None:
    """A new epoch forgets other releases; another role pays its own account only."""
    ask(ledger, payer, item_of("other"))
    ledger.advance("test")
    assert ask(ledger, payer, _item())
    assert spent(ledger, payer) == (Fraction("0.8"), Fraction("0.8"))
    other = account_of("other")
    ask(ledger, other, _item())
    assert spent(ledger, other) == (Fraction("0.4"), Fraction("0.8"))


def test_nobody_else_sees_or_claims_it(ledger: SqlLedger, payer: Account) -> None:
    """Before they have paid; those of another unit kind never do."""
    claim = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    assert ledger.keep_claim(payer, KEY, claim, "l", b"r")
    for other in (account_of("other"), account_of(protects="driver")):
        assert ledger.standing_claims(other, [KEY]) == {}
        with pytest.raises(InternalError):
            ledger.claim(other, _wanted("b", LastMeasurement(1, "a")))
    (seen,) = ledger.standing_claims(payer, [KEY])[KEY]
    assert (seen.number, seen.periods, seen.state, seen.release) == (1, (DAY,), State.KEPT, b"r")


def test_what_was_paid_is_known_by_its_charge_alone(ledger: SqlLedger, payer: Account) -> None:
    """Where the mark beside it was lost, with a power cut."""
    with ledger._store.write() as connection:
        connection.execute("DELETE FROM releases")
        connection.execute("DELETE FROM entitlements")
    assert ledger.standing_claims(payer, [KEY]) == {KEY: ()}
    assert _claimed(ledger, payer, _wanted("a", LastMeasurement())) == LastMeasurement(1, "a")


def test_a_claim_follows_where_the_accounts_stand(ledger: SqlLedger, payer: Account) -> None:
    """By number and by name: another attempt's accounts of the same number are not the ones."""
    first = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    assert ledger.keep_claim(payer, KEY, first, "l", b"1")
    for wrong in (LastMeasurement(), LastMeasurement(1, "b"), LastMeasurement(2, "a")):
        assert ledger.claim(payer, _wanted("c", wrong)) is ClaimDenial.STORE
    assert _claimed(ledger, payer, _wanted("d", first)) == LastMeasurement(2, "d")


def test_only_the_newest_lineage_measures(ledger: SqlLedger, payer: Account) -> None:
    """Also where another has begun between the claim and the release."""
    claim = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    ledger.begin_lineage("m")
    assert not ledger.keep_claim(payer, KEY, claim, "l", b"1")
    assert not ledger.keep_claim(payer, KEY, claim, "m", b"1")
    assert ledger.claim(payer, _wanted("b", LastMeasurement())) is ClaimDenial.LINEAGE


def test_a_dead_claim_is_given_again_before_any_account(ledger: SqlLedger, payer: Account) -> None:
    """With another name: who had it before stores nothing."""
    dead = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    again = _claimed(ledger, payer, _wanted("b", LastMeasurement()))
    assert again == LastMeasurement(1, "b")
    assert not ledger.keep_claim(payer, KEY, dead, "l", b"1")
    assert ledger.keep_claim(payer, KEY, again, "l", b"2")


def test_accounts_without_a_release_lock_the_question(ledger: SqlLedger, payer: Account) -> None:
    """Its periods are lost; once it is unlocked the next ones are measured after it."""
    dead = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    assert ledger.claim(payer, _wanted("b", dead)) is ClaimDenial.LOCKED
    assert ledger.claim(payer, _wanted("b", dead)) is ClaimDenial.LOCKED
    (lost,) = ledger.standing_claims(payer, [KEY])[KEY]
    assert lost.state is State.LOST
    ledger.unlock(payer.role.name)
    assert _claimed(ledger, payer, _wanted("c", dead)) == LastMeasurement(2, "c")


@pytest.mark.parametrize("written", [False, True])
def test_a_failure_locks_until_the_account_is_opened(ledger: SqlLedger, payer: Account, *, written: bool) -> None:
    """And is counted; a client's cancel before any account was written is none."""
    claim = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    ledger.end_claim(payer, KEY, claim, "SELECT", Failure(FailureKind.ENGINE, "x"), written=written)
    stands = claim if written else LastMeasurement()
    assert ledger.claim(payer, _wanted("b", stands)) is ClaimDenial.LOCKED
    assert [event.what for event in ledger.incidents(payer.role.name)] == ["engine"]
    ledger.unlock(payer.role.name)
    assert _claimed(ledger, payer, _wanted("c", stands)) == LastMeasurement(2 if written else 1, "c")


def test_a_cancel_locks_nothing(ledger: SqlLedger, payer: Account) -> None:
    """Unless accounts were written."""
    claim = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    ledger.end_claim(payer, KEY, claim, "SELECT", None, written=False)
    claim = _claimed(ledger, payer, _wanted("b", LastMeasurement()))
    ledger.end_claim(payer, KEY, claim, "SELECT", None, written=True)
    assert ledger.claim(payer, _wanted("c", claim)) is ClaimDenial.LOCKED


def test_nothing_is_claimed_when_the_term_is_over(ledger: SqlLedger, payer: Account, clock: Clock) -> None:
    """By the ledger's clock, which does not run back."""
    clock.now = UNTIL + timedelta(hours=1)
    ask(ledger, account_of("third", "1"), item_of("later"))
    clock.now = UNTIL - timedelta(days=30)
    assert ledger.claim(payer, _wanted("a", LastMeasurement())) is ClaimDenial.OVER


def test_claims_count_towards_the_day(ledger: SqlLedger, payer: Account) -> None:
    """Given or not; a closed account has none."""
    runs = ledger.balance(payer).runs
    _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    ledger.claim(payer, _wanted("b", LastMeasurement(7, "z")))
    assert ledger.balance(payer).runs == runs + 2
    few = Account("ana", _few(payer), payer.dataset)
    with pytest.raises(BudgetExhausted):
        ledger.claim(few, _wanted("c", LastMeasurement()))
    for number in range(10):
        claim = _claimed(ledger, payer, _wanted(f"d{number}", LastMeasurement()))
        ledger.end_claim(payer, KEY, claim, "SELECT", Failure(FailureKind.LATE, "x"), written=False)
        with ledger._store.write() as connection:
            connection.execute("UPDATE standing_claims SET locked = 0")
    with pytest.raises(AccountClosed):
        ledger.claim(payer, _wanted("e", LastMeasurement()))


def _few(payer: Account) -> Role:
    return replace(payer.role, limits=replace(payer.role.limits, runs=3))


def test_a_role_pays_in_each_period_in_which_it_may_be_measured(opened: Opened, clock: Clock) -> None:
    """Another charge of the same day counts in its own alone; a user's share, too."""
    account = account_of(period="month")
    with opened() as ledger:
        ask(ledger, account, _item(last=date(2024, 6, 20)), item_of("other", "0.1"))
        for at, role, user in ((datetime(2024, 6, 19), "0.4", "0.4"), (datetime(2024, 7, 1), "0", "0")):  # noqa: DTZ001
            clock.now = at.replace(tzinfo=UTC)
            balance = ledger.balance(account)
            assert (balance.role_spent.epsilon, balance.user_spent) == (Fraction(role), Fraction(user))
    with opened() as ledger:
        clock.now = datetime(2024, 6, 19, tzinfo=UTC)
        assert ledger.balance(account).role_spent.epsilon == Fraction("0.4")


def test_a_window_has_it_until_the_last_moment(ledger: SqlLedger, clock: Clock) -> None:
    """Also when the clock is said to have been ahead."""
    account = account_of(total="9", dataset="1", window=10)
    ask(ledger, account, _item(last=date(2024, 9, 1)))
    clock.now = datetime(2024, 8, 25, tzinfo=UTC)
    assert ledger.balance(account).dataset_spent.epsilon == Fraction("0.4")
    clock.now = datetime(2024, 9, 20, tzinfo=UTC)
    assert ledger.balance(account).dataset_spent.epsilon == 0
    clock.now = datetime(2024, 5, 10, tzinfo=UTC)
    assert ledger.redate(Period.NEVER) is not None
    clock.now = datetime(2024, 8, 25, tzinfo=UTC)
    assert ledger.balance(account).dataset_spent.epsilon == Fraction("0.4")


def test_it_is_listed_for_who_paid(ledger: SqlLedger, payer: Account) -> None:
    """With the periods that were measured."""
    began = datetime(2024, 5, 15, 12, tzinfo=UTC)
    question = StandingQuestion(KEY, "visits", "2024", UNTIL, "h", "SELECT", Fraction("0.4"), began)
    ledger.note_standing(payer, question)
    ledger.note_standing(payer, question)
    claim = _claimed(ledger, payer, _wanted("a", LastMeasurement()))
    ledger.keep_claim(payer, KEY, claim, "l", b"1")
    (listed,) = ledger.standing_questions(payer)
    assert (listed.table, listed.epsilon, listed.measured) == ("visits", Fraction("0.4"), (DAY,))
    assert ledger.standing_questions(account_of("other")) == ()


MOVES = ("measure", "die", "write and die", "clone", "put back", "other store", "begin")


@pytest.mark.parametrize("first", MOVES)
def test_no_store_stores_beside_another(first: str, ledger: SqlLedger) -> None:
    """Who stores a release has in its accounts all that was stored before: in all sequences of three moves, then measured."""
    for number, rest in enumerate(itertools.product(MOVES, repeat=2)):
        key = standing_key(f"{first} {number}")
        ask(ledger, account_of(total="1e9", dataset="1e9"), _item(key))
        rich = account_of(total="1e9", dataset="1e9")
        stores: list[list[str]] = [[], []]
        saved, at, kept, lineages = list[str](), 0, list[str](), ["", ""]
        for step, move in enumerate((first, *rest, "measure", "measure")):
            if move == "clone":
                stores[1 - at] = [*stores[at]]
            elif move == "put back":
                stores[at], saved = [*saved], [*stores[at]]
            elif move == "other store":
                at = 1 - at
            elif move == "begin" or not lineages[at]:
                lineages[at] = f"{key} {step} {at}"
                ledger.begin_lineage(lineages[at])
            if move not in ("measure", "die", "write and die"):
                continue
            own, name = stores[at], f"{key} {step}"
            stands = LastMeasurement(len(own), own[-1]) if own else LastMeasurement()
            got = ledger.claim(rich, WantedClaim(key, name, lineages[at], stands, (DAY,), UNTIL))
            if isinstance(got, ClaimDenial) or move == "die":
                ledger.unlock(rich.role.name)
                continue
            assert got.number == len(own) + 1
            own.append(name)
            if move == "measure" and ledger.keep_claim(rich, key, got, lineages[at], b"r"):
                assert set(kept) <= set(own)
                kept.append(name)
        claims = ledger.standing_claims(rich, [key])[key]
        assert [claim.state for claim in claims].count(State.KEPT) == len(kept)
