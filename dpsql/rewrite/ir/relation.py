"""A relation of private rows: what is scanned and joined, which rows stay, and what each column means.

Pass-through subqueries and CTEs disappear in it: their columns become expressions over the scanned tables, their
conditions join the others. So a question has one form, however deep a tool has wrapped it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import prod
from typing import Literal

from dpsql.errors import InternalError
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Table
from dpsql.rewrite.ir.constant_table import ConstantTable, DeferredTable
from dpsql.rewrite.ir.expr import TRUE, Expr, Ref, both, refs, with_refs
from dpsql.rewrite.ir.expr import conjuncts as parts_of

# Values of single units: aggregates of a unit's rows, and what a row has among the others of its unit.
#
# sum(fare) … GROUP BY rider                        →  UnitValue('sum', fare, …)
# lag(fare) OVER (PARTITION BY rider, paid ORDER BY day)
#   →  Window('lag', arg='fare', partition=('paid',), order=(('day', …),))

UnitFunction = Literal[
    "count", "count_distinct", "sum", "avg", "min", "max", "bool_and", "bool_or", "percentile_cont", "percentile_disc",
    "var_pop", "var_samp", "stddev_pop", "stddev_samp",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitValue:
    """One number of a unit: an aggregate of its rows that is the same in any order of them."""

    function: UnitFunction
    arg: Expr | None
    """None for COUNT(*)."""
    where: Expr
    column: Column
    """The resulting column; its values are clamped to its bounds in all places that read it."""
    interval: Interval | None = None
    """Of the argument of `sum` and `avg`: what is added up are whole steps from its lower end."""
    steps: int = 0
    """How many of them there are in the interval; 0 where the argument is a whole number and is added up itself."""
    point: Fraction = Fraction(0)
    """Of which share of the rows a percentile is."""

    @property
    def grows(self) -> bool:
        """Return whether it is larger the more rows the unit has."""
        return self.function in {"count", "count_distinct", "sum"}


WindowFunction = Literal[
    "row_number", "rank", "dense_rank", "ntile", "lag", "lead", "first_value", "last_value", "aggregate"
]


@dataclass(frozen=True, slots=True)
class RowsAround:
    """How many rows before and after its own a row's window has; None is all of them. Its own is always among them."""

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """A value of each row among those of its unit that are equal in `partition`."""

    function: WindowFunction
    column: Column
    """The resulting column; its values are clamped to its bounds in all places that read it."""
    arg: str | None = None
    """The column of which `lag`, `lead`, `first_value` and `last_value` take a value."""
    number: int | None = None
    """How far `lag` and `lead` look, or how many parts `ntile` makes."""
    partition: tuple[str, ...] = ()
    """The keys that tell rows apart beside the unit."""
    order: tuple[tuple[str, str], ...] = ()
    """Columns, and how each is ordered."""
    frame: RowsAround | None = None
    """None: in an order all rows up to those that tie with the row's own, else all."""
    value: UnitValue | None = None
    """The value that `aggregate` aggregates; its arguments are columns of the rows."""


class Join(Enum):
    """How a source comes into a relation."""

    FROM = "from"
    INNER = "inner"
    LEFT = "left"
    EXISTS = "exists"
    NOT_EXISTS = "not exists"
    INSIDE = "inside"
    """With the one before it in EXISTS or NOT EXISTS, whose condition is for both."""


@dataclass(frozen=True, slots=True)
class Source:
    """One scanned table."""

    table: Table
    join: Join = Join.FROM
    on: Expr = TRUE
    made: "PerUnitRows | UnionRows | WindowRows | None" = None
    """The relation that its rows are made of, if the engine has no such table; `table` has their facts."""
    every: int | None = None
    """The most partners here that a row of the sources before it can have; None if unknown, and then one is assumed."""

    @property
    def holds(self) -> bool:
        """Return whether each row of the relation has one of this table's, for which `on` holds."""
        return self.join is Join.FROM or self.join is Join.INNER

    @property
    def only_tested(self) -> bool:
        """Return whether the table only decides which rows stay, and is nothing of the rows themselves."""
        return self.join is Join.EXISTS or self.join is Join.NOT_EXISTS or self.join is Join.INSIDE


