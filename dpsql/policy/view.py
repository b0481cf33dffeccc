"""Views as values: queries with names, as the owner of the data declared them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A schema file's words about one column of a view; all else follows from the query."""

    declared: str | None = None
    """The type that it is cast to, as written."""
    description: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A query that has a name: a statement that reads the view is planned as if its query stood there."""

    name: str
    query: str
    """As the owner of the data wrote it."""
    columns: Mapping[str, ViewColumn] = field(default_factory=dict)
    """Those of which more is said than the query does."""
    description: str | None = None
    file: str = ""
    """The file that declares it, as messages name it."""
    line: int = 1
    """Where its query stands there."""
    public: bool = False
    """Whether it reads public tables only, once it was read."""
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The tables' columns that are columns of it unchanged, once it was read."""
    tree: object = field(default=None, compare=False, repr=False)
    """The query that is put into statements; None until it was read (`rewrite.syntax.views`)."""
