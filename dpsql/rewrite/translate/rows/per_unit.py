"""GROUP BY the privacy unit below private rows: rows of single units, which an outer SELECT aggregates.

    SELECT avg(n) FROM (SELECT passenger_id, count(*) AS n FROM trips GROUP BY passenger_id) AS t
    →  a source with one row for each passenger, of columns passenger_id and count in 1 … max_rows; n = its count

A unit's numbers are aggregates that do not depend on the order of its rows. Rows of a unit are not bounded by anything, so
what is counted is clamped to what `max_rows` rows can be, as a column is to its bounds.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dpsql.errors import AccessDenied, MissingBounds, Unsupported
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType, Table, UnitBound
from dpsql.rewrite.analysis.bounds import facts, require_interval
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.keys import domain
from dpsql.rewrite.analysis.owners import Owners, Unique, determine_unit, is_unit, owners
from dpsql.rewrite.analysis.predicates import refine_by_predicate
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Env, Expr, Facts, Ref, refs
from dpsql.rewrite.ir.relation import (
    PerUnitRows,
    Relation,
    Source,
    UnionRows,
    UnitFunction,
    UnitValue,
    filter_rows,
    naming_units,
    ref,
)
from dpsql.rewrite.syntax.named.aggregate_names import aggregates_of
from dpsql.rewrite.syntax.named.columns import output_name
from dpsql.rewrite.syntax.named.grouping import grouping_in
from dpsql.rewrite.syntax.read.dialect import excerpt, render
from dpsql.rewrite.syntax.whole.splice import Match, substitute_columns
from dpsql.rewrite.translate.rows.aggregates import (
    Aggregate,
    Distinct,
    Extreme,
    Moment,
    Quantile,
    Vote,
    aggregate,
    condition_of,
    matcher,
)
from dpsql.rewrite.translate.values.comparisons import row_condition
from dpsql.rewrite.translate.values.context import Names, Translator
from dpsql.rewrite.translate.values.durations import in_span, span_of

# The value of an aggregate of one unit's rows, and its bounds.
#
# Each is the same in any order of the rows: sums are of whole numbers, or of whole steps between the bounds of what is
# added up. Floating-point numbers added in another order come out as others, and that order is not the unit's own.
#
# sum(fare) of fares in [0, 150], max_rows 20  →  steps of 150/2^30 added up, a column in [0, 3000]

_FINE = 2**30
"""How many steps there are between the bounds of what has no step of its own."""
_NUMBERS = frozenset({"count", "count_distinct"})
_PLACES = frozenset({"min", "max", "percentile_disc"})
"""Aggregates that return one of their values."""
_ROOT_OF_HALF = Fraction(70711, 100_000)
"""A little more."""
_SUMS: Mapping[SqlType, SqlType] = {
    SqlType.SMALLINT: SqlType.BIGINT,
    SqlType.INTEGER: SqlType.BIGINT,
    SqlType.BIGINT: SqlType.NUMERIC,
}
"""PostgreSQL's types of sums, where they are not those of what is added up."""


@dataclass(frozen=True, slots=True)
class AggregatedArgument:
    """An argument of an aggregate, its facts, and how many rows of one unit count."""

    expr: Expr
    facts: Facts
    most: int