@dataclass(frozen=True, slots=True)
class PerUnitRows:
    """The rows that GROUP BY a privacy unit, and perhaps further keys, makes of a relation.

    Promise: each row has one owner, the unit that it is grouped by, and depends on that unit's rows in `relation`
    only, as a multiset. Without further keys a unit has one row at most. So taking a unit away takes its own rows away
    and changes no other: a measurement over these rows is bounded as over those of a table.
    """

    relation: "Relation"
    unit: Ref
    keys: tuple[tuple[str, Expr], ...]
    """The further keys by the names of their columns."""
    values: tuple[UnitValue, ...]
    rows: int
    """How many rows' worth the values are clamped to, or are taken for until that is chosen."""
    up_to: int | None = None
    """The most that this may be where it is chosen for each statement; None where the policy says what it is."""
    wide: bool = False
    """Whether values are within the bounds for the most, since what they are clamped to does not matter, or is chosen."""

    @property
    def growing(self) -> frozenset[str]:
        """Return the columns of numbers that are the larger the more rows the unit has."""
        return frozenset(value.column.name for value in self.values if value.grows)


@dataclass(frozen=True, slots=True)
class UnionPart:
    """One of the relations whose rows stand below each other; `columns` are by the names that all of them have."""

    relation: "Relation"
    unit: Ref
    columns: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class UnionRows:
    """The rows of several relations below each other: what UNION ALL makes of them.

    Promise: each row is a row of one of them, and its owner is that row's. So a unit has as many as it has in all of them
    together, and taking it away changes no other's.
    """

    parts: tuple[UnionPart, ...]
    unit: str
    """The name of the column with the owner."""
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class WindowRows:
    """The rows of a relation, each with its place among those of the same unit.

    Promise: each row keeps its owner, and its values depend on that unit's rows only, as a multiset. Where rows tie by
    `order`, and that matters, they are ordered by all columns that are read of them, so that their values decide which
    comes first; rows that are equal in all of these may change places without anybody's seeing it. An aggregate is the
    same in any order of the rows of its frame. So taking a unit away takes its own rows away and changes no value of
    another's: rows are bounded as those of `relation` are.
    """

    relation: "Relation"
    unit: Ref
    columns: tuple[tuple[str, Expr], ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of one protected table, perhaps with columns of others, protected or public."""

    sources: tuple[Source, ...]
    where: Expr
    columns: Mapping[str, Expr]
    """The expression of each visible column, in order."""
    needed: tuple[Ref, ...] = ()
    """The columns that the question names: a row without a value in one stays out, unless it is declared nullable."""

    @property
    def protected(self) -> Table:
        """Return the first table."""
        return self.sources[0].table

    @property
    def private(self) -> Mapping[int, Source]:
        """Return the sources that are protected, by their places."""
        return {i: source for i, source in enumerate(self.sources) if not source.table.public}

    @property
    def joined(self) -> Mapping[int, Source]:
        """Return the sources that make up the rows, by their places."""
        return {i: source for i, source in enumerate(self.sources) if not source.only_tested}

    @property
    def expected_rows(self) -> int | None:
        """Return the public order of magnitude of the number of rows: that of the largest table, if it is declared.

        Each may have several of a table that is joined without a condition.
        """
        tables = [source.table for source in self.joined.values() if not source.table.public]
        most = max((table.expected_rows for table in tables if table.expected_rows), default=None)
        return None if most is None else most * prod(source.every or 1 for source in self.joined.values())

    @property
    def condition(self) -> Expr:
        """Return what holds of every row; rows for which the condition of a LEFT JOIN does not hold stay."""
        return both(self.where, *(source.on for source in self.sources if source.holds))


def naming_units(relation: Relation) -> set[tuple[int, str]]:
    """Return the columns, as (source, name), each of which by itself says whose a row is, for a unit of any kind."""
    return {
        (i, name)
        for i, source in relation.private.items()
        for bound in source.table.units.values()
        for name in bound.naming
    }


def awaited_tables(relation: Relation) -> tuple[DeferredTable, ...]:
    """Return the answers to inner queries that a relation waits for."""
    own = (source.table for source in relation.sources if isinstance(source.table, DeferredTable))
    below = (
        table for source in relation.sources for inside in relations_below(source) for table in awaited_tables(inside)
    )
    return (*own, *below)


def tables_below(relation: Relation) -> Iterator[Table]:
    """Yield the tables of the engine's that rows are made of, and constant ones."""
    for source in relation.sources:
        yield from () if source.made is not None else (source.table,)
        for inside in relations_below(source):
            yield from tables_below(inside)


def relations_below(source: Source) -> tuple[Relation, ...]:
    """Return the relations inside a source: those from which its rows are made."""
    match source.made:
        case None:
            return ()
        case PerUnitRows(relation=relation) | WindowRows(relation=relation):
            return (relation,)
        case UnionRows(parts=parts):
            return tuple(part.relation for part in parts)


def stored_columns(relation: Relation, exprs: Sequence[Expr]) -> tuple[Ref, ...]:
    """Return the tables' own columns whose values expressions are computed of, also by way of rows that are made of them.

    A number of rows is computed of none.
    """
    return tuple(dict.fromkeys(_stored_columns(relation, exprs)))


def _stored_columns(relation: Relation, exprs: Sequence[Expr]) -> Iterator[Ref]:
    for ref in refs(*exprs):
        match relation.sources[ref.source].made:
            case None:
                yield ref
            case PerUnitRows(relation=below, keys=keys, values=values):
                args = [
                    v.arg
                    for v in values
                    if v.column.name == ref.name and v.arg is not None and "count" not in v.function
                ]
                yield from _stored_columns(below, [*args, *(key for name, key in keys if name == ref.name)])
            case UnionRows(parts=parts):
                for part in parts:
                    yield from _stored_columns(
                        part.relation, [part.columns[ref.name]] if ref.name in part.columns else []
                    )
            case WindowRows(relation=below, columns=columns, windows=windows):
                of = {window.arg for window in windows if window.column.name == ref.name} | {ref.name}
                yield from _stored_columns(below, [expr for name, expr in columns if name in of])


def columns_read(relation: Relation, used: Sequence[Expr]) -> tuple[Ref, ...]:
    """Return all columns that a question about a relation's rows names, of which it `used` some in expressions of its own.

    A row without a value in one stays out, unless it is declared nullable (`leaves_out`).
    """
    return refs(*relation.needed, *used, relation.where, *(source.on for source in relation.sources))


def leaves_out(column: Ref, unit: Ref) -> bool:
    """Return whether rows without a value in a column that is read stay out; those of nobody do anyway."""
    return not (column.public or column == unit or column.column.nullable)


def reads_all(relation: Relation, where: Expr) -> bool:
    """Return whether all rows of tables are read, and none is left out by a condition."""
    every = all(s.holds and not s.only_tested and s.made is None for s in relation.sources)
    return every and relation.where == TRUE and where == TRUE


def is_single(table: Table) -> bool:
    """Return whether a table has one row, with any values."""
    return isinstance(table, DeferredTable) and table.is_single


def with_answers(relation: Relation, answer: Callable[[DeferredTable], ConstantTable]) -> Relation:
    """Return the relation with the rows of what it waits for."""

    def answered(source: Source) -> Source:
        table = answer(source.table) if isinstance(source.table, DeferredTable) else source.table
        match source.made:
            case PerUnitRows() | WindowRows() as made:
                return replace(source, made=replace(made, relation=with_answers(made.relation, answer)))
            case UnionRows() as made:
                parts = (replace(part, relation=with_answers(part.relation, answer)) for part in made.parts)
                return replace(source, made=replace(made, parts=tuple(parts)))
            case None:
                return replace(source, table=table)

    return replace(relation, sources=tuple(map(answered, relation.sources)))


def ref(source: int, table: Table, name: str, *, optional: bool = False) -> Ref:
    """Return the reference to a column of a table, or to a path in one."""
    column = table.column_named(name)
    if column is None:
        raise InternalError
    return Ref(source, table.name, name, column, optional, table.public)


_SCANS: dict[int, Relation] = {}
"""The newest scans, by the `id` of a table, which is in the relation and so is no other's."""
_MOST_SCANS = 256


def scan(table: Table) -> Relation:
    """Return all rows of one table."""
    relation = _SCANS.get(id(table))
    if relation is None:
        relation = Relation((Source(table),), TRUE, {name: ref(0, table, name) for name in table.columns})
        if type(table) is Table:  # others have rows of their own, and are of one statement
            if len(_SCANS) >= _MOST_SCANS:
                _SCANS.clear()
            _SCANS[id(table)] = relation
    return relation


def filter_rows(relation: Relation, condition: Expr) -> Relation:
    """Return the rows for which the condition holds."""
    return replace(relation, where=both(relation.where, condition))


def shift_sources(relation: Relation, by: int, *, optional: bool = False) -> Relation:
    """Return the relation as it stands behind `by` other sources, its rows perhaps missing."""

    def change(column_ref: Ref) -> Ref:
        return replace(column_ref, source=column_ref.source + by, optional=column_ref.optional or optional)

    sources = tuple(replace(source, on=with_refs(source.on, change)) for source in relation.sources)
    columns = {name: with_refs(expr, change) for name, expr in relation.columns.items()}
    return Relation(sources, with_refs(relation.where, change), columns)


def inner_join(left: Relation, right: Relation, on: Expr) -> Relation:
    """Return the pairs of rows for which `on` holds; `right` was moved behind `left`.

    Parts of the condition about sources that come later than its own are tested by WHERE.
    """
    first, *rest = right.sources
    place = len(left.sources)
    # FROM a JOIN (b JOIN c ON …) ON a.x = c.y: when b is joined the engine does not know c yet.
    early = [part for part in parts_of(on) if all(column_ref.source <= place for column_ref in refs(part))]
    late = [part for part in parts_of(on) if part not in early]
    sources = (*left.sources, replace(first, join=Join.INNER, on=both(*early)), *rest)
    return Relation(sources, both(left.where, right.where, *late), {**left.columns, **right.columns})


def left_join(left: Relation, right: Relation, on: Expr) -> Relation:
    """Return the rows of `left`, each with those of the one table `right`, moved behind it, for which `on` holds."""
    (source,) = right.sources
    sources = (*left.sources, replace(source, join=Join.LEFT, on=both(on, right.where)))
    return replace(left, sources=sources, columns={**left.columns, **right.columns})


def semi_join(left: Relation, inside: Relation, condition: Expr, *, negated: bool) -> Relation | None:
    """Return the rows for which `inside`, moved behind them, has rows that satisfy the condition, or has none.

    None where that is more than one test: of rows that may be missing, or that others must not have.
    """
    if any(source.join in {Join.LEFT, Join.NOT_EXISTS} for source in inside.sources):
        return None
    first, *rest = inside.sources
    on = both(condition, inside.where, *(source.on for source in inside.sources))
    how = Join.NOT_EXISTS if negated else Join.EXISTS
    # EXISTS (SELECT FROM b, c WHERE …)  →  b as EXISTS with all conditions, c as INSIDE, which belongs to it
    others = (replace(source, join=Join.INSIDE, on=TRUE) for source in rest)
    return replace(left, sources=(*left.sources, replace(first, join=how, on=on), *others))
