"""Buckets that are the finer the nearer they are to the lower end of an interval: a half is halved again, and so on.

Each part has equally many buckets. The last is the upper half, the one before it the quarter below, and the first two are the
least part in halves. So buckets are about as wide as values are large: of [0, 10⁶] in 16,384 each is below a thousandth of
what is in it, from 31 on. They are put together of equal ones, of which there are `fine`. A value's bucket follows from which
of these it is in, by whole numbers, on every engine in the same way:

j < 2·e  →  j,    j < 4·e  →  j / 2 + e,    j < 8·e  →  j / 4 + 2·e, …, where e is how many buckets a part has
"""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.emit.emitter import Emitter

_MANY, _FEW = (2048, 16), (1024, 8)
"""From how many buckets on there are how many parts: each has 128 at least."""
_NEAR_NOTHING = 16
"""An interval whose ends are nearer to each other, by this factor, has equal buckets: its values are of one size."""
_FINE_ENOUGH = Fraction(1, 4)
"""So have those whose equal buckets are no wider: finer ones take an engine twice as long, and would hardly be nearer."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The buckets of an interval, in one part or in several."""

    interval: Interval
    number: int
    parts: int = 1
    """A power of two; with more than one, `number` is one, too."""

    @classmethod
    def of(cls, interval: Interval, number: int) -> "Grid":
        """Return the usual grid of so many buckets: with parts where values may be of many sizes."""
        of_one_size = interval.low < 0 or interval.low * _NEAR_NOTHING > interval.high
        if of_one_size or number & (number - 1) or interval.width <= number * _FINE_ENOUGH:
            return cls(interval, number)
        return cls(interval, number, next((parts for least, parts in (_MANY, _FEW) if number >= least), 1))

    @property
    def each(self) -> int:
        """Return how many buckets a part has."""
        return self.number // self.parts

    @property
    def fine(self) -> int:
        """Return of how many equal buckets these are parts."""
        return self.each << (self.parts - 1)

    def end(self, index: int) -> Fraction:
        """Return the lower end of a bucket, of the index after the last the interval's upper end."""
        part, place = divmod(index, self.each)
        steps = index if part < 2 else (self.each + place) << (part - 1)  # the first two are equal
        return self.interval.low + self.interval.width * min(steps, self.fine) / self.fine

    def middle(self, index: int) -> Fraction:
        """Return the middle of a bucket."""
        return (self.end(index) + self.end(index + 1)) / 2

    def half_width(self, buckets: int, at: int) -> Fraction:
        """Return how far the middle of a bucket may be from a value that is so many buckets away at most."""
        if self.parts == 1:
            return self.interval.width * (2 * buckets + 1) / (2 * self.number)
        if buckets >= self.number - 1:
            return self.interval.width
        low, high = self.end(max(at - buckets, 0)), self.end(min(at + buckets + 1, self.number))
        return max(self.middle(at) - low, high - self.middle(at))

    def index(self, emitter: Emitter, fine: str) -> str:
        """Return the text of the bucket in which the equal one is that a text tells; NULL of NULL."""
        return self._index(emitter, fine, 0, self.parts)

    def _index(self, emitter: Emitter, fine: str, first: int, last: int) -> str:
        """Return the bucket for what is in some parts: `first`, and those before `last`."""
        if last <= max(first + 1, 2):
            shift = max(first - 1, 0)
            quotient = emitter.dialect.integer_quotient(fine, str(1 << shift)) if shift else fine
            return f"{quotient} + {shift * self.each}" if shift else fine
        middle = (first + last) // 2
        below, above = self._index(emitter, fine, first, middle), self._index(emitter, fine, middle, last)
        return f"CASE WHEN {fine} < {self.each << (middle - 1)} THEN {below} ELSE {above} END"
