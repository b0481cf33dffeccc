"""From the shapes of the schema files to tables: columns, units, keys and references that fit each other."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dpsql.policy.growth import Every, Grows, TermLength
from dpsql.policy.interval import Interval
from dpsql.policy.load import scalars
from dpsql.policy.load.document import Document, LocatedFile, Mistakes, Path, suggestion
from dpsql.policy.load.scalars import identifier, json_keys
from dpsql.policy.load.shapes import ColumnShape, PathShape, TableShape, UnitShape, ViewShape
from dpsql.policy.model import (
    PUBLIC,
    Column,
    JsonPath,
    Reference,
    SqlType,
    Table,
    TableName,
    UnitBound,
    Value,
    View,
    ViewColumn,
    common_step,
    decimal_of_single,
    in_single_precision,
    yaml_name,
)

# The bounds, the domain and the step of a column, read by the column's type.

_VARYING = re.compile(r"character varying\((\d+)\)")
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")


def bounds_of(
    kind: SqlType, texts: Sequence[str] | None, path: Path, document: LocatedFile, mistakes: Mistakes
) -> Interval | None:
    """Read `bounds`; note mistakes and return None."""
    if texts is None:
        # The type itself bounds a time of the day.
        return Interval.of(0, scalars.MICROS_OF_DAY - 1) if kind is SqlType.TIME else None
    if not (kind.is_number or kind.is_temporal or kind.is_span):
        mistakes.add(document, path, f'can\'t be given for a column of type {kind}; declare its "values"')
        return None
    ends: list[Fraction] = []
    for at, text in enumerate(texts):
        try:
            ends.append(scalars.bound_value(kind, text))
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
    if len(ends) < 2:
        return None
    try:
        return scalars.interval(kind, ends[0], ends[1])
    except ValueError as failure:
        mistakes.add(document, path, f"are [{texts[0]}, {texts[1]}]; {failure}")
    return None


def declared_values(
    kind: SqlType,
    declared: str,
    texts: Sequence[str] | None,
    path: Path,
    document: LocatedFile,
    mistakes: Mistakes,
) -> tuple[Value, ...] | None:
    """Read `values`; note mistakes and return None."""
    if texts is None:
        return None
    text_of: dict[Value, str] = {}
    for at, text in enumerate(texts):
        try:
            value = scalars.domain_value(kind, declared, text)
            _require_room(declared, value)
        except ValueError as failure:
            mistakes.add(document, (*path, at), f'is "{text}"; it {failure}')
            continue
        # By what they mean: 1 and 1.0 are one value.
        if value in text_of:
            mistakes.add(document, (*path, at), f'is "{text}", a value that is already there')
        text_of[value] = text
    return tuple(text_of)


def _require_room(declared: str, value: Value) -> None:
    """See that a value has room in a type of some length: another would be shown in its place.

    Raises:
        ValueError: it has none.
    """
    if isinstance(value, str):
        varying = _VARYING.fullmatch(declared)
        if varying is not None and len(value) > int(varying[1]):
            raise ValueError(f"must have at most {varying[1]} characters, since the column's type is {declared}")
    elif (numeric := _NUMERIC.fullmatch(declared)) is not None:
        digits, places = int(numeric[1]), int(numeric[2])
        scaled = Fraction(value) * 10**places
        if scaled.denominator != 1 or abs(scaled) >= 10**digits:
            raise ValueError(f"must have at most {digits - places} digits before the point and {places} after it")


def step_of_type(kind: SqlType, declared: str) -> Fraction | None:
    """Return the step that a type implies: 1 for whole numbers, 0.01 for numeric(10, 2)."""
    if kind.is_integer:
        return Fraction(1)
    match = _NUMERIC.fullmatch(declared)
    return Fraction(1, 10 ** int(match[2])) if match else None


def own_step(kind: SqlType, declared: str, bounds: Interval | None, values: Sequence[Value] | None) -> Fraction | None:
    """Return the step of a column that declares none; None where it has none, or one that its bounds are no multiples of."""
    if values is not None and kind.is_number:
        numbers = [value for value in values if not isinstance(value, str)]
        return common_step(map(decimal_of_single if kind is SqlType.REAL else Fraction, numbers)) or None
    step = step_of_type(kind, declared)
    # Values beyond the bounds count as these, which so have to be multiples of the step, too.
    return None if step is None or (bounds is not None and not _divides(step, bounds)) else step


def step_misfit(step: Fraction, kind: SqlType, declared: str, bounds: Interval | None) -> str | None:
    """Return the mistake in a declared step; None where it fits."""
    finest = step_of_type(kind, declared)
    if not kind.is_number:
        return f"can't be given for a column of type {kind}"
    if finest is not None and (step / finest).denominator != 1:
        return f"is {_decimal(step)}; values of type {declared} are multiples of {_decimal(finest)}, and so must the step be"
    if bounds is None:
        return 'can\'t be given without "bounds"'
    if not _divides(step, bounds):
        ends = f"[{_decimal(bounds.low)}, {_decimal(bounds.high)}]"
        return f"is {_decimal(step)}, of which the bounds {ends} are no whole multiples"
    return None


def _divides(step: Fraction, bounds: Interval) -> bool:
    return all((end / step).denominator == 1 for end in (bounds.low, bounds.high))


def _decimal(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


# One schema file as it was read: where things stand in it, and what it says.


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One schema file: where things stand in it, and what it says."""

    name: str
    """The file as clients read it in hints: from the configuration's directory, not from the machine's root."""
    document: Document
    shape: TableShape
    mistakes: Mistakes

    @property
    def columns(self) -> Mapping[str, ColumnShape]:
        """Return the declared columns."""
        return self.shape.columns or {}

    @property
    def units(self) -> Mapping[str, UnitShape]:
        """Return the declared units by kind."""
        return self.shape.privacy_units or {}

    @property
    def kinds(self) -> frozenset[str]:
        """Return the unit kinds that stand in the file, right or wrong."""
        declared = self.document.root.get("privacy_units")
        return frozenset(declared if isinstance(declared, dict) else ())

    def wrong(self, path: Path, text: str) -> None:
        """Note a mistake in this file."""
        self.mistakes.add(self.document, path, text)

    def declares(self, column: str) -> bool:
        """Return whether the column stands in the file, right or wrong."""
        return self.document.has(("columns", column))

    def check_names(self, path: Path, names: Iterable[str]) -> None:
        """Note names that can't be names, and such as differ only in case (some engines take them for the same)."""
        seen: dict[str, str] = {}
        for name in names:
            try:
                identifier(name)
            except ValueError as failure:
                self.wrong((*path, name), str(failure))
            other = seen.setdefault(name.lower(), name)
            if other != name:
                self.wrong((*path, name), f'differs from "{other}" only in case')


