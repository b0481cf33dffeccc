"""`dpsql init`: schema files to begin with, from the names and types in a database's catalogue."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from dpsql.cli.support.catalogue import Catalogue, CatalogueColumn, CatalogueTable, RecordsFiles, read_catalogue
from dpsql.cli.support.exit_codes import with_exit_code
from dpsql.cli.support.show import progress
from dpsql.engines.connect import is_admitted, versions
from dpsql.engines.duckdb.files import CSV, PARQUET
from dpsql.errors import ConfigError
from dpsql.policy.config import CopiedDatabase, DuckDbFile, PostgresServer
from dpsql.policy.load.scalars import column_type
from dpsql.policy.model import PUBLIC, SqlType, TableName, yaml_name
from dpsql.rewrite.ir.literal import quoted_name

# The beginnings of schema files: what a catalogue says, and in comments what only the owner of the data knows.

_HEAD = "# Declare bounds and values from what you know about the world, never from a look at the data.\n"
_UNITS = """\
# Whose rows are these? Or "public: true", if everybody may see every row.
# privacy_units:
#   person: {column: …}
"""
_VIEW = """\
# The database makes it of other tables. Not public if it shows or counts people: what counts them is no row of anybody, and
# has no unit. Leave such a view out, and have its tables asked.
"""
_GROWS = """\
# Days are closed two days after their end: rows that come later never count. max_rows counts over the whole year.
grows: {{by: {}, closes: {{every: day, after: 2 days}}, term: year}}
"""
_BY = "  # it needs bounds, which hold all years to come: bounds: [2020-01-01, 2040-01-01]"
_MOMENTS = frozenset({SqlType.DATE, SqlType.TIMESTAMP})
_JSON = frozenset({"json", "jsonb"})
_CHOSEN = "  # with max_rows: N, where nearly all have no more rows; else it is chosen for each statement"

_OTHER = """\
  # {column} is a second {kind}, who is not protected in these rows, and left out; or a kind of its own, which roles protect:
  # privacy_units: {{{other}: {{column: {column}}}}}
"""
_ANOTHER_ROW = """\
  # {column} leads to another row, which may be a second {kind}'s, who is not protected in these rows. It is left out: put it
  # back if both are always one's; or make it a kind of its own, which roles protect:
  # privacy_units: {{{other}: {{through: {column}}}}}
