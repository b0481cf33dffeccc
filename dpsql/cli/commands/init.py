"""`dpsql init`: schema files to begin with, from the names and types in a database's catalogue."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.catalogue import Catalogue, CatalogueTable, RecordsFile, read_catalogue
from dpsql.cli.support.drafting import Units, draft, is_moment, joined_view, left_out, of_json, view_name
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.show import at_work
from dpsql.engines.connect import is_admitted, versions
from dpsql.engines.duckdb.files import CSV, PARQUET
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, DuckDbFile, PostgresServer
from dpsql.policy.model import PUBLIC, TableName, yaml_name

_URL = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://", re.IGNORECASE)
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MOST_CANDIDATES, _MOST_NAMED = 5, 8
"""How many keys, and how many tables of a schema, are named."""
_NEXT = "next: declare the privacy units, bounds and values in them, then run dpsql check"
_COPY = (
    "for config.yaml, if a copy of the records may lie here: engine: snapshot: true copies them each epoch; questions then "
    "run on the copy, many times faster"
)

_GROWING = (
    "for config.yaml, since a table grows: engine: snapshot: true, so that dpsql makes a copy of the records each epoch"
)
_COPIED = (
    'for config.yaml: engine: {kind: copy, from: "${SOURCE_URL}", snapshot: true}, with the URL in the environment; dpsql '
    "copies the records at the start of each epoch, and answers from that"
)


@with_exit_code
def init(
    database: Annotated[
        str, typer.Argument(help="A DuckDB, Parquet or CSV file, a PostgreSQL DSN, or any database's URL.")
    ],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where the schema files go.")] = Path("schemas"),
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="Only these tables.")] = None,
    schema: Annotated[list[str] | None, typer.Option("--schema", "-s", help="Tables of this schema, too.")] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", "-u", help="Whose privacy is protected: person=patients.patient_id, or core.patients.…"),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="Refused: a profile is paid for, from a budget that must be there first."),
    ] = None,
    *,
    grows: Annotated[
        list[str] | None,
        typer.Option("--grows", "-g", help="A table grows by the time in a column: visits.admitted_at. Needs a copy."),
    ] = None,
    views: Annotated[
        bool, typer.Option("--views", help="Write a view, too, of each table with what its rows point to.")
    ] = False,
) -> None:
    """Write a schema file for each table of a database; only its catalogue is read, never its records."""
    if profile is not None:
        raise ConfigError(
            f"init spends nothing: a profile of ε = {profile} is paid from a ledger, and by roles, which must be there first",
            hint=f"Write config.yaml with budget: {{person: {{epsilon: …, profile: {profile}}}}}, then run dpsql profile.",
        )
    source = _source(database)
    # Who names the schema of the units needs not name all those of the tables that point there.
    everywhere = schema is None and unit is not None and unit.count(".") > 1
    catalogue = _catalogue(source, None if everywhere else schema or ())
    if catalogue.version and not is_admitted(("PostgreSQL", catalogue.version)):
        typer.echo(
            f"this is PostgreSQL {catalogue.version}; dpsql serves PostgreSQL {versions('PostgreSQL')}, and others only with "
            "engine: {unverified: true}, at your own risk",
            err=True,
        )
    advice = _advice(catalogue)
    chosen = _chosen(table, catalogue, advice)
    units = None if unit is None else _units(unit, catalogue)
    growing = dict(_growing(column, chosen) for column in grows or ())
    texts = {
        name: draft(name, described, units, frozenset(chosen), growing.get(name)) for name, described in chosen.items()
    }
    if views:
        texts |= {view_name(name): text for name in chosen if (text := joined_view(name, chosen)) is not None}
    _write(directory, texts)
    copy = (_COPY,) if isinstance(source, PostgresServer) else ()
    copy = (_COPIED,) if isinstance(source, CopiedDatabase) else copy
    if growing and not copy:
        copy = (_GROWING,)
    for line in (*_told(chosen), *advice, *_places(chosen), *copy, _NEXT):
        typer.echo(line)


def _chosen(wanted: Sequence[str] | None, catalogue: Catalogue, advice: Sequence[str]) -> Mapping[str, CatalogueTable]:
    """Return the tables that files are written for.

    Raises:
        ConfigError: some are not there, or none is.
    """
    tables = catalogue.tables
    unknown = sorted(set(wanted or ()) - set(tables))
    if unknown:
        hint = " ".join((f"It has {', '.join(sorted(tables)) or 'none'}.", *advice))
        raise ConfigError(f"the database has no table {', '.join(unknown)}", hint=hint)
    if not tables:
        where = " in the schemas that are searched" if catalogue.elsewhere else ""
        raise ConfigError(f"the database has no tables{where}", hint="\n".join(advice) or "Is it the right one?")
    return {name: tables[name] for name in wanted or sorted(tables)}


def _write(directory: Path, texts: Mapping[str, str]) -> None:
    """Write each into a file of its own, none of which is there."""
    files = _files(directory, texts)
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        file.parent.mkdir(exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(texts[name])
        typer.echo(f"wrote {file}")


def _catalogue(
    source: CopiedDatabase | DuckDbFile | PostgresServer | RecordsFile, schemas: Sequence[str] | None
) -> Catalogue:
    with at_work("reading the database's catalogue"):
        return read_catalogue(source, schemas)


def _units(unit: str, catalogue: Catalogue) -> Units:
    """Read whose rows the tables' rows are: person=patients.patient_id, or person=core.patients.patient_id.

    Raises:
        ConfigError: there is no such column.
    """
    kind, _, place = unit.partition("=")
    where, _, column = place.rpartition(".")
    tables = catalogue.tables
    found = [name for name, table in tables.items() if TableName.of(where).text in (name, table.place)]
    found = found or [name for name in tables if TableName.of(name).name == where]
    if not kind or len(found) != 1 or column not in tables[found[0]].columns:
        named = ", ".join(_candidates(catalogue))
        raise ConfigError(
            f"--unit {unit} is no kind=table.column of the database",
            hint=f"It is the key of a table with a row for each. {named}"
            if named
            else "For instance --unit person=patients.patient_id: the key of a table with a row for each.",
        )
    return Units(tables, kind, found[0], column)


def _growing(place: str, tables: Mapping[str, CatalogueTable]) -> tuple[str, str]:
    """Read by which column a table grows; return the table, and the column.

    Raises:
        ConfigError: there is no such column, or it is no time.
    """
    where, _, column = place.rpartition(".")
    found = [name for name, table in tables.items() if TableName.of(where).text in (name, table.place)]
    found = found or [name for name in tables if TableName.of(name).name == where]
    if len(found) != 1 or column not in tables[found[0]].columns:
        raise ConfigError(
            f"--grows {place} is no table.column of the tables that files are written for",
            hint="It is the time by which rows come: --grows visits.admitted_at.",
        )
    described = tables[found[0]].columns[column]
    if not is_moment(described):
        times = [name for name, other in tables[found[0]].columns.items() if is_moment(other)]
        raise ConfigError(
            f"--grows {place} is of type {described.kind}; a table grows by a date or a timestamp",
            hint=f"Of these {found[0]} has {', '.join(times) or 'none'}. Rows have to stay in the period of that time.",
        )
    return found[0], column


def _candidates(catalogue: Catalogue) -> Iterator[str]:
    """Yield the keys that may stand for units, and how many tables' rows are theirs."""
    for key, number in list(catalogue.units.items())[:_MOST_CANDIDATES]:
        yield f"{key}: {number} {'table leads' if number == 1 else 'tables lead'} there"


