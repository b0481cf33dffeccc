"""The FROM and WHERE of the engine's statement: which rows a measurement reads.

trips, WHERE fare > 10  →  FROM "trips" AS s0 WHERE s0."passenger_id" IS NOT NULL AND s0."fare" > 10e0
EXISTS (SELECT … FROM rides …)  →  … AND EXISTS (SELECT 1 FROM "rides" AS s1 WHERE s1."rider" = s0."passenger_id")
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from dpsql.errors import MissingBounds
from dpsql.policy.model import SqlType
from dpsql.rewrite.analysis.bounds import facts
from dpsql.rewrite.emit.columns import identity, quoted
from dpsql.rewrite.emit.constant_rows import constant_rows
from dpsql.rewrite.emit.emitter import Emitter
from dpsql.rewrite.emit.unit_values import unit_text
from dpsql.rewrite.emit.windows import window_text
from dpsql.rewrite.ir.awaited_table import AwaitedTable
from dpsql.rewrite.ir.constant_table import ConstantTable
from dpsql.rewrite.ir.expr import FALSE, TRUE, Apply, Const, Expr, Ref, both, refs
from dpsql.rewrite.ir.relation import (
    Join,
    Relation,
    Source,
    UnionPart,
    UnionRows,
    UnitRows,
    WindowRows,
    columns_read,
    leaves_out,
)

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
    where = both(relation.where, _guarded(relation, condition, emitter))
    columns = columns_read(relation, [*used, where])
    required = [c for c in columns if leaves_out(c, unit)]
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
        own = [f"s{index}.{quoted(name)}" for name in stored]
    return f"(SELECT {', '.join([*beside, *own])} FROM {rows} AS s{index}) AS s{index}"


def _rows(source: Source, read: frozenset[str], emitter: Emitter) -> str:
    if isinstance(source.table, AwaitedTable):  # an engine is shown it so, to see whether it takes the statement
        return constant_rows(source.table.empty(), emitter)
    if isinstance(source.table, ConstantTable):
        return constant_rows(source.table, emitter)
    match source.made:
        case None:
            return emitter.named(source.table.name)
        case UnitRows():
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
    texts = [f"{identity(made.unit, emitter.dialect)} AS {quoted(made.unit.name)}"]
    for name, expr in made.columns:
        text = emitter.sql(_computed(expr, made.relation, emitter))
        number = expr.type.is_number and not expr.type.is_integer
        texts.append(f"{emitter.one_text(text, expr.type) if number else text} AS {quoted(name)}")
    rows = from_where(made.relation, TRUE, [expr for _, expr in made.columns], made.unit, emitter)
    every = [name for name, _ in made.columns]
    windows = [f"{window_text(w, made.unit.name, every, emitter)} AS {quoted(w.column.name)}" for w in made.windows]
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
    texts = [f"{unit} AS {quoted(made.unit)}"]
    texts += [
        f"{_as_type(_computed(e, part.relation, emitter), made.columns[name].type, emitter)} AS {quoted(name)}"
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


def unit_rows(made: UnitRows, emitter: Emitter) -> str:
    """Return the SELECT of a row for each unit, and for each combination of further keys that it has.

    It groups by the very text that identifies a unit wherever rows are bounded, so a row has one owner.
    """
    columns = [f"{identity(made.unit, emitter.dialect)} AS {quoted(made.unit.name)}"]
    for name, key in made.keys:
        text = emitter.sql(_computed(key, made.relation, emitter))
        columns.append(f"{emitter.one_text(text, key.type) if key.type.is_float else text} AS {quoted(name)}")
    grouped = ", ".join(str(place) for place, _ in enumerate(columns, 1))
    columns += [f"{unit_text(value, emitter)} AS {quoted(value.column.name)}" for value in made.values]
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
        word = "EXISTS" if first.join is Join.EXISTS else "NOT EXISTS"
        yield f"{word} (SELECT 1 FROM {tables} WHERE {' AND '.join([*present, emitter.sql(first.on)])})"
