"""Rows that are compared with constants: counted once in a histogram between the constants, which is then added up.

SELECT v.d, count(*) FROM (VALUES (10), (20)) AS v(d) JOIN trips t ON t.fare < v.d GROUP BY 1
→  SELECT CASE WHEN fare < 10 THEN 0 WHEN fare < 20 THEN 1 END AS b, count(*) FROM trips WHERE fare < 20 GROUP BY 1
   10 is group 0; 20 is groups 0 and 1

Claim: a row that matches a constant is in one of the groups that are added up for it, and in none otherwise. Proof:
its value lies in one stretch between two neighbouring bounds, all values of which compare with every constant in the
same way. A value that is NULL matches no constant, and the condition keeps it out.

No row is multiplied, so that a unit has no more rows than it has: noise is for C rows, and not for C times the constants.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.errors import InternalError
from dpsql.frozen import quickly_made
from dpsql.policy.model import SqlType, Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate
from dpsql.rewrite.functions.logical import compared_ways
from dpsql.rewrite.functions.table import function_of, without_double
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import Apply, Const, Expr, Ref, both, conjuncts, refs, with_refs
from dpsql.rewrite.ir.relation import Join, Relation, ref

_MOST_BOUNDS = 2_000
"""Different bounds: twice as many as rows that may be joined without an equation."""
_ONE_BY_ONE = 8
"""Bounds that a value is compared with one after the other."""
_ABOVE = {"lt": 0, "ge": 0, "le": 1, "gt": 1}
"""Whether a value equal to the bound counts as below it."""

ConstantRow = Mapping[Ref, Value | None]
# (10, 0) lies before the value 10, and (10, 1) behind it: of x < 10 and x <= 10 the bounds are in order, with 10 between
# them.
_Bound = tuple[Value, int]


@quickly_made
@dataclass(frozen=True, slots=True)
class IntervalPartition:
    """A relation without the constants that its rows were compared with."""

    relation: Relation
    bucket: Expr
    """In which stretch between bounds a row is, by number."""
    source: int
    """The source that the constants were."""
    constants: tuple[tuple[ConstantRow, range], ...]
    """The rows of constants that any row can match, each with the stretches that match it."""
    moved: Mapping[int, int]
    """The places of all other sources now, by those before."""

    def without(self, expr: Expr) -> Expr:
        """Return an expression over the present relation, which reads no constant."""
        return with_refs(expr, lambda column_ref: replace(column_ref, source=self.moved[column_ref.source]))


def compare_once(relation: Relation, read: Sequence[Expr]) -> IntervalPartition | None:
    """Return the relation with its rows compared once, where all that reads one source's constants are comparisons.

    They are comparisons of one value. `read` is what must not read constants.
    """
    for index, source in enumerate(relation.sources):
        table = source.table
        plain = index > 0 and source.join is Join.INNER and isinstance(table, ConstantTable) and not table.awaited
        if plain and isinstance(table, ConstantTable) and not any(_reads(expr, index) for expr in read):
            stretches = _between(relation, index, table)
            if stretches is not None:
                return stretches
    return None


def _reads(expr: Expr, index: int) -> bool:
    return any(column_ref.source == index for column_ref in refs(expr))


def _between(relation: Relation, index: int, table: ConstantTable) -> IntervalPartition | None:
    """Return the relation without one source, None if more is read of it than comparisons."""
    others = [source.on for i, source in enumerate(relation.sources) if i != index]
    if any(_reads(on, index) for on in others):
        return None
    conditions = conjuncts(both(relation.where, relation.sources[index].on))
    mine = [_compared(condition, index) for condition in conditions if _reads(condition, index)]
    ways = [way for way in mine if way is not None]
    values, types = {value for _, value, _ in ways}, {constant.type for _, _, constant in ways}
    if types and all(type_.is_integer for type_ in types):
        types = {SqlType.BIGINT} if len(types) > 1 else types  # a whole number is the same in any of them
    if len(ways) < len(mine) or len(values) != 1 or len(types) != 1:
        return None
    (value,), (type_,) = values, types
    if not (value.type.is_number or value.type.is_temporal):
        return None
    columns = [ref(index, table, name) for name in table.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in table.rows]
    limits = [(row, _limits(ways, row)) for row in rows]
    bounds = sorted({bound for _, limit in limits if limit is not None for bound in limit if bound is not None})
    if not 0 < len(bounds) <= _MOST_BOUNDS:
        return None
    constants = [(row, _stretches(bounds, limit)) for row, limit in limits if limit is not None]
    matched = tuple((row, stretches) for row, stretches in constants if stretches)
    if not matched:
        return None
    # What no constant matches is kept out: WHERE fare < 20. All constants are compared in the same ways, so that either all
    # have a lower bound or none: one of both tests always stands here, and it leaves NULL out.
    first, end = min(s.start for _, s in matched), max(s.stop for _, s in matched)
    kept = [condition for condition in conditions if not _reads(condition, index)]
    if first > 0:
        kept.append(_test("ge", "gt", value, bounds[first - 1], type_))
    if end <= len(bounds):
        kept.append(_test("lt", "le", value, bounds[end - 1], type_))
    moved = {i: i - (i > index) for i in range(len(relation.sources)) if i != index}
    return _without(relation, index, both(*kept), _bucket(value, bounds, type_), moved, matched)


def _compared(condition: Expr, index: int) -> tuple[str, Expr, Expr] | None:
    """Return how a value is compared with what constants alone decide; None if that is not what the condition does."""
    for op, value, constant in compared_ways(condition):
        alone = all(column_ref.source == index for column_ref in refs(constant)) and _is_known(without_double(constant))
        if op in _ABOVE and alone and refs(constant) and not _reads(value, index):
            return op, value, constant
    return None


def _is_known(constant: Expr) -> bool:
    """Return whether the value of what constants alone decide is known: of sums of whole numbers, too, as t + 12."""
    if evaluable(constant):
        return True
    whole = isinstance(constant, Apply) and constant.type.is_integer and function_of(constant).computed is not None
    return whole and isinstance(constant, Apply) and all(map(_is_known, constant.args))


def _known(constant: Expr, row: ConstantRow) -> Value | None:
    if evaluable(constant) or not isinstance(constant, Apply):
        return evaluate(constant, row)
    args, rule = [_known(arg, row) for arg in constant.args], function_of(constant).computed
    if rule is None:
        raise InternalError
    return rule(args, constant)


def _value(constant: Expr, row: ConstantRow) -> Value | None:
    """Return a constant as engines compare it; none that is a text."""
    value = _known(without_double(constant), row)
    if value is None or isinstance(value, str):
        return None
    # In double precision it is rounded as the engine rounds it.
    return value if without_double(constant) is constant else Fraction(float(value))


def _limits(ways: Sequence[tuple[str, Expr, Expr]], row: ConstantRow) -> tuple[_Bound | None, _Bound | None] | None:
    """Return the bounds between which values match a row of constants; None where NULL is among these."""
    low: _Bound | None = None
    high: _Bound | None = None
    for op, _, constant in ways:
        value = _value(constant, row)
        if value is None:
            return None
        bound = (value, _ABOVE[op])
        if op in {"gt", "ge"}:
            low = bound if low is None else max(low, bound)
        else:
            high = bound if high is None else min(high, bound)
    return low, high


def _stretches(bounds: Sequence[_Bound], limits: tuple[_Bound | None, _Bound | None]) -> range:
    """Return the stretches between two bounds: the one with number n ends at bound n."""
    # Bounds before 10 and before 20: stretch 0 is x < 10, 1 is 10 <= x < 20, 2 the rest. x < 20  →  stretches 0 and 1
    low, high = limits
    first = 0 if low is None else bisect_left(bounds, low) + 1
    return range(first, len(bounds) + 1 if high is None else bisect_left(bounds, high) + 1)


def _test(at: str, beyond: str, value: Expr, bound: _Bound, type_: SqlType) -> Expr:
    return Apply(beyond if bound[1] else at, (value, Const(bound[0], type_)), SqlType.BOOLEAN)


def _bucket(value: Expr, bounds: Sequence[_Bound], type_: SqlType) -> Expr:
    """Return in which stretch a value is, by halving: each is compared with few of the bounds."""

    def between(first: int, last: int) -> Expr:
        if last - first <= _ONE_BY_ONE:
            tests = [_test("lt", "le", value, bound, type_) for bound in bounds[first:last]]
            numbers = [Const(number, SqlType.INTEGER) for number in range(first, last)]
            pairs = [part for pair in zip(tests, numbers, strict=True) for part in pair]
            beyond = Const(last, SqlType.INTEGER)
            return Apply("case", (*pairs, beyond), SqlType.INTEGER) if pairs else beyond
        # CASE WHEN fare < 50 THEN CASE WHEN fare < 10 THEN 0 … END ELSE … END: of 2,000 bounds a row meets some sixteen.
        middle = (first + last) // 2
        test = _test("lt", "le", value, bounds[middle], type_)
        return Apply("case", (test, between(first, middle), between(middle + 1, last)), SqlType.INTEGER)

    return between(0, len(bounds))


def _without(
    relation: Relation,
    index: int,
    where: Expr,
    bucket: Expr,
    moved: Mapping[int, int],
    constants: tuple[tuple[ConstantRow, range], ...],
) -> IntervalPartition:
    def change(expr: Expr) -> Expr:
        return with_refs(expr, lambda column_ref: replace(column_ref, source=moved[column_ref.source]))

    sources = tuple(replace(s, on=change(s.on)) for i, s in enumerate(relation.sources) if i != index)
    columns = {name: change(expr) for name, expr in relation.columns.items() if not _reads(expr, index)}
    return IntervalPartition(Relation(sources, change(where), columns), change(bucket), index, constants, moved)
