"""From the shapes of the schema files to tables: columns, units, keys and references that fit each other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dpsql.policy.load.columns import bounds_of, declared_values
from dpsql.policy.load.mistakes import suggestion
from dpsql.policy.load.schema_file import SchemaFile
from dpsql.policy.load.steps import misfit, own_step
from dpsql.policy.load.table_shapes import ColumnShape
from dpsql.policy.load.units import unit_of
from dpsql.policy.load.views import ViewFile, views_of
from dpsql.policy.model import Column, Reference, SqlType, Table
from dpsql.policy.view import View

_LONGEST_NAME = 63
_NUMBERS = frozenset({"0", "1"})
"""What a boolean may be in the engine."""


@dataclass(frozen=True, slots=True)
class Schemas:
    """What the schema files say together."""

    tables: Mapping[str, Table]
    kinds: Mapping[str, frozenset[str]]
    """The unit kinds that each table declares, right or wrong."""
    complete: bool
    """Whether every file could be read: if not, an unknown name may be in one that could not."""
    views: Mapping[str, View] = field(default_factory=dict)


def tables_of(files: Iterable[SchemaFile], views: Iterable[ViewFile] = (), *, complete: bool) -> Schemas:
    """Check the schema files and return the tables and views that are right."""
    every, by_name = list(files), dict[str, SchemaFile]()
    folded: dict[str, SchemaFile] = {}
    for file in every:
        name = file.shape.table
        if name is not None:
            by_name.setdefault(name, file)
            first = folded.setdefault(name.lower(), file)
            if first is not file:
                file.wrong(("table",), f'is "{name}", which {first.document.file} declares already')
    built = {id(file): _table(file, by_name, complete=complete) for file in every}
    return Schemas(
        tables={name: built[id(file)] for name, file in by_name.items()},
        kinds={name: file.kinds for name, file in by_name.items()},
        complete=complete,
        views=views_of(views, {name: file.document.file for name, file in folded.items()}),
    )


def _table(file: SchemaFile, others: Mapping[str, SchemaFile], *, complete: bool) -> Table:
    """Check one table against itself and the others."""
    shape = file.shape
    file.check_names(("columns",), file.columns)
    file.check_names(("privacy_units",), file.units)
    _check_protection(file)
    if shape.key is not None and not file.declares(shape.key):
        file.wrong(("key",), f'is "{shape.key}", which is no column{suggestion(shape.key, file.columns)}')
    references = {column: _reference(column, file, others, complete=complete) for column in file.columns}
    columns = [_column(column, file, references[column]) for column in file.columns]
    return Table(
        name=shape.table or "",
        columns={column.name: column for column in columns if column is not None},
        units={kind: bound for kind in file.units if (bound := unit_of(kind, file, others))},
        public=shape.public,
        key=shape.key,
        expected_rows=shape.expected_rows,
        description=shape.description,
        file=file.name,
    )


def _check_protection(file: SchemaFile) -> None:
    """A table is either public or has privacy units."""
    if file.shape.public and file.document.has(("privacy_units",)):
        file.wrong(("privacy_units",), "can't be declared for a public table, whose rows everybody may see")
    told = any(file.mistakes.touch(file.document, (key,)) for key in ("privacy_units", "public"))
    if not (file.shape.public or file.units or told):
        file.wrong((), 'needs "privacy_units", or "public: true" if everybody may see its rows')


def _column(name: str, file: SchemaFile, reference: Reference | None) -> Column | None:
    """Check one column by itself."""
    shape, path = file.columns[name], ("columns", name)
    exclusive = [key for key in ("bounds", "values", "references") if getattr(shape, key) is not None]
    if len(exclusive) > 1:
        file.wrong(path, f"has {' and '.join(exclusive)}; one of them is allowed")
    if shape.type is None:
        return None
    kind, declared = shape.type
    if kind is SqlType.ENUM:
        declared = _enumeration(name, file)
    bounds = bounds_of(kind, shape.bounds, (*path, "bounds"), file.document, file.mistakes)
    in_numbers = kind is SqlType.BOOLEAN and shape.values is not None and set(shape.values) == _NUMBERS
    given = None if in_numbers else shape.values
    values = declared_values(kind, declared, given, (*path, "values"), file.document, file.mistakes)
    if in_numbers and file.shape.public:
        file.wrong((*path, "values"), "are numbers, which a boolean has in protected tables only; declare it smallint")
    if shape.step is not None:
        wrong = misfit(shape.step, kind, declared, bounds)
        if wrong and not file.mistakes.touch(file.document, (*path, "bounds")):
            file.wrong((*path, "step"), wrong)
    return Column(
        name=name,
        type=kind,
        declared=declared,
        bounds=bounds,
        values=values,
        step=shape.step or own_step(kind, declared, bounds, values),
        references=reference,
        nullable=shape.nullable,
        description=shape.description,
        in_numbers=in_numbers,
    )


def _enumeration(name: str, file: SchemaFile) -> str:
    """Return the name of the type that a column of labels has for clients; note what is wrong."""
    type_name = f"{file.shape.table}_{name}"
    if file.columns[name].values is None:
        file.wrong(("columns", name), 'is an enum, and needs "values": its labels in their order')
    if len(type_name.encode()) > _LONGEST_NAME:
        file.wrong(("columns", name, "type"), f'is enum, whose name "{type_name}" would be too long; declare it text')
    return '"' + type_name.replace('"', '""') + '"'


def _reference(name: str, file: SchemaFile, others: Mapping[str, SchemaFile], *, complete: bool) -> Reference | None:
    """Check that a reference points to the key of a table, and that the types fit."""
    shape, path = file.columns[name], ("columns", name, "references")
    if shape.references is None:
        return None
    table, dot, column = shape.references.rpartition(".")
    target = others.get(table)
    if not dot or target is None:
        if not dot or complete:
            known = [f"{other}.{found.shape.key}" for other, found in others.items() if found.shape.key]
            file.wrong(
                path, f'is "{shape.references}", which is no declared table.column{suggestion(shape.references, known)}'
            )
        return None
    wrong = _misfit(shape, target, column)
    if wrong:
        file.wrong(path, f'is "{shape.references}", but {wrong}')
    return Reference(table, column, public=target.shape.public)


def _misfit(shape: ColumnShape, target: SchemaFile, column: str) -> str | None:
    """Return why a column can't reference this column of that table; None if it can."""
    table = target.shape
    if not target.declares(column):
        return f'"{table.table}" has no column "{column}"{suggestion(column, target.columns)}'
    if table.key is None:
        return f'"{table.table}" declares no key; write "key: {column}" in {target.document.file}'
    if table.key != column:
        return f'the key of "{table.table}" is "{table.key}"'
    other = target.columns.get(column)
    if shape.type is None or other is None or other.type is None:
        return None
    ours, theirs = shape.type[0], other.type[0]
    same = ours is theirs or (ours.is_integer and theirs.is_integer)
    return None if same else f"its type is {theirs} and this column's is {ours}"
