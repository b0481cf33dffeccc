"""The policy as values: what the owner of the data declared, checked and without any trace of YAML.

Exact throughout: numbers are `Fraction`, dates are days and timestamps microseconds since 1970-01-01 (as `Fraction` in
intervals, `int` in domains).
"""

import hashlib
import json
import math
import re
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Generic, Self, TypeVar, assert_never

from dpsql.frozen import HashedOnce, hashed_once
from dpsql.policy.growth import Grows
from dpsql.policy.interval import Interval

# The choices of a role, and of a session for itself, that are no amounts.


class EmptyGroups(StrEnum):
    """The treatment of public groups that may have no rows."""

    AUTO = "auto"
    """They are left out of rankings that do not show all groups, and where groups are counted, and shown elsewhere."""
    SHOW = "show"
    HIDE = "hide"


class Digits(StrEnum):
    """The digits of an answer's real numbers."""

    AUTO = "auto"
    """Those that noise lets mean something."""
    ALL = "all"


class Reuse(StrEnum):
    """The questions that are computed from answers which the role has paid for, instead of measuring them."""

    OFF = "off"
    """The same measurement alone."""
    EXACT = "exact"
    """Also what such an answer says by itself: in other words, fewer columns, some of its groups."""
    ALL = "all"
    """Also what follows from it: sums of its groups."""


class Preview(StrEnum):
    """The answer to a statement that asks for any rows of a protected table."""

    REFUSE = "refuse"
    MADE_UP = "made-up"


class TrialMode(StrEnum):
    """The statements that run on synthetic data before they run on records."""

    ALWAYS = "always"
    """Each, whenever it is measured."""
    FORMS = "forms"
    """Those of a form that has not passed yet."""
    OFF = "off"


class Accounting(StrEnum):
    """How charges add up."""

    SUM = "sum"
    """ε and δ are added up."""
    ZCDP = "zcdp"
    """Each ε as the ρ of zero-concentrated differential privacy, whose sum is turned into ε at a part of δ."""


# The types that columns may be declared with, and what they have in common.


class SqlType(StrEnum):
    """The column types a schema file may declare, by PostgreSQL's own names."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    REAL = "real"
    DOUBLE = "double precision"
    TEXT = "text"
    CHARACTER = "bpchar"
    """char(n): PostgreSQL's own name for it has no length."""
    UUID = "uuid"
    ENUM = "enum"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    INTERVAL = "interval"
    JSON = "jsonb"
    """Read by declared paths alone; no expression is of this type."""

    @property
    def is_integer(self) -> bool:
        """Return whether every value is an integer."""
        return self in _INTEGERS

    def has_room(self, value: "Value") -> bool:
        """Return whether a number is one of a type of whole numbers; all others have room for what they are given."""
        bits = _BITS.get(self)
        # Two's complement has one number more below 0 than above.
        return bits is None or -(2**bits) <= Fraction(value) < 2**bits

    @property
    def is_float(self) -> bool:
        """Return whether NaN and ±infinity are values."""
        return self in _FLOATS

    @property
    def is_number(self) -> bool:
        """Return whether arithmetic is defined."""
        return self in _NUMBERS

    @property
    def is_text(self) -> bool:
        """Return whether engines read the values as texts."""
        return self in _TEXTS

    @property
    def spelled(self) -> str:
        """Return the name by which the shadow reads values; labels have no type that all of them are of."""
        return "text" if self is SqlType.ENUM else self.value

    @property
    def is_moment(self) -> bool:
        """Return whether the values are microseconds: of a clock, or of UTC's where the type has a time zone."""
        return self in _MOMENTS

    @property
    def is_span(self) -> bool:
        """Return whether the values are microseconds and no moment: since midnight, or of an interval."""
        return self in _SPANS

    @property
    def is_temporal(self) -> bool:
        """Return whether the values are days or microseconds."""
        return self in _TEMPORAL


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfEachType(Generic[T]):
    """Something for each column type: a type that is added here is missed by mypy wherever nothing is said of it."""

    boolean: T
    smallint: T
    integer: T
    bigint: T
    numeric: T
    real: T
    double: T
    text: T
    character: T
    uuid: T
    enum: T
    date: T
    timestamp: T
    timestamptz: T
    time: T
    interval: T
    json: T

    def of(self, type_: SqlType) -> T:
        """Return what there is for a type."""
        # The fields are called as the members of `SqlType` are, in small letters.
        found: T = getattr(self, type_.name.lower())
        return found