"""
_DASHBOARDS = """\
# For a role of dashboards, config.yaml may count ρ at a δ: counts and averages by a dozen groups or more, and many small
# questions, are then several times nearer at the same ε (dpsql epsilon advise says how many times). Not the default: with a
# δ all promises hold but for an event of a probability of one in a million; with pure ε there is none.
# budget: {{{kind}: {{epsilon: …, delta: 1e-6, accounting: zcdp}}}}
# roles:
#   dashboards:
#     protects: {kind}
#     budget: {{epsilon: …, delta: 1e-6, accounting: zcdp}}
#     per_query: {{epsilon: …, delta: 0}}
"""
"""Stands once, where it is said whose rows they are."""


class Units:
    """The owners of the tables' rows, by their references, once it is said which key stands for a unit."""

    def __init__(self, tables: Mapping[str, CatalogueTable], kind: str, table: str, column: str) -> None:
        """Let the values of a table's column be the units of a kind."""
        self.kind = kind
        self._lines: dict[str, str] = {}
        self._others: dict[str, frozenset[str]] = {}
        self._perhaps: dict[str, frozenset[str]] = {}
        """The columns that lead to rows which may be others'."""
        unit = f"{table}.{column}"
        # The units' own table has a row for each, so that max_rows is known without a look at the records.
        key = tables[table].key
        alone = key == (column,)
        self.said = (
            (f"{unit} is not the key of {table} ({', '.join(key)}): rows with one value there are one {kind}'s",)
            if key and not alone
            else ()
        )
        self._lines[table] = self._line("column", column, alone=alone) + _DASHBOARDS.format(kind=yaml_name(kind))
        for name, other_table in tables.items():
            if named := [column] * (name == table) + _pointing(other_table, unit):
                self._lines.setdefault(name, self._line("column", yaml_name(named[0])))
                self._others[name] = frozenset(named[1:])
        self._follow(tables)

    def lines(self, table: str) -> str:
        """Return what a table's file says of its unit."""
        return self._lines.get(table, "")

    def without_others(self, name: str, table: CatalogueTable) -> CatalogueTable:
        """Return a table without the columns that name others than whose its rows are."""
        others = self._others.get(name, frozenset()) | self._perhaps.get(name, frozenset())
        return replace(table, columns={column: of for column, of in table.columns.items() if column not in others})

    def told_of(self, name: str, column: str) -> str:
        """Return what a table's file says of such a column."""
        said = _OTHER if column in self._others.get(name, ()) else _ANOTHER_ROW
        return said.format(column=yaml_name(column), kind=self.kind, other=yaml_name(f"other_{self.kind}"))

    def _line(self, how: str, columns: str, *, alone: bool = False) -> str:
        most, said = (", max_rows: 1", "") if alone else ("", _CHOSEN)
        return f"privacy_units:\n  {yaml_name(self.kind)}: {{{how}: {columns}{most}}}{said}\n"

    def _follow(self, tables: Mapping[str, CatalogueTable]) -> None:
        """Go along references to tables whose rows have a unit, until nothing is added."""
        # cells point to labs, and labs to admissions, which have a unit: by their names cells come first, and find a way in
        # the second round. Each round but the last adds a table, so that it ends.
        before = 0
        while len(self._lines) > before:
            before = len(self._lines)
            for name, table in tables.items():
                if name not in self._lines and (through := _through(table, self._lines)) is not None:
                    self._lines[name] = self._line("through", through)
                    self._perhaps[name] = _beside(table, through, tables)
        for name in self._lines:
            # A row of the same table is another's: who referred somebody, which admission came before.
            own = {column for column, of in tables[name].columns.items() if pointed_table(of.references or "", [name])}
            self._perhaps[name] = self._perhaps.get(name, frozenset()) | own


def draft(
    name: str, table: CatalogueTable, units: Units | None, written: frozenset[str], grows: str | None = None
) -> str:
    """Return the beginnings of a schema file; references point to tables that are `written`, too; it may grow by a column."""
    return "".join(_parts(name, table, units, written, grows))


def is_moment(column: CatalogueColumn) -> bool:
    """Return whether a table can grow by a column."""
    try:
        return column_type(column.kind)[0] in _MOMENTS
    except ValueError:
        return False


def pointed_table(references: str, tables: Collection[str]) -> str | None:
    """Return the table that a reference is to, if it is one of these: both table and column may have a dot."""
    # The longest: core.visits.visit_id is of core.visits, though there be a table core, too.
    return max((name for name in tables if references.startswith(f"{name}.")), key=len, default=None)


def left_out(table: CatalogueTable) -> list[str]:
    """Return the columns for whose type dpsql has none, with the type."""
    columns = table.columns.items()
    return [f"{name} ({column.kind})" for name, column in columns if not (has_type(column) or _is_json(column))]


def of_json(table: CatalogueTable) -> list[str]:
    """Return the columns of JSON, of which only the owner of the data can say what is in them."""
    return [name for name, column in table.columns.items() if _is_json(column)]


def _is_json(column: CatalogueColumn) -> bool:
    return column.kind.lower() in _JSON


def has_type(column: CatalogueColumn) -> bool:
    """Return whether dpsql has a type for a column."""
    return _type(column) is not None


