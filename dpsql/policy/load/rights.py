"""A role's rights to a part of a table: some of its columns, and the rows for which a condition holds."""

from collections.abc import Collection
from dataclasses import dataclass

from dpsql.policy.load.document import Document
from dpsql.policy.load.mistakes import Mistakes, Path, dotted, suggestion
from dpsql.policy.load.references import kept_name
from dpsql.policy.load.shapes import RoleShape
from dpsql.policy.load.tables import Schemas
from dpsql.policy.row_condition import RowCondition
from dpsql.policy.table_name import TableName


def granted_tables(shape: RoleShape, schemas: Schemas) -> frozenset[str] | None:
    """Return the tables and views that a role may use, those of whole schemas by their names; None: all."""
    if shape.tables is None:
        return None
    named = (of_schema(name, shape.protects, schemas) if name.endswith(".*") else (name,) for name in shape.tables)
    return frozenset(name for names in named for name in names)


def of_schema(pattern: str, protects: str | None, schemas: Schemas) -> tuple[str, ...]:
    """Return the tables with the unit that a role protects, and the views, that `clinical.*` stands for."""
    tables = [name for name in schemas.protected if protects in schemas.kinds[name]]
    schema = pattern.removesuffix(".*")
    return tuple(name for name in (*tables, *schemas.views) if TableName.of(name).schema == schema)


@dataclass(frozen=True, slots=True)
class Rights:
    """The configuration of one role, while it is checked against the tables."""

    shape: RoleShape
    path: Path
    document: Document
    schemas: Schemas
    mistakes: Mistakes

    def columns(self) -> dict[str, frozenset[str]]:
        """Check and return which columns of a table the role may name."""
        given: dict[str, frozenset[str]] = {}
        for written, columns in (self.shape.columns or {}).items():
            place, name = (*self.path, "columns", written), self._named(written, given, (*self.path, "columns"))
            given[name] = frozenset(columns)
            if not columns:
                self._wrong(place, "lists no column; take the table out of those that the role may use")
            if self._is_in_part(name, place):
                self._check_columns(name, columns, place)
        return given

    def _check_columns(self, name: str, columns: list[str], place: Path) -> None:
        allowed = self.schemas.tables[name].columns
        for at, column in enumerate(columns):
            if column not in allowed:
                self._wrong((*place, at), f'is "{column}", which is no column of "{name}"{suggestion(column, allowed)}')

    def conditions(self) -> dict[str, RowCondition]:
        """Check and return the conditions on the role's rows; their meaning is read once there is a shadow."""
        row_conditions: dict[str, RowCondition] = {}
        for written, text in (self.shape.where or {}).items():
            place, name = (*self.path, "where", written), self._named(written, row_conditions, (*self.path, "where"))
            if self._is_in_part(name, place) and not text.strip():
                self._wrong(place, "is no condition; write one over the table's columns, in SQL")
            row_conditions[name] = RowCondition(
                text, f"{self.document.file}:{self.document.line(place)}: {dotted(place)}"
            )
        return row_conditions

    def _named(self, written: str, before: Collection[str], place: Path) -> str:
        """Return the name by which a table is kept; note it if it was given before, by its other name."""
        name = kept_name(written)
        if name in before:
            self._wrong((*place, written), f'is the same table as "{name}", which stands beside it')
        return name

    def _is_in_part(self, name: str, place: Path) -> bool:
        """Return whether the role may be told of a table in part; note it if there is no such table."""
        schemas, table = self.schemas, self.schemas.tables.get(name)
        usable = granted_tables(self.shape, schemas)
        if name in schemas.views:
            self._wrong(place, "is for a view, whose query says which rows and columns it has")
        elif table is None:
            if schemas.complete:
                self._wrong(place, f"is for no declared table{suggestion(name, schemas.protected)}")
        elif table.public:
            self._wrong(place, "is for a public table, whose rows everybody may see")
        elif usable is not None and not {name, *schemas.views} & set(usable):
            self._wrong(
                place,
                f"is for a table that the role may not use; it may use {', '.join(self.shape.tables or ()) or 'none'}",
            )
        else:
            return True
        return False

    def _wrong(self, place: Path, text: str) -> None:
        self.mistakes.add(self.document, place, text)
