"""All groups of a statement, before any row is read: the product of its keys' domains, less what cannot occur.

Keys that come from one public table (or from the column that a join equates with its key) go together: only the
combinations that occur in the public rows are groups. So do keys that are made of the same columns (`reachable_tuples`).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import assert_never

from dpsql.errors import DpsqlError, InternalError, MissingBounds, Unsupported
from dpsql.policy.model import Column, SqlType, Value
from dpsql.rewrite.analysis.bounds import evaluable, evaluate, facts, keeps
from dpsql.rewrite.analysis.declared_facts import PublicRows, public_rows_of
from dpsql.rewrite.analysis.keys import Key, key_of, selected_key
from dpsql.rewrite.functions.function import Cell, EvaluateRule, order_of, too_many
from dpsql.rewrite.functions.logical import equation
from dpsql.rewrite.functions.table import function_of, integral
from dpsql.rewrite.functions.temporal import before_relabel, truncated_time
from dpsql.rewrite.functions.text import results_of
from dpsql.rewrite.ir.calendar import DAY, UNITS, step, truncate
from dpsql.rewrite.ir.constant_table import DeferredTable
from dpsql.rewrite.ir.expr import Apply, Const, Env, Expr, Ref, TimeField, both, conjuncts, refs, walk
from dpsql.rewrite.ir.relation import Join, Relation, Source

# The values of several keys that can occur together, where the keys are made of the same columns.
#
# GROUP BY payment_type, upper(payment_type)                              →  (card, CARD), (cash, CASH)
# GROUP BY date_trunc('day', t), extract(dow FROM t)                      →  each day with the one weekday that it has
# GROUP BY seats, CASE WHEN seats = 1 THEN payment_type END               →  (1, card), (1, cash), (2, NULL), (3, NULL)
#
# Claim: engines find no other. All values of the columns are tried, and of times a moment of each of the shortest units that
# the keys tell apart; and nothing is computed that engines round. It follows from the policy alone.

# All of them are evaluated in Python, for each statement that is new.
_MOST_CASES = 20_000
"""Combinations of the columns' values that are tried."""
_MOST_PASSING = 10_000
"""Of them, to see which groups a condition leaves."""
_FEW_CASES = 64
"""Of them, for a key alone."""
_EXACT = 2**53
"""The largest number up to which double precision has all that are whole, as expressions may be computed; and moments."""
_WEEKLY = frozenset({"dow", "isodow", "hour", "minute"})
"""The fields of a time that are the same a week later."""
_WEEK = 8 * DAY
"""A week, from the beginning of a unit of time in whose midst it begins."""
_ALL, _LONGEST = UNITS[0], UNITS[-1]
"""The units that tell times apart which stand for themselves."""


def connected_keys(exprs: Sequence[Expr]) -> Iterator[tuple[int, ...]]:
    """Yield the indices of keys that are made of common columns, directly or by others; all that have none alone."""
    left = list(range(len(exprs)))
    while left:
        places = [left.pop(0)]
        columns = set(refs(exprs[places[0]]))
        while more := [index for index in left if columns & set(refs(exprs[index]))]:
            places += more
            columns |= set(refs(*(exprs[index] for index in more)))
            left = [index for index in left if index not in more]
        yield tuple(sorted(places))


def reachable_tuples(
    exprs: Sequence[Expr], env: Env, conditions: Sequence[Expr] = (), most: int = _MOST_CASES
) -> frozenset[tuple[Cell, ...]] | None:
    """Return all that keys can be together where conditions hold; None where that is not known, or has too many cases."""
    cases = _cases((*exprs, *conditions), env, most) if all(map(can_be_tried, exprs)) else None
    if cases is None:
        return None
    # GROUP BY day, weekday: of 31 · 7 pairs 31 can occur. The other 186 would be empty groups, each with noise of its
    # own, which look like groups with few rows.
    rows = (dict(zip(cases, case, strict=True)) for case in itertools.product(*cases.values()))
    computed, holding = [_computed(expr) for expr in exprs], [_computed(condition) for condition in conditions]
    occurring_cells = frozenset(
        tuple([value(row) for value in computed]) for row in rows if all(holds(row) is True for holds in holding)
    )
    return (
        None
        if any(isinstance(c, int) and abs(c) > _EXACT for cells in occurring_cells for c in cells)
        else occurring_cells
    )


