"""The amounts that an account has spent, and the time when there is room again."""

from datetime import datetime

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.composition import compose, covers, left_of
from dpsql.accounting.privacy_filter import PrivacyFilter
from dpsql.accounting.privacy_loss import first_day, renewal
from dpsql.accounting.running_totals import RunningTotals
from dpsql.accounting.sliding import counts_for
from dpsql.accounting.sql import amendments, events
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.choices import Accounting
from dpsql.policy.model import Privacy

_NOTHING = compose(())


def balance_of(
    connection: SqlConnection, account: Account, now: datetime, totals: RunningTotals, at: datetime
) -> Balance:
    """Return an account's balance by totals that are those of the file; `at` is when a charge of now is counted from."""
    role, budget = account.role.budget, account.dataset
    since, begins = first_day(role.period, now), None if budget.window is None else at - counts_for(budget.window)
    whole = PrivacyFilter(budget.total, budget.concentrated, _NOTHING)

    def of_all(accounting: Accounting) -> Privacy:
        together = totals.on_kind(account.role.protects, accounting)
        return together.whole if begins is None else together.since(begins)

    def room_from(wanted: Privacy) -> datetime | None:
        if begins is None or not covers(whole.limit, wanted):
            return None
        together, others = totals.on_kind(account.role.protects, whole.accounting), left_of(whole.limit, wanted)
        last = None if covers(others, together.since(begins)) else together.room_after(others)
        return None if last is None else last + (at - begins)

    return Balance(
        account,
        totals.by_role(account.role.name, since),
        of_all(Accounting.SUM),
        renewal(role.period, now),
        totals.lines(account.role.name, now.date()),
        events.is_closed(connection, account.role.name),
        frozenset(events.broken_forms(connection, account.role.name)),
        amendments.granted(connection, account.role.name, since, renewal(role.period, now)),
        room_from,
        totals.by_user(account.role.name, account.user, since),
        None if role.concentrated is None else totals.by_role(account.role.name, since, Accounting.ZCDP),
        None if budget.concentrated is None else of_all(Accounting.ZCDP),
    )
