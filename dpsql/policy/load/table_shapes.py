"""The shapes of schema files: of those that declare a table, and of those that declare a view."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema

from dpsql.policy.growth import Every, TermLength
from dpsql.policy.load import scalars
from dpsql.policy.load.shapes import CountText, Days, Flag, Name, OneOrMore, Positive, Scalar, StrictShape, Table, Typed
from dpsql.policy.table_name import TableName

USUAL = 20
"""C where nothing has chosen it yet, and where it can't be chosen: keys that are selected, and numbers of one unit's
rows."""
_MOST = 2**20
"""The most that C may be, of a table that does not say how many rows to expect."""


@dataclass(frozen=True, slots=True)
class MaxRows:
    """The value of `max_rows`."""

    number: int | None = None
    """The number, or that at which `auto` ends; None: `auto` without one."""
    auto: bool = False

    def __str__(self) -> str:
        """Return it as YAML has it."""
        if not self.auto:
            return str(self.number)
        return "auto" if self.number is None else f"{{auto: {self.number}}}"

    def usual(self) -> int:
        """Return C, or what is taken for it until it is chosen."""
        return USUAL if self.number is None else self.number

    def up_to(self, expected_rows: int | None) -> int | None:
        """Return the most that C may be where it is chosen, None where it is fixed.

        Without a number it is a power of two: nobody is expected to have more rows than the whole table.
        """
        if not self.auto:
            return None
        if self.number is not None:
            return self.number
        return _MOST if expected_rows is None else 1 << max(expected_rows - 1, 1).bit_length()


AUTO = MaxRows(auto=True)


def _read(value: object) -> MaxRows:
    if value == "auto":
        return AUTO
    within = isinstance(value, dict) and list(value) == ["auto"]
    number = value["auto"] if isinstance(value, dict) and within else value
    try:
        return MaxRows(scalars.whole_count(number if isinstance(number, str) else ""), auto=within)
    except ValueError:
        raise ValueError("must be auto, {auto: 400}, or a whole number above 0, such as 20 or 1_000_000") from None


RowsText = Annotated[
    MaxRows,
    PlainValidator(_read),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"const": "auto"},
                {
                    "type": "object",
                    "properties": {"auto": {"type": "integer", "minimum": 1}},
                    "required": ["auto"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class UnitShape(StrictShape):
    """The owner of a table's rows."""

    column: Name | None = None
    """The column that identifies the unit."""
    through: OneOrMore | None = None
    """Instead of column: the column, or columns, that reference a protected table, whose row there has the unit."""
    max_rows: RowsText = AUTO
    """How many rows of one unit count at the most: a number, or auto, which finds it for each statement, up to a number."""
    max_groups_per_unit: CountText | None = None
    """The most groups in which a unit counts where keys are selected, or distinct units are asked for."""


class PathShape(StrictShape):
    """One value inside a column of JSON; it may always be missing."""

    required: ClassVar = ("type",)

    type: Typed | None = None
    """The type that clients cast it to: boolean, a number, text, date or timestamp."""
    bounds: Annotated[list[Scalar], Field(min_length=2, max_length=2)] | None = None
    """The least and the greatest value; for dates and timestamps the second is left out."""
    step: Positive | None = None
    """The step of all values, which are whole multiples of it: 0.01 for cents."""
    values: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """All possible values; any other reads as NULL."""
    description: Scalar | None = None
    """The meaning of the value, for those who ask."""


@dataclass(frozen=True, slots=True)
class KeyOf:
    """Where a column points to, as it is written: `zones.zone_id`, or the table and its column by themselves."""

    text: str
    table: str | None = None
    column: str = ""

    def readings(self) -> list[tuple[str, str]]:
        """Return which columns of which tables it may name: any dot of the text may stand between the two."""
        if self.table is not None:
            return [(self.table, self.column)]
        dots = [place for place, letter in enumerate(self.text) if letter == "."]
        split = ((TableName.of(self.text[:dot]).text, self.text[dot + 1 :]) for dot in dots)
        return [(table, column) for table, column in split if table and column]