def unit_value(asked: Aggregate, node: exp.Expr, argument: Callable[[Expr], AggregatedArgument]) -> UnitValue:
    """Return the aggregate as a column of a unit's row.

    Raises:
        Unsupported: it is none that is known of single units.
        MissingBounds: it computes with what has no bounds.
    """
    match asked:
        case Moment(name="count", args=()):
            return _count("count", None, asked.where, argument(asked.where).most, present=True)
        case Moment(name="count", args=(arg,)):
            given = argument(arg)
            return _count("count", None, condition_of(asked), given.most, present=not given.facts.nullable)
        case Moment(name="sum" | "avg" as name, args=(arg,)):
            return _sum(name, argument(arg), asked.where)
        case Extreme(name=name, arg=arg, ordered=None):
            return _extreme(name, argument(arg), asked.where)
        case Distinct(arg=arg):
            given = argument(arg)
            return _count("count_distinct", arg, asked.where, _different(given), present=not given.facts.nullable)
        case Moment(name="var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" as name, args=(arg,)):
            return _spread(name, argument(arg), asked.where)
        case Quantile(arg=arg, points=(point,), array=False, ordered=None) if not (
            asked.discrete and _is_descending(node)
        ):
            return _percentile(point, argument(arg), asked.where, discrete=asked.discrete)
        case Vote(name="bool_and" | "bool_or" as name, arg=arg):
            given = argument(arg)
            nullable = given.facts.nullable or asked.where != TRUE
            return UnitValue(name, arg, asked.where, Column("", SqlType.BOOLEAN, "boolean", nullable=nullable))
        case _:  # of texts, what is ordered is their places, which are no texts
            raise Unsupported(
                f"{excerpt(node)} of single units is not supported",
                because="aggregate-of-units",
                hint="Take count, bool_and or bool_or; of numbers and times also sum, avg, min, max, variances, percentiles.",
            )


def as_asked(value: UnitValue, column: Expr) -> Expr:
    """Return a unit's number as PostgreSQL has it: what is made of times of the day, or of intervals, is one."""
    type_ = span_of(value.arg) if value.arg is not None and value.column.type.is_number else None
    if type_ is None or value.function in _NUMBERS:
        return column
    micros = column if column.type.is_integer else Apply("to_integer", (column,), SqlType.BIGINT)
    return in_span(micros, type_ if value.function in _PLACES else SqlType.INTERVAL)


def _different(given: AggregatedArgument) -> int:
    """Return how many different values a unit may have: one in each row that counts, and no more than there are."""
    values, interval = given.facts.values, given.facts.interval
    if values is not None:
        return min(given.most, max(len({*values} - {None}), 1))
    if interval is not None and given.expr.type.is_integer:
        return min(given.most, math.floor(interval.high) - math.ceil(interval.low) + 1)
    return given.most


def _count(function: UnitFunction, arg: Expr | None, where: Expr, most: int, *, present: bool) -> UnitValue:
    """Return a count; a unit that has a row at all has at least one of them, unless they are `present` in some only."""
    bounds = Interval.of(int(present and where == TRUE), most)
    column = Column("", SqlType.BIGINT, "bigint", bounds=bounds, step=Fraction(1))
    return UnitValue(function, arg, where, column)


def _sum(name: UnitFunction, given: AggregatedArgument, where: Expr) -> UnitValue:
    arg, arg_facts = given.expr, given.facts
    interval, step = require_interval(arg, arg_facts), step_of(arg)
    low, high = interval.low, interval.high
    # Fares in cents from 0 to 150 are 15,000 steps of 1/100. What has no step, or too many, is cut into 2^30 of them.
    if step:
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    if not step or (high - low) / step > _FINE:
        low, high, step = interval.low, interval.high, None
    type_ = _SUMS.get(arg.type, arg.type) if name == "sum" else _average(arg.type)
    whole = arg.type.is_integer and name == "sum"
    # Of values from 0 to 150 in 20 rows: 0 to 3,000. Of values from −5 to −1 the sum is highest for a single row, and lowest
    # for all: −100 to −1.
    bounds = interval if name == "avg" else Interval(min(low, low * given.most), max(high, high * given.most))
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=bounds,
        step=Fraction(1) if whole else step if name == "sum" else None,
        nullable=arg_facts.nullable or where != TRUE,
    )
    steps = 0 if arg.type.is_integer else int((high - low) / step) if step else _FINE
    return UnitValue(name, arg, where, column, Interval(low, high), steps)


def _average(type_: SqlType) -> SqlType:
    return SqlType.DOUBLE if type_.is_float else SqlType.NUMERIC


def _extreme(name: UnitFunction, given: AggregatedArgument, where: Expr) -> UnitValue:
    arg, arg_facts = given.expr, given.facts
    bounds, type_ = require_interval(arg, arg_facts), arg.type
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=bounds,
        step=step_of(arg),
        nullable=arg_facts.nullable or where != TRUE,
    )
    return UnitValue(name, arg, where, column)


