"""The FROM and WHERE of the engine's statement: which rows a measurement reads.

trips, WHERE fare > 10  →  FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."fare" > 10e0
EXISTS (SELECT … FROM rides …)  →  … AND EXISTS (SELECT 1 FROM "rides" AS s1 WHERE s1."rider" = s0."passenger_id")
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import assert_never

from dpsql.errors import MissingBounds
from dpsql.policy.interval import Interval
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.emit.binning import lattice_step
from dpsql.rewrite.emit.emitter import Emitter, identity, quote_name
from dpsql.rewrite.functions.table import step_of
from dpsql.rewrite.ir.constant_table import ConstantTable, DeferredTable
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, Ref, both, refs
from dpsql.rewrite.ir.relation import (
    Join,
    PerUnitRows,
    Relation,
    RowsAround,
    Source,
    UnionPart,
    UnionRows,
    UnitValue,
    Window,
    WindowRows,
    columns_read,
    leaves_out,
)

# Constants in FROM: rows that stand in the engine's statement, every column of the type that it is read as.
#
# (1, 'a'), (2, 'b')  →  (SELECT c0 AS "id", … FROM (VALUES (0, NULL, NULL), (1, 1, 'a'), (2, 2, 'b')) AS v … WHERE r > 0)


def constant_rows(table: ConstantTable, emitter: Emitter) -> str:
    """Return the rows of constants as a subquery."""
    columns = list(table.columns.values())
    own = [f"c{place}" for place, _ in enumerate(columns)]
    outputs = ", ".join(f"{text} AS {quote_name(column.name)}" for text, column in zip(own, columns, strict=True))
    # The first row, of NULLs that have types and left out, gives the others theirs.
    rows = [[None for _ in columns], *table.rows]
    texts = (", ".join(emitter.literal(v, c.type) for v, c in zip(row, columns, strict=True)) for row in rows)
    values = ", ".join(f"({number}, {text})" for number, text in enumerate(texts))
    return f"(SELECT {outputs} FROM (VALUES {values}) AS v ({', '.join(['r', *own])}) WHERE r > 0)"


_WHOLE, _MOST_STEPS = 2**53, 2**31
"""Whole numbers up to the one have a place in double precision; so many times a number of rows has one in 64 bits."""

# The text of an aggregate of one unit's rows: total, and the same in all orders in which an engine reads them.
#
# sum(fare) of fares in [0, 150]  →  0 + 150/2^30 · sum(CASE … round(fare · 2^30/150) … END)


def unit_text(value: UnitValue, emitter: Emitter, over: str = "") -> str:
    """Return the aggregate, of all rows of a group or of those that ` OVER (…)` says."""
    where = over if value.where == TRUE else f" FILTER (WHERE {emitter.sql(value.where)}){over}"
    if value.arg is None and over and value.where != TRUE:  # Spark filters no windows
        return f"count(CASE WHEN {emitter.sql(value.where)} THEN 1 END){over}"
    if value.arg is None:
        return f"count(*){where}"
    match value.function:
        case "count" | "count_distinct":
            return f"count(DISTINCT {emitter.one_text(emitter.settled(value.arg), value.arg.type)}){where}"
        case "min" | "max":
            # Of 0 and −0, which are equal, either may come out.
            return emitter.one_text(f"{value.function}({emitter.settled(value.arg)}){where}", value.arg.type)
        case "bool_and" | "bool_or":
            return f"{value.function}({emitter.sql(value.arg)}){where}"
        case "sum" | "avg":
            return _of_steps(value, value.arg, where, emitter)
        case "percentile_cont" | "percentile_disc":
            return _percentile(value, value.arg, where, emitter)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _spread(value, value.arg, where, emitter)
        case _:
            assert_never(value.function)


def _of_steps(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    """Return a sum, or a mean, of whole steps: 35 cents are the 0.35 with which they are compared.

    sum(price) of prices in [0, 1] in cents  →  (CAST(sum(CASE … END) AS DOUBLE) / 100.0e0)
    """
    interval = value.interval or Interval.of(0, 0)
    if value.steps:
        text = lattice_step(emitter, arg, interval, value.steps)
        low, step = interval.low, interval.width / value.steps
    else:
        text, low, step = emitter.cast(emitter.sql(arg, computed=True), SqlType.BIGINT), Fraction(0), Fraction(1)
    total, number = f"{emitter.dialect.total(text)}{where}", f"count({text}){where}"
    if value.column.type.is_integer:
        return emitter.cast(_within(total, value), SqlType.BIGINT)
    first = low / step
    if first.denominator == 1 and abs(first) < _MOST_STEPS:  # then all is computed in whole numbers, and divided once
        total, low = f"({number} * {int(first)} + {total})" if first else total, Fraction(0)
    total, number = (emitter.cast(part, SqlType.DOUBLE) for part in (total, number))
    if value.function == "sum":
        beside = f"{emitter.double(low)} * {number} + " if low else ""
        return f"({beside}{_in_steps(total, step, emitter)})"
    beside = f"{emitter.double(low)} + " if low else ""
    if _is_exact(step):
        mean = f"{_times(total, step.numerator, emitter)} / nullif({_times(number, step.denominator, emitter)}, 0)"
    else:
        mean = f"{total} / nullif({number}, 0) * {emitter.double(step)}"
    exact = step == step_of(arg) and arg.type is not SqlType.REAL
    return f"({beside}{mean})" if exact else _between_own(f"({beside}{mean})", arg, where, emitter)


def _between_own(mean: str, arg: Expr, where: str, emitter: Emitter) -> str:
    """Return a mean of rounded values that is never beyond the least and the largest of them: with one row it is that row's.

    Else half of all who have one row would be below their own mean. Sums are left as they are: to look at the ends of each
    unit's rows takes half as long again.
    """
    text = emitter.cast(emitter.sql(arg, computed=True), SqlType.DOUBLE)
    low, high = (f"{end}({text}){where}" for end in ("min", "max"))
    return f"greatest({low}, least({high}, {mean}))"  # of no row all three are NULL


def _is_exact(step: Fraction) -> bool:
    """Return whether double precision has both parts of a step."""
    return max(step.numerator, step.denominator) < _WHOLE


def _times(text: str, factor: int, emitter: Emitter) -> str:
    return text if factor == 1 else f"{text} * {emitter.double(Fraction(factor))}"


def _in_steps(text: str, step: Fraction, emitter: Emitter) -> str:
    """Return so many steps: 35 * 1/100 is 0.35, and 35 * 0.01 in double precision a little more."""
    if not _is_exact(step):
        return emitter.dialect.product(text, emitter.double(step))
    whole = _times(text, step.numerator, emitter)
    return whole if step.denominator == 1 else f"{whole} / {emitter.double(Fraction(step.denominator))}"


def _within(total: str, value: UnitValue) -> str:
    """Return a sum of whole numbers in 64 bits: what is beyond its column's bounds counts as the nearest of them anyway."""
    bounds = value.column.bounds or Interval.of(0, 0)
    low, high = int(bounds.low), int(bounds.high)
    return f"(CASE WHEN {total} > {high} THEN {high} WHEN {total} < ({low}) THEN ({low}) ELSE {total} END)"


