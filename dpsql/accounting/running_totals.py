"""Running sums over the ledger's lines, which are the only truth: a book is caught up by line number."""

from collections import Counter, defaultdict
from datetime import date, datetime
from fractions import Fraction

from dpsql.accounting.composition import compose
from dpsql.accounting.ledger import Entry
from dpsql.accounting.privacy_filter import counted
from dpsql.accounting.redating import Redating
from dpsql.accounting.sliding import SlidingTotal
from dpsql.accounting.standing import is_standing
from dpsql.policy.choices import Accounting
from dpsql.policy.model import Privacy

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
            cost, days = counted((entry.cost,), accounting), self._days[entry.role, accounting]
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
        every += [counted((entry.cost,), accounting) for entry in self._lasting(role, since)]
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
