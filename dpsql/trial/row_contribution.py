"""The amount that a row can add to the sums of a statement, by the statement's own text, and its size in a norm."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil, floor, inf, isinf
from typing import Self

import sqlglot
from sqlglot import exp

from dpsql.privacy.mechanisms.block import Block, Norm

# Between which values a whole number lies that a statement computes of a row, by its own text.
#
# It reads comparisons with constants in CASE, sums and products with constants, and casts. All of them rise or fall with
# what they are of, also as floating-point numbers, whose rounding keeps the order: so the ends of a range become the
# ends of the next one, by the very operations of the engine.

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
            # NULL adds nothing to a sum, so that only the other branches count. What a branch's own condition says
            # narrows it, as x BETWEEN 0 AND 20 does x; that earlier branches did not hold is not used.
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
        # Whatever comes out of the cast is in the type: of a value beyond it the engine makes NULL, or an error.
        return _rounded(inner.within(ColumnBounds(0, most)))
    if type_ in _WHOLE:
        return UNKNOWN if isinf(inner.low) or isinf(inner.high) else _rounded(inner)
    if type_ == "DOUBLE":
        # Above 2⁵³ a whole number may become the double next to it, which can be larger.
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
            # 0 times an end that is infinite would be NaN, and compare with nothing.
            moved_ends = [end * number if number else number for end in ends]
    return ColumnBounds(min(moved_ends), max(moved_ends))


def _said(condition: exp.Expr) -> Iterator[tuple[exp.Expr, ColumnBounds]]:
    """Yield what a condition that holds says of the numbers in it: NaN is above all numbers, so that `<` leaves it out."""
    # Conditions that all hold, and of these comparisons with constants; x > 1 says no more here than x >= 1. Of OR, and
    # of all else, nothing is taken: the bounds are wider then, and never wrong.
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


_COMPARED = re.compile(r"(\w+) = \d+")
"""A value compared with a number."""
_MOST_CONDITIONS = 4


def is_text(tree: exp.Expr | None, text: str, language: str = "duckdb") -> bool:
    """Return whether a part of a statement is this one, but for brackets."""
    if tree is None:
        return False
    sought = _read(text, language)
    return type(without_parens(tree)) is type(sought) and _plain(tree) == sought


@lru_cache(maxsize=1024)
def _read(text: str, language: str) -> exp.Expr:
    """Return a text in the form that is compared. Most are the same for every statement, and reading takes longest."""
    return _plain(sqlglot.parse_one(text, dialect=language))


def _plain(tree: exp.Expr) -> exp.Expr:
    return without_parens(tree).transform(lambda node: without_parens(node) if isinstance(node, exp.Paren) else node)


@dataclass(frozen=True, slots=True)
class Summand:
    """The number that an output adds up for each row: 1, a column, or the product of two."""

    columns: tuple[str, ...]
    bounds: tuple[ColumnBounds, ...]
    only: str = ""
    """The condition for the rows that it adds up, if not all."""
    weight: str = ""
    """By which each row is multiplied: w, v, or nothing."""

    @classmethod
    def of(cls, tree: exp.Expr, columns: Mapping[str, ColumnBounds], *, distinct: bool = False) -> Self:
        """Read an aggregate, cast to a type that has room for it, and any weight of its rows.

        A number of `distinct` values of a column is read as one of rows: each row is one of either at most.
        """
        tree, only = without_cast(tree.unalias()), ""
        while isinstance(tree, exp.Filter):
            if only:
                raise NotProvedError
            only, tree = tree.expression.this.sql(), without_cast(tree.this)
        if isinstance(tree, exp.Count) and (
            isinstance(tree.this, exp.Star) or (distinct and _is_of_distinct(tree.this))
        ):
            return cls((), (), only)
        if not isinstance(tree, exp.Sum):
            raise NotProvedError
        factors = [_column(factor) for factor in _factors(tree.this)]
        names = tuple(sorted(name for name in factors if name not in ("w", "v")))
        if len(names) > 2 or len(names) < len(factors) - 1 or any(name not in columns for name in names):
            raise NotProvedError
        weight = "".join(name for name in factors if name in ("w", "v"))
        return cls(names, tuple(columns[name] for name in names), only, weight)

    @property
    def decided_by(self) -> set[str]:
        """Return the columns of the condition for the rows that it adds up."""
        return {column.name for column in sqlglot.parse_one(self.only).find_all(exp.Column)} if self.only else set()


def _is_of_distinct(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Distinct) and len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Column)


def _factors(tree: exp.Expr) -> Iterable[exp.Expr]:
    tree = without_parens(tree)
    if isinstance(tree, exp.Mul):
        yield from _factors(tree.this)
        yield from _factors(tree.expression)
    else:
        yield tree


def _column(tree: exp.Expr) -> str:
    tree = without_cast(tree)
    if not isinstance(tree, exp.Column) or tree.table:
        raise NotProvedError
    return tree.name


@dataclass(frozen=True, slots=True)
class RowNorm:
    """The size of a row in the norm of its noise; `read` makes coordinates of sums, and is linear."""

    read: Callable[[Sequence[int]], Sequence[int]]
    blocks: Sequence[Block]
    sums: Mapping[str, Summand]

    def largest(self, by_second: Collection[str]) -> Fraction:
        """Return the most that a row can be.

        Sums in `by_second` have a weight of their own: no coordinate may be made of both. A norm that is linear in
        each column is largest at the ends of its bounds; one with squares of a column also where a coordinate, or
        their total, turns.

        Raises:
            NotProvedError: it can't be seen.
        """
        # Of 1 and f0, from 0 to 2S, the coordinates are S and f0 − S: a row is S at most, in the norm of the largest.
        # The measurement's own reader is asked, so that what is proved is of what will be released.
        every, factors = list(self.sums.values()), self._factors()
        second = [name in by_second for name in self.sums]
        # A row weighs w in some sums and v in others. A coordinate that was made of both would be bounded by neither
        # weight.
        for place in range(len(factors[0])):
            if len({second[i] for i, row in enumerate(factors) if row[place]}) > 1:
                raise NotProvedError
        bounds = {name: bound for summed in every for name, bound in zip(summed.columns, summed.bounds, strict=True)}
        squared = {summed.columns[0] for summed in every if len(summed.columns) > 1 and len(set(summed.columns)) == 1}
        if not all(bound.is_known for bound in bounds.values()) or (squared and len(bounds) > 1):
            raise NotProvedError
        if squared and len({summed.only for summed in every}) > 1:
            raise NotProvedError  # what turns where depends on which of them a row is in
        points = {name: [int(bound.low), int(bound.high)] for name, bound in bounds.items()}
        for name in squared:
            points[name] += _turns(factors, every, self.blocks, bounds[name])
        most = Fraction(0)
        # None: a column is NULL, and adds nothing, while another has a value. All combinations are tried, possible or
        # not.
        for values in product(*([None, *some] for some in points.values())):
            for kept in self._kept():
                moved = self._moved(dict(zip(points, values, strict=True)), kept, factors)
                if squared and any(b.norm is Norm.TOTAL and moved[i] < 0 for b in self.blocks for i in b.places):
                    raise NotProvedError  # the sum of their sizes need not be largest where it is looked for
                most = max(most, _norm(moved, self.blocks))
        return most

    def largest_square(self) -> Fraction:
        """Return the most that the square of a row's Euclidean norm can be, or somewhat more.

        Of a block whose largest coordinate is bounded it is looked for in each coordinate by itself, where sums are largest
        at the ends of bounds; of cells their total is taken, which is no less than their length.

        Raises:
            NotProvedError: it can't be seen.
        """
        every, factors = list(self.sums.values()), self._factors()
        bounds = {name: bound for summed in every for name, bound in zip(summed.columns, summed.bounds, strict=True)}
        if not all(bound.is_known for bound in bounds.values()):
            raise NotProvedError
        if any(len(set(summed.columns)) < len(summed.columns) for summed in every):
            raise NotProvedError  # squares are largest elsewhere
        places = {place for block in self.blocks for place in block.places}
        if places != set(range(len(factors[0]))):
            raise NotProvedError
        ends = [[None, int(bound.low), int(bound.high)] for bound in bounds.values()]
        rows = [dict(zip(bounds, values, strict=True)) for values in product(*ends)]
        most = Fraction(0)
        for kept in self._kept():
            moves = [[abs(part) for part in self._moved(row, kept, factors)] for row in rows]
            squares = (
                max(sum(moved[i] for i in block.places) for moved in moves) ** 2
                if block.norm is Norm.TOTAL
                else sum(max(moved[i] for moved in moves) ** 2 for i in block.places)
                for block in self.blocks
            )
            most = max(most, Fraction(sum(squares)))
        return most

    def is_nothing_at(self, centers: Mapping[str, int], of: Collection[str]) -> bool:
        """Return whether a row adds nothing to the coordinates that are made of some sums where columns have these values."""
        if any(set(self.sums[name].columns) - {*centers} for name in of):
            return False
        factors = [row if name in of else [0] * len(row) for name, row in zip(self.sums, self._factors(), strict=True)]
        return not any(any(self._moved(centers, kept, factors)) for kept in self._kept())

    def _factors(self) -> Sequence[Sequence[int]]:
        """Return for each sum how much of it each coordinate is."""
        number = len(self.sums)
        # `read` is linear, so that it is known by what it makes of each sum alone; if it were not 0 at 0, it would not
        # be linear.
        if any(self.read([0] * number)):
            raise NotProvedError
        return [self.read([int(i == j) for j in range(number)]) for i in range(number)]

    def _kept(self) -> Sequence[Collection[str]]:
        """Return which of the conditions of FILTER a row may fulfil together: of `f = 0` and `f = 1` one."""
        apart: dict[str, list[str]] = {}
        for summed in self.sums.values():
            of = _COMPARED.fullmatch(summed.only)
            if summed.only and summed.only not in (own := apart.setdefault(of[1] if of else summed.only, [])):
                own.append(summed.only)
        if len(apart) > _MOST_CONDITIONS:
            raise NotProvedError
        return [set(filter(None, chosen)) for chosen in product(*(["", *own] for own in apart.values()))]

    def _moved(
        self, row: Mapping[str, int | None], kept: Collection[str], factors: Sequence[Sequence[int]]
    ) -> Sequence[int]:
        numbers = [_term(summed, row) if not summed.only or summed.only in kept else 0 for summed in self.sums.values()]
        return [sum(n * of[place] for n, of in zip(numbers, factors, strict=True)) for place in range(len(factors[0]))]


def _turns(
    factors: Sequence[Sequence[int]], every: Sequence[Summand], blocks: Sequence[Block], bounds: ColumnBounds
) -> Sequence[int]:
    """Return the values around which a coordinate, or the total of some, turns: of a·x² + b·x + c that is −b/2a."""
    groups = [[place] for place in range(len(factors[0]))]
    groups += [list(block.places) for block in blocks if block.norm is Norm.TOTAL]
    turns: list[int] = []
    for places in groups:
        a, b = (
            sum(
                row[place]
                for summed, row in zip(every, factors, strict=True)
                for place in places
                if len(summed.columns) == n
            )
            for n in (2, 1)
        )
        if a:
            turns += [turn for turn in (-b // (2 * a), -b // (2 * a) + 1) if bounds.low <= turn <= bounds.high]
    return turns


def _term(summed: Summand, row: Mapping[str, int | None]) -> int:
    number = 1
    for name in summed.columns:
        value = row.get(name)
        number = 0 if value is None else number * value
    return number


def _norm(moved: Sequence[int], blocks: Sequence[Block]) -> Fraction:
    parts = ([abs(moved[i]) for i in block.places] for block in blocks)
    norms = (max(own) if block.norm is Norm.LARGEST else sum(own) for block, own in zip(blocks, parts, strict=True))
    return Fraction(sum(norms))


# Parts of an engine's statement, as they are read again.

FULL_WEIGHT = 2**16
"""W: the weight of a row of a unit that keeps to its bound."""

_OF_ROWS = frozenset(
    "Abs And Array Case Cast Ceil Coalesce Collate DateBin Exists Exp Extract Floor Getbit Greatest If IsNan Least Left"
    " Length Ln Log Lower Nullif Or Pow Round Sign Sqrt Substring TimestampFromParts TimestampTrunc Translate Trim Trunc"
    " TryCast UnixToTime Upper".split()
)
_AGGREGATES = frozenset(
    "BitwiseOrAgg Count ExplodingGenerateSeries GroupConcat LogicalAnd LogicalOr Max Min PercentileCont PercentileDisc"
    " Sum".split()
)
_OF_WINDOWS = frozenset(
    "ConcatWs CumeDist DenseRank FirstValue Lag LastValue Lead MD5 NthValue Ntile PercentRank Rank RowNumber".split()
)
_CALLED = frozenset(
    "age epoch_us gcd hashint8 int4send lcm list_extract list_position printf round_even to_microseconds".split()
)
"""The functions that are read: the same for the same row in each scan, and one value, as no window and no list of rows is."""
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset("distinct expressions from_ group having joins offset order where with_".split()),
    exp.Group: frozenset({"expressions"}),
    exp.Join: frozenset({"this", "on", "using", "side"}),
    exp.With: frozenset({"expressions"}),
}
_UNKNOWN = (exp.Cube, exp.Except, exp.GroupingSets, exp.Intersect, exp.Pivot, exp.Rollup, exp.TableSample, exp.UDTF)

ONE_ROW = "one row a unit"
"""Stands among the conditions of rows of which each unit has one."""


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Rows with their unit `u`: a SELECT, what it is of, and what its columns can be."""

    text: str
    """FROM, with its joins."""
    conditions: frozenset[str]
    unit: str
    columns: Mapping[str, ColumnBounds]
    definitions: Mapping[str, str]
    """By the name of a column how it is computed, all the way down."""
    named: str = "u"
    """How the unit is called in what is around them."""
    once: bool = False
    """Whether each row of the table that names the unit is among them once at most."""

    def same_rows(self, other: "RowsRead") -> bool:
        """Return whether another SELECT has the same rows, of the same units."""
        return (self.text, self.conditions - {"TRUE"}, self.unit) == (
            other.text,
            other.conditions - {"TRUE"},
            other.unit,
        )