def _spread(name: UnitFunction, given: AggregatedArgument, where: Expr) -> UnitValue:
    """Return a variance or standard deviation, read off the sums of steps and of their squares.

    It is at most that of rows which are half at one end and half at the other, of which two are the worst for a sample.
    """
    arg, arg_facts = given.expr, given.facts
    interval, step = require_interval(arg, arg_facts), step_of(arg)
    own = interval.width / step if step else Fraction(0)
    steps = int(own) if own.denominator == 1 and 1 <= own <= _FINE else _FINE
    sample, root = name.endswith("samp"), name.startswith("stddev")
    width = interval.width
    most = width * (_ROOT_OF_HALF if sample else Fraction(1, 2)) if root else width**2 / (2 if sample else 4)
    type_ = _average(arg.type)
    column = Column(
        "",
        type_,
        "numeric(38,10)" if type_ is SqlType.NUMERIC else type_.value,
        bounds=Interval(Fraction(0), most),
        nullable=sample or arg_facts.nullable or where != TRUE,
    )
    return UnitValue(name, arg, where, column, interval, steps)


def _percentile(point: Fraction, given: AggregatedArgument, where: Expr, *, discrete: bool) -> UnitValue:
    """Return an order statistic, or what lies between two: a function of the values, in any order."""
    if discrete:
        return replace(_extreme("percentile_disc", given, where), point=point)
    nullable = given.facts.nullable or where != TRUE
    bounds = require_interval(given.expr, given.facts)
    column = Column("", SqlType.DOUBLE, SqlType.DOUBLE.value, bounds=bounds, nullable=nullable)
    return UnitValue("percentile_cont", given.expr, where, column, point=point)


def _is_descending(node: exp.Expr) -> bool:
    """Return whether a percentile counts from above, where ties are decided the other way round."""
    return any(bool(ordered.args.get("desc")) for ordered in node.find_all(exp.Ordered))


_FEW = 1000
"""Up to so many times are kept as the values of a key; of more only the interval is known."""


@dataclass(frozen=True, slots=True)
class Around:
    """The facts beside the rows: the policy, whose units are protected, facts about columns, the engine's constraints."""

    policy: Policy
    kind: str
    declared: DeclaredFacts
    unique: Unique
    wide: bool = False
    """Whether numbers of a unit are within the bounds for the most rows that may be chosen."""


_WIDEST = 2**20
"""The most rows of these: numbers in bounds that are so much wider than others are told apart in double precision."""


def is_grouped(select: exp.Select) -> bool:
    """Return whether a SELECT below private rows groups them."""
    return bool(aggregates_of(select) or select.args.get("group") or select.args.get("distinct"))


def per_unit(relation: Relation, t: Translator, select: exp.Select, around: Around) -> Relation:
    """Return the rows that a grouped SELECT makes of a relation, each of one unit.

    Raises:
        AccessDenied: it does not group by the unit that the role protects.
        Unsupported: an aggregate depends on the order of rows, or on more than one unit's.
    """
    calls = aggregates_of(select)
    grouping = grouping_in(select, calls)
    if not grouping.plain:
        raise Unsupported(
            "GROUPING SETS, ROLLUP and CUBE of single units are not supported",
            because="grouping-sets-of-units",
            hint="Group by the unit and its keys plainly.",
        )
    exprs = tuple(t.expression(key) for key in grouping.keys)
    rows = _rows(relation, exprs, around)
    asked = [aggregate(t, call) for call in calls]
    values = tuple(unit_value(function, node, rows.argument) for function, node in zip(asked, calls, strict=True))
    source, names = rows.source(values)
    # HAVING and the outputs are about the rows that are made: count(*) in them is a column there, and no aggregate any more.
    match = matcher(grouping.keys, exprs, calls, t)
    texts = _texts(grouping.keys, calls)
    expr_of = {texts[name]: expr for name, expr in names.items()}
    return _outputs(source, t, select, expr_of, lambda node: texts.get(match(node) or ""), around.declared)


