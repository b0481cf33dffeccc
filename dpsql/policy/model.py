"""The policy as values: what the owner of the data declared, checked and without any trace of YAML.

Exact throughout: numbers are `Fraction`, dates are days and timestamps microseconds since 1970-01-01 (as `Fraction` in
intervals, `int` in domains).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from dpsql.hashed import HashedOnce, hashed_once
from dpsql.policy.choices import EmptyGroups, Preview, Reuse
from dpsql.policy.growth import Grows
from dpsql.policy.interval import Interval
from dpsql.policy.row_condition import RowCondition
from dpsql.policy.sql_type import TYPE_NAMES as TYPE_NAMES  # noqa: PLC0414  (who knows columns knows their types)
from dpsql.policy.sql_type import SqlType as SqlType  # noqa: PLC0414
from dpsql.policy.table_name import PUBLIC, TableName, bare_names, schemas_of
from dpsql.policy.view import View

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