def _cases(exprs: Sequence[Expr], env: Env, most: int) -> Mapping[Ref, Sequence[Cell]] | None:
    """Return values of the columns of expressions that make of these all that they can be; None where they are too many."""
    columns, cases, number = refs(*exprs), dict[Ref, Sequence[Cell]](), 1
    public = [ref.source for ref in columns if ref.public]
    if len(set(public)) < len(public):
        return None  # columns of one public table go together as its rows have them
    for ref in columns:
        values = cases_of(ref, exprs, env, most)
        number *= len(values or ())
        if values is None or number > most:
            return None
        cases[ref] = values
    return cases


def _passing(exprs: Sequence[Expr], relation: Relation, env: Env) -> frozenset[tuple[Cell, ...]] | None:
    """Return all that keys can be together in the rows that WHERE leaves; None where that is not known.

    GROUP BY to_char(t, 'MM') of WHERE to_char(t, 'MM') > '10'  →  11 and 12
    """
    conditions: list[Expr] = []
    for condition in conjuncts(relation.condition):
        tells = _tells_of(condition, set(refs(*exprs))) and can_be_tried(condition)
        if tells and _cases((*exprs, *conditions, condition), env, _MOST_PASSING) is not None:
            conditions.append(condition)
    # Of a key alone most values that are listed can occur: few cases are tried quickly.
    most = _MOST_CASES if conditions or len(exprs) > 1 else _FEW_CASES
    return reachable_tuples(exprs, env, conditions, most)


def _tells_of(condition: Expr, columns: AbstractSet[Ref]) -> bool:
    """Return whether a condition tells more of some columns than their bounds and values do."""
    return isinstance(condition, Apply) and not (
        columns.isdisjoint(refs(condition)) or isinstance(_compared(condition), Ref)
    )


def can_be_tried(expr: Expr) -> bool:
    """Return whether engines compute what we do: no number in it has digits after the point."""
    return all(
        not (part.type.is_number and not integral(part)) and (not isinstance(part, Apply) or _rule(part) is not None)
        for part in walk(expr)
    )


def _rule(expr: Apply) -> EvaluateRule | None:
    function = function_of(expr)
    return function.evaluate or function.computed


def tried_value(expr: Expr, row: Mapping[Ref, Cell]) -> Cell:
    """Return the value of an expression where columns have these."""
    return _computed(expr)(row)


def _computed(expr: Expr) -> Callable[[Mapping[Ref, Cell]], Cell]:
    """Return the function from columns' values to that of an expression, for as many rows as are tried."""
    match expr:
        case Ref():
            return lambda row: row[expr]
        case Const(value=value):
            return lambda _: value
        case Apply() if function_of(expr).looks_up:
            found, looked_up = _computed(expr.args[0]), results_of(expr)
            return lambda row: None if (cell := found(row)) is None else looked_up.get(cell)
        case Apply():
            rule, args = _rule(expr), [_computed(arg) for arg in expr.args]
            assert rule is not None
            return lambda row: rule([arg(row) for arg in args], expr)
        case _:
            assert_never(expr)


def cases_of(ref: Ref, exprs: Sequence[Expr], env: Env, most: int = _MOST_CASES) -> Sequence[Cell] | None:
    """Return values of a column that make of expressions all that they can be; None where those are not few, or not known."""
    try:
        ref_facts = facts(ref, env)
    except DpsqlError:
        return None
    cases: Sequence[Value] | None = ref_facts.values
    if cases is None and ref_facts.interval is not None:
        low, high = math.ceil(ref_facts.interval.low), math.floor(ref_facts.interval.high)
        if ref.type.is_integer or ref.type is SqlType.DATE:
            cases = range(low, high + 1)
        elif ref.type in (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ):
            unit = min((unit for expr in exprs for unit in _units(expr, ref)), key=UNITS.index, default=_LONGEST)
            # Hours of the week are the same in each week: eight days of a year of data are enough to see all of them.
            if all(_comes_again(expr, ref) for expr in exprs):
                high = min(high, low + _WEEK)
            cases = _moments(low, high, unit, [at for expr in exprs for at in _compared_with(expr, ref)], most)
    if cases is None or len(cases) > most:
        return None
    return (*cases, None) if ref_facts.nullable else cases


