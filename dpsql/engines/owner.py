"""Facts for the owner of the data before choosing bounds: exact, private, and never on a client's path."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from dpsql.engines.base import OwnerEngine
from dpsql.engines.tables import unique_as_declared
from dpsql.policy.interval import Interval
from dpsql.policy.model import Column, Policy, SqlType, Table
from dpsql.privacy.release.exact import whole_number
from dpsql.rewrite.analysis.declared_facts import DeclaredFacts
from dpsql.rewrite.analysis.owners import owners
from dpsql.rewrite.emit.emitter import Emitter, identity
from dpsql.rewrite.emit.source import from_where
from dpsql.rewrite.ir.expr import TRUE, Ref
from dpsql.rewrite.ir.relation import ref, scan

_TIMEOUT = 600.0
_VARIANCE = 2
"""The variance of Laplace noise, in units of its scale squared."""


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """How many rows of a column are not as declared."""

    name: str
    nulls: int | None
    """Rows without a value, where the column is not declared nullable."""
    below: int | None
    above: int | None
    outside: int | None
    """Rows with a value that the domain does not have."""


@dataclass(frozen=True, slots=True)
class UnitReport:
    """How many rows the units of one kind have."""

    kind: str
    max_rows: int
    nobodys: int
    """Rows without a unit, which are never counted."""
    histogram: Mapping[int, int]
    """From a number of rows to the units that have so many."""

    @property
    def rows(self) -> int:
        """Return how many rows have a unit."""
        return sum(rows * units for rows, units in self.histogram.items())

    def kept(self, most: int) -> float:
        """Return the share of rows that count when a unit counts for at most so many."""
        return sum(min(rows, most) * units for rows, units in self.histogram.items()) / max(self.rows, 1)

    def error(self, most: int, epsilon: Fraction, groups: int) -> float:
        """Return the relative error of a count in one of equal groups: what is lost and what is added, together."""
        # The deviation of Laplace noise of scale C/ε, as a share of the rows of one group.
        noise = float(most / epsilon) * sqrt(_VARIANCE) * groups / max(self.rows, 1)
        return sqrt((1 - self.kept(most)) ** 2 + noise**2)

    def choices(self) -> tuple[int, ...]:
        """Return a coarse grid of bounds, 1, 2, 5, 10 …, that ends where all rows are kept, and the declared one."""
        largest, tried, power = max(self.histogram, default=1), [self.max_rows], 1
        while True:
            for step in (1, 2, 5):
                tried.append(step * power)
                if step * power >= largest:
                    return tuple(sorted(set(tried)))
            power *= 10


@dataclass(frozen=True, slots=True)
class TableReport:
    """One protected table."""

    name: str
    rows: int
    columns: tuple[ColumnReport, ...]
    units: tuple[UnitReport, ...]


def report(policy: Policy, engine: OwnerEngine, declared: DeclaredFacts) -> Iterator[TableReport]:
    """Look at every protected table."""
    emitter = Emitter(engine.dialect, declared, engine.named)
    for table in policy.tables.values():
        if not table.public:
            rows, columns = _columns(table, engine, emitter)
            units = tuple(_units(table, kind, rows, engine, policy) for kind in table.units)
            yield TableReport(table.name, rows, columns, units)


def _columns(table: Table, engine: OwnerEngine, emitter: Emitter) -> tuple[int, tuple[ColumnReport, ...]]:
    """Count the values that contradict the declarations, in one statement."""
    read = [column for column in (*table.columns.values(), *table.paths) if column.type is not SqlType.JSON]
    asked = {column.name: _conditions(column, ref(0, table, column.name), emitter) for column in read}
    counts = ["count(*)", *(f"count(*) FILTER (WHERE {text})" for texts in asked.values() for text in texts.values())]
    selected = ", ".join(f"CAST({text} AS BIGINT)" for text in counts)
    (row,) = engine.for_owner(f"SELECT {selected} FROM {engine.named(table.name)} AS s0", timeout=_TIMEOUT)  # noqa: S608
    rows, *tallies = map(whole_number, row)
    numbers = iter(tallies)
    columns = ({"name": name} | {what: next(numbers) for what in texts} for name, texts in asked.items())
    return rows, tuple(_report(counted) for counted in columns if len(counted) > 1)


def _report(counted: Mapping[str, str | int]) -> ColumnReport:
    numbers = {what: int(counted[what]) if what in counted else None for what in ("nulls", "below", "above", "outside")}
    return ColumnReport(str(counted["name"]), **numbers)


def _conditions(column: Column, asked: Ref, emitter: Emitter) -> Mapping[str, str]:
    """Return the conditions of what can be wrong with a column."""
    column_facts, raw = emitter.declared.facts_of(asked), emitter.raw(asked)
    # Engines take NaN for larger than all numbers, and statements for no value: it is counted with NULL, and not as
    # above.
    nan = f" AND NOT {emitter.is_nan(raw)}" if column.type.is_number and not column.type.is_integer else ""
    conditions = {} if column.nullable else {"nulls": f"NOT ({raw} IS NOT NULL{nan})"}
    if column_facts.values is not None and column.type.value != "boolean":
        return conditions | {"outside": f"{raw} IS NOT NULL AND NOT ({emitter.member(asked)})"}
    if column.bounds is None:
        return conditions
    low, high = _ends(column.bounds, asked, emitter)
    return conditions | {"below": f"{raw} < {low}", "above": f"{raw} > {high}{nan}"}


def _ends(bounds: Interval, asked: Ref, emitter: Emitter) -> Sequence[str]:
    ends = (int(end) if end.denominator == 1 else end for end in (bounds.low, bounds.high))
    return [emitter.literal(end, asked.type) for end in ends]


def _units(table: Table, kind: str, rows: int, engine: OwnerEngine, policy: Policy) -> UnitReport:
    bound = table.units[kind]
    owned = owners(
        scan(table),
        kind,
        policy.tables,
        lambda name: unique_as_declared(policy.tables[name], engine.unique_keys(name), engine.columns),
    )
    emitter = Emitter(engine.dialect, DeclaredFacts({}), engine.named)
    rows_of_units = from_where(owned.relation, TRUE, (), owned.unit, emitter)
    counted = f"SELECT count(*) AS n {rows_of_units} GROUP BY {identity(owned.unit, engine.dialect)}"
    counts = engine.for_owner(f"SELECT n, CAST(count(*) AS BIGINT) FROM ({counted}) AS u GROUP BY n", timeout=_TIMEOUT)  # noqa: S608
    histogram = {whole_number(n): whole_number(units) for n, units in counts}
    nobodys = rows - sum(n * units for n, units in histogram.items())
    return UnitReport(kind, bound.max_rows, nobodys, histogram)