def _parts(
    name: str, table: CatalogueTable, units: Units | None, written: frozenset[str], grows: str | None
) -> Iterator[str]:
    yield f"{_HEAD}table: {yaml_name(name)}\n"
    if table.description:
        yield f"description: {_text(table.description)}\n"
    drafted = table if units is None else units.without_others(name, table)
    typed = {column for column, details in drafted.columns.items() if has_type(details)}
    if table.key and typed.issuperset(table.key):
        yield f"key: {_names(table.key)}\n"
    joint = {to: pairs for to, pairs in table.references.items() if to in written and typed.issuperset(pairs)}
    if joint:
        yield "references:\n"
    for to, pairs in joint.items():
        inside = ", ".join(f"{yaml_name(own)}: {yaml_name(theirs)}" for own, theirs in pairs.items())
        yield f"  {yaml_name(to)}: {{{inside}}}\n"
    yield _VIEW if table.is_view else ""
    yield (units.lines(name) if units is not None else "") or _UNITS
    if grows is not None:
        yield _GROWS.format(yaml_name(grows))
    yield "columns:\n"
    for column, described in table.columns.items():
        line = _line(column, described, written, _BY if column == grows else "")
        if units is not None and column not in drafted.columns:
            line = f"{units.told_of(name, column)}  # {line.lstrip(' #')}"
        yield line


def _line(name: str, column: CatalogueColumn, written: frozenset[str], said: str) -> str:
    kind = _type(column)
    if _is_json(column):
        first = f"type: {column.kind.lower()}, {'nullable: true, ' if column.nullable else ''}"
        paths = "paths: {plan: {type: text, values: [free, pro]}, age: {type: integer, bounds: [0, 120]}}"
        return f"  # {yaml_name(name)}: {{{first}{paths}}}  # JSON: say what may be read of it\n"
    if kind is None:
        return f"  # {yaml_name(name)} is left out: dpsql has no type for {yaml_name(column.kind.partition('(')[0])}\n"
    facts, after = [kind], "  # its labels, in their order" if kind.endswith("values: []") else said
    if column.references is not None and pointed_table(column.references, written) is not None:
        facts.append(f"references: {_text(column.references)}")
    if column.nullable:
        facts.append("nullable: true")
    if column.description:
        facts.append(f"description: {_text(column.description)}")
    return f"  {yaml_name(name)}: {{{', '.join(facts)}}}{after}\n"


def _type(column: CatalogueColumn) -> str | None:
    """Return a type as YAML has it within braces; of DuckDB's labels, which may have been made of values, the owner tells."""
    if column.kind.startswith("enum"):
        labels, end, name = column.kind.removeprefix("enum").rpartition("]")
        return f"type: enum, type_name: {yaml_name(name)}, values: {labels}{end}" if name else "type: enum, values: []"
    if _is_json(column):
        return None  # the owner of the data says what may be read of it
    try:
        declared = column_type(column.kind)[1]
    except ValueError:
        return None
    return f'type: "{declared}"' if "," in declared else f"type: {declared}"


def _pointing(table: CatalogueTable, key: str) -> list[str]:
    """Return the columns that point to a key; first those that always do, because a row without a value is nobody's."""
    names = [name for name, column in table.columns.items() if column.references == key]
    return sorted(names, key=lambda name: table.columns[name].nullable)


def _through(table: CatalogueTable, ways: Mapping[str, str]) -> str | None:
    """Return the columns through which a row is somebody's whose unit is known."""
    for name, column in table.columns.items():
        if column.references is not None and pointed_table(column.references, ways) is not None:
            return yaml_name(name)
    joint = next((pairs for to, pairs in table.references.items() if to in ways), None)
    return None if joint is None else _names(tuple(joint))


def _beside(table: CatalogueTable, through: str, tables: Collection[str]) -> frozenset[str]:
    """Return the other columns that point to the table which a row is somebody's through."""
    to = {yaml_name(name): pointed_table(column.references or "", tables) for name, column in table.columns.items()}
    return frozenset(
        name
        for name in table.columns
        if to.get(through) is not None and yaml_name(name) != through and to[yaml_name(name)] == to[through]
    )


def _names(columns: tuple[str, ...]) -> str:
    names = [yaml_name(column) for column in columns]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _text(text: str) -> str:
    """Write a text for YAML, in one line."""
    # What is a text to JSON is one to YAML, whatever stands in it.
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


