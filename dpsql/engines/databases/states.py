"""What a database is, and one state of all of its tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpsql.engines.databases.client import sqlalchemy
from dpsql.errors import ConfigError

_MYSQL = (
    "SET time_zone = '+00:00'",
    "SET SESSION sql_mode = REPLACE(@@sql_mode, 'PAD_CHAR_TO_FULL_LENGTH', '')",
    "SET SESSION net_write_timeout = 3600",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_POSTGRES = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL extra_float_digits = 1",
    "SELECT 1",
)
_BEGIN: Mapping[str, Sequence[str]] = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "postgresql": _POSTGRES,
    # The state is that of the first reading.
    "sqlite": ("BEGIN", "SELECT count(*) FROM sqlite_master"),
    "mssql": ("SET TRANSACTION ISOLATION LEVEL SNAPSHOT",),
    "oracle": ("SET TRANSACTION READ ONLY", "ALTER SESSION SET TIME_ZONE = 'UTC'"),
}
"""What begins a transaction in which all that is read is of one moment."""
_NAMES = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "mysql": "MySQL", "mssql": "SQL Server", "oracle": "Oracle"}
_TRIED = frozenset({"MariaDB", "SQLite", "PostgreSQL"})
_LOCAL = frozenset({None, "", "localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Product:
    """A database by its name and its version."""

    name: str
    version: str

    def see_that_it_was_tried(self, *, unverified: bool) -> None:
        """See that somebody has copied such a database, unless the configuration says that it need not be.

        Raises:
            ConfigError: nobody has.
        """
        if self.name not in _TRIED and not unverified:
            raise ConfigError(
                f"engine: nobody has tried to copy a database of {self.name}",
                hint=f"Tried were {', '.join(sorted(_TRIED))}. engine: {{…, unverified: true}} lets any pass; "
                "docs/databases.md says what to look at.",
            )

    def notes(self, connection: Any, backend: str, places: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
        """Yield what the operator should know: whether the copy is of one state, and whether others may read along."""
        yield f"the database is {self.name} {self.version}"
        if backend not in _BEGIN:
            yield f"{self.name} has no one state of several tables here: make copies while nobody writes"
        url = connection.engine.url
        if backend in {"mysql", "mariadb"}:
            loose = sorted(name for name, place in places.items() if _is_unsafe(connection, *place))
            if loose:
                yield f"no tables of InnoDB's, and so of no one state: {', '.join(loose)}; copy while nobody writes there"
            (encrypted,) = (row[1] for row in connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
            if not encrypted and url.host not in _LOCAL:
                yield "records come unencrypted from another machine: ?ssl_ca=/path/to/ca.pem in engine.from"
        if backend == "postgresql":
            (encrypted,) = connection.exec_driver_sql("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").one()
            if not encrypted and url.host not in _LOCAL:
                yield "records come unencrypted from another machine: ?sslmode=verify-full in engine.from"


def product_of(connection: Any, backend: str) -> Product:
    """Return what a database says that it is."""
    dialect = connection.dialect
    name = "MariaDB" if getattr(dialect, "is_mariadb", False) else _NAMES.get(backend, backend)
    version = ".".join(str(part) for part in dialect.server_version_info or () if isinstance(part, int))
    return Product(name, version)


def begin(connection: Any, backend: str) -> None:
    """Begin a transaction in which all that is read is of one moment, where there is one."""
    if backend == "sqlite":  # whose driver begins none by itself
        connection.connection.driver_connection.isolation_level = None
    for statement in _BEGIN.get(backend, ()):
        connection.exec_driver_sql(statement)


def _is_unsafe(connection: Any, name: str, schema: str | None) -> bool:
    """Return whether a table is of a kind that takes no part in transactions."""
    sa = sqlalchemy()
    asked = sa.text(
        "SELECT engine FROM information_schema.tables "
        "WHERE table_name = :name AND table_schema = coalesce(:schema, database())"
    )
    engine = connection.execute(asked, {"name": name, "schema": schema}).scalar()
    return engine is not None and engine.lower() != "innodb"