def require_known_nodes(tree: exp.Expr, is_public: Callable[[exp.Table], bool], called: Collection[str]) -> None:
    """See that nothing is in a statement whose meaning is not known here, wherever it stands; what is `called` is known, too.

    Of what stands in expressions it may read public tables, and the marks of heavy units where it chooses rows. Windows, and
    other rows that EXISTS asks for, are looked at where rows are read: see `has_unchecked_parts`.

    Raises:
        NotProvedError: something is.
    """
    for node in tree.walk():
        if isinstance(node, exp.Select):
            placed = _is_in_place(node) or _is_beside(node, is_public) or isinstance(node.parent, exp.Exists)
            accepted = node is tree or ("with_" not in _given(node) and placed)
        else:
            accepted = _is_known(node, called)
        # A SELECT with LIMIT or QUALIFY, or a function that is not listed, proves nothing: then the trial alone
        # decides.
        if not accepted or _given(node) - _PARTS.get(type(node), _given(node)):
            raise NotProvedError


def has_unchecked_parts(tree: exp.Expr, is_public: Callable[[exp.Table], bool], seen: Collection[str]) -> bool:
    """Return whether a statement has windows, or rows that EXISTS asks for, which nobody has looked at; `seen` are texts."""
    for select in tree.find_all(exp.Select):
        if isinstance(select.parent, exp.Exists) and not all(map(is_public, select.find_all(exp.Table))):
            in_condition = isinstance(
                select.parent.find_ancestor(exp.Where, exp.Join, exp.Select), (exp.Where, exp.Join)
            )
            if not in_condition or asked_in_place(select) not in seen:
                return True
        if any(window.find_ancestor(exp.Select) is select for window in select.find_all(exp.Window)):
            in_from = isinstance(select.parent, exp.Subquery) and _is_in_place(select)
            if not in_from or select.sql() not in seen:
                return True
    return False