# The beginnings of views: each table that points to others, with the columns of the rows that it points to.
#
# labs.admission_id → admissions.admission_id, admissions.patient_id → patients.patient_id
# →  SELECT labs.*, admissions.days, patients.region FROM labs JOIN admissions ON … JOIN patients ON …

_MOST_JOINED = 8
"""Tables of one view: of more dpsql joins no rows."""
_HEAD_OF_VIEW = (
    "# What a row belongs to stands beside it. Remove what nobody asks about; a role may be granted the view alone.\n"
)


@dataclass(slots=True)
class _Draft:
    """A view as it grows: what it joins, and which columns it has, by their names."""

    tables: Mapping[str, CatalogueTable]
    owned: frozenset[str] = frozenset()
    """Tables whose rows are individuals', as far as that is said."""
    joins: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)

    def add(self, name: str, alias: str, beside: frozenset[str] = frozenset()) -> None:
        """Add a table's columns, but for some, under names that no other has."""
        self.aliases.append(alias)
        for column, described in self.tables[name].columns.items():
            if column not in beside and has_type(described):
                as_ = column if column not in self.columns else f"{alias}_{column}"
                self.columns[as_] = f"{quoted_name(alias)}.{quoted_name(column)}"

    def follow(self, name: str, alias: str, above: tuple[str, ...], *, missing: bool) -> None:
        """Join what a table's rows point to, and what that points to; rows that point nowhere stay."""
        for to, pairs, optional in _pointed(self.tables[name], self.tables):
            # Not to where it came from: a manager is an employee who has a manager.
            if to in above or len(self.aliases) == _MOST_JOINED:
                continue
            alias_of = TableName.of(to).name
            # Two ways to one table, as from where and to where a ride goes: the second has the name of its columns,
            # zones_dropoff_zone.
            other = alias_of if alias_of not in self.aliases else f"{alias_of}_{'_'.join(pairs)}"
            # The second way to a person, as to who approved it, makes a row two persons': dpsql takes no such join.
            if other in self.aliases or (other != alias_of and to in self.owned):
                continue
            # Behind a LEFT JOIN all others are: an inner one would drop the rows that the first has kept.
            left = missing or optional
            on = " AND ".join(
                f"{quoted_name(other)}.{quoted_name(theirs)} = {quoted_name(alias)}.{quoted_name(own)}"
                for own, theirs in pairs.items()
            )
            place = f"{TableName.of(to).called} AS {quoted_name(other)}"
            self.joins.append(f"{'LEFT ' * left}JOIN {place} ON {on}")
            # Without the key that is joined by: our own columns have the same values.
            self.add(to, other, frozenset(pairs.values()))
            self.follow(to, other, (*above, to), missing=left)


def joined_view(name: str, tables: Mapping[str, CatalogueTable], owned: frozenset[str] = frozenset()) -> str | None:
    """Return the beginnings of a view of a table and all that its rows point to; None where they point nowhere.

    `owned` are the tables whose rows are individuals'.
    """
    made = _Draft(tables, owned)
    alias = TableName.of(name).name
    made.add(name, alias)
    made.follow(name, alias, (name,), missing=False)
    if not made.joins or view_name(name) in tables:
        return None
    outputs = ",\n    ".join(f"{place} AS {quoted_name(as_)}" for as_, place in made.columns.items())
    joins = "".join(f"\n  {join}" for join in made.joins)
    about = json.dumps(f"{name}, each with what it belongs to", ensure_ascii=False)
    query = f"  SELECT\n    {outputs}\n  FROM {TableName.of(name).called} AS {quoted_name(alias)}{joins}\n"  # in a file
    return f"{_HEAD_OF_VIEW}table: {yaml_name(view_name(name))}\ndescription: {about}\nview: |\n{query}"


def view_name(table: str) -> str:
    """Return the name of the view of a table."""
    return f"{table}_joined"


