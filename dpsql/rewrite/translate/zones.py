"""Times in time zones: a time with bounds is moved as the shadow's PostgreSQL moves it, piece by piece.

picked::timestamptz AT TIME ZONE 'UTC', where the session's TimeZone is Europe/Berlin
    →  CASE WHEN picked < '2019-03-31 03:00' THEN picked - 1 hour ELSE picked - 2 hours END

The value of an expression of the type `timestamptz` is what the session's own clock shows. That is exact where this clock is
not changed within the bounds, and refused where it is. Comparisons and epochs are made in UTC, and are exact everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.model import SqlType
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.expr import Apply, Const, Expr, IntervalValue
from dpsql.rewrite.ir.literal import parse_value
from dpsql.rewrite.syntax.aggregate_names import function_name
from dpsql.rewrite.syntax.identifiers import position
from dpsql.rewrite.translate.arithmetic import arithmetic, as_timestamp
from dpsql.rewrite.translate.context import Operand, Translator
from dpsql.rewrite.translate.value_map import through_shadow

_ZONED_TYPES = ("timestamptz", "timestamp with time zone")
_TYPES = (*_ZONED_TYPES, "timestamp", "timestamp without time zone")
_OF_NUMBERS = ("to_timestamp", "make_timestamptz")
_CLOCKS = ("now", "statement_timestamp", "transaction_timestamp", *_OF_NUMBERS)
_MOST_DAYS = 9_000
_STEP = 15 * 60 * 10**6
"""Clocks are changed at quarters of an hour."""
_UTC = exp.Literal.string("UTC")


def is_zoned(t: Translator, node: exp.Expr) -> bool:
    """Return whether an expression has the type `timestamptz`."""
    match node:
        case exp.Cast():
            return _type(node) in _ZONED_TYPES
        case exp.Paren():
            return is_zoned(t, node.this)
        case exp.AtTimeZone():
            return not is_zoned(t, node.this)
        case exp.CurrentTimestamp():
            return True
        case exp.Parameter():
            return t.constants.argument(node).type in _ZONED_TYPES
        case exp.Add() | exp.Sub():
            spans = [side.find(exp.Interval) is not None for side in (node.this, node.expression)]
            return any(spans) and any(is_zoned(t, side) for side in (node.this, node.expression))
        case exp.Anonymous():
            return _is_zoned_call(t, node)
        case _:
            return False


def _is_zoned_call(t: Translator, node: exp.Anonymous) -> bool:
    name, args = function_name(node), node.expressions
    match name:
        case "timezone":
            return len(args) == 2 and not is_zoned(t, args[1])
        case "date_trunc" | "date_bin":
            return (len(args) == 3 and name == "date_trunc") or (len(args) > 1 and is_zoned(t, args[1]))
        case "coalesce" | "greatest" | "least" | "nullif":
            return any(is_zoned(t, arg) for arg in args)
        case _:
            return name in _CLOCKS


def in_utc(t: Translator, node: exp.Expr) -> exp.Expr:
    """Return a time as UTC's clock shows it; one without a zone is the session's."""
    zoned = node.copy() if is_zoned(t, node) else exp.cast(node.copy(), "timestamptz", dialect="postgres")
    return exp.AtTimeZone(this=exp.Paren(this=zoned), zone=_UTC.copy())


def at_time_zone(t: Translator, node: exp.Expr) -> Expr:
    """Translate AT TIME ZONE with a constant zone, `timezone('…', t)`, and casts between times with and without a zone.

    Raises:
        MissingBounds: the time has none.
        Unsupported: the session's clock is changed within them.
    """
    chain = [node]
    while (inner := _inner(chain[-1])) is not None:
        chain.append(inner)
    base = chain.pop()
    x = None if function_name(base) in _OF_NUMBERS else as_timestamp(t.expression(base))
    if x is None or x.type is not SqlType.TIMESTAMP:
        return through_shadow(t, node)
    moved: exp.Expr = exp.column("x")
    if is_zoned(t, base):
        moved = exp.cast(moved, "timestamptz", dialect="postgres")
    for outer in reversed(chain):
        moved = _around(outer, moved)
    return _Moving(t, x, moved, node).expression()


def difference(t: Translator, node: exp.Expr) -> Operand:
    """Translate `a - b`; a time with a zone is subtracted from another, or another from it, in UTC."""
    sides = (node.this, node.expression)
    if any(is_zoned(t, side) for side in sides) and node.find(exp.Interval) is None:
        node = exp.Sub(this=in_utc(t, sides[0]), expression=in_utc(t, sides[1]))
    return arithmetic(t, node)


def truncated_in(t: Translator, args: Sequence[exp.Expr]) -> Expr:
    """Translate `date_trunc('unit', t, 'zone')`: truncated as the zone's clock shows it."""
    unit, moment, zone = args
    zoned = moment.copy() if is_zoned(t, moment) else exp.cast(moment.copy(), "timestamptz", dialect="postgres")
    shown = exp.AtTimeZone(this=exp.Paren(this=zoned), zone=zone.copy())
    truncated = exp.Anonymous(this="date_trunc", expressions=[unit.copy(), shown])
    return at_time_zone(t, exp.AtTimeZone(this=truncated, zone=zone.copy()))


