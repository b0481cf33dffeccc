"""The measurement of sums: one statement of the engine, one scale of noise for all its statistics.

Claim: adding or removing all rows of one unit moves the vector of all groups' coordinates by at most `sensitivity` in the
norm Σ_groups max|coordinate|. Proof: a row contributes, to its own group only, w·φ with |φᵢ| ≤ `size` for each
coordinate (see `reader`), and one unit's weights add up to at most `bound.mass`; the triangle inequality does the
rest. So noise with P(z) ∝ exp(−max|zᵢ| / t) per group, t = ⌈sensitivity / ε⌉, is ε-DP (Hardt and Talwar, STOC 2010).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dpsql.errors import InternalError
from dpsql.policy.interval import Interval
from dpsql.policy.model import Mechanism, SqlType
from dpsql.privacy.bounding import Bound, Form
from dpsql.privacy.feature import Feature, Scaled, Shape
from dpsql.privacy.select import Reading
from dpsql.rewrite.emit import Emitter
from dpsql.rewrite.expr import TRUE, Expr
from dpsql.rewrite.function import Dialect, integral
from dpsql.rewrite.grid import stepped
from dpsql.rewrite.groups import Groups
from dpsql.rewrite.relation import Relation

_FINE = 2**10
"""The lattice of one value, [−S, S], unless whole numbers ask for a multiple."""
_FINEST = 2**14
_FEW_GROUPS = 8
_SQUARED = frozenset({Shape.SQUARE, Shape.PRODUCT})


class Distinct(Enum):
    """What is counted: rows, or each unit once a group, or each value once a group."""

    ROWS = "rows"
    UNITS = "units"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Sums:
    """Noisy sums of features over the groups of a relation."""

    relation: Relation
    where: Expr
    groups: Groups
    features: tuple[Feature, ...]
    bound: Bound
    epsilon: Fraction
    mechanism: Mechanism
    delta: Fraction = Fraction(0)
    """Above 0: the groups are not declared, and only those whose noisy count passes a threshold are shown."""
    distinct: Distinct = Distinct.ROWS
    value: Expr | None = None
    """For `Distinct.VALUES`, what is counted once."""

    @property
    def lattice(self) -> int:
        """Return S: every value is rounded to one of 2S + 1 points."""
        return lattice(self.features)

    @property
    def size(self) -> int:
        """Return the largest absolute value of a coordinate of one row with weight 1."""
        return self.lattice**2 if any(f.shape in _SQUARED for f in self.features) else self.lattice

    @property
    def unit(self) -> int:
        """Return what one whole row of weight W adds to the coordinate ONE: noisy sums are divided by it."""
        return self.size * self.bound.weight

    @property
    def sensitivity(self) -> int:
        """Return the most by which one unit moves all coordinates together."""
        return self.bound.mass * self.size

    @property
    def scale(self) -> int:
        """Return the noise's t; independent Laplace noise gives each of d statistics its d-th part of ε."""
        parts = 1 if self.mechanism is Mechanism.CUBE else len(self.features)
        return math.ceil(Fraction(self.sensitivity * parts) / self.epsilon)

    def columns(self) -> tuple["Column", ...]:
        """Return the sums that the engine computes, each once."""
        return tuple(dict.fromkeys(column for feature in self.features for column in _columns(feature)))

    def reader(self) -> Callable[[Sequence[int]], tuple[int, ...]]:
        """Return the function from the engine's columns to the features' sums, as integers; it is used for every group.

        With w ≥ 0, 0 ≤ t ≤ 2S and f = t − S per row: size·w, size·(2·1[c]·w − w), (size/S)·w·(t − S)·1[c] (or
        (size/S)·w·t with t ≤ S), 2·w·f² − S²·w·1[c] and w·f·g are each at most size·w in absolute value.
        """
        place = {column: index for index, column in enumerate(self.columns())}
        parts = [(feature.shape, [place[column] for column in _columns(feature)]) for feature in self.features]
        size, points = self.size, self.lattice
        return lambda sums: tuple(_coordinate(shape, [sums[i] for i in at], size, points) for shape, at in parts)

    def sql(self, emitter: Emitter) -> str:
        """Return the engine's statement: the groups' keys, then `columns()` as text."""
        match self.distinct:
            case Distinct.ROWS:
                return self._of_rows(emitter)
            case Distinct.UNITS:
                return self._of_units(emitter)
            case Distinct.VALUES:
                return self._of_values(emitter)

    def _of_rows(self, emitter: Emitter) -> str:
        used = [e for f in self.features for e in (f.where, *(s.expr for s in (f.x, f.y) if s is not None))]
        reading = Reading.of(self.relation, self.where, self.groups.keys, used, self.bound, emitter)
        values = _Values(emitter, self.bound, self.lattice)
        weighted = self.bound.form is Form.MASS
        first = weighted and self._sums_units_first(emitter.dialect)
        sums = [values.summed(column, weighted=weighted and not first) for column in self.columns()]
        rows = reading.rows(f"{text} AS {name}" for text, name in values.named.items())
        return reading.by_unit(rows, sums) if first else reading.grouped(rows, sums, values.named.values())

    def _sums_units_first(self, dialect: Dialect) -> bool:
        """Say whether to sum by unit before weighing: with few groups 2 times faster on Postgres, never on DuckDB.

        A unit's weighted sum is at most 2·mass·size, which then has to fit into 64 bits.
        """
        few = 0 < len(self.groups.grouped) <= _FEW_GROUPS
        return dialect is Dialect.POSTGRES and few and not self.delta and self.sensitivity < 2**62

    def _of_units(self, emitter: Emitter) -> str:
        """Count each unit once a group: over the distinct pairs of unit and group, of which a unit has some C."""
        reading = Reading.of(self.relation, self.where, self.groups.keys, [], self.bound, emitter)
        pairs = reading.rows((), distinct=True)
        if self.bound.form is not Form.MASS:  # selection keeps C pairs of unit and group
            return reading.grouped(pairs, ["count(*)"], ())
        weights = self.bound.weights("u", "FROM r", emitter.dialect)
        select = f"SELECT {reading.outputs(['sum(w)'])} FROM r JOIN h ON u = hu{reading.group_by}"
        return f"WITH r AS MATERIALIZED ({pairs}), {weights} {select}"

    def _of_values(self, emitter: Emitter) -> str:
        """Count each value once a group, after keeping at most C pairs of group and value for each unit."""
        value = self.value
        if value is None:
            raise InternalError
        reading = Reading.of(self.relation, self.where, self.groups.keys, [value], self.bound, emitter)
        rows = reading.rows([f"{emitter.sql(value)} AS x"], distinct=True)
        return reading.grouped(rows, ["count(DISTINCT x)"], ["x"])