# References and keys of the schema files: each column's own, and those of several columns together.


def check_key(file: SchemaFile) -> None:
    """Check that the columns of a table's key are there."""
    for name in file.shape.key or ():
        if not file.declares(name):
            file.wrong(("key",), f'is "{name}", which is no column{suggestion(name, file.columns)}')


def reference_of(name: str, file: SchemaFile, others: Mapping[str, SchemaFile], *, complete: bool) -> Reference | None:
    """Check that a column's reference points to the key of a table, and that the types fit."""
    shape, path = file.columns[name], ("columns", name, "references")
    if shape.references is None:
        return None
    text, readings = shape.references.text, shape.references.readings()
    found = [(table, column) for table, column in readings if table in others]
    if len(found) > 1:
        named = " or ".join(f'"{column}" of "{table}"' for table, column in found)
        table, column = found[0]
        apart = f"{{table: {yaml_name(table)}, column: {yaml_name(column)}}}"
        file.wrong(path, f'is "{text}", which may be {named}; write {apart}, or the other')
        return None
    if not found:
        if not readings or complete:
            keys = ((other, schema.shape.key) for other, schema in others.items())
            allowed = [f"{other}.{key[0]}" for other, key in keys if key and len(key) == 1]
            file.wrong(path, f'is "{text}", which is no declared table.column{suggestion(text, allowed)}')
        return None
    table, column = found[0]
    target = others[table]
    wrong = _misfit(file, target, {name: column})
    if wrong:
        file.wrong(path, f'is "{text}", but {wrong}')
    return Reference(table, column, public=target.shape.public)