def _pointed(
    table: CatalogueTable, tables: Mapping[str, CatalogueTable]
) -> Iterator[tuple[str, Mapping[str, str], bool]]:
    """Yield the tables that rows point to, by which columns, and whether some point nowhere."""
    for name, column in table.columns.items():
        to = pointed_table(column.references or "", tables)
        key = "" if to is None else (column.references or "").removeprefix(f"{to}.")
        if to is not None and tables[to].key == (key,):
            yield to, {name: key}, column.nullable
    for to, pairs in table.references.items():
        if to in tables and set(tables[to].key) == set(pairs.values()):
            yield to, pairs, any(table.columns[own].nullable for own in pairs)


# The command.

_URL = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")
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
        str, typer.Argument(help="A DuckDB, Parquet or CSV file, a folder of these, a DSN, or any database's URL.")
    ],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where the schema files go.")] = Path("schemas"),
    table: Annotated[list[str] | None, typer.Option("--table", "-t", help="Only these tables.")] = None,
    schema: Annotated[list[str] | None, typer.Option("--schema", "-s", help="Tables of this schema, too.")] = None,
    units: Annotated[
        list[str] | None,
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
    if units is not None and len(units) > 1:
        raise ConfigError(
            f"init drafts files for one kind of unit at a time, and not for {', '.join(units)}",
            hint=f"Give {units[0]} alone, and add a line of the other kind to `privacy_units` in the files.",
        )
    unit = units[0] if units else None
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
    of_rows = None if unit is None else _units(unit, catalogue)
    growing = dict(_growing(column, chosen) for column in grows or ())
    texts = {
        name: draft(name, described, of_rows, frozenset(chosen), growing.get(name))
        for name, described in chosen.items()
    }
    if views:
        owned = frozenset() if of_rows is None else frozenset(name for name in chosen if of_rows.lines(name))
        joined = chosen if of_rows is None else {name: of_rows.without_others(name, of) for name, of in chosen.items()}
        texts |= {view_name(name): text for name in joined if (text := joined_view(name, joined, owned)) is not None}
    _write(directory, texts)
    copy = (_COPY,) if isinstance(source, PostgresServer) else ()
    copy = (_COPIED,) if isinstance(source, CopiedDatabase) else copy
    if growing and not copy:
        copy = (_GROWING,)
    of_units = () if of_rows is None else of_rows.said
    for line in (*_told(chosen), *of_units, *advice, *_places(chosen), *copy, _NEXT):
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
        # x: also a file that has come since `_files` looked is left alone.
        with file.open("x", encoding="utf-8") as stream:
            stream.write(texts[name])
        typer.echo(f"wrote {file}")


def _catalogue(
    source: CopiedDatabase | DuckDbFile | PostgresServer | RecordsFiles, schemas: Sequence[str] | None
) -> Catalogue:
    with progress("reading the database's catalogue"):
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


def _source(database: str) -> CopiedDatabase | DuckDbFile | PostgresServer | RecordsFiles:
    path = Path(database)
    is_url = _URL.match(database) is not None
    # A DSN may be words, host=… dbname=…. A file's name or a URL may have a = in it, too, and what is there as a file is one.
    if database.startswith(("postgresql://", "postgres://")) or ("=" in database and not is_url and not path.exists()):
        return PostgresServer(database)
    if is_url:
        return CopiedDatabase(database)
    if path.is_dir() or (_PATTERN.search(path.name) and not path.exists()):
        if not database:
            raise ConfigError(
                "the argument is empty",
                hint="Name a file, a folder of Parquet or CSV files, a PostgreSQL DSN, or a database's URL.",
            )
        # As engine.tables takes them, of which one file has the columns of all.
        return RecordsFiles.within(path) if path.is_dir() else RecordsFiles.matching(path.parent, path.name)
    if path.name.lower().endswith((*PARQUET, *CSV)):
        return RecordsFiles({path.name.partition(".")[0]: path})
    return DuckDbFile(path)


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