def _texts(keys: Sequence[exp.Expr], calls: Sequence[exp.Expr]) -> Mapping[str, str]:
    """Return what the columns of the rows are called inside their SELECT: as they are written, which messages show."""
    named = [*((f"g{i}", key) for i, key in enumerate(keys)), *((f"a{i}", call) for i, call in enumerate(calls))]
    return {name: render(node) for name, node in named}


def _rows(relation: Relation, keys: tuple[Expr, ...], around: Around) -> "_Rows":
    of_unit = owners(relation, around.kind, around.policy.tables, around.unique)
    columns = [key for key in keys if isinstance(key, Ref)]
    if not determine_unit(relation, columns, around.kind, around.policy.tables, around.unique):
        raise AccessDenied(
            f'a subquery over single units must group by "{_name(of_unit)}", which your role protects',
            because="subquery-by-unit",
            hint="Or group by a column that identifies nobody.",
        )
    env = refine_by_predicate(refs(*keys), relation.condition, around.declared)
    others = tuple(
        key
        for key in dict.fromkeys(keys)
        if not (isinstance(key, Ref) and is_unit(relation, key, around.kind, around.policy.tables))
    )
    key_env: Env = around.declared.env(refs(*keys)) if env is None else env
    return _Rows(of_unit, keys, others, key_env, env is not None, around)


def _name(of_unit: Owners) -> str:
    """Return what the table calls the unit's column, where UNION has a name of its own for it."""
    relation, unit = of_unit.relation, of_unit.unit
    while isinstance(made := relation.sources[unit.source].made, UnionRows):
        relation, unit = made.parts[0].relation, made.parts[0].unit
    return unit.name


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows below with their owners, the keys, and the facts where their conditions hold."""

    owned: Owners
    keys: tuple[Expr, ...]
    others: tuple[Expr, ...]
    """Those of them that do not name the unit."""
    env: Env
    possible: bool
    around: Around

    def argument(self, expr: Expr) -> AggregatedArgument:
        """Return the facts about an aggregate's argument, in as many rows of one unit as count."""
        return AggregatedArgument(
            expr, facts(expr, self._env(expr)), self.up_to if self.wide and self.up_to else self.owned.rows
        )

    @property
    def wide(self) -> bool:
        """Return whether numbers are in wide bounds."""
        return self.around.wide and self.up_to is not None

    @property
    def up_to(self) -> int | None:
        """Return the most rows that may be chosen."""
        return None if self.owned.up_to is None else min(self.owned.up_to, _WIDEST)

    def source(self, values: Sequence[UnitValue]) -> tuple[Relation, Mapping[str, Expr]]:
        """Return the relation of the rows, and its columns as `g0` …, the keys, and `a0` …, the values."""
        fresh, own = fresh_names(), self.owned.unit
        unit = replace(own.column, name=fresh(own.name), nullable=False)
        further = {key: self._key(key, fresh) for key in self.others}
        named = tuple(replace(v, column=replace(v.column, name=fresh(v.function))) for v in values)
        columns = (unit, *further.values(), *(value.column for value in named))
        table = self._table({column.name: column for column in columns}, unit, further)
        keys = tuple((column.name, key) for key, column in further.items())
        made = PerUnitRows(self.owned.relation, own, keys, named, self.owned.rows, self.up_to, self.wide)
        every = {column.name: ref(0, table, column.name) for column in columns}
        relation = Relation((Source(table, made=made),), TRUE if self.possible else FALSE, every)
        names = {f"g{i}": every[further.get(key, unit).name] for i, key in enumerate(self.keys)}
        return relation, names | {f"a{i}": as_asked(value, every[value.column.name]) for i, value in enumerate(named)}

    def _table(self, columns: Mapping[str, Column], unit: Column, further: Mapping[Expr, Column]) -> Table:
        below = self.owned.relation
        name = f"{below.protected.name} by {', '.join([unit.name, *(column.name for column in further.values())])}"
        while name in self.around.policy.tables:  # facts about public columns are found by their table's name
            name += "'"
        single = naming_units(below)
        units = {
            f"{name} {i}": UnitBound(column.name, 1)
            for i, (key, column) in enumerate(further.items())
            if single & {(column_ref.source, column_ref.name) for column_ref in refs(key)}
        }
        most, up_to = self._most(further.values(), self.owned.rows), self.owned.up_to
        up_to = None if up_to is None else self._most(further.values(), up_to)
        units |= {self.around.kind: UnitBound(unit.name, most, self.owned.groups, up_to=up_to)}
        return Table(name, columns, units, expected_rows=below.expected_rows, file=below.protected.file)

    def _most(self, keys: Iterable[Column], rows: int) -> int:
        """Return how many rows of its own a unit can have at most, one for each of its keys, if it has so many below."""
        facts_of_keys = (self.around.declared.facts_of(Ref(0, "", key.name, key)) for key in keys)
        numbers = (
            (rows if key_facts.values is None else len(key_facts.values)) + key_facts.nullable
            for key_facts in facts_of_keys
        )
        # GROUP BY rider, paid, with two ways to pay: two rows of a rider at most, and a third where there may be NULL,
        # however many trips there are.
        return min(math.prod(numbers), rows)

    def _key(self, key: Expr, fresh: Callable[[str], str]) -> Column:
        return made_column(fresh(key.name if isinstance(key, Ref) else "key"), key, self._env(key))

    def _env(self, expr: Expr) -> Env:
        return {**self.around.declared.env(refs(expr)), **self.env}


