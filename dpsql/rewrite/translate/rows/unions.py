"""UNION ALL of private rows: one relation of several, whose rows keep their owners.

SELECT fare AS money FROM trips UNION ALL SELECT price FROM rides
→  a source with the rows of both, of columns money and whose they are; a unit has at most max_rows of both together
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from dpsql.errors import Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, SqlType, Table, UnitBound, Value, common_step
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.analysis.owners import Owners, is_unit, owners
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.function import arithmetic_type, order_of
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import TRUE, Const, Expr, Facts, Ref, refs
from dpsql.rewrite.ir.relation import Relation, Source, UnionPart, UnionRows, naming_units, ref
from dpsql.rewrite.translate.rows.per_unit import Around, fresh_names

_MOST_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the relations, whose its rows are, its columns in order, and the facts about each."""

    owned: Owners
    exprs: tuple[Expr, ...]
    facts: tuple[Facts, ...]
    around: Around

    @classmethod
    def of(cls, relation: Relation, around: Around) -> "_Part":
        owned = owners(relation, around.kind, around.policy.tables, around.unique)
        exprs = tuple(relation.columns.values())
        env = refine_by_predicate(refs(*exprs), relation.condition, around.declared) or around.declared.env(
            refs(*exprs)
        )
        return cls(owned, exprs, tuple(facts(expr, env) for expr in exprs), around)

    def is_unit(self, place: int) -> bool:
        """Return whether a column says whose the rows are."""
        expr, tables = self.exprs[place], self.around.policy.tables
        return isinstance(expr, Ref) and is_unit(self.owned.relation, expr, self.around.kind, tables)

    def identifies(self, place: int) -> bool:
        """Return whether a column is made of one that identifies units of any kind."""
        single = naming_units(self.owned.relation)
        return any((column_ref.source, column_ref.name) in single for column_ref in refs(self.exprs[place]))


def union_all(relations: Sequence[Relation], widths: Sequence[int], around: Around) -> Relation:
    """Return the rows of all relations, of which `widths` are the numbers of columns: two of one name are no columns here.

    Raises:
        Unsupported: they have no common types.
    """
    parts = [_Part.of(relation, around) for relation in relations]
    names = list(relations[0].columns)
    if {len(names)} != {*widths, *(len(part.exprs) for part in parts)}:
        raise _refused()
    units = {part.owned.unit.type for part in parts}
    fresh = fresh_names()
    unit = _unit(fresh("unit"), units)
    # A column is the unit's only if it is so in every part: else it is one of values, and the unit stands beside it.
    own = [all(part.is_unit(place) for part in parts) for place, _ in enumerate(names)]
    columns = [unit if own[place] else _column(fresh("column"), place, parts) for place, _ in enumerate(names)]
    every = {column.name: column for column in (unit, *columns)}
    table = _table(unit, every, columns, parts)
    made = UnionRows(tuple(_made(part, columns, unit) for part in parts), unit.name, every)
    outputs = {name: ref(0, table, column.name) for name, column in zip(names, columns, strict=True)}
    return Relation((Source(table, made=made),), TRUE, outputs)


def _made(part: _Part, columns: Sequence[Column], unit: Column) -> UnionPart:
    pairs = zip(columns, part.exprs, strict=True)
    exprs = {column.name: expr for column, expr in pairs if column.name != unit.name}
    return UnionPart(part.owned.relation, part.owned.unit, exprs)


def _table(unit: Column, every: Mapping[str, Column], columns: Sequence[Column], parts: Sequence[_Part]) -> Table:
    around, owned = parts[0].around, [part.owned for part in parts]
    name = " and ".join(dict.fromkeys(owner.relation.protected.name for owner in owned))
    while name in around.policy.tables:  # facts about public columns are found by their table's name
        name += "'"
    units = {
        f"{name} {place}": UnitBound(column.name, 1)
        for place, column in enumerate(columns)
        if column.name != unit.name and any(part.identifies(place) for part in parts)
    }
    groups = (
        None if all(owner.groups is None for owner in owned) else sum(owner.groups or owner.rows for owner in owned)
    )
    up_to = sum(owner.up_to or owner.rows for owner in owned) if any(owner.up_to for owner in owned) else None
    # A unit may have rows in each part, and then has those of all of them.
    bound = UnitBound(unit.name, sum(owner.rows for owner in owned), groups, up_to=up_to)
    rows = [owner.relation.expected_rows for owner in owned]
    expected = sum(number for number in rows if number is not None) if None not in rows else None
    return Table(name, every, {**units, around.kind: bound}, expected_rows=expected)


def _column(name: str, place: int, parts: Sequence[_Part]) -> Column:
    """Return the facts about the values of all parts together."""
    pairs = [(part.exprs[place], part.facts[place]) for part in parts]
    # SELECT fare … UNION ALL SELECT NULL …: the NULL is a value that may occur, and says nothing of type and bounds.
    given = [(e, expr_facts) for e, expr_facts in pairs if not (isinstance(e, Const) and e.value is None)] or pairs
    type_ = _common({expr.type for expr, _ in given})
    nullable = any(expr_facts.nullable for _, expr_facts in pairs)
    declared = {SqlType.NUMERIC: "numeric(38,10)", SqlType.TIME: "bigint", SqlType.INTERVAL: "bigint"}
    column = Column(name, type_, declared.get(type_, type_.value), nullable=nullable)
    if type_ is SqlType.BOOLEAN:
        return column
    values = _values([expr_facts for _, expr_facts in given])
    if values is not None:
        return replace(column, values=values)
    intervals = [expr_facts.interval for _, expr_facts in given if expr_facts.interval is not None]
    if len(intervals) < len(given):
        return column
    steps = [step for expr, _ in given if type_.is_number and (step := step_of(expr)) is not None]
    step = common_step(steps) if len(steps) == len(given) else None
    return replace(column, bounds=reduce(Interval.hull, intervals), step=step or None)


def _values(facts_of_parts: Sequence[Facts]) -> tuple[Value, ...] | None:
    """Return all values that there can be, if they are few."""
    listed = [part_facts.values for part_facts in facts_of_parts]
    distinct = {value for values in listed if values is not None for value in values}
    return tuple(sorted(distinct, key=order_of)) if None not in listed and len(distinct) <= _MOST_VALUES else None


def _common(types: set[SqlType]) -> SqlType:
    if len(types) == 1:
        return next(iter(types))
    if all(type_.is_number for type_ in types):
        return arithmetic_type(*types)
    raise _refused()


def _unit(name: str, types: set[SqlType]) -> Column:
    """Return the column of whose all rows are; decimals of several scales are told apart by their texts."""
    if all(type_.is_integer for type_ in types):
        type_ = SqlType.BIGINT
    elif all(type_.is_number for type_ in types):
        type_ = SqlType.TEXT
    elif len(types) == 1:
        (type_,) = types
    else:
        raise _refused()
    return Column(name, type_, type_.value)


def _refused() -> Unsupported:
    return Unsupported(
        "the parts of UNION ALL must have as many columns, each with one type and a name of its own",
        because="union-of-types",
        hint="Cast them to one type in each part; privacy units must be all numbers, or all texts.",
    )