def _comes_again(expr: Expr, ref: Ref) -> bool:
    """Return whether an expression reads nothing of a time but its weekday and the time of the day.

    Then it has all its values within any week, and has them again in every other one.
    """
    match expr:
        case Apply(option=TimeField(name=field), args=(inside,)) if _in_utc(inside) == ref:
            return field in _WEEKLY
        case Apply():
            return all(_comes_again(arg, ref) for arg in expr.args)
        case Ref() | Const():
            return expr != ref
        case _:
            assert_never(expr)


def _units(expr: Expr, ref: Ref) -> Iterator[str]:
    """Yield the units of time within which an expression is the same, by the places where it reads a column."""
    match expr:
        case Apply() if _in_utc(_compared(expr)) == ref:
            pass
        case Apply(args=(inside, *_)) if (
            _in_utc(inside) == ref and (unit := function_of(expr).granule(expr)) is not None
        ):
            yield unit
        case Apply():
            for arg in expr.args:
                yield from _units(arg, ref)
        case Ref() if expr == ref:
            yield _ALL
        case Ref() | Const():
            pass


def _in_utc(expr: Expr | None) -> Expr | None:
    """Return a time without what only says of which type it is."""
    while expr is not None and (before := before_relabel(expr)) is not None:
        expr = before
    return expr


def _compared(expr: Apply) -> Expr | None:
    """Return what is compared with constants alone."""
    condition = function_of(expr).condition
    return None if condition is None else condition.compared(expr)


def _compared_with(expr: Expr, ref: Ref) -> Iterator[int]:
    """Yield the times with which a plain column is compared."""
    if isinstance(expr, Apply) and _in_utc(_compared(expr)) == ref:
        yield from (int(arg.value) for arg in expr.args if isinstance(arg, Const) and isinstance(arg.value, int))
    elif isinstance(expr, Apply):
        for arg in expr.args:
            yield from _compared_with(arg, ref)


def _moments(low: int, high: int, unit: str, compared: Sequence[int], most: int) -> Sequence[int] | None:
    """Return a moment of each unit, and of each part of it that comparisons tell apart, unless they are too many."""
    # On either side of a constant, and at it, any comparison with it has all the results that it can have.
    beside = {at + step for at in compared for step in (-1, 0, 1) if low <= at + step <= high}
    begun = _beginnings(low, high, unit, most)
    # The first unit may begin before `low`, where comparisons may be others than in all of it that is there.
    return None if begun is None else [*dict.fromkeys((*(max(at, low) for at in begun), *sorted(beside)))]


def _beginnings(low: int, high: int, unit: str, most: int) -> Sequence[int] | None:
    beginnings, at = list[int](), truncate(unit, low)
    while at <= high:
        if len(beginnings) >= most or unit == _ALL:
            return None
        beginnings.append(at)
        try:
            at = step(unit, at)
        except (OverflowError, ValueError):
            break  # the calendar ends there
    return beginnings


def _passing_pairs(
    exprs: Sequence[Expr], shown: Sequence[Mapping[Cell, Cell]], relation: Relation, env: Env
) -> Sequence[tuple[tuple[Cell, Cell], ...]] | None:
    """Return all that keys can be together, as (grouped, shown) pairs, given each key's own; None where it is not known."""
    occurring_cells = _passing(exprs, relation, env)
    if occurring_cells is None:
        return None
    own = [{cell: grouped for grouped, cell in cells.items()} for cells in shown]
    return [
        tuple((by[cell], cell) for by, cell in zip(own, cells, strict=True))
        for cells in occurring_cells
        if all(cell in by for by, cell in zip(own, cells, strict=True))
    ]


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
            # An engine may keep such a text, and PostgreSQL does not.
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
    # Keys that have nothing to do with each other are multiplied out; those of one public table, or of common columns,
    # come in the combinations that there are.
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
    if (holds := _about_keys(exprs, relation)) is not None:
        every = [flat for flat in every if holds([flat[p][1] for p in places])]
    # Lists in between, since there may be thousands: a generator for each group takes twice as long.
    grouped = tuple([tuple([flat[p][0] for p in places]) for flat in every])
    shown = tuple([tuple([flat[p][1] for p in places]) for flat in every])
    return Groups(tuple(keys[i] for i in range(len(exprs))), grouped, shown)