def asked_in_place(select: exp.Select) -> str:
    """Return what EXISTS asks for, and of which rows: the same words may ask for others elsewhere."""
    around = select.find_ancestor(exp.Select)
    return f"{select.sql()} of {'' if around is None else tables_of(around)}"


def tables_of(select: exp.Expr) -> str:
    """Return FROM with its joins."""
    return " ".join(clause.sql() for clause in (select.args["from_"], *(select.args.get("joins") or ())))


def _is_known(node: exp.Expr, called: Collection[str]) -> bool:
    """Return whether it is known what a node does that is no SELECT."""
    match node:
        case exp.Offset():
            # How PostgreSQL's dialect has an expression computed once: OFFSET 0 leaves out no row, and keeps a subquery
            # from being merged into what is around it.
            return bool(node.expression.name == "0")
        case exp.TableAlias():
            return not node.columns or isinstance(node.parent, exp.Values)
        case exp.Anonymous():
            return node.name.lower() in _CALLED or node.name in called
        case exp.Func() if isinstance(node.find_ancestor(exp.Window, exp.Select), exp.Window):
            return type(node).__name__ in _OF_ROWS | _AGGREGATES | _OF_WINDOWS
        case exp.Func():
            return type(node).__name__ in _OF_ROWS | _AGGREGATES
        case _:
            return isinstance(node, exp.Values) or not isinstance(node, _UNKNOWN)


