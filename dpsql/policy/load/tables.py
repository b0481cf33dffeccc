"""From the shapes of the schema files to tables: columns, units, keys and references that fit each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.load.columns import bounds_of, declared_values, misfit, own_step
from dpsql.policy.load.mistakes import Path, suggestion
from dpsql.policy.load.references import check_key, joint_references, reference_of
from dpsql.policy.load.scalars import json_keys
from dpsql.policy.load.schema_file import SchemaFile
from dpsql.policy.load.table_shapes import ColumnShape, PathShape
from dpsql.policy.load.units import unit_of
from dpsql.policy.load.views import ViewFile, views_of
from dpsql.policy.model import Column, JsonPath, Reference, SqlType, Table
from dpsql.policy.table_name import PUBLIC, TableName
from dpsql.policy.view import View

_LONGEST_NAME = 63
_EVERY_TABLES = frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"})
"""The columns that each table of PostgreSQL has, so that the shadow's can have no others of these names."""
_NUMBERS = frozenset({"0", "1"})
"""A boolean's values in the engine."""
_IN_JSON = {
    kind.value: kind
    for kind in (
        SqlType.BOOLEAN, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT, SqlType.NUMERIC, SqlType.DOUBLE, SqlType.TEXT,
        SqlType.DATE, SqlType.TIMESTAMP,
    )
}  # fmt: skip
"""The types that a value inside JSON may be declared with: each is read from its text, on every engine alike."""


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
        grows=_growth(file),
    )


_DIVIDED = {
    Every.DAY: frozenset(TermLength),
    Every.MONTH: frozenset(TermLength),
    Every.QUARTER: frozenset({TermLength.QUARTER, TermLength.YEAR}),
}
"""Which terms consist of whole periods."""
_GRACE = 30
"""Days in which the last periods of a term may be measured."""
_MOMENTS = frozenset({SqlType.DATE, SqlType.TIMESTAMP})


def _growth(file: SchemaFile) -> Grows | None:
    """Check how a table grows."""
    shape, told = file.shape.grows, file.mistakes.touch(file.document, ("grows",))
    if shape is None:
        return None
    if file.shape.public:
        file.wrong(("grows",), "can't be given for a public table, whose questions cost nothing; take it out")
        return None
    right = shape.by is None or _is_time(shape.by, file)
    closes, term = shape.closes, shape.term
    if closes is None or closes.every is None or closes.after is None or term is None or shape.by is None:
        return None
    if term not in _DIVIDED[closes.every]:
        file.wrong(
            ("grows", "term"), f"is a {term}, which no {closes.every} divides; write term: quarter, or every: month"
        )
        right = False
    return (
        Grows(shape.by, closes.every, closes.after, term, shape.measured_within or _GRACE)
        if right and not told
        else None
    )


def _is_time(name: str, file: SchemaFile) -> bool:
    """Return whether rows can belong to periods by a column; note why not."""
    path, column = ("grows", "by"), file.columns.get(name)
    if not file.declares(name):
        file.wrong(path, f'is "{name}", which is no column{suggestion(name, file.columns)}')
        return False
    if column is None or column.type is None:
        return False
    if column.type[0] not in _MOMENTS:
        zone = "; declare it timestamp, which is UTC's clock" if column.type[0] is SqlType.TIMESTAMPTZ else ""
        file.wrong(path, f'is "{name}" of type {column.type[1]}; it must be a date or a timestamp{zone}')
        return False
    if column.bounds is None:
        file.wrong(path, f'is "{name}", which has no bounds; give it some: bounds: [2020-01-01, 2040-01-01]')
        return False
    return True


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
    _check_exclusive(shape, path, file, "bounds", "values", "references")
    if shape.type is None:
        return None
    kind, declared = shape.type
    if kind is SqlType.JSON:
        return _json(name, declared, file)
    if shape.paths is not None:
        file.wrong((*path, "paths"), f"can be given for a column of JSON alone, and the column is {declared}")
    if kind is SqlType.ENUM:
        declared = _enumeration(name, file)
    elif shape.type_name is not None:
        file.wrong((*path, "type_name"), f"can be given for an enum alone, and the column is {declared}")
    in_numbers = kind is SqlType.BOOLEAN and shape.values is not None and set(shape.values) == _NUMBERS
    if in_numbers and file.shape.public:
        file.wrong((*path, "values"), "are numbers, which a boolean has in protected tables only; declare it smallint")
    return replace(
        _read_as(name, (kind, declared), shape, path, file, values=None if in_numbers else shape.values),
        references=reference,
        nullable=shape.nullable,
        in_numbers=in_numbers,
        names_unit=any(unit.column == name for unit in file.units.values()),
    )


