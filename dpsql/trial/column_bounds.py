"""Between which values a whole number lies that a statement computes of a row, by its own text.

It reads comparisons with constants in CASE, sums and products with constants, and casts. All of them rise or fall with
what they are of, also as floating-point numbers, whose rounding keeps the order: so the ends of a range become the
ends of the next one, by the very operations of the engine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor, inf, isinf

from sqlglot import exp

_UNSIGNED = {"UINT": 2**32 - 1, "USMALLINT": 2**16 - 1, "UTINYINT": 2**8 - 1}
"""The largest values of unsigned types."""
_WHOLE = frozenset({"INT", "BIGINT", "SMALLINT", "TINYINT"})
_WIDE = frozenset({"BIGINT", "DECIMAL", "INT", "INT128", "TEXT", "VARCHAR"})
"""Types into which sums are cast and have room there."""
_EXACT = 2**53
"""Whole numbers up to here are floating-point numbers, too."""


class NotProvedError(Exception):
    """The text is nothing that is read, or does not keep what it has to."""


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The least and the greatest value of a number, which may also be NULL."""

    low: float
    high: float

    def within(self, other: "ColumnBounds") -> "ColumnBounds":
        """Return the values that are in another range, too."""
        return ColumnBounds(max(self.low, other.low), min(self.high, other.high))

    @property
    def is_known(self) -> bool:
        """Return whether these are whole numbers between which all values lie."""
        return isinstance(self.low, int) and isinstance(self.high, int)


UNKNOWN = ColumnBounds(-inf, inf)
"""Of keys, and of what is not read: a sum of it would prove nothing."""


def without_parens(tree: exp.Expr) -> exp.Expr:
    """Return what stands in brackets."""
    while isinstance(tree, (exp.Paren, exp.Subquery)) and not tree.alias:
        tree = tree.this
    return tree


def without_cast(tree: exp.Expr) -> exp.Expr:
    """Return a sum, a count or a weight without types into which it is cast and has room there.

    Raises:
        NotProvedError: it is cast into another type.
    """
    tree = without_parens(tree)
    while isinstance(tree, exp.Cast):
        if isinstance(tree, exp.TryCast) or tree.to.this.name not in _WIDE or tree.to.expressions:
            raise NotProvedError
        tree = without_parens(tree.this)
    return tree


def column_bounds(
    tree: exp.Expr, columns: Mapping[str, ColumnBounds], told: Mapping[exp.Expr, ColumnBounds] | None = None
) -> ColumnBounds:
    """Return between which values a number lies; `told` has what conditions say of parts of it.

    CASE WHEN x > 1 AND x < 20 THEN (x - 1) * 108 WHEN x >= 20 THEN 2052 WHEN x IS NOT NULL THEN 0 END  →  from 0 to 2052
    """
    tree, told = without_parens(tree), told or {}
    bounds = _computed(tree, columns, told)
    return bounds.within(told.get(tree, UNKNOWN)) if told else bounds


def _computed(
    tree: exp.Expr, columns: Mapping[str, ColumnBounds], told: Mapping[exp.Expr, ColumnBounds]
) -> ColumnBounds:
    match tree:
        case exp.Literal() | exp.Neg():
            number = _constant(tree)
            return UNKNOWN if number is None else ColumnBounds(number, number)
        case exp.Column() if tree.name in columns and not tree.table:
            return columns[tree.name]
        case exp.TryCast() | exp.Cast():
            return _cast(column_bounds(tree.this, columns, told), tree.to.this.name, _constant(tree))
        case exp.Case() if tree.this is None:
            branches: list[tuple[exp.Expr, Mapping[exp.Expr, ColumnBounds]]] = [
                (branch.args["true"], {**told, **dict(_said(branch.this))}) for branch in tree.args["ifs"]
            ]
            branches += [(tree.args.get("default") or exp.null(), told)]
            parts = [column_bounds(value, columns, said) for value, said in branches if not isinstance(value, exp.Null)]
            return ColumnBounds(
                min((part.low for part in parts), default=0), max((part.high for part in parts), default=0)
            )
        case exp.Add() | exp.Sub() | exp.Mul():
            return _operated(tree, columns, told)
    return UNKNOWN


def _constant(tree: exp.Expr) -> float | None:
    """Return a constant: of whole numbers an int, of floating-point numbers a float; None of others, as 1.5 is no float."""
    tree = without_parens(tree)
    match tree:
        case exp.Neg():
            number = _constant(tree.this)
            return None if number is None else -number
        case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.to.this.name == "DOUBLE":
            return float(tree.this.name)
        case exp.Cast() if isinstance(tree.this, exp.Literal) and tree.this.is_int:
            return int(tree.this.name)
        case exp.Literal() if tree.is_int:
            return int(tree.name)
        case exp.Literal() if not tree.is_string and "e" in tree.name.lower():
            return float(tree.name)
    return None


def _cast(inner: ColumnBounds, type_: str, constant: float | None) -> ColumnBounds:
    if constant is not None:
        return ColumnBounds(constant, constant)
    if (most := _UNSIGNED.get(type_)) is not None:
        return _rounded(inner.within(ColumnBounds(0, most)))
    if type_ in _WHOLE:
        return UNKNOWN if isinf(inner.low) or isinf(inner.high) else _rounded(inner)
    if type_ == "DOUBLE":
        if max(abs(inner.low), abs(inner.high)) > _EXACT and inner != UNKNOWN:
            return UNKNOWN
        return ColumnBounds(float(inner.low), float(inner.high))
    return UNKNOWN


def _rounded(bounds: ColumnBounds) -> ColumnBounds:
    """Return the whole numbers that engines round numbers to, halves to either side."""
    low, high = bounds.low, bounds.high
    return ColumnBounds(
        low if isinstance(low, int) else ceil(low - 0.5), high if isinstance(high, int) else floor(high + 0.5)
    )


def _operated(
    tree: exp.Add | exp.Sub | exp.Mul, columns: Mapping[str, ColumnBounds], told: Mapping[exp.Expr, ColumnBounds]
) -> ColumnBounds:
    """Return the bounds of a number to which a constant is added, or by which it is multiplied."""
    number, of = _constant(tree.expression), column_bounds(tree.this, columns, told)
    if number is None or of == UNKNOWN:
        return UNKNOWN
    ends = of.low, of.high
    match tree:
        case exp.Add():
            moved_ends = [end + number for end in ends]
        case exp.Sub():
            moved_ends = [end - number for end in ends]
        case _:
            moved_ends = [end * number if number else number for end in ends]
    return ColumnBounds(min(moved_ends), max(moved_ends))


def _said(condition: exp.Expr) -> Iterator[tuple[exp.Expr, ColumnBounds]]:
    """Yield what a condition that holds says of the numbers in it: NaN is above all numbers, so that `<` leaves it out."""
    bounds_of: dict[exp.Expr, ColumnBounds] = {}
    condition = without_parens(condition)
    every = condition.flatten() if isinstance(condition, exp.And) else (condition,)
    for part in map(without_parens, every):
        if isinstance(part, exp.Between):
            low, high = _constant(part.args["low"]), _constant(part.args["high"])
        else:
            number = _constant(part.expression) if isinstance(part, exp.Binary) else None
            low = number if isinstance(part, (exp.GT, exp.GTE)) else None
            high = number if isinstance(part, (exp.LT, exp.LTE)) else None
        if low is not None or high is not None:
            of = without_parens(part.this)
            bounds = ColumnBounds(-inf if low is None else low, inf if high is None else high)
            bounds_of[of] = bounds_of.get(of, UNKNOWN).within(bounds)
    yield from bounds_of.items()