def _given(node: exp.Expr) -> set[str]:
    """Return the names of the parts that a node has."""
    return {name for name, part in node.args.items() if part}


def _is_in_place(select: exp.Select) -> bool:
    """Return whether a SELECT stands where rows are read."""
    node: exp.Expr = select
    while isinstance(node.parent, (exp.Subquery, exp.Union)):
        node = node.parent
    return node.parent is None or (node.arg_key == "this" and isinstance(node.parent, (exp.CTE, exp.From, exp.Join)))


def _is_beside(select: exp.Select, is_public: Callable[[exp.Table], bool]) -> bool:
    """Return whether a SELECT in an expression reads nothing that is somebody's, or which units are heavy, to choose rows."""
    if is_text(select, "SELECT u FROM heavy") or is_text(select, "SELECT bits FROM heavy"):
        return isinstance(select.find_ancestor(exp.Where, exp.Select), exp.Where)
    return all(map(is_public, select.find_all(exp.Table)))


def is_member(table: exp.Expr | None, name: str) -> bool:
    """Return whether a part of FROM is the member of WITH of this name, under its own name."""
    return (
        isinstance(table, exp.Table)
        and _given(table) <= {"this", "alias"}
        and {table.name, table.alias or name} == {name}
    )


def weight_of(text: exp.Expr) -> tuple[int, int, exp.Expr]:
    """Return M, C and the number of rows of `CAST(M // greatest(number, C) AS …)`."""
    quotient = without_cast(text)
    if not isinstance(quotient, (exp.IntDiv, exp.Div)) or not isinstance(quotient.expression, exp.Greatest):
        raise NotProvedError
    least = quotient.expression.expressions
    if len(least) != 1 or not quotient.this.is_int or not least[0].is_int:
        raise NotProvedError
    return int(quotient.this.name), int(least[0].name), quotient.expression.this