# Planning asks for these of every expression again and again.
_BITS = {SqlType.SMALLINT: 15, SqlType.INTEGER: 31, SqlType.BIGINT: 63}
"""Of types of whole numbers, the digits beside the sign."""
_INTEGERS = frozenset({SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT})
_FLOATS = frozenset({SqlType.REAL, SqlType.DOUBLE})
_NUMBERS = _INTEGERS | _FLOATS | {SqlType.NUMERIC}
_TEXTS = frozenset({SqlType.TEXT, SqlType.CHARACTER, SqlType.UUID, SqlType.ENUM})
_MOMENTS = frozenset({SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ})
_SPANS = frozenset({SqlType.TIME, SqlType.INTERVAL})
_TEMPORAL = _MOMENTS | {SqlType.DATE}

TYPE_NAMES: Mapping[str, SqlType] = {
    **{type_.value: type_ for type_ in SqlType},
    "bool": SqlType.BOOLEAN,
    "int2": SqlType.SMALLINT,
    "int": SqlType.INTEGER,
    "int4": SqlType.INTEGER,
    "int8": SqlType.BIGINT,
    "decimal": SqlType.NUMERIC,
    "float4": SqlType.REAL,
    "float8": SqlType.DOUBLE,
    "varchar": SqlType.TEXT,
    "character varying": SqlType.TEXT,
    "char": SqlType.CHARACTER,
    "character": SqlType.CHARACTER,
    "timestamp without time zone": SqlType.TIMESTAMP,
    "timestamp with time zone": SqlType.TIMESTAMPTZ,
    "time without time zone": SqlType.TIME,
    # json and jsonb are both read by paths, and neither as a whole: the analysis sees no difference.
    "json": SqlType.JSON,
}
"""Every name that PostgreSQL has for them."""


# The condition for the rows of a table that a role sees, as the owner of the data wrote it.


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A condition over the columns of one table."""

    text: str
    """As it was written, in SQL."""
    place: str = field(default="", compare=False)
    """Where it stands, as messages name it: file, line and key."""
    tree: object = field(default=None, compare=False, repr=False)
    """The condition that is put into statements; None until it was read (`rewrite.syntax.whole.conditions`)."""


# Views as values: queries with names, as the owner of the data declared them.


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
    """The query that is put into statements; None until it was read (`gateway.plans.views`)."""


# Names of tables and views: a schema and a name, which are written as one text wherever things are kept by name.
#
# trips                 →  public, trips
# clinical.encounters   →  clinical, encounters
#
# In that text a name without a schema is one of `public`. No part has a dot (`load` sees to it), so that no two names are
# one text, and no name without a schema is the text of another with one.

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


# The policy: tables, units, budgets, roles.

_CHARACTERS = re.compile(r"character\((\d+)\)")
_WITH_SCHEMA = re.compile(r'"((?:[^"]|"")+)"\."(?:[^"]|"")+"')
"""An enumeration's name, if its schema is another than `public`."""
_LEAST = 1_000
"""The share of `per_query` that a measurement pays at least, unless the policy says otherwise."""
CHOOSING = 5
"""A measurement whose C is chosen pays one of so many equal parts for that, and the others for itself."""

Value = bool | int | Fraction | str
"""A value of a domain. NULL is never one: `Column.nullable` says whether it can occur."""


