"""The beginnings of views: each table that points to others, with the columns of the rows that it points to.

labs.admission_id → admissions.admission_id, admissions.patient_id → patients.patient_id
→  SELECT labs.*, admissions.days, patients.region FROM labs JOIN admissions ON … JOIN patients ON …
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpsql.cli.support.catalogued import CatalogueTable
from dpsql.cli.support.drafting import has_type, pointed_table
from dpsql.policy.model import TableName, yaml_name
from dpsql.rewrite.ir.spelled import quoted_name

_MOST_JOINED = 8
"""Tables of one view: of more dpsql joins no rows."""
_HEAD = (
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
    return f"{_HEAD}table: {yaml_name(view_name(name))}\ndescription: {about}\nview: |\n{query}"


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