_DECLARED: Mapping[SqlType, str] = {SqlType.NUMERIC: "numeric(38,10)"}
"""Numbers without a length that come out of a calculation are in double precision."""


def made_column(name: str, key: Expr, env: Env) -> Column:
    """Return the facts about an expression as a column by itself."""
    key_facts = facts(key, env)
    declared = _DECLARED.get(key.type, key.type.value)
    column = key.column if isinstance(key, Ref) else Column(name, key.type, declared)
    column = replace(
        column, name=name, references=None, nullable=key_facts.nullable, description=None, in_numbers=False
    )
    column = replace(column, names_unit=False, path=None)  # it is written in double precision, and was read already
    if key.type is SqlType.BOOLEAN:
        return column
    if key.type.is_span:
        column = replace(column, declared=SqlType.BIGINT.value)
    values = key_facts.values
    if values is None and key.type.is_temporal and not isinstance(key, Ref):
        values = _moments(key, env)
    bounds = key_facts.interval if values is None and not key.type.is_text else None
    return replace(column, bounds=bounds, values=values)


def _moments(key: Expr, env: Env) -> tuple[int, ...] | None:
    """Return the days or microseconds that a key can be, where they are few."""
    try:
        moments = domain(key, env, _FEW)
    except (MissingBounds, Unsupported):
        return None
    return tuple(sorted(int(value) for value in moments if value is not None and not isinstance(value, str)))


def fresh_names() -> Callable[[str], str]:
    """Return a function that gives names, each once, in capitals or not: DuckDB and Spark take these for the same."""
    given: set[str] = set()

    def fresh(name: str) -> str:
        number = 1
        while (free := name if number == 1 else f"{name}_{number}").lower() in given:
            number += 1
        given.add(free.lower())
        return free

    return fresh


def _outputs(
    relation: Relation,
    t: Translator,
    select: exp.Select,
    names: Mapping[str, Expr],
    match: Match,
    declared: DeclaredFacts,
) -> Relation:
    """Return the relation with the columns that a SELECT puts out, of the units that HAVING keeps."""
    inside = replace(t, names=Names({"": names}), facts_of=lambda expr: facts(expr, declared.env(refs(expr))))
    having = select.args.get("having")
    if having is not None:
        relation = filter_rows(relation, row_condition(inside, substitute_columns(having.this.copy(), match, None)))
    return replace(relation, columns=dict(_each(select, inside, match)))


def _each(select: exp.Select, inside: Translator, match: Match) -> Iterator[tuple[str, Expr]]:
    for output in select.expressions:
        node = substitute_columns(output.unalias().copy(), match, None)
        yield output_name(output), inside.expression(node)
