"""The part of a configuration that a server needs: engine, shadow, ledger, addresses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path as File

from dpsql.policy.config import (
    CopiedDatabase,
    CsvWords,
    DuckDbFile,
    DuckDbTables,
    EmbeddedShadow,
    EngineConfig,
    EngineKind,
    LdapDirectory,
    LedgerConfig,
    Listen,
    PostgresLedgerConfig,
    PostgresServer,
    Resources,
    Shadow,
    SnapshotConfig,
    SparkServer,
    SqliteLedgerConfig,
    Tls,
)
from dpsql.policy.load.document import Document, Mistakes, Path
from dpsql.policy.load.shapes import (
    ConfigShape,
    EngineShape,
    ListenShape,
    MetricsShape,
    ShadowShape,
    TlsShape,
    WebShape,
)
from dpsql.policy.model import TableName

_STATE = ".dpsql"
_DIRECTORY = re.compile(r"(ldaps?)://(\[[0-9a-f:.]+\]|[^/:?#@\s\[\]]+)(?::([0-9]{1,5}))?/?", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OWN = frozenset({"127.0.0.1", "::1", "localhost"})
_LEAST_AGE = 7
"""Days for which a copy serves, unless the configuration says otherwise, while the source is down."""
_URL = re.compile(r"[a-z][a-z0-9_]*(\+[a-z0-9_]+)?://", re.IGNORECASE)
_BESIDE = re.compile(r"(sqlite(?:\+[a-z0-9_]+)?:///)([^/?][^?]*)(.*)", re.DOTALL)
"""A file of SQLite's that is named from the directory of the configuration on."""
_RESOURCES = frozenset({"memory", "threads", "spill"})
_ENGINE_KEYS = {
    EngineKind.DUCKDB: frozenset({"database", "tables", "csv", "snapshot", "oldest"}) | _RESOURCES,
    EngineKind.POSTGRES: frozenset({"dsn", "snapshot", "oldest", "tables"}),
    EngineKind.SPARK: frozenset({"remote", "tables"}),
    EngineKind.COPY: frozenset({"from", "snapshot", "oldest", "tables"}),
}


@dataclass(frozen=True, slots=True)
class Operation:
    """The operational part of a configuration, while it is checked."""

    document: Document
    shape: ConfigShape
    base: File
    mistakes: Mistakes

    def wrong(self, path: Path, text: str) -> None:
        """Note a mistake in the configuration."""
        self.mistakes.add(self.document, path, text)


def engine_of(operation: Operation) -> EngineConfig | None:
    """Check where the records are."""
    shape = operation.shape.engine
    if shape is None or shape.kind is None:
        return None
    wanted, every = _ENGINE_KEYS[shape.kind], frozenset[str]().union(*_ENGINE_KEYS.values())
    if shape.snapshot and "snapshot" in wanted:  # DuckDB holds it
        wanted |= _RESOURCES
    for key in sorted(every - wanted):
        if operation.document.has(("engine", key)):
            operation.wrong(("engine", key), f"is not for {shape.kind}, which takes {', '.join(sorted(wanted))}")
    for name in shape.tables or {}:
        # `public.trips` and `trips` are one table, and of two places `_by_table` would lose one.
        kept = TableName.of(name).text
        if kept != name and kept in (shape.tables or {}):
            operation.wrong(("engine", "tables", name), f'is the same table as "{kept}", which stands beside it')
    if shape.kind is EngineKind.DUCKDB:
        return _duckdb_of(shape, operation)
    if shape.kind is EngineKind.SPARK:
        return _spark_of(shape, operation)
    needed = "from" if shape.kind is EngineKind.COPY else "dsn"
    if not operation.document.has(("engine", needed)):
        operation.wrong(("engine",), f'lacks the key "{needed}"')
    places = _by_table(shape.tables or {})
    for name, place in places.items():
        # A schema, a dot and a table, none of them empty.
        if not all(place.partition(".")):
            operation.wrong(("engine", "tables", name), f'is "{place}"; it must be schema.table')
    if shape.kind is EngineKind.COPY:
        return _copied_of(shape, places, operation)
    return None if shape.dsn is None else PostgresServer(shape.dsn, places)


