"""The beginnings of schema files: what a catalogue says, and in comments what only the owner of the data knows."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from dpsql.cli.support.catalogue import CatalogueColumn, CatalogueTable
from dpsql.policy.load.scalars import column_type
from dpsql.policy.model import SqlType, TableName, yaml_name
from dpsql.rewrite.ir.spelled import quoted_name

_HEAD = "# Declare bounds and values from what you know about the world, never from a look at the data.\n"
_UNITS = """\
# Whose rows are these? Or "public: true", if everybody may see every row.
# privacy_units:
#   person: {column: …}
"""
_GROWS = """\
# Days are closed two days after their end: rows that come later never count. max_rows counts over the whole year.
grows: {{by: {}, closes: {{every: day, after: 2 days}}, term: year}}
"""
_BY = "  # it needs bounds, which hold all years to come: bounds: [2020-01-01, 2040-01-01]"
_MOMENTS = frozenset({SqlType.DATE, SqlType.TIMESTAMP})
_JSON = frozenset({"json", "jsonb"})
_CHOSEN = "  # with max_rows: N, where nearly all have no more rows; else it is chosen for each statement"

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
        unit = f"{table}.{column}"
        alone = tables[table].key == (column,)
        self._lines[table] = self._line("column", column, alone=alone) + _DASHBOARDS.format(kind=yaml_name(kind))
        for name, other_table in tables.items():
            if name != table and (own := _pointing(other_table, unit)) is not None:
                self._lines.setdefault(name, self._line("column", own))
        self._follow(tables)

    def lines(self, table: str) -> str:
        """Return what a table's file says of its unit."""
        return self._lines.get(table, "")

    def _line(self, how: str, columns: str, *, alone: bool = False) -> str:
        most, said = (", max_rows: 1", "") if alone else ("", _CHOSEN)
        return f"privacy_units:\n  {yaml_name(self.kind)}: {{{how}: {columns}{most}}}{said}\n"

    def _follow(self, tables: Mapping[str, CatalogueTable]) -> None:
        """Go along references to tables whose rows have a unit, until nothing is added."""
        before = 0
        while len(self._lines) > before:
            before = len(self._lines)
            for name, table in tables.items():
                if name not in self._lines and (through := _through(table, self._lines)) is not None:
                    self._lines[name] = self._line("through", through)


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
    typed = {column for column, details in table.columns.items() if has_type(details)}
    if table.key and typed.issuperset(table.key):
        yield f"key: {_names(table.key)}\n"
    joint = {to: pairs for to, pairs in table.references.items() if to in written and typed.issuperset(pairs)}
    if joint:
        yield "references:\n"
    for to, pairs in joint.items():
        inside = ", ".join(f"{yaml_name(own)}: {yaml_name(theirs)}" for own, theirs in pairs.items())
        yield f"  {yaml_name(to)}: {{{inside}}}\n"
    yield (units.lines(name) if units is not None else "") or _UNITS
    if grows is not None:
        yield _GROWS.format(yaml_name(grows))
    yield "columns:\n"
    for column, described in table.columns.items():
        yield _line(column, described, written, _BY if column == grows else "")


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


def _pointing(table: CatalogueTable, key: str) -> str | None:
    return next((yaml_name(name) for name, column in table.columns.items() if column.references == key), None)


def _through(table: CatalogueTable, ways: Mapping[str, str]) -> str | None:
    """Return the columns through which a row is somebody's whose unit is known."""
    for name, column in table.columns.items():
        if column.references is not None and pointed_table(column.references, ways) is not None:
            return yaml_name(name)
    joint = next((pairs for to, pairs in table.references.items() if to in ways), None)
    return None if joint is None else _names(tuple(joint))


def _names(columns: tuple[str, ...]) -> str:
    names = [yaml_name(column) for column in columns]
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _text(text: str) -> str:
    """Write a text for YAML, in one line."""
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
            if to in above or len(self.aliases) == _MOST_JOINED:
                continue
            alias_of = TableName.of(to).name
            other = alias_of if alias_of not in self.aliases else f"{alias_of}_{'_'.join(pairs)}"
            if other in self.aliases:
                continue
            left = missing or optional
            on = " AND ".join(
                f"{quoted_name(other)}.{quoted_name(theirs)} = {quoted_name(alias)}.{quoted_name(own)}"
                for own, theirs in pairs.items()
            )
            place = f"{TableName.of(to).called} AS {quoted_name(other)}"
            self.joins.append(f"{'LEFT ' * left}JOIN {place} ON {on}")
            self.add(to, other, frozenset(pairs.values()))
            self.follow(to, other, (*above, to), missing=left)


def joined_view(name: str, tables: Mapping[str, CatalogueTable]) -> str | None:
    """Return the beginnings of a view of a table and all that its rows point to; None where they point nowhere."""
    made = _Draft(tables)
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
