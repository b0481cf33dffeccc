"""Numbers of a unit's own rows, which count up to a number that is taken for `max_rows: auto` before anything is measured.

SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY 1) AS t   →  n is clamped to 20
SELECT row_number() OVER (PARTITION BY passenger_id ORDER BY fare) AS n FROM trips   →  so is n
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dpsql.errors import MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.declared import Declared
from dpsql.rewrite.analysis.first_rows import places_left
from dpsql.rewrite.analysis.narrowing import narrowed
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, both, refs, walk, with_refs
from dpsql.rewrite.ir.relation import Relation, Source, UnionRows, UnitRows, WindowRows, relations_below
from dpsql.rewrite.ir.unit_value import Window

_PLACES = frozenset({"row_number", "rank", "dense_rank"})
_ANY = 2**62
"""More than any unit has."""


def check_numbers(relation: Relation, condition: Expr, declared: Declared) -> None:
    """Refuse a condition that no row can satisfy for a number that nobody has declared: HAVING count(*) > 30, where 20 count.

    Raises:
        Unsupported: it is one, or what rows are made of has one.
    """
    wide = _of_any_size(relation, condition)
    if wide != condition and _can_hold(wide, declared):
        raise _beyond(relation, condition)
    for below in (inside for source in relation.sources for inside in relations_below(source)):
        if narrowed(refs(below.condition), below.condition, declared) is None:
            check_numbers(below, below.condition, declared)


def check_numbers_in(relation: Relation, exprs: Sequence[Expr], declared: Declared) -> None:
    """Refuse such conditions among what is computed of rows: FILTER (WHERE n > 30), CASE WHEN n > 30 THEN 1 ELSE 0 END.

    Raises:
        Unsupported: there is one.
    """
    numbers = dict(_numbers(relation))
    if not any(_place(ref) in numbers for ref in refs(*exprs)):
        return
    for expr in exprs:
        for part in walk(expr):
            condition = both(relation.condition, part) if part.type is SqlType.BOOLEAN else TRUE
            if condition != TRUE and narrowed(refs(condition), condition, declared) is None:
                check_numbers(relation, condition, declared)


def _can_hold(condition: Expr, declared: Declared) -> bool:
    try:
        return narrowed(refs(condition), condition, declared) is not None
    except MissingBounds:  # it could not be computed of every number
        return True


def _beyond(relation: Relation, expr: Expr) -> Unsupported:
    read = {_place(ref) for ref in refs(expr)}
    unit, most = next(number for place, number in _numbers(relation) if place in read)
    return Unsupported(
        f"each {unit}'s own rows are capped at {most:,} here, so that none has so many",
        because="number-beyond-auto",
        hint="`max_rows: auto` stands for that number; the owner of the data can declare another, or `{auto: N}`.",
    )


def _of_any_size(relation: Relation, expr: Expr) -> Expr:
    """Return an expression of such numbers as if they had no bounds, under names of their own, as they are other columns."""
    numbers = dict(_numbers(relation))

    def change(ref: Ref) -> Ref:
        bounds = ref.column.bounds
        if bounds is None or _place(ref) not in numbers:
            return ref
        wide = replace(ref.column, bounds=Interval.of(-_ANY if bounds.low < 0 else bounds.low, _ANY))
        return replace(ref, name=f"{ref.name} of any size", column=wide)

    return with_refs(expr, change) if numbers else expr


def unit_numbers(relation: Relation, exprs: Sequence[Expr]) -> Iterator[tuple[str, int]]:
    """Yield the units of whose own rows some expressions read a number, and the most that count, if that is not declared.

    Those that a condition keeps below that are none of them: of the first three rows it is the same how many more there are.
    """
    read = {_place(ref) for ref in refs(*exprs)}
    for place, number in _numbers(relation):
        source = relation.sources[place[0]]
        if place in read and places_left(source, place[0], source.table.columns[place[1]], relation.where) is None:
            yield number
    for index, source in enumerate(relation.sources):
        names = {name for of, name in read if of == index}
        for below, computed in _below(source, names):
            yield from unit_numbers(below, (*computed, below.where))


def _place(ref: Ref) -> tuple[int, str]:
    return ref.source, ref.name


def _numbers(relation: Relation) -> Iterator[tuple[tuple[int, str], tuple[str, int]]]:
    """Yield the columns that are such numbers, by their places, with the units and the most that count of their rows."""
    for index, source in enumerate(relation.sources):
        match source.made:
            case UnitRows(unit=unit, values=values, wide=False):
                columns = [value.column for value in values if value.grows]
            case WindowRows(unit=unit, windows=windows):
                columns = [
                    window.column
                    for window in windows
                    if window.function in _PLACES or (window.value is not None and window.value.grows)
                ]
            case _:
                continue
        most = max(map(_undeclared, relations_below(source)), default=0)
        yield from (((index, column.name), (unit.name, most)) for column in columns if most)


def _undeclared(relation: Relation) -> int:
    """Return how many rows of a unit count where nobody has declared it, else 0: `auto` may choose more for a statement."""
    bounds = (bound for source in relation.sources for bound in source.table.units.values())
    return max(
        (bound.max_rows for bound in bounds if bound.up_to is not None and bound.up_to > bound.max_rows), default=0
    )


def _below(source: Source, names: set[str]) -> Iterator[tuple[Relation, Sequence[Expr]]]:
    """Yield the relations that a source's rows are made of, with what some of its columns are computed of there."""
    match source.made:
        case UnitRows(relation=relation, keys=keys, values=values):
            of_values = (e for v in values if v.column.name in names for e in (v.arg, v.where) if e is not None)
            yield relation, (*(key for name, key in keys if name in names), *of_values)
        case WindowRows(relation=relation, columns=columns, windows=windows):
            taken = {name for window in windows if window.column.name in names for name in _taken(window)}
            yield relation, [expr for name, expr in columns if name in names | taken]
        case UnionRows(parts=parts):
            for part in parts:
                yield part.relation, [expr for name, expr in part.columns.items() if name in names]
        case None:
            pass


def _taken(window: Window) -> Iterator[str]:
    """Yield the columns that a window's values are made of."""
    if window.arg is not None:
        yield window.arg
    if window.value is not None:
        yield from (ref.name for e in (window.value.arg, window.value.where) if e is not None for ref in refs(e))
