"""The amounts that an account has spent, and the time when there is room again."""

from collections.abc import Iterable
from datetime import date, datetime

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.composition import compose, covers, left_of
from dpsql.accounting.privacy_filter import PrivacyFilter
from dpsql.accounting.privacy_loss import first_day, renewal
from dpsql.accounting.redating import redating_of
from dpsql.accounting.running_totals import RunningTotals
from dpsql.accounting.sliding import ReadDays
from dpsql.accounting.sql import amendments, events, lines, standing
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.choices import Accounting
from dpsql.policy.model import Privacy

_NOTHING = compose(())


def caught_up(connection: SqlConnection, totals: RunningTotals) -> RunningTotals:
    """Enter the lines that are new; return other totals where one says that the clock was wrong, since that changes all."""
    for number, entry in lines.after(connection, totals.last):
        known = {redating.line for redating in totals.redatings}
        redating = None if number in known else redating_of(number, entry)
        if redating is not None:
            return caught_up(connection, RunningTotals((*totals.redatings, redating)))
        totals.enter(number, entry)
    return totals


def balances(connection: SqlConnection, accounts: Iterable[Account], now: datetime) -> tuple[Balance, ...]:
    """Return the balances of accounts by all lines, for who does not keep the ledger open."""
    totals = caught_up(connection, RunningTotals())
    at = now if totals.latest is None else max(now, totals.latest)
    return tuple(balance_of(connection, account, now, totals, at, None) for account in accounts)


def balance_of(
    connection: SqlConnection,
    account: Account,
    now: datetime,
    totals: RunningTotals,
    at: datetime,
    copied: ReadDays | None,
) -> Balance:
    """Return an account's balance by totals that are those of the file; `at` is when a charge of now is dated.

    `copied` says when the copy was made that a charge of now would read, None if it would read the records themselves.
    """
    role, budget = account.role.budget, account.dataset
    since, window, read = first_day(role.period, now), budget.window, copied or ReadDays.of_now(at)
    whole = PrivacyFilter(budget.total, budget.concentrated, _NOTHING)

    def of_all(accounting: Accounting) -> Privacy:
        together = totals.on_kind(account.role.protects, accounting)
        return together.whole if window is None else together.fullest(read, window)

    def room_from(wanted: Privacy) -> date | None:
        if window is None or not covers(whole.limit, wanted):
            return None
        together, others = totals.on_kind(account.role.protects, whole.accounting), left_of(whole.limit, wanted)
        if covers(others, together.fullest(read, window)):
            return None
        return together.free_from(others, window, at.date())

    return Balance(
        account,
        totals.by_role(account.role.name, since),
        of_all(Accounting.SUM),
        renewal(role.period, now),
        totals.lines(account.role.name, now.date()) + standing.attempts(connection, account.role.name, now.date()),
        events.is_closed(connection, account.role.name),
        frozenset(events.broken_forms(connection, account.role.name)),
        amendments.granted(connection, account.role.name, since, renewal(role.period, now), totals.redatings),
        room_from,
        totals.by_user(account.role.name, account.user, since),
        None if role.concentrated is None else totals.by_role(account.role.name, since, Accounting.ZCDP),
        None if budget.concentrated is None else of_all(Accounting.ZCDP),
        copied is not None,
    )
