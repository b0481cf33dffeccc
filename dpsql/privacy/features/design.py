"""The features of a row that are measured for the statistics of a scope: the way with the least predicted error.

One scale serves all features of a measurement, for any number of them; the price of one more is a wider cube: the
variance of every coordinate is (d + 1)(d + 2)/3 · b² for d features and b = C/ε. So equal features are measured once,
and rows of conditions that exclude each other in blocks of their own. The variance of one column is measured by cells
where those are less noisy. Sums are measured by themselves where weights would take more off them than another
coordinate adds noise. Of all ways the best is taken, never by looking at data.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import assert_never

from dpsql.errors import MissingBounds
from dpsql.frozen import quickly_made
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, MechanismName
from dpsql.privacy.features.feature import (
    ONE,
    Feature,
    PartialSum,
    Readout,
    ScaledExpr,
    Shape,
    cells,
    limit_passed,
    readable_features,
)
from dpsql.privacy.features.known_statistics import predicted_error, statistic
from dpsql.privacy.features.lattice import MOST_POINTS
from dpsql.rewrite.analysis.bounds import facts as facts_of
from dpsql.rewrite.analysis.bounds import require_interval
from dpsql.rewrite.analysis.exclusion import Known, exclusion
from dpsql.rewrite.functions.arithmetic import without_addend
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import TRUE, Apply, Const, Env, Expr, Facts, Ref, both, conjuncts, refs
from dpsql.rewrite.translate.rows.aggregates import Moment, condition_of

# The features of a row that a statistic is read off, and their places.

_NONE = Fraction(0)


def readout(moment: Moment, facts_of: Known, *, signed: bool, counted: Collection[Expr]) -> Readout:
    """Return how a statistic is read off.

    `signed` asks for sums by themselves, from 0 and not from the middle; `counted` are the conditions whose rows are
    counted anyway.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    kind = statistic(moment.name)
    if kind.adds_up and (signed or moment.where not in counted) and moment.where != TRUE:
        moment = _zero_filled(moment)
    if kind.adds_up and signed:
        return Readout(
            moment, sums=((PartialSum.U, Feature(Shape.SIGNED, moment.where, _scaled(moment.args[0], facts_of))),)
        )
    count = ONE if moment.where == TRUE else Feature(Shape.SIGN, moment.where)
    bases = [without_shift(arg, facts_of) for arg in moment.args]
    measured = Moment(moment.name, tuple(base for base, _ in bases), moment.where)
    sums = tuple((part, _feature(part, measured, facts_of)) for part in kind.parts)
    return Readout(moment, count, sums, tuple(shift for _, shift in bases))


def without_shift(expr: Expr, facts_of: Known) -> tuple[Expr, Fraction]:
    """Return a number without the constants that are added to it, and their sum: x + 1 lies in its interval as x does in its.

    Where a condition says more of the whole, such as `WHERE x + 1 < 5`, it stays unchanged.
    """
    base, shift = expr, _NONE
    while (parts := without_addend(base)) is not None:
        base, more = parts
        shift += more
    if base is expr:
        return expr, shift
    of_base, whole = facts_of(base).interval, facts_of(expr).interval
    alike = (
        of_base is not None and of_base.shifted(shift) == whole and facts_of(base).nullable == facts_of(expr).nullable
    )
    return (base, shift) if alike else (expr, _NONE)


def _feature(part: PartialSum, moment: Moment, facts_of: Known) -> Feature:
    def argument(place: int) -> ScaledExpr:
        return _scaled(moment.args[place], facts_of)

    match part:
        case PartialSum.U:
            return Feature(Shape.VALUE, moment.where, argument(0))
        case PartialSum.V:
            return Feature(Shape.VALUE, moment.where, argument(1))
        case PartialSum.UU:
            return Feature(Shape.SQUARE, moment.where, argument(0))
        case PartialSum.VV:
            return Feature(Shape.SQUARE, moment.where, argument(1))
        case PartialSum.UV:
            return Feature(Shape.PRODUCT, moment.where, argument(0), argument(1))
        case _:
            assert_never(part)


def _zero_filled(moment: Moment) -> Moment:
    """Return a sum over some rows as a sum over all, with 0 for the others."""
    (arg,) = moment.args
    zero = Const(0, arg.type)
    return Moment("sum", (Apply("case", (moment.where, arg, zero), arg.type),), TRUE)


