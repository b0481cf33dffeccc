"""From a bounded expression to one of finitely many whole numbers, in a form that can neither fail nor leave its range.

Range tests come before the cast, so that the cast can't fail and ±infinity is treated like any other value that is too
large. A column whose bounds hold the interval is read unclamped: the range tests clamp it.

seats in buckets 0 to 6  →  (CASE WHEN s0."seats" > 0 AND s0."seats" < 6 THEN … WHEN s0."seats" >= 6 THEN 6 WHEN … THEN 0 END)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Expr, Ref

_NO_WIDTH = Fraction(1, 10**290)
"""An interval this narrow is one point: its steps could not be told apart in double precision."""
_NEAR = 16
"""Within 1/16 of a step from the lower end a value is that end, so that no product can underflow."""
_FINE = 2**48
"""From this ratio of the interval's ends to its steps on, the rounding of the ends shows in the steps."""


_FINER = (2, 4, 8, 16)


def stepped(
    emitter: Emitter,
    expr: Expr,
    interval: Interval,
    steps: int,
    *,
    own: int | None = None,
    read: Callable[[str], str] | None = None,
) -> str:
    """Return round(steps·(x − L)/(U − L)) as an integer in [0, steps], NULL where x is NULL.

    Ties go to the even neighbour, on every engine. `steps` is at most 2^31. Where x has `own` steps, which divide `steps`,
    it is rounded to the nearest of them first. `read` gives what is computed of columns a name, by which it is then read.
    """
    if isinstance(expr, Ref):
        write = partial(_stepped, emitter, interval=interval, steps=steps, own=own, read=read)
        # An expression of a column in its own steps may be kept itself, and is not the same for good.
        what = () if _is_in_own_steps(expr, own, steps) else ("stepped", interval, steps)
        return emitter.as_kept(expr, write, *what)
    return _stepped(emitter, expr, interval, steps, own, read)


def _is_in_own_steps(expr: Expr, own: int | None, steps: int) -> bool:
    """Return whether a value is rounded to steps of its own first."""
    return own is not None and own < steps and not (expr.type.is_integer or expr.type.is_temporal)


def _stepped(
    emitter: Emitter, expr: Expr, interval: Interval, steps: int, own: int | None, read: Callable[[str], str] | None
) -> str:
    type_ = SqlType.INTEGER if steps < 2**31 else SqlType.BIGINT
    if own is not None and _is_in_own_steps(expr, own, steps):
        return f"({emitter.cast(stepped(emitter, expr, interval, own, read=read), type_)} * {steps // own})"
    x = _Reading.of(emitter, expr, interval)
    if read is not None and not isinstance(expr, Ref):
        x = replace(x, text=read(x.text))
    if interval.width < _NO_WIDTH:
        return f"(CASE WHEN {x.text} IS NOT NULL THEN {steps // 2} END)"
    if x.whole and (steps / interval.width).denominator == 1:
        inside = f"({x.above_low}) * {steps / interval.width}"
        return x.case("0", emitter.cast(inside, type_), f"{steps}", steps)
    quick = x.tried(steps) if x.exact_in(steps) and not x.whole else None  # a distance of whole numbers could overflow
    if quick is not None:
        return quick
    inside = emitter.dialect.nearest(x.scaled(steps), type_, most=2 * steps)
    return x.case("0", inside if x.exact_in(steps) else f"least({inside}, {steps})", f"{steps}", steps)


def bucket(emitter: Emitter, expr: Expr, interval: Interval, number: int, *, single: bool) -> str:
    """Return which of `number` equal parts of the interval x is in, from 0, NULL where x is NULL.

    With `single`, x is a whole number and each part is one. Where the engine keeps in which of twice as many parts a column
    is, or of four times, that says it too: powers of two scale doubles without rounding, and ⌊2y⌋ / 2 is cut off to ⌊y⌋.
    """
    if not isinstance(expr, Ref):
        return _bucket(emitter, expr, interval, number, single=single)
    text, kept = _kept_bucket(emitter, expr, interval, number, single=single)
    far = interval.magnitude * number * _FINER[-1] <= interval.width * _FINE  # from where the ends' rounding shows
    for parts in _FINER if far and not (kept or single) else ():
        finer, kept = _kept_bucket(emitter, expr, interval, number * parts, single=False)
        if kept:
            return emitter.dialect.integer_quotient(finer, str(parts))
    return text


def _kept_bucket(emitter: Emitter, ref: Ref, interval: Interval, number: int, *, single: bool) -> tuple[str, bool]:
    """Return which bucket a column is in, and whether the engine keeps that."""
    write = partial(_bucket, emitter, interval=interval, number=number, single=single)
    text = emitter.as_kept(ref, write, "bucket", interval, number, single)
    return text, text.startswith(f"s{ref.source}.")


def ordering(emitter: Emitter, expr: Expr, part: str) -> str:
    """Return what orders rows as their buckets `part` do, quickly read: the bucket is a function of it that never falls.

    That is x itself, a column in its stored form: clamping lets none fall. Where the engine keeps the bucket, it is
    that.
    """
    if not isinstance(expr, Ref):
        return emitter.sql(expr)
    kept = part.startswith(f"s{expr.source}.")
    return part if kept else emitter.raw(expr)


def _bucket(emitter: Emitter, expr: Expr, interval: Interval, number: int, *, single: bool) -> str:
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
        return f"{text} - {self._end(self.interval.low)}" if self.interval.low else text

    def scaled(self, steps: int) -> str:
        """Return (x − L)·steps/(U − L) in double precision."""
        distance = self.emitter.cast(self.above_low, SqlType.DOUBLE) if self.whole else f"({self.above_low})"
        return f"{distance} * {self.emitter.double(steps / self.interval.width)}"

    def exact_in(self, steps: int) -> bool:
        """Return whether no value in the interval comes out above its upper end, nor one beyond it below.

        That is so but for the rounding of the interval's ends, which matters if it is narrow or the steps are fine. The
        relative error of x − L at the ends is some 2^−53 times their size by the width; where that times the steps is below
        2^-5 no value at the end moves to another whole number.
        """
        return self.whole or self.interval.magnitude * steps <= self.interval.width * _FINE

    def tried(self, steps: int) -> str | None:
        """Return the rounded number if it is one of 0 … steps, else the end that it is beyond; None to test first."""
        low = self._end(self.interval.low)
        return self.emitter.dialect.rounded_step(self.text, self.scaled(steps), low=low, steps=steps, nan=self.nan)

    def case(self, first: str, inside: str, last: str, steps: int) -> str:
        """Return the first, an inner or the last number; what most values are comes first."""
        low, high = self.interval.low, self.interval.high
        near = self._end(low if self.whole else low + self.interval.width / (_NEAR * steps))
        within = f"WHEN {self.text} > {near} AND {self.text} < {self._end(high)} THEN {inside}"
        above = f"WHEN {self.text} >= {self._end(high)} THEN {last}"
        return f"(CASE {within} {self.nan}{above} WHEN {self.text} IS NOT NULL THEN {first} END)"

    def _end(self, end: Fraction) -> str:
        return f"({end})" if self.whole else self.emitter.double(end)


def _clamps(emitter: Emitter, ref: Ref, interval: Interval) -> bool:
    """Return whether the range tests of `interval` do all that clamping to the column's bounds or domain would do."""
    ref_facts = emitter.declared.facts_of(ref)
    within = ref_facts.interval is not None and ref_facts.interval.meet(interval) == interval
    return within and ref_facts.values is None and not ref.public