def _copied_of(shape: EngineShape, places: Mapping[str, str], operation: Operation) -> EngineConfig | None:
    if not shape.snapshot and not operation.mistakes.touch(operation.document, ("engine", "snapshot")):
        operation.wrong(("engine",), "is of kind copy, which answers from a copy alone: snapshot: true")
    if shape.from_ is None:
        return None
    if _URL.match(shape.from_) is None:
        operation.wrong(("engine", "from"), "must be a URL such as mysql://reader@db.example.org/hospital")
        return None
    # A path from the configuration's directory on; one with a fourth slash, sqlite:////srv/x.db, is absolute and stays.
    beside = _BESIDE.match(shape.from_)
    url = shape.from_ if beside is None else f"{beside[1]}{operation.base / beside[2]}{beside[3]}"
    return CopiedDatabase(url, places)


def _spark_of(shape: EngineShape, operation: Operation) -> EngineConfig | None:
    if not operation.document.has(("engine", "remote")):
        operation.wrong(("engine",), 'lacks the key "remote"')
    if shape.remote is None:
        return None
    if not shape.remote.startswith("sc://"):
        operation.wrong(("engine", "remote"), "must be sc://host:15002")
        return None
    return SparkServer(shape.remote, _by_table(shape.tables or {}))


def _by_table(places: Mapping[str, str]) -> dict[str, str]:
    """Return places by the names by which tables are kept: `public.trips` is trips."""
    return {TableName.of(name).text: place for name, place in places.items()}


def _duckdb_of(shape: EngineShape, operation: Operation) -> EngineConfig | None:
    given = [key for key in ("database", "tables") if operation.document.has(("engine", key))]
    if len(given) != 1:
        wrong = "has database and tables; one of them is allowed" if given else 'lacks the key "database" (or "tables")'
        operation.wrong(("engine",), wrong)
        return None
    resources = _resources(shape, operation)
    if shape.csv is not None and shape.tables is None:
        operation.wrong(("engine", "csv"), "is for tables that are files, and there are none")
    if shape.tables is not None:
        files, csv = {name: operation.base / path for name, path in _by_table(shape.tables).items()}, shape.csv
        return DuckDbTables(files, resources, CsvWords() if csv is None else CsvWords(csv.nulls or (), csv.decimal))
    return None if shape.database is None else DuckDbFile(operation.base / shape.database, resources)


def _resources(shape: EngineShape, operation: Operation) -> Resources:
    processes = operation.shape.listen.processes
    # DuckDB's own default, divided among those that each have one.
    memory = shape.memory or (None if processes == 1 else f"{80 // processes}%")
    return Resources(memory, shape.threads, _beside(operation, shape.spill, "spill"))


def snapshot_of(operation: Operation) -> SnapshotConfig | None:
    """Return where the copy of the records is, if there is to be one."""
    shape, name = operation.shape.engine, operation.shape.dataset
    if shape is not None and not shape.snapshot and operation.document.has(("engine", "oldest")):
        operation.wrong(("engine", "oldest"), "is for a snapshot, and there is none: snapshot: true")
    if shape is None or not shape.snapshot or name is None:
        return None
    state, period = operation.base / (operation.shape.state or _STATE), operation.shape.refresh.days
    days = shape.oldest or (None if period is None else max(_LEAST_AGE, 3 * period))
    oldest = None if days is None else timedelta(days=days)
    return SnapshotConfig(state / name / "snapshot", _resources(shape, operation), oldest)


def shadow_of(operation: Operation) -> Shadow:
    """Check where the database without records is."""
    shape = operation.shape.shadow or ShadowShape()
    if shape.dsn is not None:
        for key in ("directory", "account", "sandbox"):
            if operation.document.has(("shadow", key)):
                operation.wrong(("shadow",), f"has {key} and dsn; one of them is allowed")
        return PostgresServer(shape.dsn)
    return EmbeddedShadow(_beside(operation, shape.directory, "shadow"), shape.account, shape.sandbox)