def _scaled(arg: Expr, facts_of: Known) -> ScaledExpr:
    interval, step = require_interval(arg, facts_of(arg)), step_of(arg)
    if not step or interval.width > MOST_POINTS * step:
        return ScaledExpr(arg, interval)
    if step == 1 and interval.low.denominator == interval.high.denominator == 1:
        return ScaledExpr(arg, interval, step)  # as most are
    # Bounds of [0.05, 9.97] with a step of 0.1 become [0, 10]: the lattice has to have all multiples of the step that
    # are in the bounds, and may have some more.
    low, high = math.floor(interval.low / step), math.ceil(interval.high / step)
    return ScaledExpr(arg, Interval(low * step, high * step), step)


# Aggregates of CASE are aggregates of some rows: `sum(CASE WHEN c THEN x END)` is `sum(x) FILTER (WHERE c)`.


def case_to_filter(moment: Moment, facts_of: Known) -> Moment:
    """Return the statistic with the condition of a CASE, and of CASEs in it, among those on its rows.

    A sum may also have `ELSE 0`. An aggregate that then counts or adds up ones is a count of rows.
    """
    if len(moment.args) == 1:
        case = _case(moment.args[0], zero=statistic(moment.name).adds_up)
        if case is not None and _no_wider(moment, case[1], facts_of):
            condition, value = case
            return case_to_filter(replace(moment, args=(value,), where=both(moment.where, condition)), facts_of)
        if _counts_rows(moment):
            return Moment("count", (), moment.where)
    return moment


def _case(arg: Expr, *, zero: bool) -> tuple[Expr, Expr] | None:
    """Return the condition and the value of a CASE of one branch that is otherwise NULL (or zero)."""
    branch = only_branch(arg)
    if branch is None:
        return None
    condition, value, other = branch
    nothing = isinstance(other, Const) and (other.value is None or (zero and other.value == 0))
    return (condition, value) if nothing and not _is_null(value) else None


def _no_wider(moment: Moment, value: Expr, facts_of: Known) -> bool:
    """Return whether a value by itself has no wider interval than in its CASE, whose condition may narrow it."""
    try:
        alone = facts_of(value)
    except MissingBounds:
        return False
    if statistic(moment.name).counts:
        return True
    inside = facts_of(moment.args[0]).interval
    return alone.interval is not None and inside is not None and alone.interval.meet(inside) == alone.interval


def _counts_rows(moment: Moment) -> bool:
    (arg,) = moment.args
    if not isinstance(arg, Const) or _is_null(arg):
        return False
    kind = statistic(moment.name)
    return kind.counts or (kind.adds_up and arg.value == 1)


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


_OF_CELLS = frozenset({Shape.ONE, Shape.VALUE, Shape.SQUARE})


@quickly_made
@dataclass(frozen=True, slots=True)
class Design:
    """The features to measure, the rows they are measured on, and the readouts in the order of the statistics."""

    features: tuple[Feature, ...]
    where: Expr
    readouts: tuple[Readout, ...]
    block_conditions: tuple[Expr, ...] = ()
    """The conditions of the blocks, if there are any; rows that satisfy none are one more block."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The numbers that decide how exact a design will be, besides its features."""

    mechanism: MechanismName
    loss: Fraction = Fraction(0)
    """How many rows weights are expected to take off a group, in C/ε."""
    alike: bool = False
    """Whether rows have to weigh in sums what they weigh in counts: sums from 0 would have weights of their own."""

    def of(self, option: Design) -> tuple[Fraction, int]:
        """Return what is to be least."""
        return predicted_error(option.features, option.readouts, self.mechanism, self.loss)


def of_one_value(moments: Sequence[Moment], facts_of_expr: Known, prediction: Prediction) -> Design:
    """Return the best way to measure statistics of one expression that is never NULL, by its value alone.

    Nothing of a CASE in it is taken apart: where rows are told apart by their values, they have to be features of those.
    """
    return _best(_together(moments, facts_of_expr), prediction)


def design(moments: Sequence[Moment], facts_of_expr: Known, prediction: Prediction, *, thresholded: bool) -> Design:
    """Return the best way to measure all of `moments` together.

    Where groups are `thresholded` their count of rows comes first, and all in one cube: the threshold is made for the law
    of one of its coordinates.

    Raises:
        MissingBounds: a sum of something unbounded.
    """
    if all(m.where == TRUE and all(isinstance(arg, Ref) for arg in m.args) for m in moments):
        columns = tuple((ref.column, ref.public, facts_of_expr(ref)) for ref in _columns(moments))
        return _of_columns(tuple(moments), columns, prediction, thresholded)
    return _designed(moments, facts_of_expr, prediction, thresholded=thresholded)


