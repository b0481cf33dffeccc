"""From a bounded expression to one of finitely many whole numbers, in a form that can neither fail nor leave its range.

Range tests come before the cast, so that the cast can't fail and ±infinity is treated like any other value that is too
large. A column whose bounds hold the interval is read unclamped: the range tests clamp it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit import Emitter
from dpsql.rewrite.expr import Expr, Ref

_NO_WIDTH = Fraction(1, 10**290)
"""An interval this narrow is one point: its steps could not be told apart in double precision."""
_NEAR = 16
"""Within 1/16 of a step from the lower end a value is that end, so that no product can underflow."""
_NARROW = 2**20
"""An interval that many times narrower than its ends are large suffers from their rounding."""


def rounded(emitter: Emitter, expr: Expr, interval: Interval, size: int) -> str:
    """Return round(size·(2(x − L)/(U − L) − 1)) as an integer in [−size, size], NULL where x is NULL.

    Ties go to the even neighbour, on every engine.
    """
    x = _Reading.of(emitter, expr, interval)
    if interval.width < _NO_WIDTH:
        return f"(CASE WHEN {x.text} IS NOT NULL THEN 0 END)"
    steps = 2 * size
    if x.whole and (steps / interval.width).denominator == 1:
        inside = f"({x.above_low}) * {steps / interval.width}"
    else:
        # DuckDB and Postgres round to even when they cast; another engine would need ROUND before it.
        inside = x.at_most(emitter.cast(x.scaled(steps), SqlType.INTEGER), steps)
    return x.case(f"{-size}", f"{inside} - {size}", f"{size}", steps)


def bucket(emitter: Emitter, expr: Expr, interval: Interval, number: int, *, single: bool) -> str:
    """Return which of `number` equal parts of the interval x is in, from 0, NULL where x is NULL.

    With `single`, x is a whole number and each part is one.
    """
    x, last = _Reading.of(emitter, expr, interval), number - 1
    if interval.width < _NO_WIDTH or not last:
        return f"(CASE WHEN {x.text} IS NOT NULL THEN 0 END)"
    if single:
        inside = emitter.cast(x.above_low, SqlType.INTEGER)
    else:
        inside = f"least({emitter.cast(f'floor({x.scaled(number)})', SqlType.INTEGER)}, {last})"
    return x.case("0", inside, f"{last}", number)


@dataclass(frozen=True, slots=True)
class _Reading:
    """An expression as a number, and where it can be."""

    emitter: Emitter
    text: str
    interval: Interval
    whole: bool
    """Whether the engine's type is an integer, and so are the interval's ends."""
    nan: str

    @classmethod
    def of(cls, emitter: Emitter, expr: Expr, interval: Interval) -> "_Reading":
        as_stored = isinstance(expr, Ref) and _clamps(emitter, expr, interval)
        text = emitter.raw(expr) if isinstance(expr, Ref) and as_stored else emitter.sql(expr)
        nan = isinstance(expr, Ref) and as_stored and emitter.may_be_nan(expr)
        whole = expr.type.is_integer or expr.type.is_temporal
        if whole:
            interval = Interval(Fraction(math.floor(interval.low)), Fraction(math.ceil(interval.high)))
        if expr.type.is_temporal:
            text = emitter.as_number(emitter.sql(expr), expr.type)
        elif not (whole or as_stored):
            text = emitter.cast(text, SqlType.DOUBLE)
        return cls(emitter, text, interval, whole, f"WHEN {emitter.is_nan(text)} THEN NULL " if nan else "")

    @property
    def above_low(self) -> str:
        """Return x − L: of whole numbers exactly, else in double precision."""
        text = self.emitter.cast(self.text, SqlType.BIGINT) if self.whole else self.text
        return f"{text} - {self._end(self.interval.low)}"

    def scaled(self, steps: int) -> str:
        """Return (x − L)·steps/(U − L) in double precision."""
        distance = self.emitter.cast(self.above_low, SqlType.DOUBLE) if self.whole else f"({self.above_low})"
        return f"{distance} * {self.emitter.double(steps / self.interval.width)}"

    def at_most(self, text: str, most: int) -> str:
        """Return what is at most `most` but for the rounding of the interval's ends, which matters if it is narrow.

        Otherwise the relative error of x − L is below 2^−31 (its ends are off by 2^−53 of their size, which is at most
        2^20 times the width), too little to bring a rounded value past `most` < 2^30. The distance is never negative.
        """
        exact = self.whole or self.interval.width * _NARROW >= self.interval.magnitude
        return text if exact else f"least({text}, {most})"

    def case(self, first: str, inside: str, last: str, steps: int) -> str:
        """Return the first, an inner or the last number."""
        low, high = self.interval.low, self.interval.high
        near = self._end(low if self.whole else low + self.interval.width / (_NEAR * steps))
        ends = f"WHEN {self.text} <= {near} THEN {first} WHEN {self.text} < {self._end(high)} THEN {inside}"
        return f"(CASE {self.nan}{ends} WHEN {self.text} IS NOT NULL THEN {last} END)"

    def _end(self, end: Fraction) -> str:
        return f"({end})" if self.whole else self.emitter.double(end)


def _clamps(emitter: Emitter, ref: Ref, interval: Interval) -> bool:
    """Say whether the range tests of `interval` do all that clamping to the column's bounds or domain would do."""
    known = emitter.declared.one(ref)
    within = known.interval is not None and known.interval.meet(interval) == interval
    return within and known.values is None and not ref.source
