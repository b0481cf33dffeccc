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
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.ir.expr import Expr, Ref

_NO_WIDTH = Fraction(1, 10**290)
"""An interval this narrow is one point: its steps could not be told apart in double precision."""
# Products below 2^-1022 are denormal numbers, which engines may treat as 0 or not, by how they were compiled.
_NEAR = 16
"""Within 1/16 of a step from the lower end a value is that end, so that no product can underflow."""
# Doubles have 53 bits. 2^48 leaves five of them for the rounding of the ends.
_FINE = 2**48
"""From this ratio of the interval's ends to its steps on, the rounding of the ends shows in the steps."""


_FINER = (2, 4, 8, 16)


def lattice_step(
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
    # A snapshot keeps such numbers of columns that are asked for often: then this text is the name of a kept column.
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
        return f"({emitter.cast(lattice_step(emitter, expr, interval, own, read=read), type_)} * {steps // own})"
    x = _Reading.of(emitter, expr, interval)
    if read is not None and not isinstance(expr, Ref):
        x = replace(x, text=read(x.text))
    if interval.width < _NO_WIDTH:
        return f"(CASE WHEN {x.text} IS NOT NULL THEN {steps // 2} END)"
    if x.whole and (steps / x.interval.width).denominator == 1:
        inside = f"({x.above_low}) * {steps / x.interval.width}"
        return x.case("0", emitter.cast(inside, type_), f"{steps}", steps)
    inside = emitter.dialect.nearest(x.scaled(steps), type_, most=2 * steps)
    last = emitter.cast(f"{steps}", type_)  # which is a parameter on DuckDB, as the bounds are
    return x.case("0", inside if x.exact_in(steps) else f"least({inside}, {last})", last, steps)


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


def bucket_order(emitter: Emitter, expr: Expr, part: str) -> str:
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

    def case(self, first: str, inside: str, last: str, steps: int) -> str:
        """Return the first, an inner or the last number; what most values are comes first."""
        low, high = self._end(self.interval.low), self._end(self.interval.high)
        near = low if self.whole else self._end(self.interval.low + self.interval.width / (_NEAR * steps))
        # What the engine gets for a fare in [0, 100] and 2000 steps:
        #
        # (CASE WHEN s0."fare" BETWEEN 0.0 AND 100.0 THEN … (s0."fare") * 20.0 rounded …
        #       WHEN s0."fare" >= 100.0 THEN 2000 WHEN s0."fare" IS NOT NULL THEN 0 END)
        #
        # The product is computed of values within the bounds alone, so that no row makes it overflow. The upper end is left
        # out where its double may be further away: x − L ≤ U − L for all doubles below it, and on every engine the same ones
        # are within. So it is for whole numbers, whose ends may be 2⁶³ apart. Whatever is stored, the result is one of
        # 0 … 2000, or NULL. NaN compares with nothing and has a WHEN of its own where there may be one.
        has_ends = self.emitter.dialect.tests_ends and not self.whole and self.exact_in(steps)
        strictly = f"{self.text} > {near} AND {self.text} < {high}"
        within = f"{self.text} BETWEEN {low} AND {high}" if has_ends else strictly
        above = f"WHEN {self.text} >= {high} THEN {last}"
        return f"(CASE WHEN {within} THEN {inside} {self.nan}{above} WHEN {self.text} IS NOT NULL THEN {first} END)"

    def _end(self, end: Fraction) -> str:
        return f"({end})" if self.whole else self.emitter.double(end)


def _clamps(emitter: Emitter, ref: Ref, interval: Interval) -> bool:
    """Return whether the range tests of `interval` do all that clamping to the column's bounds or domain would do."""
    ref_facts = emitter.declared.facts_of(ref)
    within = ref_facts.interval is not None and ref_facts.interval.meet(interval) == interval
    return within and ref_facts.values is None and not ref.public


# Buckets that are the finer the nearer they are to the lower end of an interval: a half is halved again, and so on.
#
# Each part has equally many buckets. The last is the upper half, the one before it the quarter below, and the first two are
# the least part in halves. So buckets are about as wide as values are large: of [0, 10⁶] in 16,384 each is below a thousandth
# of what is in it, from 31 on. They are put together of equal ones, of which there are `fine`. A value's bucket follows from
# which of these it is in, by whole numbers, on every engine in the same way:
#
# j < 2·e  →  j,    j < 4·e  →  j / 2 + e,    j < 8·e  →  j / 4 + 2·e, …, where e is how many buckets a part has
#
# Of an interval on both sides of 0 the parts begin at 0 and go both ways: the time between two others is mostly far shorter
# than what bounds of both allow.

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
        # Two sides, each in so many parts.
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


# The rows with the largest values or the smallest: all beyond some value, which is found in a few of the rows.
#
# Claim: of rows that have a unit `u`, a bucket `b` and a value `x`, of which b is a function that never falls, those
# that are returned have for every bucket as many units with a row above it as all rows have, both cut off at `most`.
# Proof, for the largest: `s` are any of the rows. If fewer than `most` units have one in it there is no `c`, and all
# rows are returned. Else c is a value that `most` of them reach, and what is returned are the rows with x > c, and those
# of `s`. Let a row be above a bucket i. If i is at least c's bucket the row's x is above c, for b never falls: all such
# rows are returned. If i is less, `most` units have rows in `s` that are above it, for these reach c: both numbers are
# cut off. Of what all units are, i is below all buckets. So it makes no difference which rows are in `s`: an engine may
# take those that it comes upon first. A unit adds 0 or 1 to such a number, cut off or not, for all other units,
# and for any c with it and without it.
#
# Where `s` may be computed anew wherever it is read, rows that are equal to c come from all rows as well.
#
# SELECT … AS u, … AS b, fare AS x FROM trips  →  … WHERE x > (SELECT x FROM c) UNION ALL SELECT u, b FROM s WHERE x <= …

_ONCE = " MATERIALIZED "
"""It says that a member of WITH is computed once."""


def outermost(rows: str, dialect: Dialect, *, largest: bool, most: int, some: int) -> str:
    """Return the SELECT of `u` and `b` of the outermost among rows `u`, `b`, `x`, none twice; `some` rows are in `s`."""
    best, beyond, within, order = ("max", ">", "<=", "DESC") if largest else ("min", "<", ">=", "ASC")
    every, first = f"SELECT u, b FROM ({rows}) AS a", f"FROM ({rows}) AS a WHERE b IS NOT NULL LIMIT {some}"
    kept = dialect.common_table("s", f"SELECT u, b, x {first}")
    if _ONCE not in kept:
        return f"{every} WHERE (x {beyond}= ({_reached(f'(SELECT u, x {first})', best, order, most)})) IS NOT FALSE"
    cut = dialect.common_table("c", _reached("s", best, order, most))
    parts = (
        f"{every} WHERE x {beyond} (SELECT x FROM c)",
        f"SELECT u, b FROM s WHERE x {within} (SELECT x FROM c)",
        f"({every} LIMIT (SELECT CASE WHEN count(*) > 0 THEN 0 END FROM c))",  # NULL is no limit
    )
    return f"WITH {kept}, {cut} {' UNION ALL '.join(parts)}"


def _reached(rows: str, best: str, order: str, most: int) -> str:
    """Return the SELECT of the value that `most` units have a row at or beyond; of nothing where they are fewer."""
    units = f"SELECT {best}(x) AS x FROM {rows} AS s GROUP BY u"
    return f"SELECT x FROM ({units}) AS e ORDER BY x {order} LIMIT 1 OFFSET {most - 1}"
