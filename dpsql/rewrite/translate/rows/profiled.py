"""The columns that aggregates read and compute with, and those without bounds for which tools ask a profile.

SELECT count(*), min(id), max(id), avg(id), avg(fare) FROM trips     →  id is profiled, and has no bounds
"""

from collections.abc import Sequence
from dataclasses import replace

from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.functions.logical import only_branch
from dpsql.rewrite.functions.table import unwidened
from dpsql.rewrite.ir.expr import FALSE, TRUE, Const, Expr, Ref, both, refs
from dpsql.rewrite.ir.relation import Relation
from dpsql.rewrite.translate.rows import aggregates as asked
from dpsql.rewrite.translate.rows.aggregates import Aggregate

_OF_ZEROS = frozenset({"count", "sum", "avg"})
_OF_A_PROFILE = 3
"""So many things, both extremes among them, are computed of a column at once only by a client that wants none of them
in particular."""


def profiled_without_bounds(aggregates: Sequence[Aggregate]) -> list[str | None]:
    """Return for each aggregate the column that it computes with, if that has no bounds and is profiled: else None."""
    computed = [_computed_of(aggregate) for aggregate in aggregates]
    profiled = {column for column in computed if column is not None and _is_profiled(column, aggregates)}
    return [column.name if column is not None and column in profiled else None for column in computed]


def _is_profiled(column: Ref, aggregates: Sequence[Aggregate]) -> bool:
    of_it = [aggregate for aggregate in aggregates if _computed_of(aggregate) == column]
    extremes = {aggregate.name for aggregate in of_it if isinstance(aggregate, asked.Extreme)}
    return len(of_it) > _OF_A_PROFILE or (extremes == {"min", "max"} and len(of_it) == _OF_A_PROFILE)


def _computed_of(aggregate: Aggregate) -> Ref | None:
    """Return the column without bounds and values that an aggregate computes with."""
    arguments = inputs(aggregate)[1:] if computes(aggregate) else ()
    columns = [argument for argument in map(unwidened, arguments) if isinstance(argument, Ref)]
    return next((column for column in columns if column.column.bounds is None and column.column.values is None), None)


def computes(aggregate: Aggregate) -> bool:
    """Return whether an aggregate computes with its arguments' values, and does not only count."""
    match aggregate:
        case asked.Moment(name=name):
            return name != "count"
        case asked.Quantile() | asked.Extreme() | asked.OfDistinct() | asked.Shrunk():
            return True
        case asked.Margin() | asked.Distinct() | asked.DistinctTuples() | asked.Vote() | asked.GroupingCall():
            return False


def inputs(aggregate: Aggregate) -> tuple[Expr, ...]:
    """Return the row-level expressions that an aggregate reads."""
    match aggregate:
        case asked.Moment():
            return (aggregate.where, *aggregate.args)
        case asked.Margin(of=asked.Computed() as computed):
            return tuple(expr for moment in computed.of for expr in inputs(moment))
        case asked.Shrunk(of=moment):
            return inputs(moment)
        case asked.Margin(of=of):
            assert not isinstance(of, asked.Computed)
            return inputs(of)
        case asked.Quantile() | asked.Extreme() | asked.Distinct() | asked.OfDistinct() | asked.Vote():
            return (aggregate.where, aggregate.arg)
        case asked.DistinctTuples():
            return (aggregate.where, *aggregate.args)
        case asked.GroupingCall():
            return aggregate.keys


def as_counted(aggregate: Aggregate, relation: Relation, declared: Declared) -> Aggregate:
    """Return what says no more than a count of rows as that, since the policy says so; others as they are.

    sum(CASE WHEN id IS NULL THEN 1 ELSE 0 END)  →  count(*) FILTER (WHERE FALSE), where id can't be NULL
    count(DISTINCT id)                           →  count(*), where id is a key
    """
    of = aggregate.of if isinstance(aggregate, asked.Margin) else aggregate
    match of:
        case asked.Moment() if _is_of_zeros(of, relation, declared):
            count = asked.Moment("count", (), FALSE)
        case asked.Distinct(arg=Ref() as key) if _is_key(key, relation):
            count = asked.Moment("count", (), of.where)
        case _:
            return aggregate
    return replace(aggregate, of=count) if isinstance(aggregate, asked.Margin) else count


def _is_key(column: Ref, relation: Relation) -> bool:
    """Return whether no two rows have the same value of a column, and each has one."""
    (first, *others), source = relation.joined.values(), relation.sources[column.source]
    alone = not others and first is source and source.made is None and not column.column.nullable
    return alone and frozenset({column.name}) in source.table.keys


def _is_of_zeros(moment: asked.Moment, relation: Relation, declared: Declared) -> bool:
    if moment.name not in _OF_ZEROS or len(moment.args) != 1:
        return False
    branch = only_branch(unwidened(moment.args[0]))
    condition, other = (FALSE, moment.args[0]) if branch is None else (branch[0], branch[2])
    if not isinstance(other, Const) or other.value != (None if moment.name == "count" else 0):
        return False
    rows = both(relation.condition, moment.where, condition)
    return condition == FALSE or narrowed(refs(moment.where, condition), rows, declared) is None


def is_possible(aggregate: Aggregate, relation: Relation, declared: Declared) -> bool:
    """Return whether any row can be among those that an aggregate is of: FILTER (WHERE trip_id IS NULL) has none."""
    of = asked.told_of(aggregate)
    if isinstance(of, asked.Computed):
        return all(is_possible(moment, relation, declared) for moment in of.of)
    where = TRUE if isinstance(of, asked.GroupingCall) else of.where
    return where == TRUE or narrowed(refs(where), both(relation.condition, where), declared) is not None
