"""A hash of everything that the meaning of a measurement depends on: tables, columns, units."""

import hashlib
import json
from collections.abc import Mapping

from dpsql.policy.model import Column, Reference, Table, UnitBound


def fingerprint(tables: Mapping[str, Table]) -> str:
    """Return a SHA-256 over a canonical text: the same for the same declarations, in any order."""
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
            *([] if bound.up_to is None else [["auto"]]),
            *_through(bound),
        ]
        for kind, bound in sorted(table.units.items())
    ]
    return [table.name, table.public, table.key, units, columns, *_joint(table)]


def _joint(table: Table) -> list[object]:
    """Return the keys and references of several columns, if there are any."""
    references = [[name, sorted(pairs.items())] for name, pairs in sorted(table.references.items())]
    return [[list(table.joint_key), references]] if table.joint_key or references else []


def _through(bound: UnitBound) -> list[object]:
    return (
        [] if bound.through is None else [[bound.through.table, bound.through.column, *_further(bound, bound.through)]]
    )


def _further(bound: UnitBound, through: Reference) -> list[object]:
    return [[list(bound.further), list(through.further)]] if bound.further else []


def _column(column: Column) -> list[object]:
    bounds = None if column.bounds is None else [str(column.bounds.low), str(column.bounds.high)]
    values = None if column.values is None else [[type(value).__name__, str(value)] for value in column.values]
    target = None if column.references is None else [column.references.table, column.references.column]
    step = None if column.step is None else str(column.step)
    paths = [[list(path.path.keys), _column(path)] for path in column.paths if path.path is not None]
    inside = [sorted(paths, key=str)] if paths else []
    return [column.name, column.type, column.declared, bounds, step, values, target, column.nullable, *inside]
