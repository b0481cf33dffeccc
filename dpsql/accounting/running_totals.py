"""Running sums over the ledger's lines, which are the only truth: a book is caught up by line number."""

from collections import Counter, defaultdict
from datetime import date

from dpsql.accounting.composition import compose
from dpsql.accounting.ledger import Entry
from dpsql.policy.model import Privacy

_NOTHING = compose(())


class RunningTotals:
    """What every role spent on each day, and what was measured of each unit kind."""

    def __init__(self) -> None:
        self.last = 0
        """The number of the last line that was entered."""
        self._days: defaultdict[str, dict[date, Privacy]] = defaultdict(dict)
        self._lines: Counter[tuple[str, date]] = Counter()
        self._kinds: dict[str, Privacy] = {}

    def enter(self, number: int, entry: Entry) -> None:
        """Add the next line."""
        self.last = number
        days, day = self._days[entry.role], entry.time.date()
        days[day] = compose((days.get(day, _NOTHING), entry.cost))
        self._lines[entry.role, day] += 1
        if entry.measured:
            self._kinds[entry.kind] = compose((self.on_kind(entry.kind), entry.cost))

    def by_role(self, role: str, since: date) -> Privacy:
        """Return what the role spent since a day, on whatever unit kind.

        Days to come count too, so that a clock that was set back frees nothing.
        """
        return compose(cost for day, cost in self._days[role].items() if day >= since)

    def lines(self, role: str, since: date) -> int:
        """Return how many measurements the role has paid for since a day, with those of days to come."""
        return sum(self._lines[role, day] for day in self._days[role] if day >= since)

    def on_kind(self, kind: str) -> Privacy:
        """Return what all measurements of a unit kind cost together."""
        return self._kinds.get(kind, _NOTHING)