class Period(StrEnum):
    """How often a role's budget renews (UTC; weeks start on Monday, quarters with January, April, July and October)."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    NEVER = "never"

    @property
    def days(self) -> int | None:
        """Return how many days it lasts at most; None: it never ends."""
        return {Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 31, Period.QUARTER: 92}.get(self)


UniqueKey = frozenset[str]
"""Columns of a table of which no two rows have the same values, but for NULL."""


def is_unique(columns: Iterable[str], keys: frozenset[UniqueKey]) -> bool:
    """Return whether no two rows have the same values in these columns: a key is among them."""
    named = frozenset(columns)
    return any(key <= named for key in keys)


@dataclass(frozen=True, slots=True)
class Reference:
    """The key of a table that a column points to, or several columns together."""

    table: str
    column: str
    public: bool = True
    """Whether the table is public, so that its keys are the possible values."""
    further: tuple[str, ...] = ()
    """The other columns of a key of several."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return all columns of the key."""
        return (self.column, *self.further)

    @property
    def text(self) -> str:
        """Return the key as messages name it: `customers.id`, `lines.(order, place)`."""
        return f"{self.table}.({', '.join(self.columns)})" if self.further else f"{self.table}.{self.column}"


_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The way to a value inside a column of JSON: objects in each other, by their keys."""

    column: str
    keys: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return it as clients write it: `props->>'plan'`, `props->'address'->>'city'`."""
        name = self.column if _PLAIN_NAME.fullmatch(self.column) else '"' + self.column.replace('"', '""') + '"'
        *outer, last = ("'" + key.replace("'", "''") + "'" for key in self.keys)
        return "".join((name, *(f"->{key}" for key in outer), f"->>{last}"))


@hashed_once
@dataclass(frozen=True, slots=True)
class Column(HashedOnce):
    """One declared column; `bounds` and `values` exclude each other."""

    name: str
    type: SqlType
    declared: str
    """The type as written, for the shadow's DDL: `numeric(10,2)`."""
    bounds: Interval | None = None
    values: tuple[Value, ...] | None = None
    step: Fraction | None = None
    """All values are whole multiples of it, declared or by the type; a value beside it is rounded where it is summed."""
    references: Reference | None = None
    nullable: bool = False
    description: str | None = None
    in_numbers: bool = False
    """Whether it is a boolean that the engine stores as 0 and 1."""
    names_unit: bool = False
    """Whether it says by itself whose a row is: no engine may store it in floats, and its values are told apart exactly."""
    paths: tuple["Column", ...] = field(default=(), repr=False)
    """Of a column of JSON: what can be read of it, each a column of its own with a `path`. Releases are found by texts in
    which columns are shown, and go on being found if what is new is not."""
    path: JsonPath | None = field(default=None, repr=False)
    """Where the value stands, of one inside a column of JSON; its name is the path's text."""

    @property
    def stored_name(self) -> str:
        """Return the name of the column that the engine has: rights are to that."""
        return self.name if self.path is None else self.path.column

    @property
    def spelled_type(self) -> str:
        """Return the type as the shadow's SQL has it wherever it stands: an enumeration's with its schema."""
        of_schema = self.type is not SqlType.ENUM or _WITH_SCHEMA.fullmatch(self.declared)
        return self.declared if of_schema else f"public.{self.declared}"

    @property
    def schema_of_type(self) -> str:
        """Return the schema that an enumeration is in."""
        match = _WITH_SCHEMA.fullmatch(self.declared) if self.type is SqlType.ENUM else None
        return PUBLIC if match is None else match[1].replace('""', '"')

    @property
    def characters(self) -> int | None:
        """Return n of a char(n)."""
        match = _CHARACTERS.fullmatch(self.declared)
        return None if match is None else int(match[1])