def having_threshold(heavy: exp.Select) -> int:
    """Return k of HAVING count(*) > k."""
    having = heavy.args.get("having")
    if having is None or not isinstance(having.this, exp.GT) or not is_text(having.this.this, "count(*)"):
        raise NotProvedError
    return int(having.this.expression.name)


def select_columns(select: exp.Select) -> dict[str, exp.Expr]:
    """Return what a SELECT's columns are, by their names."""
    return {output.alias_or_name: output.unalias() for output in select.expressions}


def every_condition(select: exp.Expr) -> list[exp.Expr]:
    """Return what WHERE asks, of a SELECT and of those that it is made of."""
    conditions = [
        condition
        for where in select.find_all(exp.Where)
        for condition in where.this.flatten()
        if isinstance(where.this, exp.And)
    ]
    return conditions or [where.this for where in select.find_all(exp.Where)]


def conditions_of(select: exp.Select) -> frozenset[str]:
    """Return what a SELECT's own WHERE asks, each part as a text."""
    where = select.args.get("where")
    if where is None:
        return frozenset()
    parts = where.this.flatten() if isinstance(where.this, exp.And) else (where.this,)
    return frozenset(without_parens(condition).sql() for condition in parts)


def names_in(tree: exp.Expr) -> set[str]:
    """Return the names of the columns in an expression."""
    return {column.name for column in tree.find_all(exp.Column)}


def is_by_first(select: exp.Select, name: str = "") -> bool:
    """Return whether rows are grouped by the first column alone, perhaps one of this name."""
    group = select.args.get("group")
    if group is None or [element.sql() for element in group.expressions] != ["1"]:
        return False
    return not name or select.expressions[0].alias_or_name == name


def without_group(select: exp.Select) -> exp.Select:
    """Return a SELECT without its GROUP BY."""
    plain = select.copy()
    plain.set("group", None)
    return plain


def is_column(tree: exp.Expr | None, name: str) -> bool:
    """Return whether an expression is a column of this name, and nothing else."""
    return isinstance(tree, exp.Column) and tree.name == name and not tree.table


def grouped_by(select: exp.Select) -> list[exp.Expr]:
    """Return what rows are grouped by."""
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def require_plain_select(select: exp.Select, *, joins: bool = False, having: bool = False) -> None:
    """See that a SELECT leaves out no row of what it reads, and reads nothing beside that.

    Raises:
        NotProvedError: it does.
    """
    parts = ("where", "distinct", "qualify", "limit", "offset", "laterals", "sample", *(() if having else ("having",)))
    if any(select.args.get(part) for part in (*parts, *(() if joins else ("joins",)))):
        raise NotProvedError


def summed_column(output: exp.Expr) -> str:
    """Return the name of the column that an output adds up, and does nothing else with.

    Raises:
        NotProvedError: it is none.
    """
    inner = without_cast(output.unalias())
    if not isinstance(inner, exp.Sum) or not isinstance(inner.this, exp.Column):
        raise NotProvedError
    return inner.this.name