def _columns(moments: Sequence[Moment]) -> tuple[Ref, ...]:
    return refs(*(arg for moment in moments for arg in moment.args))


@lru_cache(maxsize=512)  # most statements ask of a table's columns what others asked of them, about other rows
def _of_columns(
    moments: tuple[Moment, ...],
    columns: tuple[tuple[Column, bool, Facts], ...],
    prediction: Prediction,
    thresholded: bool,
) -> Design:
    """Return the design for statistics of columns and all rows; `columns` has the facts about those, in their order."""
    env: Env = dict(zip(_columns(moments), (facts for _, _, facts in columns), strict=True))
    return _designed(moments, partial(facts_of, env=env), prediction, thresholded=thresholded)


def _designed(moments: Sequence[Moment], facts_of_expr: Known, prediction: Prediction, *, thresholded: bool) -> Design:
    asked = [case_to_filter(moment, facts_of_expr) for moment in moments]
    there = [of_present_rows(moment, facts_of_expr) for moment in asked]
    if thresholded:
        options = [_counted(option) for option in _together(there, facts_of_expr, celled=False)]
    else:
        options = [*_together(there, facts_of_expr, alike=prediction.alike), *_apart(asked, facts_of_expr, prediction)]
    return _best(options, prediction)


def _counted(option: Design) -> Design:
    """Return the design with the count of rows before all else."""
    # `release_sums` compares the first coordinate with the threshold, and `least_count` sees that it is this one.
    return replace(option, features=tuple(dict.fromkeys((ONE, *option.features))))


def _best(options: Sequence[Design], prediction: Prediction) -> Design:
    """Return the most exact design, of equals the first: blocks only where they are better.

    One that is too large comes only where all are.
    """
    small = [option for option in options if limit_passed(option.features) is None] or options
    different = [option for i, option in enumerate(small) if option not in small[:i]]
    if len(different) == 1:
        return different[0]
    return min(different, key=prediction.of)


def of_present_rows(moment: Moment, facts_of_expr: Known) -> Moment:
    """Return the statistic with all that a row needs to be in it among the conditions on its rows."""
    return Moment(moment.name, moment.args, both(moment.where, _present(moment, facts_of_expr)))


def _present(moment: Moment, facts_of_expr: Known) -> Expr:
    """Return the condition that a row has all that a statistic is about."""
    nullable = tuple(without_shift(arg, facts_of_expr)[0] for arg in moment.args if facts_of_expr(arg).nullable)
    return condition_of(Moment(moment.name, nullable))


def _together(
    moments: Sequence[Moment], facts_of_expr: Known, *, narrow: bool = True, celled: bool = True, alike: bool = False
) -> list[Design]:
    """Return the ways to measure statistics in one block: sums from 0 or from the middle, or the cells of one value.

    Rows that fail a condition which all share need not be counted at all; that is its `where`, unless not to `narrow`.
    """
    shared = _shared([moment.where for moment in moments]) if narrow else TRUE
    if shared != TRUE:
        moments = [Moment(moment.name, moment.args) for moment in moments]
    middle = _cube(moments, shared, facts_of_expr, signed=False)
    added_up = not alike and any(statistic(moment.name).adds_up for moment in moments)
    options = [_cube(moments, shared, facts_of_expr, signed=True) if added_up else middle, middle]
    x = _only_value(options[-1].features) if celled else None
    return options if x is None else [*options, replace(options[-1], features=cells(x))]


def _only_value(features: Sequence[Feature]) -> ScaledExpr | None:
    """Return the only value that features are of, if all rows count and its square is among them."""
    shapes, values = (
        {feature.shape for feature in features},
        {feature.x for feature in features if feature.x is not None},
    )
    if not shapes <= _OF_CELLS or Shape.SQUARE not in shapes or any(feature.where != TRUE for feature in features):
        return None
    return values.pop() if len(values) == 1 else None


def _shared(conditions: Sequence[Expr]) -> Expr:
    """Return the condition that all are, if they are one."""
    return conditions[0] if conditions and len(set(conditions)) == 1 else TRUE


def _cube(moments: Sequence[Moment], where: Expr, facts_of_expr: Known, *, signed: bool) -> Design:
    counted = {m.where for m in moments if not statistic(m.name).adds_up}
    readouts = tuple(readout(m, facts_of_expr, signed=signed, counted=counted) for m in moments)
    return Design(_features(readouts), where, readouts)