@dataclass(frozen=True, slots=True)
class UnitBound:
    """The owner of a table's rows, and the most rows of one unit that count."""

    column: str
    max_rows: int
    """C; where it is chosen for each statement, what is taken for it until then, and where it can't be chosen."""
    max_groups: int | None = None
    """The number of groups in which a unit counts where groups are selected, or its own number is asked; `max_rows`
    unless given."""
    through: Reference | None = None
    """Where the column points to, if it does not name the unit itself: the unit is that of the row there."""
    further: tuple[str, ...] = ()
    """The other columns that point there, where it takes several: each to the column of the key in the same place."""
    up_to: int | None = None
    """The most that C may be where it is chosen for each statement (`max_rows: auto`); None where it is `max_rows`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that together say whose a row is."""
        return (self.column, *self.further)

    @property
    def naming(self) -> frozenset[str]:
        """Return the column that says so by itself: none where it takes several."""
        return frozenset() if self.further else frozenset({self.column})


@dataclass(frozen=True, slots=True)
class Table:
    """A protected table, or a public one (`public`), whose rows everybody may see."""

    name: str
    columns: Mapping[str, Column]
    units: Mapping[str, UnitBound]
    """By unit kind; empty for a public table."""
    public: bool = False
    key: str | None = None
    """The column that identifies a row, where one was declared."""
    expected_rows: int | None = None
    description: str | None = None
    file: str = ""
    """The file that declares it, as messages name it."""
    joint_key: tuple[str, ...] = ()
    """The columns that together identify a row, where several were declared."""
    references: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By table, what several columns together point to: the column of its key by the column of this table."""
    grows: Grows | None = field(default=None, repr=False)
    """How it grows, if its rows come by the time; a table that says nothing of it is shown as ever."""

    def column_named(self, name: str) -> Column | None:
        """Return what is read by a name: a column, or a path in one of JSON."""
        return self.columns.get(name) or next((path for path in self.paths if path.name == name), None)

    def said_of(self, column: Column) -> str | None:
        """Return what is said of a column for those who ask: what it means, and that the table grows by it."""
        if self.grows is None or self.grows.by != column.name:
            return column.description
        return f"{column.description}; {self.grows.text()}" if column.description else self.grows.text()

    @property
    def paths(self) -> tuple[Column, ...]:
        """Return what is declared inside of columns of JSON."""
        return tuple(path for column in self.columns.values() for path in column.paths)

    @property
    def keys(self) -> frozenset[UniqueKey]:
        """Return the key that was declared, if one was."""
        columns = self.joint_key or (() if self.key is None else (self.key,))
        return frozenset({frozenset(columns)}) if columns else frozenset()


@dataclass(frozen=True, slots=True)
class Privacy:
    """An amount of ε and δ."""

    epsilon: Fraction
    """Of what has a ρ: its part of the ε that a statement is priced at, of which it keeps none."""
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    """The ρ of noise that is private by zCDP alone, Gaussian noise; 0 for all else, whose ρ follows from its ε."""


@dataclass(frozen=True, slots=True)
class DatasetBudget:
    """The budget of all roles together that protect a unit kind."""

    total: Privacy
    window: int | None = None
    """In how many days, any that follow each other; None is ever."""
    profile: Fraction | None = None
    """The price of a profile of the data, once an epoch, for the data set and each role that sees it; None: there is
    none."""
    concentrated: Fraction | None = None
    """With zCDP: the part of δ at which ρ is turned into ε; the other is for the charges' own. None: ε and δ are added up."""


@dataclass(frozen=True, slots=True)
class RoleBudget:
    """The budget of a role in one period."""

    total: Privacy
    period: Period = Period.NEVER
    concentrated: Fraction | None = None
    """As that of `DatasetBudget`."""


class NoiseLevel(StrEnum):
    """How much noise a role's answers aim at: a target for the relative error, at most the role's ε."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def error(self) -> Fraction:
        """Return the relative error that is aimed at: the middles of 0–5 %, 5–10 % and 10–20 %, PyDPLib's ranges."""
        return _ERRORS[self]