def _read_key(value: object) -> KeyOf:
    if isinstance(value, str):
        return KeyOf(value)
    given = {key: text for key, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}
    if set(given) != {"table", "column"} or value != given:
        raise ValueError("must be table.column, or {table: clinical.zones, column: zone_id}")
    table, column = scalars.table_name(given["table"]), scalars.identifier(given["column"])
    return KeyOf(f"{table}.{column}", table, column)


ReferenceText = Annotated[
    KeyOf,
    PlainValidator(_read_key),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "properties": {"table": {"type": "string"}, "column": {"type": "string"}},
                    "required": ["table", "column"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class ColumnShape(StrictShape):
    """One column."""

    required: ClassVar = ("type",)

    type: Typed | None = None
    """The type, by PostgreSQL's names."""
    bounds: Annotated[list[Scalar], Field(min_length=2, max_length=2)] | None = None
    """The least and the greatest value; for dates and timestamps the second is left out."""
    step: Positive | None = None
    """The step of all values, which are whole multiples of it: 0.01 for cents."""
    values: Annotated[list[Scalar], Field(min_length=1)] | None = None
    """All possible values; any other reads as NULL."""
    references: ReferenceText | None = None
    """The key of another table: table.column. Those of a public table are the possible values."""
    type_name: Table | None = None
    """Of an enum: what clients call its type, as the database does; table_column unless given."""
    nullable: Flag = False
    """Whether NULL is a group of its own."""
    paths: Annotated[dict[str, PathShape], Field(min_length=1)] | None = None
    """Of JSON: what can be read of it, by keys with points between them (address.city), each declared like a column."""
    description: Scalar | None = None
    """The meaning of the column, for those who ask."""


class ClosesShape(StrictShape):
    """When a period of a growing table is closed."""

    required: ClassVar = ("every", "after")

    every: Every | None = None
    """The length of a period: day, month or quarter."""
    after: Days | None = None
    """How long after its end a period is closed, for rows that come late: 2 days."""


class GrowsShape(StrictShape):
    """How a table grows."""

    required: ClassVar = ("by", "closes", "term")

    by: Name | None = None
    """The column of the time, a date or a timestamp with bounds, by which a row belongs to a period."""
    closes: ClosesShape | None = None
    """When a period is closed."""
    term: TermLength | None = None
    """For how long a standing question is paid at once: month, quarter or year."""
    measured_within: Days | None = None
    """How long after the last period of a term has closed something of it may still be measured; 30 days unless given."""


class TableShape(StrictShape):
    """One table: protected, or public."""

    required: ClassVar = ("table", "columns")

    table: Table | None = None
    """The table's name, with its schema unless that is public."""
    description: Scalar | None = None
    """The meaning of a row, for those who ask."""
    expected_rows: CountText | None = None
    """The public order of magnitude of the number of rows."""
    public: Flag = False
    """Whether everybody may see the rows."""
    key: OneOrMore | None = None
    """The column that identifies a row, or the list of columns that do together."""
    references: dict[str, dict[str, Name]] | None = None
    """The keys of several columns of other tables: by table, the column of its key by the column of this one."""
    privacy_units: dict[str, UnitShape] | None = None
    """The owners of the rows, by unit kind."""
    grows: GrowsShape | None = None
    """How the table grows, if its rows come by the time: questions of closed periods are then paid once a term."""
    columns: Annotated[dict[str, ColumnShape], Field(min_length=1)] | None = None
    """The columns."""


class ViewColumnShape(StrictShape):
    """One column of a view."""

    type: Typed | None = None
    """The type that the column is cast to; as the query has it unless given."""
    description: Scalar | None = None
    """The meaning of the column, for those who ask."""


class ViewShape(StrictShape):
    """One view: a query over declared tables and other views, which stands for it wherever it is read."""

    required: ClassVar = ("table", "view")

    table: Table | None = None
    """The view's name, with its schema unless that is public."""
    view: Scalar | None = None
    """The query: SELECT … FROM …"""
    description: Scalar | None = None
    """The meaning of a row, for those who ask."""
    columns: dict[str, ViewColumnShape] | None = None
    """The columns of which more is said than the query does."""
