"""The owner of a table's rows: named by a column of their own, or by the row that a column points to."""

from collections.abc import Mapping
from dataclasses import replace

from dpsql.policy.load.mistakes import suggestion
from dpsql.policy.load.references import pointed_to
from dpsql.policy.load.schema_file import SchemaFile
from dpsql.policy.load.table_shapes import UnitShape
from dpsql.policy.model import Reference, SqlType, UnitBound


def unit_of(kind: str, file: SchemaFile, others: Mapping[str, SchemaFile]) -> UnitBound | None:
    """Check whose rows the table's rows are, for one kind; note mistakes."""
    unit, path = file.units[kind], ("privacy_units", kind)
    if (unit.column is None) is (unit.through is None):
        given = "has column and through" if unit.column else "needs column, or through"
        told = any(file.mistakes.touch(file.document, (*path, key)) for key in ("column", "through"))
        if not told:
            file.wrong(path, f"{given}: the column that identifies the unit, or one that references a row that has it")
        return None
    key, names = ("column", (unit.column or "",)) if unit.through is None else ("through", unit.through)
    right = [_identifies(kind, name, (*path, key), file) for name in names]
    if not all(right):
        return None
    first, *further = names
    bound = UnitBound(
        first,
        unit.max_rows.usual(),
        unit.max_groups_per_unit,
        up_to=unit.max_rows.up_to(file.shape.expected_rows),
    )
    if unit.through is None:
        return bound
    reference = _through(kind, names, file, others)
    if reference is None:
        return None
    return replace(bound, through=reference, further=tuple(further))


def _identifies(kind: str, name: str, path: tuple[str, ...], file: SchemaFile) -> bool:
    """Check that a column can identify a unit, or the row that has it, perhaps together with others."""
    if not file.declares(name):
        file.wrong(path, f'is "{name}", which is no column{suggestion(name, file.columns)}')
        return False
    column = file.columns.get(name)
    if column is None or column.type is None:
        return False
    through = path[-1] == "through"
    type_ = column.type[0]
    if not (type_.is_integer or type_.is_text or (type_ is SqlType.NUMERIC and not through)):
        what = "a reference is an integer or a text" if through else "a unit is an integer, a numeric or a text"
        file.wrong(path, f'is "{name}" of type {column.type[1]}; {what}')
    # A clamped unit would be another unit: bounds and domains belong to columns that are measured.
    for key, given in (("bounds", column.bounds), ("values", column.values)):
        if given is not None:
            file.wrong(("columns", name, key), f'can\'t be given: the column identifies the unit "{kind}"')
    return True


def _through(kind: str, names: tuple[str, ...], file: SchemaFile, others: Mapping[str, SchemaFile]) -> Reference | None:
    """Check that columns lead, perhaps by several references, to a row that has the unit."""
    path = ("privacy_units", kind, "through")
    seen, here, columns = {id(file)}, file, names
    first: Reference | None = None
    while True:
        pointed = pointed_to(here, columns, others)
        if pointed is None:
            if here is file:
                file.wrong(path, _points_nowhere(names))
            return None  # mistakes elsewhere are told there
        table, keys = pointed
        target = others.get(table)
        wrong = None if target is None else _astray(kind, table, keys, target, seen)
        if target is None or wrong:
            if wrong:
                text = f"{table}.{keys[0]}" if len(keys) == 1 else table
                file.wrong(path, f'is "{", ".join(names)}", which references {text}, but {wrong}')
            return None  # of a table that is not there `references` tells
        first = first or Reference(table, keys[0], public=False, further=keys[1:])
        unit = target.units.get(kind, UnitShape())
        if unit.through is None:
            return first
        seen.add(id(target))
        here, columns = target, unit.through


def _points_nowhere(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return f'is "{names[0]}", which references no table; write "references: table.key" at the column'
    pairs = ", ".join(f"{name}: …" for name in names)
    return f'is "{", ".join(names)}", which reference no table together; write "references: {{table: {{{pairs}}}}}"'


def _astray(kind: str, table: str, keys: tuple[str, ...], target: SchemaFile, seen: set[int]) -> str | None:
    """Return why the rows of a table lead to no unit of a kind; None if they do."""
    if target.shape.public:
        return f'"{table}" is public, and its rows are nobody\'s'
    if kind not in target.kinds:
        return f'"{table}" has no privacy unit "{kind}"'
    if id(target) in seen:
        return "that leads back to where it began"
    for key in keys:
        column = target.columns.get(key)
        if column is not None and (column.bounds is not None or column.values is not None):
            return f'"{key}" has {"values" if column.bounds is None else "bounds"}, and so does not identify each row'
    return None