def _percentile(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    text, type_ = emitter.sql(arg), arg.type
    if value.function == "percentile_cont":
        text, type_ = emitter.cast(emitter.sql(arg, computed=True), SqlType.DOUBLE), SqlType.DOUBLE
    point = emitter.double(value.point)
    return emitter.one_text(f"{value.function}({point}) WITHIN GROUP (ORDER BY {text}){where}", type_)


def _spread(value: UnitValue, arg: Expr, where: str, emitter: Emitter) -> str:
    """Return a function of three whole numbers: of rows, of the sum of their steps, and of that of the squares.

    Of n rows in s steps n·Σx² and (Σx)² are at most (n·s)², and their difference is taken in whole numbers.
    """
    interval = value.interval or Interval.of(0, 0)
    text = emitter.cast(lattice_step(emitter, arg, interval, value.steps), SqlType.BIGINT)
    total, squares = (f"{emitter.dialect.total(term)}{where}" for term in (text, f"{text} * {text}"))
    number = f"count({text}){where}"
    over = emitter.cast(f"({number} * {squares} - {total} * {total})", SqlType.DOUBLE)
    rows, zero = emitter.cast(number, SqlType.DOUBLE), emitter.double(Fraction(0))
    others = f"({rows} - {emitter.double(Fraction(1))})" if value.function.endswith("samp") else rows
    mean = f"({over} / nullif({rows} * {others}, {zero}))"
    step = interval.width / value.steps
    if value.function.startswith("stddev"):
        return f"({_in_steps(f'sqrt({mean})', step, emitter)})"
    return f"({_in_steps(mean, step**2, emitter)})"


# The text of a value that a row has among the rows of its unit.
#
# lag(fare) OVER (PARTITION BY rider ORDER BY day)
# →  lag("fare", 1) OVER (PARTITION BY "rider" ORDER BY "day" ASC NULLS LAST, "fare", "day")

_BY_PEERS = frozenset({"rank", "dense_rank", "aggregate"})
"""Functions for which rows that tie are the same, unless a frame counts single rows."""
_ALL = RowsAround(None, None)


def window_text(window: Window, unit: str, every: Sequence[str], emitter: Emitter) -> str:
    """Return the call over the named columns; `every` are all that make the order of a unit's rows total."""
    keys, frame = [unit, *window.partition], window.frame
    if window.function == "last_value" and frame is None:
        # The last of the rows that tie is the same for all of them: they are a partition of their own.
        keys, frame = [*keys, *(name for name, _ in window.order)], _ALL
    order = [f"{quote_name(name)} {how}" for name, how in window.order]
    if window.function not in _BY_PEERS or frame not in {None, _ALL}:
        order += map(quote_name, every)
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    rows = (
        "" if frame is None else f" ROWS BETWEEN {_end(frame.before, 'PRECEDING')} AND {_end(frame.after, 'FOLLOWING')}"
    )
    over = f" OVER (PARTITION BY {', '.join(map(quote_name, keys))}{ordered}{rows})"
    return f"{_call(window)}{over}" if window.value is None else unit_text(window.value, emitter, over)


def _end(rows: int | None, side: str) -> str:
    if rows is None:
        return f"UNBOUNDED {side}"
    return f"{rows} {side}" if rows else "CURRENT ROW"


def _call(window: Window) -> str:
    arguments = [
        *([] if window.arg is None else [quote_name(window.arg)]),
        *([] if window.number is None else [str(window.number)]),
    ]
    return f"{window.function}({', '.join(arguments)})"


_MANY = 100
"""Operations from which on an engine is kept from looking for a better order of them."""


def from_where(
    relation: Relation,
    condition: Expr,
    used: Sequence[Expr],
    unit: Ref,
    emitter: Emitter,
    *,
    tested: Collection[Ref] = (),
    instead: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Return `FROM … WHERE …` of the rows of `relation` that satisfy `condition`.

    A row without a privacy unit is nobody's and stays out (one NULL in a list would change everybody's rows), and so
    does one without a value in a column that is used and not declared nullable. Of columns that are `tested` elsewhere
    that is not said. By their places, some tables are read from others, which have some of their rows, `instead`.
    """
    # Engines test conditions in an order of their own, and may compute one for rows that another leaves out. So each
    # condition has to be computable for each row by itself.
    where = both(relation.where, _guarded(relation, condition, emitter))
    columns = columns_read(relation, [*used, where])
    required = [c for c in columns if leaves_out(c, unit)]
    # Also where the unit is never NULL by declaration: the bound on each unit's rows does not rest on how a join was
    # read.
    conditions = [f"{identity(unit, emitter.dialect)} IS NOT NULL"]
    conditions += [emitter.present(c) for c in required if relation.sources[c.source].holds and c not in tested]
    if where != TRUE:
        many = isinstance(where, Apply) and where.operations > _MANY
        conditions.append(emitter.dialect.as_a_whole(emitter.sql(where)) if many else emitter.sql(where))
    conditions += _tests(relation, columns, required, emitter)
    return f"FROM {_joined(relation, columns, required, unit, emitter, instead)} WHERE {' AND '.join(conditions)}"


def _computed(expr: Expr, relation: Relation, emitter: Emitter) -> Expr:
    """Return a column of rows that are made, NULL where it could not be computed: engines test what is around it first."""
    try:
        facts(expr, {ref: emitter.declared.facts_of(ref) for ref in refs(expr)})
    except MissingBounds:
        return Apply("case", (relation.condition, expr, Const(None, expr.type)), expr.type)
    return expr


def _guarded(relation: Relation, condition: Expr, emitter: Emitter) -> Expr:
    """Return a condition that can be computed for every row, in any order of an engine's tests.

    One that could overflow is only known not to where the others hold, and PostgreSQL tests first what it thinks is cheap.
    """
    if isinstance(condition, Const):
        return condition
    try:
        facts(condition, {ref: emitter.declared.facts_of(ref) for ref in refs(condition)})
    except MissingBounds:
        return Apply("case", (relation.condition, condition, FALSE), condition.type)
    return condition


def _joined(
    relation: Relation,
    columns: Sequence[Ref],
    required: Sequence[Ref],
    unit: Ref,
    emitter: Emitter,
    instead: Mapping[int, str],
) -> str:
    """Return what stands in FROM; what a row of a LEFT JOIN has to have stands in its condition."""
    text = ""
    for index, source in relation.joined.items():
        scanned = _scanned(source, index, columns, emitter, instead.get(index), unit)
        if not index:
            text = scanned
            continue
        word = "LEFT JOIN" if source.join is Join.LEFT else "JOIN"
        present = [] if source.holds else [emitter.present(c) for c in dict.fromkeys(required) if c.source == index]
        on = " AND ".join([*present, emitter.sql(source.on)])
        text += f" {word} {scanned} ON {on}"
    return text


def _scanned(
    source: Source,
    index: int,
    columns: Sequence[Ref],
    emitter: Emitter,
    instead: str | None = None,
    unit: Ref | None = None,
) -> str:
    # In rows that are made the same columns may stand for others.
    rows = instead or _rows(source, frozenset(c.name for c in columns if c.source == index), emitter.clamping_once(()))
    beside = emitter.beside([c for c in columns if c.source == index])
    if not beside:
        return f"{rows} AS s{index}"
    own = [f"s{index}.*"]
    if source.made is None and instead is None and not emitter.kept(source.table.name).names:
        # Of a table by name: an engine's owner may let dpsql read no others.
        read = (c for c in (*columns, unit) if c is not None and c.source == index)
        stored = dict.fromkeys(c.column.stored_name if c.column.path else c.name for c in read)
        own = [f"s{index}.{quote_name(name)}" for name in stored]
    return f"(SELECT {', '.join([*beside, *own])} FROM {rows} AS s{index}) AS s{index}"


def _rows(source: Source, read: frozenset[str], emitter: Emitter) -> str:
    if isinstance(source.table, DeferredTable):  # an engine is shown it so, to see whether it takes the statement
        return constant_rows(source.table.empty(), emitter)
    if isinstance(source.table, ConstantTable):
        return constant_rows(source.table, emitter)
    match source.made:
        case None:
            return emitter.named(source.table.name)
        case PerUnitRows():
            return f"({unit_rows(source.made, emitter)})"
        case UnionRows():
            return f"({union_rows(source.made, read, emitter)})"
        case WindowRows():
            return f"({window_rows(source.made, emitter)})"


def window_rows(made: WindowRows, emitter: Emitter) -> str:
    """Return the SELECT of a relation's rows with the values that they have among their unit's.

    These are the same for all columns that are read: a row that one part of a measurement left out would change the
    others' places there, and so which of them are weighed, and which are summed.
    """
    texts = [f"{identity(made.unit, emitter.dialect)} AS {quote_name(made.unit.name)}"]
    for name, expr in made.columns:
        # Where rows are told apart or ranked, numbers that the engine takes for one need one text: both zeros, and
        # every NaN.
        text = emitter.settled(_computed(expr, made.relation, emitter))
        number = expr.type.is_number and not expr.type.is_integer
        texts.append(f"{emitter.one_text(text, expr.type) if number else text} AS {quote_name(name)}")
    rows = from_where(made.relation, TRUE, [expr for _, expr in made.columns], made.unit, emitter)
    every = [name for name, _ in made.columns]
    windows = [f"{window_text(w, made.unit.name, every, emitter)} AS {quote_name(w.column.name)}" for w in made.windows]
    return f"SELECT s0.*, {', '.join(windows)} FROM (SELECT {', '.join(texts)} {rows}) AS s0"


def union_rows(made: UnionRows, read: frozenset[str], emitter: Emitter) -> str:
    """Return the SELECTs of several relations' rows, one below the other, with their owners and the columns that are read.

    A column that nobody reads leaves no row out that has no value in it.
    """
    return " UNION ALL ".join(_union_part(part, made, read, emitter) for part in made.parts)


def _union_part(part: UnionPart, made: UnionRows, read: frozenset[str], emitter: Emitter) -> str:
    columns = {name: expr for name, expr in part.columns.items() if name in read}
    unit = identity(part.unit, emitter.dialect)
    if made.columns[made.unit].type.is_text and part.unit.type.is_number:
        unit = emitter.dialect.exact_text(unit)
    texts = [f"{unit} AS {quote_name(made.unit)}"]
    texts += [
        f"{_as_type(_computed(e, part.relation, emitter), made.columns[name].type, emitter)} AS {quote_name(name)}"
        for name, e in columns.items()
    ]
    return f"SELECT {', '.join(texts)} {from_where(part.relation, TRUE, list(columns.values()), part.unit, emitter)}"


def _as_type(expr: Expr, type_: SqlType, emitter: Emitter) -> str:
    """Return a value in the type that all parts' values have."""
    if isinstance(expr, Const) and expr.value is None:
        return emitter.literal(None, type_)
    text = emitter.sql(expr)
    if not type_.is_number:
        return text
    return emitter.cast(text, SqlType.BIGINT if type_.is_integer else SqlType.DOUBLE)


def unit_rows(made: PerUnitRows, emitter: Emitter) -> str:
    """Return the SELECT of a row for each unit, and for each combination of further keys that it has.

    It groups by the very text that identifies a unit wherever rows are bounded, so a row has one owner.
    """
    columns = [f"{identity(made.unit, emitter.dialect)} AS {quote_name(made.unit.name)}"]
    for name, key in made.keys:
        text = emitter.sql(_computed(key, made.relation, emitter))
        columns.append(f"{emitter.one_text(text, key.type) if key.type.is_float else text} AS {quote_name(name)}")
    grouped = ", ".join(str(place) for place, _ in enumerate(columns, 1))
    columns += [f"{unit_text(value, emitter)} AS {quote_name(value.column.name)}" for value in made.values]
    used = [key for _, key in made.keys] + [e for v in made.values for e in (v.arg, v.where) if e is not None]
    rows = from_where(made.relation, TRUE, used, made.unit, emitter)
    return f"SELECT {', '.join(columns)} {rows} GROUP BY {grouped}"


def _tests(relation: Relation, columns: Sequence[Ref], required: Sequence[Ref], emitter: Emitter) -> Iterator[str]:
    """Yield the conditions that there are rows of other tables, or that there are none.

    The tests for values that such a row has to have stand inside: a row without them is not there.
    """
    for start, first in enumerate(relation.sources):
        if first.join not in {Join.EXISTS, Join.NOT_EXISTS}:
            continue
        rest = itertools.takewhile(lambda source: source.join is Join.INSIDE, relation.sources[start + 1 :])
        group = dict(enumerate((first, *rest), start))
        present = [emitter.present(c) for c in dict.fromkeys(required) if c.source in group]
        tables = ", ".join(_scanned(source, index, columns, emitter) for index, source in group.items())
        # A test leaves rows out and makes none more: a semi-join has no fan-out, so it changes no unit's number of rows
        # upwards.
        word = "EXISTS" if first.join is Join.EXISTS else "NOT EXISTS"
        yield f"{word} (SELECT 1 FROM {tables} WHERE {' AND '.join([*present, emitter.sql(first.on)])})"