def _features(readouts: Sequence[Readout]) -> tuple[Feature, ...]:
    return tuple(dict.fromkeys(feature for each in readouts for feature in each.features))


def _apart(moments: Sequence[Moment], facts_of_expr: Known, prediction: Prediction) -> list[Design]:
    """Return the ways to measure statistics in blocks: none unless their conditions exclude each other.

    A statistic of all rows is measured in every block, that of the remaining rows included, and added up.
    """
    conditions = tuple(dict.fromkeys(m.where for m in moments if m.where != TRUE))
    whole = any(m.where == TRUE for m in moments)
    excluded = exclusion(conditions, facts_of_expr) if conditions and len(conditions) + whole > 1 else None
    if excluded is None:
        return []
    needed = [_present(moment, facts_of_expr) for moment in moments]
    common = _shared(needed)
    inside = [replace(m, where=TRUE if p == common else p) for m, p in zip(moments, needed, strict=True)]
    rest = [TRUE] if whole and not excluded.exhaustive else []
    members = [[i for i, m in enumerate(moments) if m.where in {where, TRUE}] for where in (*conditions, *rest)]
    ways = [
        _together([inside[i] for i in at], facts_of_expr, narrow=not whole, alike=prediction.alike) for at in members
    ]
    # Each block has its own best way, but what is added up must be readable in all of them: then all have the same.
    # The same way in each block, as far as all have it: only a block of one value may have cells, as its last way.
    alike = list(zip(*ways, strict=False))
    best = [tuple(_best(options, prediction) for options in ways)]
    joined = [_joined(designs, common, conditions, members) for designs in (*alike, *best)]
    # A feature of all rows can be read where each block has it. With sums from 0 in one block and from the middle in
    # another there is no such feature, and the design is none.
    return [option for option in joined if set(_features(option.readouts)) <= readable_features(option.features).keys()]


def _joined(
    blocks: Sequence[Design], where: Expr, conditions: Sequence[Expr], members: Sequence[Sequence[int]]
) -> Design:
    """Return one design of several, one for each block; statistics of all rows are read as if there were none."""
    features = tuple(f.within(b) for b, block in enumerate(blocks) for f in block.features)
    places = [(i, b, each) for b, at in enumerate(members) for i, each in zip(at, blocks[b].readouts, strict=True)]
    several = {i for i, b, _ in places if b and any(i in at for at in members[:b])}
    readouts = {i: each if i in several else each.within(b) for i, b, each in places}
    # The block of the remaining rows has no condition: it is ELSE of the CASE that says in which block a row is.
    block_conditions = tuple(both(c, block.where) for c, block in zip(conditions, blocks, strict=False))
    return Design(features, where, tuple(readouts[i] for i in range(len(readouts))), block_conditions)


# The range of a quotient of two sums, for all rows that there may be: a part of a whole is between none and all of it.

_SHARE = Interval.of(0, 1)
_LARGEST = 2**31
"""Ends that an integer of PostgreSQL's holds do not change what type a quotient has."""


def range_of_quotient(part: Moment, whole: Moment, facts_of: Known) -> Interval | None:
    """Return where `part` / `whole` is, of counts or sums; None where nothing is known.

    Claim: the rows of the part are among those of the whole, whose number is not negative; each row of the part is worth
    between the ends times what it is worth in the whole, and each other row 0, which is between them, too.
    """
    try:
        numerator, other = (of_present_rows(case_to_filter(moment, facts_of), facts_of) for moment in (part, whole))
        values = Interval.of(1, 1) if numerator.name == "count" else _values(numerator, facts_of)
        if values is None or not _is_among(numerator, other):
            return None
        if other.name == "sum":
            return _SHARE if numerator.name == "sum" and numerator.args == other.args and values.low >= 0 else None
        return Interval(min(values.low, _SHARE.low), max(values.high, _SHARE.low)) if other.name == "count" else None
    except MissingBounds:
        return None


def _values(moment: Moment, facts_of: Known) -> Interval | None:
    """Return what is added up, of whole numbers between whole numbers."""
    if moment.name != "sum" or not moment.args[0].type.is_number:
        return None
    interval = facts_of(moment.args[0]).interval
    if interval is None or not moment.args[0].type.is_integer:
        return interval
    whole = Interval.of(math.floor(interval.low), math.ceil(interval.high))
    return whole if whole.magnitude < _LARGEST else None


def _is_among(moment: Moment, other: Moment) -> bool:
    """Return whether all rows of one are rows of the other."""
    return other.where == TRUE or set(conjuncts(other.where)) <= set(conjuncts(moment.where))
