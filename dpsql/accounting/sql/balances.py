"""What an account has spent, and when there is room again."""

from datetime import datetime

from dpsql.accounting.balance import Account, Balance
from dpsql.accounting.composition import covers, left_of
from dpsql.accounting.privacy_loss import first_day, renewal
from dpsql.accounting.running_totals import RunningTotals
from dpsql.accounting.sliding import counts_for
from dpsql.accounting.sql import amendments, events
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Privacy


def balance_of(
    connection: SqlConnection, account: Account, now: datetime, totals: RunningTotals, at: datetime
) -> Balance:
    """Return an account's balance by totals that are those of the file; `at` is when a charge of now is counted from."""
    period, together = account.role.budget.period, totals.on_kind(account.role.protects)
    budget, span = account.dataset, counts_for(account.dataset.window or 0)
    begins = None if budget.window is None else at - span

    def room_from(wanted: Privacy) -> datetime | None:
        others = left_of(budget.total, wanted)
        if begins is None or not covers(budget.total, wanted) or covers(others, together.since(begins)):
            return None
        last = together.room_after(others)
        return None if last is None else last + span

    return Balance(
        account,
        totals.by_role(account.role.name, first_day(period, now)),
        together.whole if begins is None else together.since(begins),
        renewal(period, now),
        totals.lines(account.role.name, now.date()),
        events.is_closed(connection, account.role.name),
        amendments.granted(connection, account.role.name, first_day(period, now), renewal(period, now)),
        room_from,
        totals.by_user(account.role.name, account.user, first_day(period, now)),
    )