_ERRORS = {
    NoiseLevel.LOW: Fraction(25, 1000),
    NoiseLevel.MEDIUM: Fraction(75, 1000),
    NoiseLevel.HIGH: Fraction(150, 1000),
}


class MechanismName(StrEnum):
    """The noise that a role's statistics get."""

    CUBE = "cube"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    """No role asks for it: it is chosen for a statement where all who pay count ρ."""


@dataclass(frozen=True, slots=True)
class RoleLimits:
    """The engine's work for a role in a day (UTC), at any price."""

    runs: int = 10_000
    """The most measurements."""
    failures: int = 10
    """The most that may fail before the role's account is closed."""


@dataclass(frozen=True, slots=True)
class Role:
    """The askers: the unit kind that is protected from them, and their budgets."""

    name: str
    protects: str
    budget: RoleBudget
    per_query: Privacy
    tables: frozenset[str] | None = None
    """The protected tables and views that it may use; None means all."""
    clamp: bool = False
    """Whether its answers are clamped to their possible range."""
    mechanism: MechanismName = MechanismName.CUBE
    max_groups: int = 100_000
    noise: NoiseLevel | None = None
    owner: bool = False
    """Whether it sees what all roles have spent and asked, and not only itself."""
    least: Fraction | None = None
    """The least ε that a measurement pays, where the policy says one."""
    limits: RoleLimits = RoleLimits()
    empty_groups: EmptyGroups = EmptyGroups.AUTO
    """Whether its answers have public groups that may be empty, unless the session sets `dpsql.empty_groups`."""
    reuse: Reuse = Reuse.ALL
    """The questions that are read off answers that it has paid for, unless the session sets `dpsql.reuse`."""
    min_units: int | None = None
    """How many units a group has to have, as far as noise lets tell, to be shown; None: any number."""
    preview: Preview = Preview.REFUSE
    """Whether it sees made-up rows where a tool previews a protected table."""
    shares: Mapping[str, Fraction] = field(default_factory=dict)
    """By user: the most ε of its budget that this one may spend in its period; all of it for users who are not here."""
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By protected table: the columns that it may name; all of the tables that are not here."""
    where: Mapping[str, RowCondition] = field(default_factory=dict)
    """By protected table: a condition on the rows that it sees; all rows of the tables that are not here."""

    @property
    def counts_rho(self) -> bool:
        """Return whether the role and its users count ρ: a user's share is an amount of ε."""
        return self.budget.concentrated is not None and not self.shares

    def may_use(self, table: str) -> bool:
        """Return whether it may use a protected table or view."""
        return self.tables is None or table in self.tables

    def may_name(self, table: str, column: str) -> bool:
        """Return whether it may name a column of a table."""
        return table not in self.columns or column in self.columns[table]

    def granted_rows(self, tables: Iterable[str]) -> Iterator[str]:
        """Yield of which rows the role sees no others, in words, for each of some tables of which it does not see all."""
        for name in sorted({*tables} & self.where.keys()):
            yield f"of {name} those for which {' '.join(self.where[name].text.split())}"

    @property
    def least_epsilon(self) -> Fraction:
        """Return the least ε that a measurement pays; without one, what engines do could be asked about for nothing."""
        return self.per_query.epsilon / _LEAST if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that the analysis of a statement depends on, beside the statement."""

    dataset: str
    tables: Mapping[str, Table]
    roles: Mapping[str, Role]
    budgets: Mapping[str, DatasetBudget]
    """The data set's own budget per unit kind, for all roles together."""
    fingerprint: str
    """A hash of the tables, columns and units: releases made under others are not reused."""
    views: Mapping[str, View] = field(default_factory=dict)
    """By name, each behind those that it reads."""

    def counts_rho(self, role: Role) -> bool:
        """Return whether all who pay for a role's statements count ρ: noise that has no ε may then be released."""
        return role.counts_rho and self.budgets[role.protects].concentrated is not None

    search_path: tuple[str, ...] = ()
    """The schemas in which clients' bare names are looked for unless they say others; none: PostgreSQL's default."""

    def protects(self, name: str) -> bool:
        """Return whether a name is that of a table or a view with private rows."""
        declared = self.tables.get(name) or self.views.get(name)
        return declared is not None and not declared.public

    @property
    def has_previews(self) -> bool:
        """Return whether a role sees made-up rows."""
        return any(role.preview is Preview.MADE_UP for role in self.roles.values())

    @property
    def protected(self) -> frozenset[str]:
        """Return the names of the tables and views with private rows."""
        return frozenset(name for name in (*self.tables, *self.views) if self.protects(name))

    def asked_as(self, table: str) -> str:
        """Return a table's name as a statement of a client's session has it, unless that session has set another path."""
        name = TableName.of(table)
        return name.quoted if self.search_path else name.called

    @property
    def schemas(self) -> tuple[str, ...]:
        """Return the schemas that tables, views and types are in, beside `public`."""
        of_types = {column.schema_of_type for table in self.tables.values() for column in table.columns.values()}
        return tuple(sorted({*schemas_of((*self.tables, *self.views)), *of_types} - {PUBLIC}))

    @property
    def taken(self) -> frozenset[str]:
        """Return the names that no temporary table may have: those of tables and views, with their schemas and without."""
        return frozenset((*self.tables, *self.views)) | bare_names((*self.tables, *self.views))


