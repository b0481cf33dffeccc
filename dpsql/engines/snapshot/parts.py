"""The parts of a copy: the closed periods of a table that grows, each in a file that is never written again.

    part of 2024-01-01 … 2026-03-01   part of 2026-03-01   part of 2026-03-02   what is open, and in no period
    copied once, and kept                                                        copied at each refresh

Where the records are read in part, it depends on the clock, the policy and the catalogue alone, never on a row. When a month
is over the parts of its days become one, of the rows that were copied. A part is used again as long as all is as it was when
it was copied: what is declared of the table, what is kept beside its columns, and the types that the records have.

Claim: of two histories of the records that differ in a unit, the copies made of parts differ in the rows that have its name,
and in no others. Proof: which periods a part has is told by the clock, and it has the rows of those periods that the records
had when it was copied, each with the unit that it named then. So a measurement of such a copy costs what it costs of any
table; but that no constraint of the records is believed, since rows of a part may be of another time than those beside them
(a row that has moved stands in two parts, a key that was given anew names two owners). Which is why a table whose unit stands
in another one, or by whose key another one finds its units, is copied whole.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import duckdb

from dpsql.accounting.ledger import AHEAD
from dpsql.policy.growth import Grows
from dpsql.policy.model import Policy, SqlType, Table
from dpsql.rewrite.emit.emitter import quote_name
from dpsql.rewrite.emit.kept_columns import KeptColumns

_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000_000
"""Microseconds."""
_STORED = {
    SqlType.DATE: frozenset({"date"}),
    SqlType.TIMESTAMP: frozenset({"timestamp", "timestamp without time zone"}),
}
"""How the records have to keep a time, so that they compare it as the copy does; both engines' names, in small letters."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some closed periods of a table, in a file."""

    name: str
    """The file's, without its ending."""
    first: date
    end: date
    """The first day after them."""
    taken: datetime
    """When the oldest of it was copied."""
    size: int
    changed: int
    """When the file was changed last, in nanoseconds: by dpsql, or it is not used."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a table, oldest periods first; each begins where the one before ends."""

    basis: str
    """A hash of all that they were made by."""
    each: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a copy that is being written."""

    first: date
    end: date
    of: tuple[Part, ...] = ()
    """The parts of the copy before whose rows it has."""
    fresh: bool = False
    """Whether it has rows that were in no part."""

    @property
    def is_written(self) -> bool:
        """Return whether its file has to be written; else it is the one part that it has."""
        return self.fresh or len(self.of) > 1


@dataclass(frozen=True, slots=True)
class PartsPlan:
    """What is to be copied of a table."""

    table: Table
    grows: Grows
    basis: str
    kept: tuple[Part, ...]
    """The parts that are there already."""
    first: date
    """The first day of the first period."""
    begin: date
    """The first day that no part has."""
    end: date
    """The day on which the first period begins that has not closed."""

    @property
    def missing(self) -> str | None:
        """Return the condition of the rows that no part has yet; None: of all of them."""
        if self.begin == self.first:
            return None
        by, first, begin = self._by, self._moment(self.first), self._moment(self.begin)
        # A comparison with NULL is NULL: without the last condition rows without a time would be in no part, and in no
        # copy.
        return f"({by} < {first} OR {by} >= {begin} OR {by} IS NULL)"

    @property
    def closed(self) -> str:
        """Return the condition, of those, of the rows of periods that have closed."""
        return f"coalesce({self._by} >= {self._moment(self.begin)} AND {self._by} < {self._moment(self.end)}, FALSE)"

    @property
    def pieces(self) -> tuple["Piece", ...]:
        """Return the parts that there are to be, in their order: those of a month that is over are one."""
        every = [Piece(part.first, part.end, (part,)) for part in self.kept]
        # Where a period is a day, each day of March has a part of its own until all of March has closed. Then they are
        # one piece, with what is fresh: a file of the rows that were copied already.
        every += [Piece(self.begin, self.end, fresh=True)] if self.begin < self.end else []
        pieces: list[Piece] = []
        for piece in every:
            if pieces and self._is_over(pieces[-1], piece):
                last = pieces.pop()
                pieces.append(Piece(last.first, piece.end, (*last.of, *piece.of), fresh=piece.fresh))
            else:
                pieces.append(piece)
        return tuple(pieces)

    def _is_over(self, one: "Piece", next_one: "Piece") -> bool:
        """Return whether two pieces are of the same month, which has closed."""
        month = one.first.replace(day=1)
        return next_one.end <= _next_month(month) <= self.end

    @property
    def _by(self) -> str:
        return quote_name(self.grows.by)

    def _moment(self, day: date) -> str:
        if self.table.columns[self.grows.by].type is SqlType.DATE:
            return f"DATE '{day}'"
        return f"TIMESTAMP '{day} 00:00:00'"


def whole_because(table: Table, policy: Policy) -> str | None:
    """Return why a table that grows is copied whole at each refresh, as far as its declaration tells; None: it is not."""
    for kind, unit in table.units.items():
        if unit.through is not None:
            return f"the {kind} of a row stands in table {unit.through.table}"
    for other in policy.tables.values():
        if any(unit.through is not None and unit.through.table == table.name for unit in other.units.values()):
            return f"table {other.name} finds its units by it"
    return None


def plan_parts(
    table: Table, types: Mapping[str, str], kept: KeptColumns, before: Parts | None, now: datetime
) -> PartsPlan | None:
    """Return what is to be copied of a table of which parts may be kept; None where the records keep its time otherwise.

    `types` are those of the records, and `before` the parts of the copy before.
    """
    grows = table.grows
    assert grows is not None
    by = table.columns[grows.by]
    assert by.bounds is not None
    if types[by.name].lower() not in _STORED[by.type]:
        return None
    first = _first_period(grows, int(by.bounds.low), by.type)
    end = _first_open(grows, first, now)
    # A part is never written again. So all that its rows depend on is in this hash: with another DuckDB, another declaration,
    # or other types of the records all parts are copied anew.
    basis = hashlib.sha256(
        repr(
            (
                duckdb.__version__,
                grows,
                table.columns,
                first,
                sorted(kept.texts.items()),
                [types[name] for name in table.columns],
            )
        ).encode()
    ).hexdigest()
    usable = before is not None and before.basis == basis and _fits(before.each, first, end, now)
    parts = before.each if before is not None and usable else ()
    return PartsPlan(table, grows, basis, parts, first, parts[-1].end if parts else first, end)


def _fits(parts: Sequence[Part], first: date, end: date, now: datetime) -> bool:
    """Return whether parts were copied by a clock that was right as far as is known now, and none is missing."""
    begin = first
    for part in parts:
        # A clock that ran ahead has closed periods too early: such a part lacks rows that came later.
        if part.first != begin or part.end > end or part.taken > now + AHEAD:
            return False
        begin = part.end
    return True


def _first_period(grows: Grows, low: int, type_: SqlType) -> date:
    """Return the first day of the first period that is wholly within the bounds of the time."""
    days, left = (low, 0) if type_ is SqlType.DATE else divmod(low, _DAY)
    day = _EPOCH + timedelta(days=days + bool(left))
    start = grows.period_of(day)
    return start if start == day else grows.end_of(start)


def _first_open(grows: Grows, first: date, now: datetime) -> date:
    """Return the first day of the first period that has not closed at a time."""
    start = grows.period_of(now.astimezone(UTC).date())
    while start > first and not grows.is_closed(before := grows.period_of(start - timedelta(days=1)), now):
        start = before
    return max(start, first)


def _next_month(month: date) -> date:
    # From a month's first day 32 days always lead into the next month, and never beyond it.
    return (month + timedelta(days=32)).replace(day=1)


def oldest(parts: Collection[Part]) -> datetime | None:
    """Return when the oldest of some parts was copied; None of none."""
    return min((part.taken for part in parts), default=None)


def select_of(table: Table, kept: KeptColumns, part: str) -> str:
    """Return the SELECT of a part's rows, which is attached by its name."""
    columns = ", ".join(map(quote_name, (*table.columns, *kept.texts.values())))
    return f"SELECT {columns} FROM {quote_name(part)}.main.{quote_name(table.name)}"  # noqa: S608
