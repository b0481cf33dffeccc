"""Synthetic records as dirty as real ones, and what the analyst is to see of them: the clamped tables.

`clamped` is written from the declared meaning alone (docs/sql.md) and shares no code with what it is compared to.
"""

import datetime as dt
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Table

Cell = bool | int | float | Decimal | str | dt.date | dt.datetime | dt.time | dt.timedelta | None
Row = dict[str, Cell]
Domain = frozenset[object]

ZONES: Sequence[Row] = [
    {"zone_id": 1, "zone": "Airport", "borough": "Queens"},
    {"zone_id": 2, "zone": "Old Town", "borough": "Bronx"},
    {"zone_id": 4, "zone": "Harbour", "borough": "Queens"},
    {"zone_id": 5, "zone": "Village", "borough": "Bronx"},
    {"zone_id": 9, "zone": "O'Hare", "borough": "Else \\ where"},
]
ZONE_IDS: Domain = frozenset(row["zone_id"] for row in ZONES)
_DAY_ZERO = dt.date(1970, 1, 1)
_MOMENT_ZERO = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (timestamps without time zone)


def clamped(row: Row, table: Table) -> Row:
    """Return the row as the analyst sees it."""
    return {name: _seen(row[name], column) for name, column in table.columns.items()}


def _seen(cell: Cell, column: Column) -> Cell:
    if cell is None or (isinstance(cell, (float, Decimal)) and math.isnan(cell)):
        return None
    if isinstance(cell, float) and cell == 0:
        return 0.0  # the two zeros are one
    if column.references is not None:
        return cell if cell in ZONE_IDS else None
    if column.values is not None:
        return cell if cell in column.values else None
    return cell if column.bounds is None else _moved(cell, column.bounds, column.type)


def _moved(cell: Cell, bounds: Interval, type_: SqlType) -> Cell:
    """Return the nearest value inside the bounds."""
    if cell < _spelt(bounds.low, type_):  # type: ignore[operator]  # one type a column
        return _spelt(bounds.low, type_)
    return min(cell, _spelt(bounds.high, type_))  # type: ignore[type-var]


def _spelt(number: Fraction | int, type_: SqlType) -> Cell:
    match type_:
        case SqlType.DATE:
            return _DAY_ZERO + dt.timedelta(days=int(number))
        case SqlType.TIMESTAMP:
            return _MOMENT_ZERO + dt.timedelta(microseconds=int(number))
        case SqlType.NUMERIC:
            return Decimal(number.numerator) / Decimal(number.denominator)
        case SqlType.REAL | SqlType.DOUBLE:
            return float(number)
        case _:
            return int(number)


@dataclass(frozen=True, slots=True)
class _Inside:
    """What values inside some bounds are drawn from."""

    low: int
    high: int
    width: int
    lattice: tuple[float, ...]
    """Of double precision the lattice of 2S + 1 points, where rounding changes nothing."""

    @classmethod
    @cache
    def of(cls, bounds: Interval, type_: SqlType) -> "_Inside":
        """Compute it, once: two thousand fractions take longer than all rows of most tests."""
        low, width = bounds.low, bounds.high - bounds.low
        steps = range(2049) if type_ in (SqlType.DOUBLE, SqlType.REAL) else ()
        lattice = tuple(float(low + width * Fraction(step, 2048)) for step in steps)
        return cls(int(low), int(bounds.high), int(width), lattice)