def _type(node: exp.Cast) -> str:
    return str(node.to.sql("postgres")).lower()


def _inner(node: exp.Expr) -> exp.Expr | None:
    """Return the time that is moved to another zone; None if it is a time itself."""
    inner: object = None
    if isinstance(node, (exp.Paren, exp.AtTimeZone)) or (isinstance(node, exp.Cast) and _type(node) in _TYPES):
        inner = node.this
    elif isinstance(node, exp.Anonymous) and function_name(node) == "timezone" and len(node.expressions) == 2:
        inner = node.expressions[1]
    return inner if isinstance(inner, exp.Expr) else None


def _around(outer: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """Return `outer` with another time in it."""
    copy = outer.copy()
    if isinstance(copy, exp.Anonymous):
        copy.set("expressions", [copy.expressions[0], inner])
    else:
        copy.set("this", exp.Paren(this=inner))
    return copy


@dataclass(frozen=True, slots=True)
class _Moving:
    """A time `x` with bounds, and what the shadow makes of it."""

    t: Translator
    x: Expr
    moved: exp.Expr
    """In terms of a column `x`."""
    node: exp.Expr

    def expression(self) -> Expr:
        """Return `x` moved.

        CASE WHEN x < change THEN x + shift … ELSE x + shift END
        """
        pieces = self._pieces()
        if is_zoned(self.t, self.node):
            self._check_clock([start for start, _ in pieces])
        args: list[Expr] = []
        for (_, shift), (change, _) in pairwise(pieces):
            args += [Apply("lt", (self.x, Const(change, SqlType.TIMESTAMP)), SqlType.BOOLEAN), _shifted(self.x, shift)]
        last = _shifted(self.x, pieces[-1][1])
        return Apply("case", (*args, last), SqlType.TIMESTAMP) if args else last

    def _pieces(self) -> list[tuple[int, int]]:
        """Return from which moments on `x` is moved by how many microseconds."""
        interval = self.t.known(self.x).interval
        if interval is None:
            raise MissingBounds(
                f"{self.node.sql('postgres')[:80]} needs a time with declared bounds",
                because="zone-without-bounds",
                hint="The owner of the data can declare `bounds` for it.",
                position=position(self.node),
            )
        low, high = int(interval.low), int(interval.high)
        if (high - low) // DAY > _MOST_DAYS:
            raise Unsupported(
                "a time in another zone needs bounds of at most 24 years",
                because="zone-bounds-too-wide",
                hint="WHERE can narrow them.",
                position=position(self.node),
            )
        days = [low, *range(low - low % DAY + DAY, high, DAY), high]
        shifts = self._shifts(days)
        steps = [at for (a, x), (b, y) in pairwise(zip(days, shifts, strict=True)) if x != y for at in _steps(a, b)]
        pieces = [(low, shifts[0])]
        for at, shift in zip(steps, self._shifts(steps), strict=True):
            if shift != pieces[-1][1]:
                pieces.append((at, shift))
        before = self._shifts([at - 1 for at, _ in pieces[1:]])
        if before != [shift for _, shift in pieces[:-1]]:
            raise Unsupported(
                "this zone's clock is changed otherwise than at a quarter of an hour",
                because="zone-odd-change",
                hint="Write AT TIME ZONE 'UTC'.",
                position=position(self.node),
            )
        return pieces

    def _shifts(self, moments: Sequence[int]) -> list[int]:
        return [to - at for at, to in zip(moments, self._asked(self.moved, moments), strict=True)]

    def _check_clock(self, changes: Sequence[int]) -> None:
        """Check that the session's clock always is as far from UTC's, so that what it shows says when it is."""
        interval = self.t.known(self.x).interval
        assert interval is not None
        low, high = int(interval.low), int(interval.high)
        moments = sorted({low, *range(low, high, DAY), *changes, *(at - 1 for at in changes[1:]), high})
        shown, utc = (self._asked(asked, moments) for asked in (self.moved, in_utc(self.t, self.moved)))
        if len({a - b for a, b in zip(shown, utc, strict=True)}) > 1:
            raise Unsupported(
                "a time with a time zone is not exact where the session's TimeZone changes its clock",
                because="session-clock-changes",
                hint="SET TimeZone = 'UTC', or write … AT TIME ZONE 'UTC' after it.",
                position=position(self.node),
            )

    def _asked(self, node: exp.Expr, moments: Sequence[int]) -> list[int]:
        texts, _ = self.t.constants.evaluator.over(self.t.constants.spelled(node), moments, SqlType.TIMESTAMP)
        return [int(parse_value(text or "", SqlType.TIMESTAMP)) for text in texts]


def _steps(after: int, until: int) -> list[int]:
    return [*range(after - after % _STEP + _STEP, until, _STEP), until]


def _shifted(x: Expr, micros: int) -> Expr:
    return Apply("shift", (x,), SqlType.TIMESTAMP, IntervalValue(0, 0, micros)) if micros else x
