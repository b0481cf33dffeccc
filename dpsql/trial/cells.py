"""The possible cells of a column, as texts that engines cast: the declared values, their ends, and every kind of dirt."""

import datetime as dt
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from random import Random
from typing import assert_never
from uuid import UUID

from dpsql.policy.model import Column, OfEachType, SqlType, Value
from dpsql.privacy.features.lattice import MOST_POINTS
from dpsql.rewrite.ir.calendar import DAY
from dpsql.rewrite.ir.literal import format_value

MadeUpCell = str | None
"""A cell; None is NULL."""
_FEW, _MANY = 3, 72
"""Different values of a column in most rows, and in rows that are to have as many as they can."""
_NULLS = 4
"""How often NULL is among what else may be there."""
# If each cell were drawn by itself, a WHERE with three conditions would leave a unit next to no rows, and a bound on
# rows would never be met.
_SAME = 0.85
"""How often a cell is as in the unit's other rows, so that conditions leave it many."""
_EPOCH = dt.date(1970, 1, 1)
_TODAY = (dt.date(2024, 2, 29) - _EPOCH).days
_WORDS = ("", "a", "A", "ä", "a ", "NULL", "O'Hare", "100 %", "\\", "Ünïcode")
_SPELLED = "abcdefgh"
# Where one part of a statement compares as floats and another as text, two of a unit's rows may be one group here and
# two there. Then a unit counts twice. 2⁵³ and 2⁵³ + 1 are one double.
_TWINS: Mapping[SqlType, Sequence[str]] = {
    SqlType.REAL: ("0.0", "-0.0"),
    SqlType.DOUBLE: ("0.0", "-0.0"),
    SqlType.BIGINT: ("9007199254740992", "9007199254740993"),
    SqlType.TEXT: ("a", "a ", "A"),
}
"""Values that are equal in some comparison, and not in another."""
# A policy declares, and an engine does not enforce. The guarantee holds whatever the rows are, so that the values that
# break a text are here: the ends of each type, what is not finite, what overflows when it is squared, negative zero,
# denormal numbers, texts that differ in case or in a blank, and JSON that is none.
_DIRT: OfEachType[Sequence[str]] = OfEachType(
    boolean=("t", "f"),
    smallint=("-32768", "32767", "-1", "0", "101"),
    integer=("-2147483648", "2147483647", "-1", "0", "999"),
    bigint=("-9223372036854775808", "9223372036854775807", "-1", "0"),
    numeric=("-99999.5", "99999.5", "0.00", "-0.5", "1e30", "NaN"),
    real=("NaN", "Infinity", "-Infinity", "3e38", "-0.0", "1e-40"),
    double=("NaN", "Infinity", "-Infinity", "1e308", "-1e308", "-0.0", "1e-320"),
    text=_WORDS,
    character=_WORDS,
    uuid=(str(UUID(int=0)), str(UUID(int=2**128 - 1))),
    enum=("?",),
    date=("0001-01-01", "1900-01-01", "2024-02-29", "9999-12-31", "infinity", "-infinity"),
    timestamp=("0001-01-01 00:00:00", "1900-01-01 23:59:59.999999", "2262-04-12 00:00:00", "infinity"),
    timestamptz=("1900-01-01 23:59:59.999999+00", "2262-04-12 00:00:00+00", "-infinity"),
    time=("00:00:00", "23:59:59.999999", "24:00:00"),
    interval=("0", "-1 days", "400 days 00:00:00.000001", "1 mon", "-7 years"),
    json=("{}", "[]", "[1, 2]", "null", "3", '"a"', "true", "{", "", '{"a": 1e400}'),
)
"""Values that a table may hold against its declaration, as far as its type in the engine lets it."""


class Style(Enum):
    """How the cells of a unit's rows are to be."""

    ALIKE = "the same in most rows"
    ABOVE = "beyond the upper bound"
    BELOW = "beyond the lower bound"
    DIVERSE = "another in each row"


