"""The shapes of values in YAML, and of the parts of `config.yaml` about roles, users and the engine.

Every key is optional; `required` has those that must be there, so that a missing one does not hide mistakes beside it.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from dpsql.policy.choices import Accounting, EmptyGroups, Preview, Reuse
from dpsql.policy.config import DecimalMark, EngineKind
from dpsql.policy.load import scalars
from dpsql.policy.model import MechanismName, NoiseLevel, Period, SqlType


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
