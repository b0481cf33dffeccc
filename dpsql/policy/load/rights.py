"""A role's rights to a part of a table: some of its columns, and the rows for which a condition holds."""

from dataclasses import dataclass

from dpsql.policy.load.document import Document
from dpsql.policy.load.mistakes import Mistakes, Path, dotted, suggestion
from dpsql.policy.load.shapes import RoleShape
from dpsql.policy.load.tables import Schemas
from dpsql.policy.row_condition import RowCondition


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
        given = self.shape.columns or {}
        for name, columns in given.items():
            place = (*self.path, "columns", name)
            if not columns:
                self._wrong(place, "lists no column; take the table out of those that the role may use")
            if self._is_in_part(name, place):
                self._check_columns(name, columns, place)
        return {name: frozenset(columns) for name, columns in given.items()}

    def _check_columns(self, name: str, columns: list[str], place: Path) -> None:
        allowed = self.schemas.tables[name].columns
        for at, column in enumerate(columns):
            if column not in allowed:
                self._wrong((*place, at), f'is "{column}", which is no column of "{name}"{suggestion(column, allowed)}')

    def conditions(self) -> dict[str, RowCondition]:
        """Check and return the conditions on the role's rows; their meaning is read once there is a shadow."""
        row_conditions: dict[str, RowCondition] = {}
        for name, text in (self.shape.where or {}).items():
            place = (*self.path, "where", name)
            if self._is_in_part(name, place) and not text.strip():
                self._wrong(place, "is no condition; write one over the table's columns, in SQL")
            row_conditions[name] = RowCondition(
                text, f"{self.document.file}:{self.document.line(place)}: {dotted(place)}"
            )
        return row_conditions

    def _is_in_part(self, name: str, place: Path) -> bool:
        """Return whether the role may be told of a table in part; note it if there is no such table."""
        schemas, table, usable = self.schemas, self.schemas.tables.get(name), self.shape.tables
        if name in schemas.views:
            self._wrong(place, "is for a view, whose query says which rows and columns it has")
        elif table is None:
            if schemas.complete:
                self._wrong(place, f"is for no declared table{suggestion(name, schemas.protected)}")
        elif table.public:
            self._wrong(place, "is for a public table, whose rows everybody may see")
        elif usable is not None and not {name, *schemas.views} & set(usable):
            self._wrong(place, f"is for a table that the role may not use; it may use {', '.join(usable) or 'none'}")
        else:
            return True
        return False

    def _wrong(self, place: Path, text: str) -> None:
        self.mistakes.add(self.document, place, text)