@dataclass(frozen=True, slots=True)
class CellPool:
    """The source of the cells of one column, in one database."""

    column: Column
    usual: Sequence[MadeUpCell]
    """A few values, so that units meet in groups."""
    many: Sequence[MadeUpCell]
    """As many different ones as there are, or as are needed."""
    elsewhere: Sequence[MadeUpCell]
    """Values of public tables that the column does not point to, but may be compared with."""
    dirt: Sequence[MadeUpCell]
    """Values that are not declared, and may be there."""
    inside: Sequence["CellPool"] = ()
    """Of a column of JSON: those of its paths."""

    @classmethod
    def of(
        cls, column: Column, keys: Sequence[MadeUpCell], public: Sequence[MadeUpCell], draw: Random, *, nulls: bool
    ) -> "CellPool":
        """Choose them; `keys` are those of what the column points to, `public` what stands in columns of public tables."""
        if column.paths:
            inside = tuple(cls.of(path, (), (), draw, nulls=True) for path in column.paths)
            return cls(column, (), (), (), (*((None,) * _NULLS if nulls else ()), *_DIRT.of(column.type)), inside)
        free = not keys and column.values is None and (column.bounds is None or _around_zero(column))
        twins = _TWINS.get(column.type, ()) if free else ()
        public = alike_first(public)
        many = [*twins, *(list(keys) or list(_declared(column)) or [*public, *_plain(column)])]
        some = (
            draw.sample(values, min(_FEW, len(values))) for values in (many[: (len(many) + 1) // 2], public[:_MANY])
        )
        few = list(dict.fromkeys((*itertools.chain.from_iterable(some), *twins)))
        numbers = ("0", "1", "2", "-1") if column.in_numbers else _DIRT.of(column.type)
        beyond = (*_beyond(column, -1), *_beyond(column, 1))
        return cls(column, few, many, public, (*((None,) * _NULLS if nulls else ()), *numbers, *beyond, *public))

    def cell(self, unit: int, row: int, style: Style, draw: Random, share: float) -> MadeUpCell:
        """Return a cell of a unit's row, with dirt in this share of them."""
        if self.inside:
            return draw.choice(self.dirt) if draw.random() < share else self._object(unit, row, style, draw, share)
        if style is Style.DIVERSE:
            return self.many[-1 - row % len(self.many)]
        sign = {Style.ABOVE: 1, Style.BELOW: -1}.get(style, 0)
        if sign and (far := _beyond(self.column, sign, unit * _MANY + row)):
            return far[row % len(far)]
        if sign and self.elsewhere:
            return self.elsewhere[(unit + row) % len(self.elsewhere)]
        if draw.random() < share:
            return draw.choice(self.dirt)
        if draw.random() < _SAME:
            return self.usual[unit % len(self.usual)]
        return draw.choice(self.usual)

    def _object(self, unit: int, row: int, style: Style, draw: Random, share: float) -> str:
        """Return an object with the declared paths: some may be missing, and some lead to a value of another type."""
        made: dict[str, object] = {}
        for pool in self.inside:
            path, cell = pool.column.path, pool.cell(unit, row, style, draw, share)
            if path is None or cell is None:
                continue
            place = made
            for key in path.keys[:-1]:
                inner = place.setdefault(key, {})
                place = inner if isinstance(inner, dict) else {}
            wrong = draw.random() < share
            place.setdefault(path.keys[-1], draw.choice(_NO_VALUES) if wrong else _in_json(cell, pool.column))
        return json.dumps(made, ensure_ascii=False)


def _in_json(cell: str, column: Column) -> object:
    """Return a cell as JSON has it: a number or a boolean as itself, unless that is none there."""
    if column.type is SqlType.BOOLEAN:
        return cell == "t"
    if not column.type.is_number:
        return cell
    number = int(cell) if column.type.is_integer else float(cell)
    return number if math.isfinite(number) else cell


_NO_VALUES: Sequence[object] = (None, True, "", "?", [1], {"a": 1}, -0.5, 10**30)


def alike_first(texts: Sequence[MadeUpCell]) -> list[MadeUpCell]:
    """Return texts, before others those that some comparison takes for another of them: as floats, or but for case."""

    def alike(text: MadeUpCell) -> object:
        try:
            return float(text or "")
        except ValueError:
            return (text or "").strip().lower()

    numbers = Counter(map(alike, texts))
    return sorted(texts, key=lambda text: numbers[alike(text)] == 1)


def _declared(column: Column) -> Iterable[MadeUpCell]:
    """Yield values that are declared: all, or both bounds and many between them."""
    if column.values is not None:
        yield from (_text(value, column) for value in column.values)
    elif column.bounds is not None:
        low, high = column.bounds.low, column.bounds.high
        yield from dict.fromkeys(_text(_inside(low, high, column, n), column) for n in range(_MANY + 1))


def _around_zero(column: Column) -> bool:
    return column.bounds is not None and column.bounds.low <= 0 <= column.bounds.high


def _inside(low: Fraction, high: Fraction, column: Column, n: int) -> Fraction:
    """Return the n-th value between bounds, a multiple of the column's step where it has one."""
    point = low + (high - low) * Fraction(n, _MANY)
    step = column.step or (None if column.type.is_float or column.type is SqlType.NUMERIC else Fraction(1))
    return point if step is None else min(max(point // step * step, low), high)


def _text(value: Value | Fraction, column: Column) -> str:
    exact = isinstance(value, Fraction) and (column.type.is_integer or column.type.is_temporal or column.type.is_span)
    return format_value(int(value) if exact else value, column.type)


def _plain(column: Column) -> Sequence[str]:
    """Return plain cells of a column of which nothing is declared but its type."""
    match column.type:
        case SqlType.BOOLEAN:
            return ("0", "1") if column.in_numbers else ("t", "f")
        case SqlType.DATE:
            return [format_value(_TODAY + n, column.type) for n in range(_MANY)]
        case SqlType.TIMESTAMP | SqlType.TIMESTAMPTZ:
            return [format_value(_TODAY * DAY + n * DAY // 5, column.type) for n in range(_MANY)]
        case SqlType.TIME:
            return [format_value(n * DAY // _MANY, column.type) for n in range(_MANY)]
        case SqlType.INTERVAL:
            return [format_value(n * DAY // 3, column.type) for n in range(_MANY)]
        case SqlType.UUID:
            return [str(UUID(int=n)) for n in range(1, _MANY)]
        case SqlType.TEXT:
            return [*_WORDS, *(f"word {n}" for n in range(_MANY))]
        case SqlType.CHARACTER | SqlType.ENUM:
            return _WORDS
        case (
            SqlType.SMALLINT
            | SqlType.INTEGER
            | SqlType.BIGINT
            | SqlType.NUMERIC
            | SqlType.REAL
            | SqlType.DOUBLE
            | SqlType.JSON
        ):
            return [str(n) for n in range(_MANY)]
        case _ as never:
            assert_never(never)


def _beyond(column: Column, sign: int, number: int = 0) -> tuple[str, ...]:
    """Return what is beyond one of a column's bounds: by something of its own, as far as can be, and by a little."""
    if column.bounds is None or not column.type.is_number:
        return ()
    end = column.bounds.high if sign > 0 else column.bounds.low
    little = 2 * column.bounds.width / MOST_POINTS if column.type.is_float else Fraction(1)
    # A little beyond the bound a missing clamp moves a sum by less than the noise of a unit's own row, so there are
    # values far beyond it, too.
    own, other = (_text(end + (number + further) * sign, column) for further in (7, 4_000))
    far = {SqlType.REAL: "3e38", SqlType.DOUBLE: "1e308"}.get(column.type, other)
    return (own, other, far if sign > 0 or far is other else f"-{far}", _text(end + little * sign, column))


def unit_names(column: Column, sparse: bool) -> Sequence[Sequence[str]]:
    """Return, for each of some individuals, the texts that name this one in a column; `sparse`: far from each other."""
    match column.type:
        case SqlType.SMALLINT | SqlType.INTEGER | SqlType.BIGINT:
            width = {SqlType.SMALLINT: 4_001, SqlType.INTEGER: 250_000_007}.get(column.type, 10**17 + 3)
            return [(str((n - 4) * width if sparse else n + 1),) for n in range(8)]
        case SqlType.NUMERIC:
            return [(str(n + 1), f"{n + 1}.0") for n in range(8)]
        case SqlType.TEXT | SqlType.ENUM:
            return [(name,) for name in (_WORDS if sparse else [f"u{letter}" for letter in _SPELLED])[:8]]
        case SqlType.CHARACTER:
            return [(letter,) for letter in _SPELLED]
        case _:
            return [(text,) for text in _plain(column)[:8]]
