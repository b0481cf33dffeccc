"""The limits of a scope, for all measurements: not too large, not about single units, not hopeless."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpsql.errors import AccessDenied, MissingBounds, Unsupported
from dpsql.privacy.features.blocks import limit_passed
from dpsql.privacy.features.feature import Feature
from dpsql.privacy.measurement.contribution import Bound
from dpsql.privacy.measurement.histogram import Histogram
from dpsql.privacy.mechanisms.extreme import units_above
from dpsql.rewrite.analysis.joined import PublicRows, identifying
from dpsql.rewrite.functions.table import function_of, unwidened
from dpsql.rewrite.ir.expr import Apply, Expr, Ref, walk
from dpsql.rewrite.ir.relation import Relation, naming_units
from dpsql.rewrite.translate.rows.aggregates import Aggregate
from dpsql.rewrite.translate.rows.profiled import computes, inputs

_MOST_NODES = 25_000
"""The size of all expressions of one scope; beyond it a statement could keep planning or the engine busy."""


def check_scope(
    relation: Relation, keys: Sequence[Expr], inputs: Sequence[Expr], bound: Bound, rows: PublicRows
) -> None:
    """Refuse group keys that are privacy units, and expressions without end.

    Raises:
        AccessDenied: a key depends on a column that identifies units of some kind, or on a public copy of it.
        Unsupported: the statement is too large.
    """
    single = identifying(relation, rows)
    for ref in (ref for key in keys for ref in _told(key)):
        if (ref.source, ref.name) in single:
            raise AccessDenied(
                f'grouping by the privacy unit "{ref.name}" would show single individuals',
                because="key-is-unit",
                hint="Group by something that many individuals share.",
            )
    if bound.unit.type.is_float:
        raise Unsupported(
            f'the privacy unit "{bound.unit.name}" is a floating-point column',
            because="unit-is-float",
            hint="The owner of the data has to name a column of whole numbers or texts in `privacy_units`.",
        )
    size = sum(
        1 for part in (*keys, relation.where, *(source.on for source in relation.sources), *inputs) for _ in walk(part)
    )
    if size > _MOST_NODES:
        raise Unsupported(
            f"the expressions over private rows have {size:,} parts, the limit is {_MOST_NODES:,}",
            because="expressions-too-large",
            hint="Ask for fewer aggregates in one statement, or for simpler ones.",
        )


def _told(key: Expr) -> Iterator[Ref]:
    """Yield the columns of whose values a key tells more than whether they are NULL, as EXISTS does of what it finds."""
    match key:
        case Ref():
            yield key
        case Apply():
            condition = function_of(key).condition
            if condition is None or not condition.of_null:
                for arg in key.args:
                    yield from _told(arg)
        case _:
            pass


def check_features(features: Sequence[Feature]) -> None:
    """Refuse more statistics than one cube should carry, and more than a statement should in all its blocks.

    Raises:
        Unsupported: there are too many.
    """
    limit = limit_passed(features)
    if limit is not None:
        raise Unsupported(
            f"the statement measures {len(features)} statistics at once, the limit is {limit}",
            because="too-many-statistics",
            hint="Ask for fewer aggregates in one statement.",
        )


def check_extremes(buckets: Histogram, expected_rows: int | None) -> None:
    """Refuse MIN and MAX of groups so small that their extremes would be NULL, or far inside.

    The value that is found may have `reach` units beyond it; in a group of fewer than three times as many rows it is
    no extreme.

    Raises:
        Unsupported: the table's expected rows, spread over the groups, are too few.
    """
    if not buckets.extremes or expected_rows is None:
        return
    rows = Fraction(expected_rows, max(len(buckets.groups.grouped), 1))
    need = math.ceil(3 * units_above(buckets.number, buckets.epsilon, buckets.bound.rows))
    if rows < need:
        raise Unsupported(
            f"MIN and MAX need about {need:,} rows a group at this ε, about {int(rows):,} are expected",
            because="extremes-of-few-rows",
            hint="The declared bounds are in the table dpsql.columns, at no cost; or ask with a larger ε or fewer groups.",
        )


def check_not_of_units(relation: Relation, exprs: Sequence[Expr], inside: Sequence[Expr]) -> None:
    """Check that nothing is computed with what says whose a row is: in `exprs` themselves, nor `inside` expressions.

    Raises:
        MissingBounds: it is.
    """
    for expr in (*exprs, *(arg for aggregate in inside for arg in _computed_with(aggregate))):
        if isinstance(expr, Ref) and names_unit(relation, expr):
            raise MissingBounds(
                f'"{expr.name}" identifies individuals, and is no number to compute with',
                because="computed-of-unit",
                hint=f"count(DISTINCT {expr.name}) says how many there are.",
            )


def names_unit(relation: Relation, expr: Expr) -> bool:
    """Return whether an expression is a column that says whose a row is, and has no bounds as numbers have."""
    units = naming_units(relation)
    return isinstance(expr, Ref) and (expr.source, expr.name) in units and expr.column.bounds is None


def unit_computed(aggregate: Aggregate, relation: Relation) -> str | None:
    """Return the column that says whose a row is, if an aggregate computes with such a one; None if it does not."""
    naming = (
        argument
        for argument in map(unwidened, inputs(aggregate)[1:])
        if isinstance(argument, Ref) and names_unit(relation, argument)
    )
    return next((ref.name for ref in naming), None) if computes(aggregate) else None


def _computed_with(expr: Expr) -> Iterator[Expr]:
    """Yield the arguments of arithmetic in an expression."""
    for part in walk(expr):
        if isinstance(part, Apply) and function_of(part).needs_bounds:
            yield from part.args
