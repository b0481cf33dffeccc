"""The shape of a schema file that declares a table."""

from typing import Annotated, ClassVar

from pydantic import Field

from dpsql.policy.load.shapes import CountText, Flag, Name, OneOrMore, Positive, Scalar, StrictShape, Typed


class UnitShape(StrictShape):
    """Whose rows a table's rows are."""

    required: ClassVar = ("max_rows",)

    column: Name | None = None
    """The column that identifies the unit."""
    through: OneOrMore | None = None
    """Instead of column: the column, or columns, that reference a protected table, whose row there has the unit."""
    max_rows: CountText | None = None
    """How many rows of one unit count at the most."""
    max_groups_per_unit: CountText | None = None
    """In how many groups a unit counts at the most where keys are found out, or distinct units are asked for."""


class ColumnShape(StrictShape):
    """One column."""

    required: ClassVar = ("type",)

    type: Typed | None = None
    """The type, by PostgreSQL's names."""
    bounds: Annotated[list[Scalar], Field(min_length=2, max_length=2)] | None = None
    """The least and the greatest value; for dates and timestamps the second is left out."""
    step: Positive | None = None
    """What all values are whole multiples of: 0.01 for cents."""
    values: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """All possible values; any other reads as NULL."""
    references: Name | None = None
    """The key of another table: table.column. Those of a public table are the possible values."""
    nullable: Flag = False
    """Whether NULL is a group of its own."""
    description: Scalar | None = None
    """What the column means, for those who ask."""


class TableShape(StrictShape):
    """One table: protected, or public."""

    required: ClassVar = ("table", "columns")

    table: Name | None = None
    """The table's name."""
    description: Scalar | None = None
    """What a row is, for those who ask."""
    expected_rows: CountText | None = None
    """The public order of magnitude of the number of rows."""
    public: Flag = False
    """Whether everybody may see the rows."""
    key: OneOrMore | None = None
    """The column that identifies a row, or the list of columns that do together."""
    references: dict[str, dict[str, Name]] | None = None
    """The keys of several columns of other tables: by table, the column of its key by the column of this one."""
    privacy_units: dict[str, UnitShape] | None = None
    """Whose rows these are, by unit kind."""
    columns: Annotated[dict[str, ColumnShape], Field(min_length=1)] | None = None
    """The columns."""
