"""All groups of a statement, before any row is read: the product of its keys' domains, less what cannot occur.

Keys that come from one public table (or from the column that a join equates with its key) go together: only the
combinations that occur in the public rows are groups. So do keys that are made of the same columns (`occurring`).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpsql.errors import InternalError, MissingBounds, Unsupported
from dpsql.policy.model import Value
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.evaluate import evaluable, evaluate, keeps
from dpsql.rewrite.analysis.joined import PublicRows, public_rows_of
from dpsql.rewrite.analysis.keys import Key, key_of, undeclared
from dpsql.rewrite.analysis.occurring import going_together, linked
from dpsql.rewrite.functions.comparisons import equation
from dpsql.rewrite.functions.domains import Cell, order_of, too_many
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.expr import Expr, Ref, both, conjuncts, refs
from dpsql.rewrite.ir.facts import Env
from dpsql.rewrite.ir.relation import Join, Relation, Source


@dataclass(frozen=True, slots=True)
class Groups:
    """The keys, and every group as the values that the engine would return for it and those that are shown.

    Promise: each tuple that the engine can return is one group at most, also where exact arithmetic tells several
    apart. Listed twice, one set of rows would be released twice, with noise of its own each time, for one charge.
    """

    keys: tuple[Key, ...]
    grouped: tuple[tuple[Cell, ...], ...]
    shown: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        """Check at planning that the promise is kept.

        Raises:
            InternalError: a group is listed twice, or as what the engine returns for none.
        """
        fractional = [place for place, key in enumerate(self.keys) if key.fractional]
        as_returned = all(self.keys[i].returned(group[i]) == group[i] for group in self.grouped for i in fractional)
        if not as_returned or len(set(self.grouped)) < len(self.grouped):
            raise InternalError

    def show(self, grouped: tuple[Cell, ...]) -> tuple[Cell, ...] | None:
        """Return how a group that was selected is shown; None if a declared key can't have such a value."""
        cells = []
        for key, cell in zip(self.keys, grouped, strict=True):
            if key.shown is not None and cell not in key.shown:
                return None
            if isinstance(cell, str) and "\0" in cell:
                return None  # no text of PostgreSQL's: it could not be shown
            cells.append(key.shows(cell))
        return tuple(cells)


NO_KEYS = Groups((), ((),), ((),))


def groups(exprs: Sequence[Expr], relation: Relation, env: Env, rows: PublicRows, limit: int) -> Groups:
    """Return all groups.

    Raises:
        MissingBounds: a key's values do not follow from the policy.
        Unsupported: there are more groups than `limit`.
    """
    parts = [_part(members, exprs, relation, env, rows, limit) for members in _together(exprs, relation, env)]
    size = math.prod(len(part.combinations) for part in parts)
    if size > limit:
        raise too_many(size, limit)
    order = [index for part in parts for index in part.members]
    keys = dict(itertools.chain.from_iterable(zip(part.members, part.keys, strict=True) for part in parts))
    places = [order.index(i) for i in range(len(exprs))]
    every = [
        tuple(itertools.chain(*combination)) for combination in itertools.product(*(p.combinations for p in parts))
    ]
    # Lists in between, since there may be thousands: a generator for each group takes twice as long.
    grouped = tuple([tuple([flat[p][0] for p in places]) for flat in every])
    shown = tuple([tuple([flat[p][1] for p in places]) for flat in every])
    return Groups(tuple(keys[i] for i in range(len(exprs))), grouped, shown)


def selected_groups(exprs: Sequence[Expr], env: Env, limit: int) -> Groups:
    """Return the keys of groups that partition selection will choose among; declared keys keep to their values.

    Raises:
        MissingBounds: an undeclared key has no values that can be compared exactly.
    """
    return Groups(tuple(_perhaps_declared(expr, env, limit) for expr in exprs), (), ())


def _perhaps_declared(expr: Expr, env: Env, limit: int) -> Key:
    facts(expr, env)  # an undeclared key has to be computable too, for any rows
    try:
        return key_of(expr, env, limit)
    except (MissingBounds, Unsupported):
        return undeclared(expr, env)


@dataclass(frozen=True, slots=True)
class _Part:
    """Keys that go together: which, and their possible combinations as (grouped, shown) pairs."""

    members: tuple[int, ...]
    keys: tuple[Key, ...]
    combinations: Sequence[tuple[tuple[Cell, Cell], ...]]


def _together(exprs: Sequence[Expr], relation: Relation, env: Env) -> Iterator[tuple[int, ...]]:
    """Yield the indices of keys that depend on one public source, or on common columns; every other key alone."""
    public: dict[int, list[int]] = {}
    others = []
    for index, expr in enumerate(exprs):
        source = _source_of(expr, relation)
        if source and not _is_shared(source, exprs, env):
            public.setdefault(source, []).append(index)
        else:
            others.append(index)
    for members in linked([exprs[index] for index in others]):
        yield tuple(others[member] for member in members)
    yield from map(tuple, public.values())


