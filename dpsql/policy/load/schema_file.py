"""One schema file as it was read: where things stand in it, and what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpsql.policy.load.document import Document
from dpsql.policy.load.mistakes import Mistakes, Path
from dpsql.policy.load.scalars import identifier
from dpsql.policy.load.table_shapes import ColumnShape, TableShape, UnitShape


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