def _places(tables: Mapping[str, CatalogueTable]) -> Iterator[str]:
    """Yield what the configuration has to say of where tables are."""
    places = [f"{yaml_name(name)}: {yaml_name(table.place)}" for name, table in tables.items() if table.place]
    if places:
        yield f"for config.yaml, in engine: tables: {{{', '.join(places)}}}"


def _told(tables: Mapping[str, CatalogueTable]) -> Iterator[str]:
    """Yield the tables that are read through another one, and those that are left out."""
    for name, table in tables.items():
        if table.partitions:
            yield f"{name}: its {table.partitions} partitions are read through it"
        if gone := left_out(table):
            yield f"{name}: left out, since dpsql has no such type: {', '.join(gone)}"
        if json := of_json(table):
            yield f"{name}: JSON is left out until its file says which paths may be read: {', '.join(json)}"


def _source(database: str) -> CopiedDatabase | DuckDbFile | PostgresServer | RecordsFile:
    path = Path(database)
    is_url = _URL.match(database) is not None
    if database.startswith(("postgresql://", "postgres://")) or ("=" in database and not is_url and not path.exists()):
        return PostgresServer(database)
    if is_url:
        return CopiedDatabase(database)
    return RecordsFile(path) if path.name.lower().endswith((*PARQUET, *CSV)) else DuckDbFile(path)


def _advice(catalogue: Catalogue) -> list[str]:
    """Return what there is beside the tables that were found, what may not be read, and whose rows there are."""
    advice = []
    if catalogue.elsewhere:
        schemas = "; ".join(f"{name} ({_some(tables)})" for name, tables in catalogue.elsewhere.items())
        how = f"--schema {next(iter(catalogue.elsewhere))} takes those of one, too."
        advice.append(f"Left out are the tables of other schemas: {schemas}. {how}")
    if catalogue.unnamed:
        names = ", ".join(catalogue.unnamed)
        advice.append(
            f"Left out are tables with a dot in their names, which stands behind a schema: {names}. Make views of them."
        )
    if catalogue.grants:
        advice.append(f"Not all may be read; missing are: {' '.join(catalogue.grants)}")
    if catalogue.searched:
        paths = "; ".join(f"{role}: {path}" for role, path in catalogue.searched.items())
        advice.append(
            f"Names without a schema are looked for there by roles' search paths ({paths}); for config.yaml, to have one as "
            "everybody's: search_path: [schema, …]"
        )
    if candidates := list(_candidates(catalogue)):
        advice.append(f"Keys to which others point, for --unit kind=…: {'; '.join(candidates)}")
    return advice


def _some(tables: Sequence[str]) -> str:
    """Return the names of the first tables."""
    more = len(tables) - _MOST_NAMED
    return ", ".join(tables[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _files(directory: Path, tables: Collection[str]) -> dict[str, Path]:
    """Return a file for each table; a name that is no file name is changed."""
    files: dict[str, Path] = {}
    for table in tables:
        where = TableName.of(table)
        file = directory / f"{_UNSAFE.sub('_', table)}.yaml"
        if where.schema != PUBLIC and _UNSAFE.search(where.schema) is None:  # in the folder of its schema
            file = directory / where.schema / f"{_UNSAFE.sub('_', where.name)}.yaml"
        if file.exists() or file in files.values():
            raise ConfigError(
                f"{file} exists already", hint="Give another --directory, or --table for some tables only."
            )
        files[table] = file
    return files