def ledger_of(operation: Operation) -> LedgerConfig | None:
    """Check where spending is written down."""
    url = operation.shape.ledger
    if url is None:
        return None if operation.document.has(("ledger",)) else _usual_ledger(operation)  # given, and wrong
    if url.startswith(("postgresql://", "postgres://")):
        state = operation.base / (operation.shape.state or _STATE)
        return PostgresLedgerConfig(url, state / (operation.shape.dataset or "") / "ledger")
    file = url.removeprefix("sqlite:///")
    if file == url or not file:
        operation.wrong(("ledger",), "must be sqlite:///file or postgresql://user@host/database")
        return None
    return SqliteLedgerConfig(operation.base / file)


def _usual_ledger(operation: Operation) -> LedgerConfig | None:
    name, usual = operation.shape.dataset, operation.base / _STATE
    if name is None:
        return None
    if operation.shape.state is None:
        return SqliteLedgerConfig(usual / name / "ledger.db", formerly=usual / "ledger.db")
    state = operation.base / operation.shape.state
    return SqliteLedgerConfig(state / name / "ledger.db", left=(usual / name / "ledger.db", usual / "ledger.db"))


def _beside(operation: Operation, given: str | None, usual: str) -> File:
    """Return where something that dpsql writes is."""
    return operation.base / (given or File(operation.shape.state or _STATE) / usual)


def listen_of(shape: ListenShape | MetricsShape | WebShape, path: Path, operation: Operation) -> Listen:
    """Check an address, and that the certificate's files are there."""
    tls = None if shape.tls is None else _tls(shape.tls, (*path, "tls"), operation)
    return Listen(shape.host, shape.port, tls, shape.processes if isinstance(shape, ListenShape) else 1)


def ldap_of(operation: Operation) -> LdapDirectory | None:
    """Check where the directory is, and that passwords are never sent in the clear on their way there."""
    shape = operation.shape.ldap
    if shape is None or shape.url is None or shape.user_dn is None:
        return None
    match = _DIRECTORY.fullmatch(shape.url)
    if match is None or int(match[3] or 1) not in range(1, 2**16):
        operation.wrong(
            ("ldap", "url"), f'is "{shape.url}"; it must be ldaps://host or ldap://host, with or without :port'
        )
        return None
    if shape.user_dn.count("{user}") != 1 or not shape.user_dn.replace("{user}", "").strip():
        operation.wrong(("ldap", "user_dn"), 'must have {user} once, as in "uid={user},ou=people,dc=example,dc=org"')
    _check_ways_of_passwords(operation)
    ldaps = match[1].lower() == "ldaps"
    port = int(match[3] or (636 if ldaps else 389))
    ca = None if shape.ca is None else operation.base / shape.ca
    # An IPv6 address has brackets in a URL, and none where a socket is opened.
    directory = LdapDirectory(match[2].strip("[]"), port, ldaps, shape.user_dn, ca)
    for name, user in operation.shape.users.items():
        # In a distinguished name special letters can be escaped. Other forms have no rule for that, so that plain names
        # alone are put into them.
        if user.ldap and not directory.is_of_dns and not _PLAIN_NAME.fullmatch(name):
            operation.wrong(("users", name, "ldap"), "is for a name that can't stand in ldap.user_dn, which is no DN")
    return directory


def _check_ways_of_passwords(operation: Operation) -> None:
    """The directory wants the password itself, so clients may send it over TLS only."""
    shape = operation.shape
    if shape.listen.tls is None and not operation.mistakes.touch(operation.document, ("listen",)):
        operation.wrong(("ldap",), "needs listen.tls: clients send the directory's password in the clear")
    if shape.web is not None and shape.web.tls is None and shape.web.host not in _OWN:
        operation.wrong(
            ("web",), "needs web.tls, or a host of this machine alone: browsers send the directory's password"
        )


def _tls(shape: TlsShape, path: Path, operation: Operation) -> Tls | None:
    if shape.certificate is None or shape.key is None:
        return None
    files = {"certificate": operation.base / shape.certificate, "key": operation.base / shape.key}
    for key, file in files.items():
        if not file.is_file():
            operation.wrong((*path, key), f'is "{file}", which is no file')
    return Tls(**files)