_TOLD_APART = frozenset(
    {SqlType.BOOLEAN, SqlType.TEXT, SqlType.UUID, SqlType.DATE, SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ}
)
"""Types whose values are compared as engines compare them. Of other numbers than whole ones an engine has neighbours."""


def _about_keys(exprs: Sequence[Expr], relation: Relation) -> Callable[[Sequence[Cell]], bool] | None:
    """Return whether what WHERE says of keys holds of their values, as a function of these; None where it says nothing.

    GROUP BY n, paid of WHERE n > 3 OR paid = 'cash'  →  without those of 1 to 3 that are not cash
    """
    columns = [Ref(place, "", "", Column("", _type_told(expr), "")) for place, expr in enumerate(exprs)]
    by_expr = dict(zip(exprs, columns, strict=True))
    conditions = [_in_terms_of(condition, by_expr) for condition in conjuncts(relation.condition) if exprs]
    holding = [_computed(each) for each in conditions if each is not None and _tells(each)]
    if not holding:
        return None

    def holds(cells: Sequence[Cell]) -> bool:
        row = dict(zip(columns, cells, strict=True))
        return all(value(row) is True for value in holding)

    return holds


def _type_told(expr: Expr) -> SqlType:
    return SqlType.BIGINT if expr.type.is_number and integral(expr) else expr.type


def _in_terms_of(expr: Expr, keys: Mapping[Expr, Ref]) -> Expr | None:
    """Return an expression of keys, and of no other column; None of any other."""
    if expr in keys or isinstance(expr, Ref):
        return keys.get(expr)
    if isinstance(expr, Const):
        return expr
    args = [part for arg in expr.args if (part := _in_terms_of(arg, keys)) is not None]
    return Apply(expr.op, tuple(args), expr.type, expr.option) if len(args) == len(expr.args) else None


def _tells(condition: Expr) -> bool:
    """Return whether a condition of keys is computed as engines do, and tells more than bounds and values of one."""
    of = refs(condition)
    known = all(ref.type in _TOLD_APART or ref.type.is_integer for ref in of)
    bounds = isinstance(condition, Apply) and isinstance(_compared(condition), Ref)
    return bool(of) and known and not bounds and can_be_tried(condition)


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
        return selected_key(expr, env)


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
    for members in connected_keys([exprs[index] for index in others]):
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
    return not isinstance(source.table, DeferredTable)


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
        return _of_columns(members, chosen, relation, env, limit)
    cells = sorted(set(_public_cells(chosen, source, relation, env, rows)), key=lambda row: [*map(order_of, row)])
    keys = tuple(Key(e, e, {}) for e in chosen)
    merged: dict[tuple[Cell, ...], tuple[Cell, ...]] = {}
    for row in cells:  # values that double precision takes for one are one group, shown as the first of them
        merged.setdefault(tuple(k.returned(c) for k, c in zip(keys, row, strict=True)), row)
    return _Part(members, keys, [tuple(zip(grouped, shown, strict=True)) for grouped, shown in merged.items()])


def _of_columns(members: tuple[int, ...], exprs: Sequence[Expr], relation: Relation, env: Env, limit: int) -> _Part:
    """Return keys that are made of common columns: those of their values that can occur together, if that is known."""
    keys = tuple(key_of(expr, env, limit) for expr in exprs)
    shown = [key.shown or {} for key in keys]
    together = _passing_pairs(exprs, shown, relation, env)
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


# Whether rows of a growing table are told apart by its periods: what all standing questions have in common.
#
# FROM visits GROUP BY admitted_at::date, ward     →  the first key, where the table grows by the day of admitted_at


def is_by_period(relation: Relation, keys: Sequence[Expr]) -> bool:
    """Return whether a key is the period by which the only table of a relation grows."""
    (source, *others), table = relation.sources, relation.sources[0].table
    grows = table.grows
    if others or source.made is not None or grows is None:
        return False
    by = Ref(0, table.name, grows.by, table.columns[grows.by])
    return any(truncated_time(key, by) == grows.every.value for key in keys)
