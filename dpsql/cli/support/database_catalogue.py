"""Tables of a database that is copied, as `dpsql init` drafts them."""

import json
from collections.abc import Collection, Iterator, Mapping

from dpsql.cli.support.catalogued import Catalogue, CatalogueColumn, CatalogueTable
from dpsql.engines.databases.kinds import Family, SourceColumn
from dpsql.engines.databases.states import Found, FoundTable, find_tables
from dpsql.policy.load.scalars import table_name

_Place = tuple[str | None, str]


def read_database(url: str, schemas: Collection[str] | None = ()) -> Catalogue:
    """Ask a database for its tables: those where the connection is, and those of `schemas`, or of all where that is None.

    Raises:
        ConfigError: it can't be asked.
    """
    found = find_tables(url, schemas)
    names = {place: name for place in found.tables if (name := _called(place)) is not None}
    tables = {names[place]: _table(place, found, names) for place in names}
    unnamed = tuple(".".join(filter(None, place)) for place in found.tables if place not in names)
    return Catalogue(tables, found.elsewhere, _units(tables), unnamed=unnamed)


def _called(place: _Place) -> str | None:
    """Return what a table is called here; None where its name can't be one."""
    schema, name = place
    try:
        return table_name(name if schema is None else f"{schema}.{name}") if "." not in name else None
    except ValueError:
        return None


def _table(place: _Place, found: Found, names: Mapping[_Place, str]) -> CatalogueTable:
    table = found.tables[place]
    single: dict[str, str] = {}
    joint: dict[str, Mapping[str, str]] = {}
    for own, schema, name, theirs in table.references:
        to = (schema, name)
        if to not in names or set(found.tables[to].key) != set(theirs):
            continue
        if len(own) == 1:
            single[own[0]] = f"{names[to]}.{theirs[0]}"
        else:
            joint[names[to]] = dict(zip(own, theirs, strict=True))
    keys = _key_columns(table)
    columns = {
        column.name: CatalogueColumn(
            _kind(column, place, is_key=column.name in keys),
            column.nullable and column.name not in table.key,
            column.description or None,
            single.get(column.name),
        )
        for column in table.columns
    }
    return CatalogueTable(columns, table.key, joint, table.description or None)


def _key_columns(table: FoundTable) -> frozenset[str]:
    return frozenset((*table.key, *(name for own, *_ in table.references for name in own)))


def _kind(column: SourceColumn, place: _Place, *, is_key: bool) -> str:
    """Return the type that is drafted: as a key 64 bits, which hold all that were ever counted up, and more is NULL."""
    if column.family is Family.LABELS and column.labels:
        return f"enum{json.dumps(column.labels, ensure_ascii=False)}{place[1]}_{column.name}".replace(".", "_")
    if is_key and column.family is Family.WHOLE and column.drafted.startswith("numeric"):
        return "bigint"
    return column.drafted or column.written


def _units(tables: Mapping[str, CatalogueTable]) -> Mapping[str, int]:
    """Return the keys of one column to which other tables' references lead, by how many tables these are."""
    found = {}
    for name, table in tables.items():
        if len(table.key) == 1:
            leading = set(_leading(name, tables))
            if leading:
                found[f"{name}.{table.key[0]}"] = len(leading)
    return dict(sorted(found.items(), key=lambda of: -of[1]))


def _leading(name: str, tables: Mapping[str, CatalogueTable]) -> Iterator[str]:
    """Yield the tables whose references lead to one, through others, too."""
    reached, new = {name}, {name}
    while new:
        new = {
            other
            for other, table in tables.items()
            for to in new
            if other not in reached
            and (to in table.references or any(_points(c.references, to, tables) for c in table.columns.values()))
        }
        reached |= new
        yield from new


def _points(references: str | None, to: str, tables: Mapping[str, CatalogueTable]) -> bool:
    key = tables[to].key
    return len(key) == 1 and references == f"{to}.{key[0]}"