def joint_references(
    file: SchemaFile, others: Mapping[str, SchemaFile], *, complete: bool
) -> Mapping[str, Mapping[str, str]]:
    """Check the references of several columns and return those that are right."""
    references = {}
    for written, pairs in (file.shape.references or {}).items():
        path, table = ("references", written), canonical_name(written)
        if table != written and table in (file.shape.references or {}):
            file.wrong(path, f'is the same table as "{table}", which stands beside it')
        if _are_pairs(pairs, path, file):
            target = others.get(table)
            wrong = None if target is None else _misfit(file, target, pairs)
            if wrong:
                file.wrong(path, wrong)
            if target is None and complete:
                file.wrong(path, f"is no declared table{suggestion(table, others)}")
            if target is not None and not wrong:
                references[table] = pairs
    return references


def referenced_columns(
    file: SchemaFile, columns: Sequence[str], others: Mapping[str, SchemaFile]
) -> tuple[str, tuple[str, ...]] | None:
    """Return which columns of which table some columns point to, each to that in its place; None if to none."""
    if len(columns) == 1:
        key = file.columns[columns[0]].references if columns[0] in file.columns else None
        readings = [] if key is None else key.readings()
        named = next(((table, (column,)) for table, column in readings if table in others), ("", ("",)))
        return None if key is None else named
    for table, pairs in (file.shape.references or {}).items():
        if pairs.keys() == set(columns):
            return canonical_name(table), tuple(pairs[column] for column in columns)
    return None


def canonical_name(written: str) -> str:
    """Return the text by which a table is kept, whose name is a key in YAML."""
    return TableName.of(written).text


def _are_pairs(pairs: Mapping[str, str], path: Path, file: SchemaFile) -> bool:
    """Check that several columns of a table point to as many."""
    unknown = [column for column in pairs if not file.declares(column)]
    for column in unknown:
        file.wrong((*path, column), f"is no column of this table{suggestion(column, file.columns)}")
    if len(pairs) < 2:
        file.wrong(path, 'is of one column; write "references: table.key" at the column')
    return len(pairs) > 1 and not unknown


def _misfit(file: SchemaFile, target: SchemaFile, pairs: Mapping[str, str]) -> str | None:
    """Return why columns can't reference these of that table; None if they can."""
    table, key = target.shape, target.shape.key
    for column in pairs.values():
        if not target.declares(column):
            return f'"{table.table}" has no column "{column}"{suggestion(column, target.columns)}'
    if key is None:
        wanted = next(iter(pairs.values())) if len(pairs) == 1 else f"[{', '.join(pairs.values())}]"
        return f'"{table.table}" declares no key; write "key: {wanted}" in {target.document.file}'
    if sorted(key) != sorted(pairs.values()):
        return f'the key of "{table.table}" is "{", ".join(key)}"'
    return next(
        (wrong for mine, theirs in pairs.items() if (wrong := _mistyped(file, mine, target, theirs, len(pairs)))), None
    )


def _mistyped(file: SchemaFile, mine: str, target: SchemaFile, theirs: str, of: int) -> str | None:
    column, other = file.columns.get(mine), target.columns.get(theirs)
    if column is None or other is None or column.type is None or other.type is None:
        return None
    ours, its = column.type[0], other.type[0]
    if ours is its or (ours.is_integer and its.is_integer):
        return None
    return f"its type is {its} and this column's is {ours}" if of == 1 else f'"{theirs}" is {its} and "{mine}" {ours}'


# The owner of a table's rows: named by a column of their own, or by the row that a column points to.


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
    # A list, so that the mistakes in all columns are noted, and not only in the first.
    right = [_unit_column(kind, name, (*path, key), file) for name in names]
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
        _refuse_names_of_rows(kind, first, file, others)
        return bound
    reference = _unit_through(kind, names, file, others)
    if reference is None:
        return None
    return replace(bound, through=reference, further=tuple(further))


def _refuse_names_of_rows(kind: str, name: str, file: SchemaFile, others: Mapping[str, SchemaFile]) -> None:
    """Note that a column is said to name units, and references a table in which each has many rows: it names these."""
    pointed = referenced_columns(file, (name,), others)
    target = None if pointed is None else others.get(pointed[0])
    theirs = None if target is None else target.units.get(kind)
    if pointed is None or theirs is None or theirs.column in pointed[1] or theirs.max_rows.usual() == 1:
        return
    place = f"{pointed[0]}.{', '.join(pointed[1])}"
    file.wrong(
        ("privacy_units", kind, "column"),
        f'is "{name}", which references {place}: that names a row there, of which a unit has many; write "through: {name}"',
    )