class Maker:
    """Draws cells of declared columns."""

    def __init__(self, seed: int, dirt: float = 0.02, edges: float = 0.0) -> None:
        """Draw from `seed`: dirty cells with probability `dirt`, of the others both bounds with `edges`."""
        self._draw = random.Random(seed)  # noqa: S311  (synthetic records)
        self._dirt, self._edges = dirt, edges
        self._known: dict[int, tuple[Interval, _Inside]] = {}

    def row(self, table: Table) -> Row:
        """Return a row of a table."""
        return {name: self.cell(column) for name, column in table.columns.items()}

    def cell(self, column: Column) -> Cell:
        """Return a value, now and then one that is missing, no number, not finite, or not what was declared."""
        if self._draw.random() < self._dirt:
            return self._dirty(column)
        if column.nullable and self._draw.random() < 0.1:
            return None
        return self.clean(column)

    def clean(self, column: Column) -> Cell:
        """Return a value as it is declared."""
        if column.references is not None:
            return self._draw.choice([row["zone_id"] for row in ZONES])
        if column.values is not None:
            return self._draw.choice(column.values)  # type: ignore[return-value]  # no fractions in our schemas
        if column.bounds is None:
            return _UNBOUNDED[column.type](self._draw)
        if self._draw.random() < self._edges:
            return _spelt(self._draw.choice([column.bounds.low, column.bounds.high]), column.type)
        return self._inside(column.bounds, column.type)

    def _inside(self, bounds: Interval, type_: SqlType) -> Cell:
        """Return a value inside the bounds; what is computed of them is kept, since fractions take their time."""
        if id(bounds) not in self._known:
            self._known[id(bounds)] = bounds, _Inside.of(bounds, type_)
        _, inside = self._known[id(bounds)]
        if inside.lattice:
            return inside.lattice[self._draw.randrange(len(inside.lattice))]
        if type_ is SqlType.NUMERIC:
            return Decimal(inside.low + self._draw.randrange(inside.width * 16 + 1) * Decimal("0.0625")).normalize()
        return _spelt(self._draw.randint(inside.low, inside.high), type_)

    def _dirty(self, column: Column) -> Cell:
        return self._draw.choice([None, *_DIRTY[column.type]])


def interesting(column: Column) -> list[Cell]:
    """Return cells of a column from the plainest to the strangest."""
    maker = Maker(0, dirt=0.0)
    plain = list(dict.fromkeys(maker.clean(column) for _ in range(8)))
    ends = [_spelt(end, column.type) for end in (column.bounds.low, column.bounds.high)] if column.bounds else []
    return [*plain, *ends, None, *_DIRTY[column.type]]


def _word(draw: random.Random) -> str:
    return draw.choice(["", "a", "NULL", "snow; rain", "Ünïcode \\ 'quoted'"])


_UNBOUNDED: Mapping[SqlType, Callable[[random.Random], Cell]] = {
    SqlType.BOOLEAN: lambda draw: draw.random() < 0.5,
    SqlType.INTEGER: lambda draw: draw.randrange(10**6),
    SqlType.BIGINT: lambda draw: draw.randrange(10**15),
    SqlType.TEXT: _word,
}
_DIRTY: Mapping[SqlType, Sequence[Cell]] = {
    SqlType.BOOLEAN: [],
    SqlType.SMALLINT: [-32768, 32767, -4, 101],
    SqlType.INTEGER: [-(2**31), 2**31 - 1, -1, 7, 999],
    SqlType.BIGINT: [-(2**63), 2**63 - 1, 0],
    SqlType.NUMERIC: [Decimal("-99999.5"), Decimal("99999.5"), Decimal("-20.5"), Decimal("128.5")],
    SqlType.REAL: [math.nan, math.inf, -math.inf, 3.0e38, -3.0e38, -0.0, 2.25],
    SqlType.DOUBLE: [math.nan, math.inf, -math.inf, 1e308, -1e308, -0.0, 151.0, -6.0],
    SqlType.TEXT: ["", "CASH", "cash ", "dispute"],
    SqlType.DATE: [dt.date(1900, 1, 1), dt.date(2100, 1, 1), dt.date(2019, 3, 15), dt.date(2019, 2, 28)],
    SqlType.TIMESTAMP: [
        dt.datetime(1900, 1, 1, 23, 59, 59, 999999),  # noqa: DTZ001
        dt.datetime(2262, 4, 12),  # noqa: DTZ001
        dt.datetime(2019, 3, 8),  # noqa: DTZ001
        dt.datetime(2019, 2, 28, 23, 59, 59, 999999),  # noqa: DTZ001
    ],
}
