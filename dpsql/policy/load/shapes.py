"""The shapes of values in YAML, which keys `config.yaml` and schema files have, and a tree of text laid on its shape.

Every key is optional; `required` has those that must be there, so that a missing one does not hide mistakes beside it.
"""

import ast
import copy
import inspect
import json
import pathlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from dpsql.errors import InternalError
from dpsql.policy.config import DecimalMark, EngineKind, SandboxNeed
from dpsql.policy.growth import Every, TermLength
from dpsql.policy.load import scalars
from dpsql.policy.load.document import Document, Mistakes, Path, Tree, suggestion
from dpsql.policy.model import (
    Accounting,
    EmptyGroups,
    MechanismName,
    NoiseLevel,
    Period,
    Preview,
    Reuse,
    SqlType,
    TableName,
    TrialMode,
)


def scalar_text(read: Callable[[str], object]) -> PlainValidator:
    """Read a value that stands in YAML as text."""

    def validate(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError("must be one value, not a list or a mapping")  # noqa: TRY004  pydantic collects ValueError
        return read(value)

    return PlainValidator(validate)


def shown_to_editors(kind: str, **limits: object) -> WithJsonSchema:
    """Describe a value to editors, which read YAML's numbers as numbers."""
    return WithJsonSchema({"type": kind, **limits})


Positive = Annotated[Fraction, scalar_text(scalars.positive), shown_to_editors("number", exclusiveMinimum=0)]
Share = Annotated[
    Fraction, scalar_text(scalars.probability), shown_to_editors("number", exclusiveMinimum=0, exclusiveMaximum=1)
]
Delta = Annotated[Fraction, scalar_text(scalars.delta), shown_to_editors("number", minimum=0, exclusiveMaximum=1)]
CountText = Annotated[int, scalar_text(scalars.whole_count), shown_to_editors("integer", minimum=1)]
Days = Annotated[int, scalar_text(scalars.days), shown_to_editors("string", pattern="^[0-9]{1,5} days?$")]
Threads = Annotated[int, scalar_text(scalars.threads), shown_to_editors("integer", minimum=1, maximum=1024)]
Memory = Annotated[str, scalar_text(scalars.memory), shown_to_editors("string")]
Port = Annotated[int, scalar_text(scalars.port), shown_to_editors("integer", minimum=0, maximum=65535)]
Flag = Annotated[bool, scalar_text(scalars.flag), shown_to_editors("boolean")]
Name = Annotated[str, scalar_text(scalars.identifier), shown_to_editors("string", minLength=1)]
Table = Annotated[str, scalar_text(scalars.table_name), shown_to_editors("string", minLength=1)]
Pattern = Annotated[str, scalar_text(scalars.table_pattern), shown_to_editors("string", minLength=1)]
_ONE = {"type": "string", "minLength": 1}
_SEVERAL = {"type": "array", "items": _ONE, "minItems": 1, "uniqueItems": True}
OneOrMore = Annotated[tuple[str, ...], PlainValidator(scalars.names), WithJsonSchema({"anyOf": [_ONE, _SEVERAL]})]
Dataset = Annotated[
    str, scalar_text(scalars.dataset), shown_to_editors("string", pattern="^[A-Za-z_][A-Za-z0-9_-]{0,62}$")
]
VerifierText = Annotated[
    str, scalar_text(scalars.verifier), shown_to_editors("string", pattern="^(SCRAM-SHA-256\\$|\\$\\{)")
]
Typed = Annotated[tuple[SqlType, str], scalar_text(scalars.column_type), shown_to_editors("string")]
Refresh = Annotated[Period, scalar_text(scalars.refresh_period), WithJsonSchema({"enum": list(scalars.REFRESHES)})]
Scalar = Annotated[str, scalar_text(str), WithJsonSchema({"type": ["string", "number", "boolean"]})]


def _describe(schema: dict[str, Any], kind: type[BaseModel]) -> None:
    """Add to a JSON Schema which keys must be there, and what is said below each: pydantic would read that at each start."""
    if issubclass(kind, StrictShape) and kind.required:
        schema["required"] = list(kind.required)
    for base in reversed(kind.__mro__):
        if issubclass(base, StrictShape):
            for name, said in _said_below(base):
                schema["properties"][name]["description"] = said


def _said_below(kind: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Give the keys that a shape itself has, each with the text below it."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    for key, below in pairwise(definition.body):
        match key, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                yield name.rstrip("_"), inspect.cleandoc(said)  # `from` is a word of Python's


class StrictShape(BaseModel):
    """A mapping with known keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_describe, defer_build=True)
    required: ClassVar[tuple[str, ...]] = ()


class AmountShape(StrictShape):
    """An amount of ε and δ, or the disclosure risk from which ε follows."""

    epsilon: Positive | None = None
    """The privacy loss that may be spent."""
    delta: Delta | None = None
    """The probability that the bound on the loss fails; 0 unless given."""
    disclosure_risk: Share | None = None
    """Instead of epsilon: the largest acceptable probability of re-identifying one of the population."""
    population: CountText | None = None
    """With disclosure_risk: how many people could be meant."""
    membership_risk: Share | None = None
    """With disclosure_risk: the largest acceptable certainty that somebody is in the data; 0.75 unless given."""
    accounting: Accounting = Accounting.SUM
    """How charges add up: sum, or zcdp, by which many small ones cost less, and which needs a delta."""


class DatasetBudgetShape(AmountShape):
    """The budget of all roles together."""

    window: Days | None = None
    """In how many days, any that follow each other (30 days): as long as a person stays in the data; ever unless given."""
    profile: Positive | None = None
    """The ε of `dpsql profile`, once an epoch: how many rows units have, and which values lie beyond their bounds."""


class BudgetShape(AmountShape):
    """The budget of a role in a period."""

    period: Period | None = None
    """When the budget renews: day, week, month, quarter or never (UTC)."""
    stay: Days | None = None
    """With disclosure_risk and period: how long a person stays in the data (30 days), among whose periods ε is divided."""


class PerQueryShape(StrictShape):
    """The budget of one statement."""

    required: ClassVar = ("epsilon",)

    epsilon: Positive | None = None
    """The most that one statement spends."""
    delta: Delta | None = None
    """The δ of one statement; unless given, the budget's in proportion to epsilon."""
    least: Positive | None = None
    """The least ε that one measurement of a statement pays; a thousandth of epsilon unless given."""
    noise: NoiseLevel | None = None
    """A target for the relative error: low is 2.5 %, medium 7.5 %, high 15 %."""


class LimitsShape(StrictShape):
    """The engine's work for a role in a day (UTC), at any price."""

    runs: CountText = 10_000
    """The most measurements in a day."""
    failures: CountText = 10
    """The most measurements that may fail in a day before the role's account is closed."""


class RoleShape(StrictShape):
    """The askers: the unit kind that is protected from them, and their budgets."""

    required: ClassVar = ("protects", "budget", "per_query")

    protects: Name | None = None
    """The unit kind that is protected from this role."""
    budget: BudgetShape | None = None
    """The role's budget."""
    per_query: PerQueryShape | None = None
    """The budget of one statement."""
    tables: list[Pattern] | None = None
    """The protected tables and views that the role may use, clinical.* for those of a schema; all unless given."""
    columns: dict[str, list[Name]] | None = None
    """By protected table: the columns that the role may name, in views, too; all of the tables that are not here."""
    where: dict[str, Scalar] | None = None
    """By protected table: a condition, in SQL, over its columns, that holds for all rows that the role sees."""
    clamp: Flag = False
    """Whether answers are clamped to their possible range."""
    empty_groups: EmptyGroups = EmptyGroups.AUTO
    """Whether answers list public groups that may be empty, unless the session sets dpsql.empty_groups."""
    reuse: Reuse = Reuse.ALL
    """The questions computed from paid answers, unless the session sets dpsql.reuse: the same, parts of them, or all."""
    preview: Preview = Preview.REFUSE
    """Whether a preview of a protected table, SELECT * … LIMIT 100, is refused or has made-up rows."""
    mechanism: Literal[MechanismName.CUBE, MechanismName.LAPLACE] = MechanismName.CUBE
    """The noise that the role's statistics get."""
    max_groups: CountText = 100_000
    """The most groups that one statement may have."""
    min_units: CountText | None = None
    """How many units a group has to have to be shown, by their noisy number."""
    limits: LimitsShape = LimitsShape()
    """The engine's work for the role in a day."""
    owner: Flag = False
    """Whether the role sees what all roles have spent and asked."""


class UserShape(StrictShape):
    """Somebody who may log in."""

    required: ClassVar = ("role",)

    role: Name | None = None
    """The role that pays."""
    password: VerifierText | None = None
    """A SCRAM verifier, as `dpsql user` makes it; never the password itself."""
    ldap: Flag = False
    """Instead of `password`: whether the directory knows it."""
    epsilon: Positive | None = None
    """The most ε of the role's budget that this user may spend in its period; all of it unless given."""
    disabled: Flag = False
    """Whether the user may not log in."""


class CsvShape(StrictShape):
    """How CSV files write values."""

    nulls: tuple[Scalar, ...] | None = None
    """Words that stand for no value, beside nothing at all: [NA, n/a]."""
    decimal: DecimalMark = DecimalMark.POINT
    """The mark in numbers of CSV files: a decimal point or a decimal comma."""


class EngineShape(StrictShape):
    """Where the records are."""

    required: ClassVar = ("kind",)

    kind: EngineKind | None = None
    """duckdb, postgres, spark, or copy: any other database, which is copied."""
    database: Scalar | None = None
    """The file of a DuckDB database."""
    tables: Annotated[dict[str, Scalar], Field(min_length=1)] | None = None
    """For each table a Parquet or CSV file, a directory, or a pattern (*.parquet); of all others: where it is."""
    csv: CsvShape | None = None
    """Of duckdb's tables: how CSV files write values."""
    memory: Memory | None = None
    """The most memory that DuckDB uses: 4GB."""
    threads: Threads | None = None
    """How many threads DuckDB uses."""
    spill: Scalar | None = None
    """DuckDB's place for data that does not fit into memory, for as long as needed: a private directory is made below
    it."""
    dsn: Scalar | None = None
    """The connection string of a PostgreSQL server: "${PG_DSN}" reads the environment, "${file:…}" a file."""
    from_: Scalar | None = Field(None, alias="from")
    """The URL of a database that is copied, as SQLAlchemy reads it: "${SOURCE_URL}", mysql://reader@db.example.org/hospital."""
    remote: Scalar | None = None
    """The address of a Spark Connect server: sc://host:15002."""
    snapshot: Flag = False
    """Whether questions are answered from a copy of the declared columns, which dpsql makes at the start of each epoch."""
    oldest: Days | None = None
    """With snapshot: how old a copy may be on which something is measured (10 days); unless given three times refresh, and a
    week at least."""
    unverified: Flag = False
    """Whether the engine may be of a version that nobody has tried."""


# The shape of `config.yaml`: which keys there are; those of schema files follow.


class TlsShape(StrictShape):
    """The server's certificate."""

    required: ClassVar = ("certificate", "key")

    certificate: Scalar | None = None
    """A PEM file with the certificate chain."""
    key: Scalar | None = None
    """A PEM file with the private key."""


class AddressShape(StrictShape):
    """Where somebody connects."""

    host: Annotated[str, scalar_text(scalars.host), shown_to_editors("string", minLength=1)] = "127.0.0.1"
    """The address to listen on."""
    port: Port = 0
    """The port; 0 is any free one."""
    tls: TlsShape | None = None
    """The certificate; without one connections are not encrypted."""


class ListenShape(AddressShape):
    """Where clients connect."""

    port: Port = 5439
    """The port; 0 is any free one."""
    processes: Annotated[int, scalar_text(scalars.processes), shown_to_editors("integer", minimum=1, maximum=64)] = 1
    """How many processes accept clients there, 1 to 64; each has an engine and a shadow of its own."""


class WebShape(AddressShape):
    """Where the pages are."""

    port: Port = Field(8439, description="The port; 0 is any free one.")


class MetricsShape(AddressShape):
    """Where Prometheus reads the figures of the server, of several processes each at the next port."""

    port: Port = Field(9439, description="The port; 0 is any free one.")


class ShadowShape(StrictShape):
    """Where the PostgreSQL is that holds the declared tables without records."""

    directory: Scalar | None = None
    """A directory in which dpsql runs its own."""
    account: Name | None = None
    """The account that it runs as when dpsql is root; dpsql-shadow, made if there is none, unless given."""
    sandbox: SandboxNeed = SandboxNeed.AVAILABLE
    """Whether it may run where the kernel has no sandbox: available or required."""
    dsn: Scalar | None = None
    """The connection string of a dedicated server."""


class LdapShape(StrictShape):
    """The directory that knows the passwords of users with `ldap: true`."""

    required: ClassVar = ("url", "user_dn")

    url: Scalar | None = None
    """ldaps://host, or ldap://host, where TLS begins by StartTLS; a port may follow."""
    user_dn: Scalar | None = None
    """The name that users bind as: "uid={user},ou=people,dc=example,dc=org", or "{user}@example.org"."""
    ca: Scalar | None = None
    """A PEM file with the certificates that are believed to be an authority's; the system's unless given."""


class ConfigShape(StrictShape):
    """The configuration of one data set."""

    required: ClassVar = ("dataset", "engine", "schemas", "budget", "roles")

    dataset: Dataset | None = None
    """The data set's name, which clients give as the database."""
    engine: EngineShape | None = None
    """Where the records are."""
    schemas: Scalar | None = None
    """The directory of the schema files, one a table."""
    search_path: list[Name] | None = None
    """The schemas in which names without one are looked for; public unless given."""
    trial: TrialMode = TrialMode.FORMS
    """The statements that are tried on synthetic data before they run on records: forms, always, or off."""
    refresh: Refresh = Period.NEVER
    """When the epoch advances, and stored answers expire and cost ε again: daily, weekly, monthly or never (UTC)."""
    listen: ListenShape = ListenShape()
    """Where clients connect; 127.0.0.1:5439 unless given."""
    metrics: MetricsShape | None = None
    """Where Prometheus reads the figures of the server (the extra `metrics`); off unless given."""
    web: WebShape | None = None
    """Where the pages are; off unless given."""
    state: Scalar | None = None
    """The directory for what dpsql writes itself: ledger, shadow and spills; .dpsql beside the configuration unless given."""
    shadow: ShadowShape | None = None
    """The PostgreSQL without records; shadow in the state's directory unless given."""
    ledger: Scalar | None = None
    """The record of spending: sqlite:///file or postgresql://…; <dataset>/ledger.db in the state's directory unless given."""
    audit: Scalar | None = None
    """The directory of the audit trail, a line for each statement and log-in; beside the ledger unless given."""
    budget: dict[str, DatasetBudgetShape] | None = None
    """The budget of all roles together, per unit kind."""
    roles: dict[str, RoleShape] | None = None
    """The askers."""
    ldap: LdapShape | None = None
    """The directory that knows the passwords of users with `ldap: true`."""
    users: dict[str, UserShape] = Field(default_factory=dict)
    """The people who may log in."""


# The shapes of schema files: of those that declare a table, and of those that declare a view.

USUAL_ROWS = 20
"""C where nothing has chosen it yet, and where it can't be chosen: keys that are selected, and numbers of one unit's
rows."""
_MOST_ROWS = 2**20
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
        return USUAL_ROWS if self.number is None else self.number

    def up_to(self, expected_rows: int | None) -> int | None:
        """Return the most that C may be where it is chosen, None where it is fixed.

        Without a number it is a power of two: nobody is expected to have more rows than the whole table.
        """
        if not self.auto:
            return None
        if self.number is not None:
            return self.number
        return _MOST_ROWS if expected_rows is None else 1 << max(expected_rows - 1, 1).bit_length()


AUTO_ROWS = MaxRows(auto=True)


def _read_max_rows(value: object) -> MaxRows:
    if value == "auto":
        return AUTO_ROWS
    within = isinstance(value, dict) and list(value) == ["auto"]
    number = value["auto"] if isinstance(value, dict) and within else value
    try:
        return MaxRows(scalars.whole_count(number if isinstance(number, str) else ""), auto=within)
    except ValueError:
        raise ValueError("must be auto, {auto: 400}, or a whole number above 0, such as 20 or 1_000_000") from None


RowsText = Annotated[
    MaxRows,
    PlainValidator(_read_max_rows),
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
    max_rows: RowsText = AUTO_ROWS
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
        # clinical.zones.id may be the column "zones.id" of clinical, or "id" of clinical.zones.
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


# JSON Schemas of the files, for editors that complete and check while one types.

FILES: dict[str, type[StrictShape]] = {
    "config.schema.json": ConfigShape,
    "table.schema.json": TableShape,
    "view.schema.json": ViewShape,
}


def json_schema(kind: type[StrictShape]) -> str:
    """Return the JSON Schema of a file, as text that ends with a line feed."""
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema()}
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def write_schemas(directory: pathlib.Path) -> tuple[pathlib.Path, ...]:
    """Write all of them into a directory and return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, kind in FILES.items():
        (directory / name).write_text(json_schema(kind), encoding="utf-8")
    return tuple(directory / name for name in FILES)


# From a tree of text to a shape: every mistake noted at its line, the rest kept so that it can be checked too.

S = TypeVar("S", bound=StrictShape)

# Keys whose values may have a password in them: messages do not repeat these.
_SECRET = frozenset({"password", "dsn", "from", "ledger"})
_CONTAINERS = {
    "model_type": "must be a mapping (key: value)",
    "dict_type": "must be a mapping (key: value)",
    "list_type": "must be a list [a, b]",
    "string_type": "must be text",
}


def read_shape(kind: type[S], document: Document, mistakes: Mistakes) -> S:
    """Read a document as a shape; mistakes are noted and left out."""
    # A copy, out of which mistakes are taken. The document itself goes on saying what stands in the file (`Document.has`).
    root = copy.deepcopy(dict(document.root))
    # Each turn takes out what was wrong. Every key is optional, so that what is left in the end has a shape.
    while (shape := _attempt(kind, root, document, mistakes)) is None:
        pass
    _note_missing(shape, (), document, mistakes)
    return shape


def _attempt(kind: type[S], root: dict[str, Tree], document: Document, mistakes: Mistakes) -> S | None:
    """Validate the tree; failing that, note and remove mistakes."""
    try:
        return kind.model_validate(root)
    except ValidationError as failure:
        for error in failure.errors(include_url=False):
            mistakes.add(document, error["loc"], _message(kind, document, error))
            _remove(root, error["loc"])
    return None


def _message(kind: type[StrictShape], document: Document, error: ErrorDetails) -> str:
    """Say the mistake in one value and what is allowed."""
    path, given = error["loc"], error["input"]
    match error["type"]:
        case "extra_forbidden":
            return f"is not a known key{suggestion(str(path[-1]), _keys_at(kind, path[:-1]))}"
        case "enum" if isinstance(given, str):
            # Pydantic has the allowed words in one text: "'sum' or 'zcdp'".
            allowed = re.findall("'([^']+)'", error["ctx"]["expected"])
            return f"{_shown(document, path, given)}{suggestion(given, allowed)}"
        case "value_error" if isinstance(given, str):
            return f"{_shown(document, path, given)}; it {error['ctx']['error']}"
        case "value_error":
            return str(error["ctx"]["error"])
        case "enum":
            return "must be one value, not a list or a mapping"
        case "too_short" | "too_long":
            wanted = error["ctx"].get("min_length", error["ctx"].get("max_length"))
            return f"has {len(given)} {'entry' if len(given) == 1 else 'entries'}; {wanted} needed"
        case other:
            return _CONTAINERS.get(other, error["msg"])


def _shown(document: Document, path: Path, given: str) -> str:
    """Repeat a value, unless it may be a secret or came from the environment."""
    if path in document.hidden or not _SECRET.isdisjoint(path):
        return "is not right"
    return f'is "{given}"' if len(given) <= 80 else f'is "{given[:80]}…"'


def _keys_at(kind: type[StrictShape], path: Path) -> list[str]:
    """Return the keys that a mapping at this path may have."""
    shape, named = kind, False
    for step in path:
        if named:
            named = False
        else:
            shape, named = _inside(shape.model_fields[str(step)].annotation)
    return [name if field.alias is None else field.alias for name, field in shape.model_fields.items()]


def _inside(annotation: object) -> tuple[type[StrictShape], bool]:
    """Return the shape inside an annotation, and whether it is one of several by name."""
    if isinstance(annotation, type) and issubclass(annotation, StrictShape):
        return annotation, False
    named = get_origin(annotation) is dict
    for choice in get_args(annotation):
        if isinstance(choice, type) and issubclass(choice, StrictShape):
            return choice, named
        if get_args(choice):
            return _inside(choice)
    raise InternalError


def _remove(root: dict[str, Tree], path: Path) -> None:
    """Take a value out of the tree; a list goes as a whole, so that positions stay what they are."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    inner: Tree = root
    for step in path[:-1]:
        if not isinstance(inner, dict) or str(step) not in inner:
            return
        inner = inner[str(step)]
    if isinstance(inner, dict):
        inner.pop(str(path[-1]), None)


def _note_missing(value: object, path: Path, document: Document, mistakes: Mistakes) -> None:
    """Note every key that should be there and is not."""
    if isinstance(value, dict):
        for name, item in value.items():
            _note_missing(item, (*path, name), document, mistakes)
    if not isinstance(value, StrictShape):
        return
    for name in value.required:
        # A default stands for a mapping that is not in the file: of that nothing is missing.
        if document.has(path) and not document.has((*path, name)):
            mistakes.add(document, path, f'lacks the key "{name}"')
    for name in type(value).model_fields:
        _note_missing(getattr(value, name), (*path, name), document, mistakes)
