"""The amounts that an account has spent, and the time when there is room again."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.balance import Account, Balance, PrivacyFilter, total_charged
from dpsql.accounting.ledger import Entry, Redating, is_standing, redating_of
from dpsql.accounting.privacy_loss import compose, covers, first_day, remaining, renewal
from dpsql.accounting.sliding import ReadDays, SlidingTotal
from dpsql.accounting.sql import lines, standing
from dpsql.accounting.sql import lines as sql_lines
from dpsql.accounting.sql.store import SqlConnection
from dpsql.policy.model import Accounting, Privacy

# Running sums over the ledger's lines, which are the only truth: a book is caught up by line number.

_NOTHING = compose(())


class RunningTotals:
    """The spending of every role and each of its users by day, and the measurements of each unit kind."""

    def __init__(self, redatings: tuple[Redating, ...] = ()) -> None:
        """Begin; `redatings` are the lines by which others are dated, in their order."""
        self.redatings = redatings
        self.last = 0
        """The number of the last line that was entered."""
        self._days: defaultdict[tuple[str, Accounting], dict[date, Privacy]] = defaultdict(dict)
        self._users: defaultdict[tuple[str, str], dict[date, Fraction]] = defaultdict(dict)
        self._lines: Counter[tuple[str, date]] = Counter()
        self._kinds: defaultdict[tuple[str, Accounting], SlidingTotal] = defaultdict(SlidingTotal)
        self._standing: defaultdict[str, list[tuple[date, Entry]]] = defaultdict(list)
        """Of each role, what it has paid for standing questions, and the day on which that was."""
        self.latest: datetime | None = None
        """The latest time of any line."""

    def enter(self, number: int, entry: Entry) -> None:
        """Add the next line."""
        self.last = number
        for redating in self.redatings:
            entry = redating.dated(number, entry)
        self.latest = entry.time if self.latest is None else max(self.latest, entry.time)
        day = entry.time.date()
        for accounting in Accounting:
            cost, days = total_charged((entry.cost,), accounting), self._days[entry.role, accounting]
            days[day] = compose((days.get(day, _NOTHING), cost))
            if entry.measured:
                self._kinds[entry.kind, accounting].enter(entry.read, cost)
        if is_standing(entry.key):
            self._standing[entry.role].append((day, entry))
        self._lines[entry.role, day] += 1
        theirs = self._users[entry.role, entry.user]
        theirs[day] = theirs.get(day, Fraction(0)) + entry.cost.epsilon

    def by_role(self, role: str, since: date, accounting: Accounting = Accounting.SUM) -> Privacy:
        """Return what the role's charges since a day add up to, for all unit kinds.

        Days to come count too, so that a clock that was set back frees nothing. A standing question counts as long as
        something of it may be measured.
        """
        every = [cost for day, cost in self._days[role, accounting].items() if day >= since]
        every += [total_charged((entry.cost,), accounting) for entry in self._lasting(role, since)]
        return compose(every)

    def _lasting(self, role: str, since: date) -> list[Entry]:
        """Return what a role has paid before a day for standing questions of which something is measured since."""
        return [entry for day, entry in self._standing[role] if day < since <= entry.read.last]

    def by_user(self, role: str, user: str, since: date) -> Fraction:
        """Return the ε of a role's that a user spent since a day, with days to come."""
        lasting = sum((e.cost.epsilon for e in self._lasting(role, since) if e.user == user), Fraction(0))
        return sum((cost for day, cost in self._users[role, user].items() if day >= since), lasting)

    def lines(self, role: str, since: date) -> int:
        """Return how many measurements the role has paid for since a day, with those of days to come."""
        return sum(self._lines[role, day] for day in self._days[role, Accounting.SUM] if day >= since)

    def on_kind(self, kind: str, accounting: Accounting = Accounting.SUM) -> SlidingTotal:
        """Return what all measurements of a unit kind add up to, by the days on which records were read."""
        return self._kinds[kind, accounting]


def catch_up(connection: SqlConnection, totals: RunningTotals) -> RunningTotals:
    """Enter the lines that are new; return other totals where one says that the clock was wrong, since that changes all."""
    for number, entry in lines.lines_after(connection, totals.last):
        known = {redating.line for redating in totals.redatings}
        redating = None if number in known else redating_of(number, entry)
        if redating is not None:
            return catch_up(connection, RunningTotals((*totals.redatings, redating)))
        totals.enter(number, entry)
    return totals


def balances(connection: SqlConnection, accounts: Iterable[Account], now: datetime) -> tuple[Balance, ...]:
    """Return the balances of accounts by all lines, for who does not keep the ledger open."""
    totals = catch_up(connection, RunningTotals())
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
        together, others = totals.on_kind(account.role.protects, whole.accounting), remaining(whole.limit, wanted)
        if covers(others, together.fullest(read, window)):
            return None
        return together.free_from(others, window, at.date())

    return Balance(
        account,
        totals.by_role(account.role.name, since),
        of_all(Accounting.SUM),
        renewal(role.period, now),
        totals.lines(account.role.name, now.date()) + standing.attempts(connection, account.role.name, now.date()),
        sql_lines.is_closed(connection, account.role.name),
        frozenset(sql_lines.broken_forms(connection, account.role.name)),
        sql_lines.granted_between(connection, account.role.name, since, renewal(role.period, now), totals.redatings),
        room_from,
        totals.by_user(account.role.name, account.user, since),
        None if role.concentrated is None else totals.by_role(account.role.name, since, Accounting.ZCDP),
        None if budget.concentrated is None else of_all(Accounting.ZCDP),
        copied is not None,
    )