def _is_shared(source: int, exprs: Sequence[Expr], env: Env) -> bool:
    """Return whether keys depend on one column of a public source, and some of them on other columns beside it.

    GROUP BY n, CASE WHEN n = 1 THEN payment_type END, of n in generate_series(0, 1)  →  n is a column as any other
    """
    columns = {ref for ref in refs(*exprs) if ref.source == source}
    if len(columns) != 1 or not any(columns < set(refs(expr)) for expr in exprs):
        return False
    (column,) = columns
    return column.public and column in env and env[column].values is not None


def _source_of(expr: Expr, relation: Relation) -> int:
    """Return the public source that alone decides the key, 0 if none does."""
    sources = {ref.source for ref in refs(expr)}
    if len(sources) == 1 and evaluable(expr):
        (source,) = sources
        if relation.sources[source].table.public:
            return source if _is_known(relation.sources[source]) else 0
        return next((i for i, s in enumerate(relation.sources) if _decides(s) and _equated(expr, i, relation)), 0)
    return 0


def _is_known(source: Source) -> bool:
    """Return whether planning knows the rows."""
    return not isinstance(source.table, AwaitedTable)


def _decides(source: Source) -> bool:
    return source.table.public and source.join is Join.INNER and _is_known(source)


def _equated(expr: Expr, source: int, relation: Relation) -> bool:
    return isinstance(expr, Ref) and _twin(expr, source, relation) is not None


def _twin(ref: Ref, source: int, relation: Relation) -> Ref | None:
    """Return the column of a public source that an inner join equates with `ref`."""
    joined = relation.sources[source]
    for condition in conjuncts(both(joined.on, relation.where)):
        sides = equation(condition)
        if sides is not None and ref in sides:
            other = sides[1] if sides[0] == ref else sides[0]
            if isinstance(other, Ref) and other.source == source:
                return other
    return None


def _part(
    members: tuple[int, ...], exprs: Sequence[Expr], relation: Relation, env: Env, rows: PublicRows, limit: int
) -> _Part:
    chosen = [exprs[i] for i in members]
    source, *others = {_source_of(expr, relation) for expr in chosen}
    if others or not source:
        return _of_columns(members, chosen, env, limit)
    cells = sorted(set(_public_cells(chosen, source, relation, env, rows)), key=lambda row: [*map(order_of, row)])
    keys = tuple(Key(e, e, {}) for e in chosen)
    merged: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
    for row in cells:  # values that double precision takes for one are one group, shown as the first of them
        merged.setdefault(tuple(k.returned(c) for k, c in zip(keys, row, strict=True)), row)
    return _Part(members, keys, [tuple(zip(grouped, shown, strict=True)) for grouped, shown in merged.items()])


def _of_columns(members: tuple[int, ...], exprs: Sequence[Expr], env: Env, limit: int) -> _Part:
    """Return keys that are made of common columns: those of their values that can occur together, if that is known."""
    keys = tuple(key_of(expr, env, limit) for expr in exprs)
    shown = [key.shown or {} for key in keys]
    together = going_together(exprs, shown, env) if len(keys) > 1 else None
    if together is not None:
        return _Part(members, keys, sorted(together, key=lambda cells: [order_of(cell) for _, cell in cells]))
    size = math.prod(map(len, shown))
    if size > limit:
        raise too_many(size, limit)
    return _Part(members, keys, list(itertools.product(*(cells.items() for cells in shown))))


def _public_cells(
    exprs: Sequence[Expr], source: int, relation: Relation, env: Env, rows: PublicRows
) -> Iterator[tuple[Cell, ...]]:
    """Yield the keys' values for every public row that the conditions allow; for LEFT JOIN also for no row."""
    joined = relation.sources[source]
    twins = {ref: _twin(ref, source, relation) for e in exprs for ref in refs(e) if not ref.public}
    inside = [ref for e in exprs for ref in refs(e) if ref.source == source]
    conditions = conjuncts(relation.where)
    filtering = [ref for c in conditions for ref in refs(c) if ref.source == source]
    columns = dict.fromkeys([*inside, *(t for t in twins.values() if t is not None), *filtering])
    table = public_rows_of(joined.table, rows)
    for values in zip(*(table[ref.name] for ref in columns), strict=True):
        row: dict[Ref, Value | None] = dict(zip(columns, values, strict=True))
        row |= {ref: row[twin] for ref, twin in twins.items() if twin is not None}
        possible = all(env[ref].values is None or row[ref] in (env[ref].values or ()) for ref in twins)
        if possible and all(keeps(c, row) for c in conditions):
            yield tuple(evaluate(e, row) for e in exprs)
    missing = dict.fromkeys(columns)
    if joined.join is Join.LEFT and all(keeps(c, missing) for c in conditions):
        yield tuple(evaluate(e, missing) for e in exprs)