def _check_exclusive(shape: ColumnShape | PathShape, path: Path, file: SchemaFile, *keys: str) -> None:
    exclusive = [key for key in keys if getattr(shape, key) is not None]
    if len(exclusive) > 1:
        file.wrong(path, f"has {' and '.join(exclusive)}; one of them is allowed")


def _read_as(
    name: str,
    type_: tuple[SqlType, str],
    shape: ColumnShape | PathShape,
    path: Path,
    file: SchemaFile,
    *,
    values: Sequence[str] | None,
) -> Column:
    """Check and return what is said of a column's values, or of those in JSON."""
    kind, declared = type_
    bounds = bounds_of(kind, shape.bounds, (*path, "bounds"), file.document, file.mistakes)
    domain = declared_values(kind, declared, values, (*path, "values"), file.document, file.mistakes)
    if shape.step is not None:
        wrong = misfit(shape.step, kind, declared, bounds)
        if wrong and not file.mistakes.touch(file.document, (*path, "bounds")):
            file.wrong((*path, "step"), wrong)
    step = shape.step or own_step(kind, declared, bounds, domain)
    return Column(name, kind, declared, bounds, domain, step, description=shape.description)


def _json(name: str, declared: str, file: SchemaFile) -> Column:
    """Check a column of JSON and the paths in it."""
    shape, path = file.columns[name], ("columns", name)
    if file.shape.public:
        file.wrong((*path, "type"), f"is {declared}, which is for protected tables only; leave the column out")
    for key in ("bounds", "values", "step", "references"):
        if getattr(shape, key) is not None:
            file.wrong((*path, key), f"can't be given for a column of type {declared}; give them to its paths")
    told = file.mistakes.touch(file.document, (*path, "paths"))
    if shape.paths is None and not told:
        file.wrong(path, f"is {declared}, of which declared paths can be read alone: {_EXAMPLE}")
    if name in {*(file.shape.key or ()), *(mine for pairs in (file.shape.references or {}).values() for mine in pairs)}:
        file.wrong((*path, "type"), f"is {declared}, which can be no part of a key, nor point to one")
    paths = [_path(name, keys, file) for keys in shape.paths or ()]
    return Column(
        name,
        SqlType.JSON,
        declared,
        nullable=shape.nullable,
        description=shape.description,
        paths=tuple(column for column in paths if column is not None),
    )


_EXAMPLE = "paths: {plan: {type: text, values: [free, pro]}}"


def _path(name: str, text: str, file: SchemaFile) -> Column | None:
    """Check one path; what it leads to may always be missing."""
    path = ("columns", name, "paths", text)
    shape = (file.columns[name].paths or {})[text]
    try:
        keys = json_keys(text)
    except ValueError as failure:
        file.wrong(path, str(failure))
        return None
    _check_exclusive(shape, path, file, "bounds", "values")
    if shape.type is None:
        return None
    kind, declared = shape.type
    if kind not in _IN_JSON.values() or declared.startswith("character varying"):
        file.wrong((*path, "type"), f'is "{declared}"{suggestion(declared, _IN_JSON)}, numeric(p, s)')
        return None
    place = JsonPath(name, keys)
    column = _read_as(place.text, (kind, declared), shape, path, file, values=shape.values)
    return replace(column, nullable=True, path=place)


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
