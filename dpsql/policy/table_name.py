"""Names of tables and views: a schema and a name, which are written as one text wherever things are kept by name.

trips                 →  public, trips
clinical.encounters   →  clinical, encounters

In that text a name without a schema is one of `public`. No part has a dot (`load` sees to it), so that no two names are
one text, and no name without a schema is the text of another with one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

PUBLIC = "public"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table's or view's name with its schema."""

    schema: str
    name: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the text by which it is kept."""
        schema, dot, name = text.partition(".")
        return cls(schema, name) if dot else cls(PUBLIC, text)

    @property
    def text(self) -> str:
        """Return the text by which it is kept, and which messages show."""
        return self.name if self.schema == PUBLIC else f"{self.schema}.{self.name}"

    @property
    def quoted(self) -> str:
        """Return it as SQL that no search path changes."""
        return f"{_quoted(self.schema)}.{_quoted(self.name)}"

    @property
    def called(self) -> str:
        """Return it as SQL as people write it: a table of `public` by its name alone."""
        return _quoted(self.name) if self.schema == PUBLIC else self.quoted


def bare_names(texts: Iterable[str]) -> frozenset[str]:
    """Return names without their schemas: by these words a statement may name tables."""
    return frozenset(TableName.of(text).name for text in texts)


def schemas_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the schemas that names have beside `public`, sorted."""
    return tuple(sorted({TableName.of(text).schema for text in texts} - {PUBLIC}))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