def _unit_column(kind: str, name: str, path: tuple[str, ...], file: SchemaFile) -> bool:
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


def _unit_through(
    kind: str, names: tuple[str, ...], file: SchemaFile, others: Mapping[str, SchemaFile]
) -> Reference | None:
    """Check that columns lead, perhaps by several references, to a row that has the unit."""
    path = ("privacy_units", kind, "through")
    # Such as lines → orders → customers, where lines and orders each have a `through`. What points in a circle comes to
    # a table in `seen`.
    seen, here, columns = {id(file)}, file, names
    first: Reference | None = None
    while True:
        pointed = referenced_columns(here, columns, others)
        if pointed is None:
            if here is file:
                file.wrong(path, _points_nowhere(names))
            return None  # mistakes elsewhere are told there
        table, keys = pointed
        target = others.get(table)
        wrong = None if target is None else _unit_astray(kind, table, keys, target, seen)
        if target is None or wrong:
            if wrong:
                text = f"{table}.{keys[0]}" if len(keys) == 1 else table
                file.wrong(path, f'is "{", ".join(names)}", which references {text}, but {wrong}')
            return None  # of a table that is not there `references` tells
        # The first step alone: how it goes on from there, the unit of the next table says.
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


def _unit_astray(kind: str, table: str, keys: tuple[str, ...], target: SchemaFile, seen: set[int]) -> str | None:
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
            given = "values" if column.bounds is None else "bounds"
            place = f"{target.document.file}:{target.document.line(('columns', key, given))}"
            return f'"{key}" of table {table} has {given} ({place}), and so does not identify each row'
    return None


# From the shapes of schema files to views, as far as they can be checked without reading their queries.


@dataclass(frozen=True, slots=True)
class ViewFile:
    """One schema file with a view: where things stand in it, and what it says."""

    name: str
    document: Document
    shape: ViewShape
    mistakes: Mistakes


def views_of(files: Iterable[ViewFile], declared: Mapping[str, str]) -> Mapping[str, View]:
    """Return the views by name; `declared` has the file of each table, by its name in lower case."""
    views, folded = dict[str, View](), dict(declared)
    for file in files:
        name = file.shape.table
        if name is None:
            continue
        first = folded.setdefault(name.lower(), file.name)
        if first != file.name:
            file.mistakes.add(file.document, ("table",), f'is "{name}", which {first} declares already')
        elif file.shape.view is not None:
            views[name] = _view(name, file.shape.view, file)
    return views


def _view(name: str, query: str, file: ViewFile) -> View:
    for column, shape in (file.shape.columns or {}).items():
        if shape.type is not None and shape.type[0] is SqlType.JSON:
            file.mistakes.add(
                file.document,
                ("columns", column, "type"),
                f"is {shape.type[1]}, to which a view casts nothing; its paths are those of the table's column",
            )
    columns = {
        column: ViewColumn(None if shape.type is None else shape.type[1], shape.description)
        for column, shape in (file.shape.columns or {}).items()
    }
    line = file.document.line(("view",))
    return View(name, query.strip().removesuffix(";"), columns, file.shape.description, file.name, line)


# The tables, which all of the above is for.

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
    # Each check notes what is wrong and returns what is right: a table with a mistake is still looked at by the others.
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
    # A timestamptz is of another day in another time zone, and a row has to be of one period for everybody.
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
    # Of a boolean, values: [0, 1] says how the engine stores it, and is no domain.
    in_numbers = kind is SqlType.BOOLEAN and shape.values is not None and set(shape.values) == _NUMBERS
    if in_numbers and file.shape.public:
        file.wrong((*path, "values"), "are numbers, which a boolean has in protected tables only; declare it smallint")
    return replace(
        _read_as(name, (kind, declared), shape, path, file, values=None if in_numbers else shape.values),
        references=reference,
        nullable=shape.nullable,
        in_numbers=in_numbers,
        # A column that leads to a row which has the unit (`through`) names nobody by itself.
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
    if kind is SqlType.REAL and bounds is not None and shape.step is None:
        # 0.3 as a column of single precision has it, which is a little more.
        bounds = Interval(in_single_precision(bounds.low), in_single_precision(bounds.high))
    domain = declared_values(kind, declared, values, (*path, "values"), file.document, file.mistakes)
    if shape.step is not None:
        wrong = step_misfit(shape.step, kind, declared, bounds)
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
