"""How a table grows: by which time its rows come, when a period of it is closed, and for which terms questions stand.

Periods and terms are of the calendar, by days whose first moment is midnight of the policy's clock (UTC): a day, a month or a
quarter, within a month, a quarter or a year. Periods divide terms, so that each belongs to one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import assert_never


class Every(StrEnum):
    """The length of a period that closes."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"


class TermLength(StrEnum):
    """The length of a term, in which a standing question is charged once."""

    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _start(day: date, length: Every | TermLength) -> date:
    if length is Every.DAY:
        return day
    months = _MONTHS[length.value]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def _next(start: date, length: Every | TermLength) -> date:
    if length is Every.DAY:
        return start + timedelta(days=1)
    month = start.month - 1 + _MONTHS[length.value]
    return date(start.year + month // 12, month % 12 + 1, 1)


@dataclass(frozen=True, slots=True)
class Term:
    """A term: its first day, and the first one after it."""

    first: date
    end: date
    length: TermLength

    def __str__(self) -> str:
        """Return it for people: 2026, the quarter from 2026-10-01, 2026-11."""
        match self.length:
            case TermLength.YEAR:
                return f"{self.first:%Y}"
            case TermLength.QUARTER:
                return f"{self.first:%Y} Q{(self.first.month + 2) // 3}"
            case TermLength.MONTH:
                return f"{self.first:%Y-%m}"
            case _:
                assert_never(self.length)


@dataclass(frozen=True, slots=True)
class Grows:
    """What a table says of how it grows."""

    by: str
    """The column of the time by which a row belongs to a period."""
    every: Every
    after: int
    """How many days after its end a period is closed."""
    term: TermLength
    measured_within: int
    """How many days after the last period of a term has closed something of it may still be measured."""

    def term_of(self, day: date) -> Term:
        """Return the term that a day is in."""
        first = _start(day, self.term)
        return Term(first, _next(first, self.term), self.term)

    def names_within(self, term: Term) -> frozenset[str]:
        """Return what terms of any length are called that have days of a term: as it may have been declared before."""
        # Terms of every length consist of months, and are called by their first day: no end is looked at here.
        months = replace(self, every=Every.MONTH).periods(term.first, term.end)
        return frozenset(str(Term(_start(month, length), month, length)) for month in months for length in TermLength)

    def is_boundary(self, day: date) -> bool:
        """Return whether a period begins with a day."""
        return _start(day, self.every) == day

    def period_of(self, day: date) -> date:
        """Return the first day of the period that a day is in."""
        return _start(day, self.every)

    def periods(self, first: date, end: date) -> Iterator[date]:
        """Yield the first days of the periods from a boundary up to another, which is not included."""
        start = first
        while start < end:
            yield start
            start = _next(start, self.every)

    def end_of(self, start: date) -> date:
        """Return the first day after the period that begins with a day."""
        return _next(start, self.every)

    def closes(self, start: date) -> datetime:
        """Return when the period is closed that begins with a day."""
        return _midnight(self.end_of(start) + timedelta(days=self.after))

    def is_closed(self, start: date, at: datetime) -> bool:
        """Return whether a period was closed at a time: all copies that were begun then have it."""
        return self.closes(start) <= at

    def told_until(self, at: datetime) -> date:
        """Return the first day of the first period that was not closed at a time."""
        return self.period_of((at.astimezone(UTC) - timedelta(days=self.after)).date())

    def last_moment(self, term: Term) -> datetime:
        """Return from when on nothing of a term is measured any more."""
        return _midnight(term.end + timedelta(days=self.after + self.measured_within))

    def text(self) -> str:
        """Return it for people, as the catalogue's comments have it."""
        late = "" if not self.after else f" {self.after} day{'s' * (self.after > 1)} after its end"
        at = late or " at its end"
        return f"grows by it: a {self.every} is closed{at}, and standing questions are paid once a {self.term}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
