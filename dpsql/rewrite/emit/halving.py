"""Buckets that are the finer the nearer they are to the lower end of an interval: a half is halved again, and so on.

Each part has equally many buckets. The last is the upper half, the one before it the quarter below, and the first two are the
least part in halves. So buckets are about as wide as values are large: of [0, 10⁶] in 16,384 each is below a thousandth of
what is in it, from 31 on. They are put together of equal ones, of which there are `fine`. A value's bucket follows from which
of these it is in, by whole numbers, on every engine in the same way:

j < 2·e  →  j,    j < 4·e  →  j / 2 + e,    j < 8·e  →  j / 4 + 2·e, …, where e is how many buckets a part has

Of an interval on both sides of 0 the parts begin at 0 and go both ways: the time between two others is mostly far shorter
than what bounds of both allow.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.rewrite.emit.emitter import Emitter

_MANY, _FEW = (2048, 16), (1024, 8)
"""From how many buckets on there are how many parts: each has 128 at least."""
_NEAR_NOTHING = 16
"""An interval whose ends are nearer to each other, by this factor, has equal buckets: its values are of one size."""
_TWO_WAYS, _COARSE, _PART = 16, 32, 128
"""How many parts go either way from 0, and how many buckets each has at least: of the time between two others fewer do."""
_FINE_ENOUGH = Fraction(1, 4)
"""So have those whose equal buckets are no wider: finer ones take an engine twice as long, and would hardly be nearer."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Parts that go both ways from 0."""

    each: int
    """How many buckets a part has."""
    fine: int
    zero: int
    """How many of the equal buckets lie below the one in which 0 is."""
    below: int
    """How many buckets these are."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The buckets of an interval, in one part or in several."""

    interval: Interval
    number: int
    parts: int = 1
    """A power of two; with more than one, and all on one side, `number` is one, too."""
    sides: "Sides | None" = None
    """Where the parts begin, if they go both ways."""

    @classmethod
    def of(cls, interval: Interval, number: int) -> "Grid":
        """Return the usual grid of so many buckets: with parts where values may be of many sizes."""
        of_one_size = interval.low < 0 or interval.low * _NEAR_NOTHING > interval.high
        if of_one_size or number & (number - 1) or interval.width <= number * _FINE_ENOUGH:
            return cls(interval, number)
        return cls(interval, number, next((parts for least, parts in (_MANY, _FEW) if number >= least), 1))

    @classmethod
    def around_zero(cls, interval: Interval, most: int, *, coarse: bool) -> "Grid":
        """Return a grid of so many buckets at most whose parts go both ways from 0, where that lies inside.

        A `coarse` one has 32 buckets a part, another 128: of values near the ends of their bounds they are wider than
        equal ones.
        """
        if not interval.low < 0 < interval.high or interval.width <= most * _FINE_ENOUGH:
            return cls(interval, most)
        each = most // (2 * _TWO_WAYS)
        if each < (_COARSE if coarse else _PART):
            return cls(interval, most)
        longer = max(-interval.low, interval.high)
        fine = int(((each << (_TWO_WAYS - 1)) - 1) * interval.width / longer)
        zero = int(-interval.low * fine / interval.width)
        below, above = (_place(cells - 1, each) + 1 if cells else 0 for cells in (zero, fine - zero))
        return cls(interval, below + above, _TWO_WAYS, Sides(each, fine, zero, below))

    @property
    def each(self) -> int:
        """Return how many buckets a part has."""
        return self.number // self.parts if self.sides is None else self.sides.each

    @property
    def fine(self) -> int:
        """Return of how many equal buckets these are parts."""
        return self.each << (self.parts - 1) if self.sides is None else self.sides.fine

    def end(self, index: int) -> Fraction:
        """Return the lower end of a bucket, of the index after the last the interval's upper end."""
        if self.sides is None:
            steps = self._steps(index)
        else:
            further = index - self.sides.below
            steps = self.sides.zero + (self._steps(further) if further >= 0 else -self._steps(-further))
        return self.interval.low + self.interval.width * min(max(steps, 0), self.fine) / self.fine

    def _steps(self, index: int) -> int:
        """Return how many of the equal buckets so many are, from where parts begin."""
        part, place = divmod(index, self.each)
        return index if part < 2 else (self.each + place) << (part - 1)  # the first two are equal

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
        if self.sides is None:
            return self._index(emitter, fine, 0, self.parts)
        zero, below = self.sides.zero, self.sides.below
        above = self._index(emitter, f"({fine} - {zero})", 0, self.parts)
        beneath = self._index(emitter, f"({zero - 1} - {fine})", 0, self.parts)
        return f"CASE WHEN {fine} >= {zero} THEN {below} + ({above}) ELSE {below - 1} - ({beneath}) END"

    def _index(self, emitter: Emitter, fine: str, first: int, last: int) -> str:
        """Return the bucket for what is in some parts: `first`, and those before `last`."""
        if last <= max(first + 1, 2):
            shift = max(first - 1, 0)
            quotient = emitter.dialect.integer_quotient(fine, str(1 << shift)) if shift else fine
            return f"{quotient} + {shift * self.each}" if shift else fine
        middle = (first + last) // 2
        below, above = self._index(emitter, fine, first, middle), self._index(emitter, fine, middle, last)
        return f"CASE WHEN {fine} < {self.each << (middle - 1)} THEN {below} ELSE {above} END"


def _place(cell: int, each: int) -> int:
    """Return the bucket of one of the equal ones, counted from where parts begin."""
    part = max((cell // each).bit_length() - 1, 0)
    return (cell >> part) + part * each
