"""A whole configuration as values: the policy, and what a server needs to run it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from dpsql.policy.model import Period, Policy, TrialMode


class EngineKind(StrEnum):
    """The engine that holds the records."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    COPY = "copy"
    """No engine: any database that Python reads, of which dpsql's own copy is asked."""


@dataclass(frozen=True, slots=True)
class Resources:
    """An embedded engine's part of the machine; where nothing is said, all threads and 80 % of the memory."""

    memory: str | None = None
    """A size with its unit: 4GB."""
    threads: int | None = None
    spill: Path | None = None
    """Below which directory it puts what does not fit into memory; None is the system's own place for such things."""


@dataclass(frozen=True, slots=True)
class DuckDbFile:
    """A DuckDB database in a file."""

    path: Path
    resources: Resources = Resources()


class DecimalMark(StrEnum):
    """The mark before the fraction of a number: a point or a comma."""

    POINT = "."
    COMMA = ","


@dataclass(frozen=True, slots=True)
class CsvWords:
    """How CSV files write values."""

    nulls: tuple[str, ...] = ()
    """Words that stand for no value, beside nothing at all."""
    decimal: DecimalMark = DecimalMark.POINT


@dataclass(frozen=True, slots=True)
class DuckDbTables:
    """Parquet and CSV files that DuckDB reads: for each table a file, a directory, or a pattern."""

    tables: Mapping[str, Path]
    resources: Resources = Resources()
    csv: CsvWords = CsvWords()


@dataclass(frozen=True, slots=True)
class SnapshotConfig:
    """A copy of the declared columns, which is made once an epoch and asked instead of the records themselves."""

    directory: Path
    resources: Resources = Resources()
    """The part of the machine that DuckDB, which holds it, may use."""
    oldest: timedelta | None = None
    """How old a copy may be on which something is measured; None: of any age."""

    @property
    def accounts(self) -> Path:
        """Return the directory of the accounts of standing questions, which stay when a copy goes."""
        return self.directory.with_name("accounts")


@dataclass(frozen=True, slots=True)
class SqliteLedgerConfig:
    """A SQLite database in a file."""

    path: Path
    formerly: Path | None = None
    """Where it was unless given, before each data set had a place of its own."""
    left: tuple[Path, ...] = ()
    """Where it was before the configuration named another directory for it and all else."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A PostgreSQL server that somebody else runs; the DSN may hold a password and stays out of `repr`."""

    dsn: str = field(repr=False)
    tables: Mapping[str, str] = field(default_factory=dict)
    """Where it has tables that the search path does not find, or by another name: `clinical.labs`."""


@dataclass(frozen=True, slots=True)
class PostgresLedgerConfig:
    """A PostgreSQL server that has the ledger, perhaps for several dpsql servers; the DSN may hold a password."""

    dsn: str = field(repr=False)
    beside: Path
    """Beside which path of this machine the mark is, and the audit trail unless it is elsewhere."""


@dataclass(frozen=True, slots=True)
class SparkServer:
    """A Spark Connect server; the address may hold a token and stays out of `repr`."""

    remote: str = field(repr=False)
    tables: Mapping[str, str] = field(default_factory=dict)
    """Where the cluster has tables, unless that is their name: `lake.taxi.trips`, `delta:s3a://lake/trips@7`."""


@dataclass(frozen=True, slots=True)
class CopiedDatabase:
    """A database that is read through SQLAlchemy, and copied; the URL may hold a password and stays out of `repr`."""

    url: str = field(repr=False)
    tables: Mapping[str, str] = field(default_factory=dict)
    """Where it has tables that are not found by their own names: `clinical.labs`."""


class SandboxNeed(StrEnum):
    """Whether the shadow may run where the kernel can't shut it in."""

    AVAILABLE = "available"
    """It is shut in as far as the kernel can."""
    REQUIRED = "required"
    """It does not start otherwise."""


@dataclass(frozen=True, slots=True)
class EmbeddedShadow:
    """A shadow that dpsql runs itself, in a directory of its own."""

    directory: Path
    account: str | None = None
    """The account that it runs as when dpsql is root; one of its own is made unless given."""
    sandbox: SandboxNeed = SandboxNeed.AVAILABLE


EngineConfig = DuckDbFile | DuckDbTables | PostgresServer | SparkServer | CopiedDatabase
Shadow = EmbeddedShadow | PostgresServer
LedgerConfig = SqliteLedgerConfig | PostgresLedgerConfig


@dataclass(frozen=True, slots=True)
class Tls:
    """The server's certificate chain and private key, PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Listen:
    """Where clients connect; port 0 is any free one."""

    host: str
    port: int
    tls: Tls | None = None
    processes: int = 1
    """How many accept clients there, each with an engine, a shadow and sessions of its own."""


@dataclass(frozen=True, slots=True)
class LdapDirectory:
    """A directory that knows passwords; it is only ever asked over TLS, with its certificate checked."""

    host: str
    port: int
    ldaps: bool
    """Whether TLS begins with the connection; else by StartTLS."""
    user_dn: str
    """The name that a user binds as, with `{user}` instead of the user's own."""
    ca: Path | None = None
    """A PEM file with the certificates that are believed; None: the system's."""

    @property
    def is_of_dns(self) -> bool:
        """Return whether users bind by a distinguished name, in which letters are escaped, and not by a mail address."""
        return "=" in self.user_dn


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may log in, and the role that pays for their questions."""

    name: str
    role: str
    verifier: str = field(repr=False)
    """SCRAM-SHA-256, in PostgreSQL's format; empty where the directory knows the password."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that `config.yaml` and the schema files say."""

    policy: Policy
    engine: EngineConfig
    listen: Listen
    shadow: Shadow
    ledger: LedgerConfig
    users: Mapping[str, User]
    file: Path
    """The file that was read; the paths in it start from its directory."""
    refresh: Period = Period.NEVER
    """When the epoch advances by itself."""
    web: Listen | None = None
    """Where the pages are; None: there are none."""
    metrics: Listen | None = None
    """Where Prometheus reads the figures; None: nowhere."""
    ldap: LdapDirectory | None = None
    """The directory that knows the passwords of users without a verifier."""
    audit: Path | None = None
    """The directory of the audit trail, where it is not beside the ledger."""
    snapshot: SnapshotConfig | None = None
    """Where the copy is that answers for the engine; None: the engine answers itself."""
    unverified: bool = False
    """Whether the engine may be of a version that nobody has tried."""
    trial: TrialMode = TrialMode.FORMS
    """The statements that run on synthetic data before they run on records."""
    play: bool = False
    """Whether this is the demo, whose budgets are for play and promise nothing to anybody."""
    notes: Sequence[str] = ()
    """What is right in the files, and may be meant otherwise: with file and line."""

    @property
    def base(self) -> Path:
        """Return the directory that relative paths start from."""
        return self.file.parent

    @property
    def asked_anew(self) -> Period:
        """Return when a question begins an epoch: never where each copy of the records begins one."""
        return self.refresh if self.snapshot is None else Period.NEVER