@dataclass(frozen=True, slots=True)
class Column:
    """One sum of the engine over the rows where the condition holds: Σ w, Σ w·t of one factor, Σ w·f·g of two.

    The engine sums t = f + S, which saves it a subtraction a row.
    """

    where: Expr
    factors: tuple[Scaled, ...]
    upwards: bool = False
    """Whether the one factor's steps are from 0 to S, not to 2S: its interval begins at 0, and so does the lattice."""


def _columns(feature: Feature) -> tuple[Column, ...]:
    ones = Column(feature.where, ())
    match feature.shape:
        case Shape.ONE:
            return (ones,)
        case Shape.SIGN:
            return (ones, Column(TRUE, ()))
        case Shape.VALUE:
            return (Column(feature.where, (_of(feature.x),)), ones)
        case Shape.SIGNED:
            scaled = _of(feature.x)
            if not scaled.interval.low:
                return (Column(feature.where, (scaled,), upwards=True),)
            most = scaled.interval.magnitude
            return (Column(feature.where, (Scaled(scaled.expr, Interval(-most, most)),)), ones)
        case Shape.SQUARE:
            return (Column(feature.where, (_of(feature.x), _of(feature.x))), ones)
        case Shape.PRODUCT:
            return (Column(feature.where, (_of(feature.x), _of(feature.y))),)


def _coordinate(shape: Shape, parts: Sequence[int], size: int, points: int) -> int:
    match shape:
        case Shape.ONE:
            return size * parts[0]
        case Shape.SIGN:
            return size * (2 * parts[0] - parts[1])
        case Shape.VALUE | Shape.SIGNED:
            low = points * parts[1] if len(parts) > 1 else 0
            return (size // points) * (parts[0] - low)
        case Shape.SQUARE:
            return 2 * parts[0] - size * parts[1]
        case Shape.PRODUCT:
            return parts[0]
        case _:
            assert_never(shape)


def _of(scaled: Scaled | None) -> Scaled:
    assert scaled is not None
    return scaled


def lattice(features: Sequence[Feature]) -> int:
    """Return S, such that sums of whole numbers come out exactly if that is cheap."""
    least = 1
    for feature in features:
        for scaled in (feature.x, feature.y):
            if scaled is None or not integral(scaled.expr) or scaled.interval.width.denominator != 1:
                continue
            need = scaled.interval.magnitude if feature.shape is Shape.SIGNED else scaled.interval.width
            together = math.lcm(least, max(int(need), 1))
            least = together if together <= _FINEST else least
    return least * -(-_FINE // least)


class _Values:
    """The lattice values and conditions that the inner SELECT computes, each under one name."""

    def __init__(self, emitter: Emitter, bound: Bound, points: int) -> None:
        self.named: dict[str, str] = {}
        self._emitter, self._bound, self._points = emitter, bound, points

    def summed(self, column: Column, *, weighted: bool) -> str:
        """Return the sum as the engine computes it."""
        weight = ["w"] if weighted else []
        text = f"sum({' * '.join([*weight, *self._factors(column, cast=weighted)])})"
        text = text if weight or column.factors else "count(*)"
        return text if column.where == TRUE else f"{text} FILTER (WHERE {self._name(self._emitter.sql(column.where))})"

    def _factors(self, column: Column, *, cast: bool) -> list[str]:
        steps = self._points if column.upwards else 2 * self._points
        names = [self._name(stepped(self._emitter, x.expr, x.interval, steps)) for x in column.factors]
        type_ = self._product(column)
        if len(names) == 1:
            return [self._emitter.cast(name, type_) if cast else name for name in names]
        return [f"({self._emitter.cast(name, type_)} - {self._points})" for name in names]

    def _product(self, column: Column) -> SqlType:
        """Return the type that holds one row's product; Postgres adds up only those of 64 bits without a limit."""
        most = self._bound.weight * (2 * self._points) ** len(column.factors)
        return SqlType.INTEGER if most < 2**31 and self._emitter.dialect is Dialect.DUCKDB else SqlType.BIGINT

    def _name(self, text: str) -> str:
        return self.named.setdefault(text, f"f{len(self.named)}")
