"""References and keys of the schema files: each column's own, and those of several columns together."""

from collections.abc import Mapping, Sequence

from dpsql.policy.load.mistakes import Path, suggestion
from dpsql.policy.load.schema_file import SchemaFile
from dpsql.policy.model import Reference
from dpsql.policy.table_name import TableName
from dpsql.policy.yaml_name import yaml_name


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
        path, table = ("references", written), kept_name(written)
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


def pointed_to(
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
            return kept_name(table), tuple(pairs[column] for column in columns)
    return None


def kept_name(written: str) -> str:
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
