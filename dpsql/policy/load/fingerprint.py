"""A hash of everything that the meaning of a measurement depends on: tables, columns, units."""

import hashlib
import json
from collections.abc import Mapping

from dpsql.policy.model import Column, Table, UnitBound


def fingerprint(tables: Mapping[str, Table]) -> str:
    """Return a SHA-256 over a canonical text: the same for the same declarations, in whatever order they stand."""
    canonical = json.dumps([_table(tables[name]) for name in sorted(tables)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _table(table: Table) -> list[object]:
    columns = [_column(table.columns[name]) for name in sorted(table.columns)]
    units = [
        [
            kind,
            bound.column,
            bound.max_rows,
            *([] if bound.max_groups is None else [bound.max_groups]),
            *_through(bound),
        ]
        for kind, bound in sorted(table.units.items())
    ]
    return [table.name, table.public, table.key, units, columns]


def _through(bound: UnitBound) -> list[object]:
    return [] if bound.through is None else [[bound.through.table, bound.through.column]]


def _column(column: Column) -> list[object]:
    bounds = None if column.bounds is None else [str(column.bounds.low), str(column.bounds.high)]
    values = None if column.values is None else [[type(value).__name__, str(value)] for value in column.values]
    target = None if column.references is None else [column.references.table, column.references.column]
    step = None if column.step is None else str(column.step)
    return [column.name, column.type, column.declared, bounds, step, values, target, column.nullable]
