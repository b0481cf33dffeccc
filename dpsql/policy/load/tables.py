"""From the shapes of the schema files to tables: columns, units, keys and references that fit each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsql.policy.load.columns import bounds_of, declared_values, misfit, own_step
from dpsql.policy.load.references import check_key, joint_references, reference_of
from dpsql.policy.load.schema_file import SchemaFile
from dpsql.policy.load.units import unit_of
from dpsql.policy.load.views import ViewFile, views_of
from dpsql.policy.model import Column, Reference, SqlType, Table
from dpsql.policy.table_name import PUBLIC, TableName
from dpsql.policy.view import View

_LONGEST_NAME = 63
_EVERY_TABLES = frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"})
"""The columns that each table of PostgreSQL has, so that the shadow's can have no others of these names."""
_NUMBERS = frozenset({"0", "1"})
"""A boolean's values in the engine."""


@dataclass(frozen=True, slots=True)
class Schemas:
    """The declarations of all schema files together."""

    tables: Mapping[str, Table]
    kinds: Mapping[str, frozenset[str]]
    """The unit kinds that each table declares, right or wrong."""
    complete: bool
    """Whether every file could be read: if not, an unknown name may be in one that could not."""
    views: Mapping[str, View] = field(default_factory=dict)

    @property
    def protected(self) -> list[str]:
        """Return the names of the tables with private rows."""
        return [table.name for table in self.tables.values() if not table.public]


def tables_of(files: Iterable[SchemaFile], views: Iterable[ViewFile] = (), *, complete: bool) -> Schemas:
    """Check the schema files and return the tables and views that are right."""
    every, by_name = list(files), dict[str, SchemaFile]()
    views, folded = list(views), dict[str, SchemaFile]()
    for file in every:
        name = file.shape.table
        if name is not None:
            by_name.setdefault(name, file)
            first = folded.setdefault(name.lower(), file)
            if first is not file:
                file.wrong(("table",), f'is "{name}", which {first.document.file} declares already')
    _check_schemas([*every, *views])
    _check_type_names(every, folded)
    built = {id(file): _table(file, by_name, complete=complete) for file in every}
    return Schemas(
        tables={name: built[id(file)] for name, file in by_name.items()},
        kinds={name: file.kinds for name, file in by_name.items()},
        complete=complete,
        views=views_of(views, {name: file.document.file for name, file in folded.items()}),
    )


def _check_schemas(files: Iterable[SchemaFile | ViewFile]) -> None:
    """Schemas don't differ in case alone: some engines take them for the same."""
    first = {PUBLIC: PUBLIC}
    for file in files:
        schema = PUBLIC if file.shape.table is None else TableName.of(file.shape.table).schema
        other = first.setdefault(schema.lower(), schema)
        if other != schema:
            text = f'is "{file.shape.table}", whose schema differs from "{other}" only in case'
            file.mistakes.add(file.document, ("table",), text)


def _check_type_names(files: Sequence[SchemaFile], tables: Mapping[str, SchemaFile]) -> None:
    """Types of one name have the same labels, and no table has that name."""
    first: dict[str, tuple[SchemaFile, list[str] | None]] = {}
    for file in files:
        for column, shape in file.columns.items():
            name, path = shape.type_name, ("columns", column, "type_name")
            if name is None:
                continue
            other, labels = first.setdefault(name, (file, shape.values))
            if labels != shape.values:
                file.wrong(path, f'is "{name}", which has other values in {other.document.file}')
            if name.lower() in tables:
                file.wrong(path, f'is "{name}", which is the name of a table')


def _table(file: SchemaFile, others: Mapping[str, SchemaFile], *, complete: bool) -> Table:
    """Check one table against itself and the others."""
    shape = file.shape
    file.check_names(("columns",), file.columns)
    file.check_names(("privacy_units",), file.units)
    _check_protection(file)
    check_key(file)
    references = {column: reference_of(column, file, others, complete=complete) for column in file.columns}
    columns = [_column(column, file, references[column]) for column in file.columns]
    return Table(
        name=shape.table or "",
        columns={column.name: column for column in columns if column is not None},
        units={kind: bound for kind in file.units if (bound := unit_of(kind, file, others))},
        public=shape.public,
        key=shape.key[0] if shape.key is not None and len(shape.key) == 1 else None,
        expected_rows=shape.expected_rows,
        description=shape.description,
        file=file.name,
        joint_key=shape.key if shape.key is not None and len(shape.key) > 1 else (),
        references=joint_references(file, others, complete=complete),
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
    if name in _EVERY_TABLES:
        file.wrong(path, "can't be declared: PostgreSQL has a column of its own by this name in each table")
    exclusive = [key for key in ("bounds", "values", "references") if getattr(shape, key) is not None]
    if len(exclusive) > 1:
        file.wrong(path, f"has {' and '.join(exclusive)}; one of them is allowed")
    if shape.type is None:
        return None
    kind, declared = shape.type
    if kind is SqlType.ENUM:
        declared = _enumeration(name, file)
    elif shape.type_name is not None:
        file.wrong((*path, "type_name"), f"can be given for an enum alone, and the column is {declared}")
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
        names_unit=any(unit.column == name for unit in file.units.values()),
    )


def _enumeration(name: str, file: SchemaFile) -> str:
    """Return the name of the type that a column of labels has for clients; note mistakes."""
    type_name = TableName.of(file.columns[name].type_name or f"{file.shape.table}_{name}")
    if file.columns[name].values is None:
        file.wrong(("columns", name), 'is an enum, and needs "values": its labels in their order')
    if len(type_name.name.encode()) > _LONGEST_NAME:
        file.wrong(
            ("columns", name, "type"), f'is enum, whose name "{type_name.text}" would be too long; give it a type_name'
        )
    return type_name.called