# The steps of numbers: all values are whole multiples of one.


def in_single_precision(value: Value) -> Fraction:
    """Return the number of type `real` that is nearest.

    Raises:
        ValueError: it is beyond the largest one.
    """
    try:
        (number,) = struct.unpack("<f", struct.pack("<f", float(Fraction(value))))
    except OverflowError:
        raise ValueError(str(value)) from None
    return Fraction(number)


def decimal_of_single(value: Value) -> Fraction:
    """Return the decimal with the fewest digits that is this number in single precision: as it was written."""
    written = (Fraction(f"{float(Fraction(value)):.{digits}g}") for digits in range(1, 10))
    return next((decimal for decimal in written if in_single_precision(decimal) == value), Fraction(value))


def common_step(steps: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples; 0 where all are 0."""
    common = Fraction(0)
    for step in steps:
        # Over one denominator, since the common divisor of a/n and b/n is that of a and b, divided by n.
        below = math.lcm(common.denominator, step.denominator)
        common = Fraction(math.gcd(int(common * below), int(step * below)), below)
    return common


# Names as YAML writes them.

_PLAIN_IN_YAML = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)
# Words that some readers of YAML take for booleans or nulls.
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_name(name: str) -> str:
    """Return a name for a YAML file: plain where it can only be read as itself."""
    plain = _PLAIN_IN_YAML.fullmatch(name) and name.lower() not in _WORDS_OF_YAML
    return name if plain else json.dumps(name, ensure_ascii=False)


# How many periods of a budget somebody is in the data for: what renews is given out in each of them.
#
# A budget renews at midnight UTC. A person who stays for T days stays T·24 hours, and comes and goes at any time
# of a day. To be there in k periods in a row they must be there throughout the k − 2 in the middle, and for a moment of
# the first and of the last. So k is possible if, and only if, some k − 2 periods in a row are shorter than T days
# together: for days T + 1.

LONGEST_STAY = 36_525
"""The longest stay in days that is counted: a hundred years. A person who stays for longer stays for good."""

_WEEK = 7
_SHORTEST_MONTH = 28
_CYCLE = 400 * 12
"""After so many months the calendar repeats itself."""


def periods_touched(period: Period, days: int | None) -> int:
    """Return in how many periods, at the most, somebody is there who stays for `days`, or for good (None).

    Raises:
        ValueError: less than a day, more than `LONGEST_STAY`, or for good while the budget renews.
    """
    if days is not None and not 1 <= days <= LONGEST_STAY:
        raise ValueError(f"a stay of {days:,} days: it must be from 1 to {LONGEST_STAY:,} days, or for good")
    match period:
        case Period.NEVER:
            return 1
        case _ if days is None:
            raise ValueError(
                f"a budget that renews every {period} has no end for people who stay for good: "
                "say how long they stay, or let it never renew"
            )
        case Period.DAY:
            return days + 1
        case Period.WEEK:
            return 2 + (days - 1) // _WEEK
        case Period.MONTH:
            return _months(days, 1)
        case Period.QUARTER:
            return _months(days, 3)
        case _:
            assert_never(period)


def _months(days: int, each: int) -> int:
    """Return the largest k of which k − 2 periods of `each` so many months, in a row, may be shorter than `days`."""
    # `bisect_left` says of how many numbers of periods, 0 among them, the shortest are shorter than the stay: the
    # largest is one less, and the first and the last period come to it. A stay of 30 days may have days of January, all
    # of February, and days of March.
    return bisect_left(range(LONGEST_STAY // (each * _SHORTEST_MONTH)), days, key=lambda k: _shortest(k, each)) + 1


@cache
def _shortest(periods: int, each: int) -> int:
    """Return the fewest days that so many periods of months in a row may have; a first one begins with a January."""
    ends = _month_ends()
    return min(ends[first + periods * each] - ends[first] for first in range(0, _CYCLE, each))


@cache
def _month_ends() -> Sequence[int]:
    """Return the days before each month, from a first one on, for more months than a stay and the cycle have."""
    lengths = [
        (date(year + (month == 12), month % 12 + 1, 1) - date(year, month, 1)).days
        for year in range(2000, 2000 + 400 + 110)
        for month in range(1, 13)
    ]
    return (0, *accumulate(lengths))


# A hash of everything that the meaning of a measurement depends on: tables, columns, units.


def fingerprint(tables: Mapping[str, Table]) -> str:
    """Return a SHA-256 over a canonical text: the same for the same declarations, in any order."""
    canonical = json.dumps([_table(tables[name]) for name in sorted(tables)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _table(table: Table) -> list[object]:
    columns = [_column(table.columns[name]) for name in sorted(table.columns)]
    units = [
        [
            kind,
            bound.column,
            bound.max_rows,
            # What is not declared leaves no trace here. So a key that is new in dpsql changes no hash of a policy
            # without it, whose stored releases are found as before.
            *([] if bound.max_groups is None else [bound.max_groups]),
            *([] if bound.up_to is None else [["auto"]]),
            *_through(bound),
        ]
        for kind, bound in sorted(table.units.items())
    ]
    return [table.name, table.public, table.key, units, columns, *_joint(table)]


def _joint(table: Table) -> list[object]:
    """Return the keys and references of several columns, if there are any."""
    references = [[name, sorted(pairs.items())] for name, pairs in sorted(table.references.items())]
    return [[list(table.joint_key), references]] if table.joint_key or references else []


def _through(bound: UnitBound) -> list[object]:
    return (
        [] if bound.through is None else [[bound.through.table, bound.through.column, *_further(bound, bound.through)]]
    )


def _further(bound: UnitBound, through: Reference) -> list[object]:
    return [[list(bound.further), list(through.further)]] if bound.further else []


def _column(column: Column) -> list[object]:
    bounds = None if column.bounds is None else [str(column.bounds.low), str(column.bounds.high)]
    # With its type, since the text "1" and the number 1 are different values.
    values = None if column.values is None else [[type(value).__name__, str(value)] for value in column.values]
    target = None if column.references is None else [column.references.table, column.references.column]
    step = None if column.step is None else str(column.step)
    paths = [[list(path.path.keys), _column(path)] for path in column.paths if path.path is not None]
    inside = [sorted(paths, key=str)] if paths else []
    return [column.name, column.type, column.declared, bounds, step, values, target, column.nullable, *inside]
