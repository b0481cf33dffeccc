"""The shape of a schema file that declares a view, and not a table."""

from typing import ClassVar

from dpsql.policy.load.shapes import Name, Scalar, StrictShape, Typed


class ViewColumnShape(StrictShape):
    """One column of a view."""

    type: Typed | None = None
    """The type that the column is cast to; as the query has it unless given."""
    description: Scalar | None = None
    """What the column means, for those who ask."""


class ViewShape(StrictShape):
    """One view: a query over declared tables and other views, which stands for it wherever it is read."""

    required: ClassVar = ("table", "view")

    table: Name | None = None
    """The view's name."""
    view: Scalar | None = None
    """The query: SELECT … FROM …"""
    description: Scalar | None = None
    """What a row is, for those who ask."""
    columns: dict[str, ViewColumnShape] | None = None
    """The columns of which more is said than the query does."""
