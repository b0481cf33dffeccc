"""From the configuration to the engine that holds the records themselves."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from dpsql.engines.databases.source import DatabaseSource
from dpsql.engines.duckdb.engine import DuckDb
from dpsql.engines.duckdb.files import TableFile
from dpsql.engines.postgres.engine import PostgresEngine
from dpsql.engines.spark.engine import SparkEngine
from dpsql.errors import ConfigError, InternalError
from dpsql.policy.config import Config, CopiedDatabase, DuckDbFile, DuckDbTables, PostgresServer, SparkServer
from dpsql.policy.model import Policy

# Versions of engines that are admitted: on which the tests of admission have found the same integers in every way.
#
# Another one may have another optimizer, which nobody has tried: it is refused at start unless `engine.unverified` says so.

_LOG = logging.getLogger("dpsql.engine")


@dataclass(frozen=True, slots=True)
class AdmittedVersion:
    """One version, or all that begin with it."""

    engine: str
    version: str
    day: str
    """When the tests passed on it."""
    by: str
    """The test that has to pass on another one before it is named here."""


_ADMISSION = "test_every_way_finds_the_same_integers"
_GOLDEN = "test_spark_measures_what_duckdb_measures"
ADMITTED: Sequence[AdmittedVersion] = (
    AdmittedVersion("DuckDB", "2.0.1", "2026-11-27", _ADMISSION),
    AdmittedVersion("PostgreSQL", "15", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "16", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "17", "2026-11-28", _ADMISSION),
    AdmittedVersion("PostgreSQL", "18", "2026-11-28", _ADMISSION),
    AdmittedVersion("Sail", "0.7", "2026-11-27", _ADMISSION),
    AdmittedVersion("Spark", "4", "2026-11-22", _GOLDEN),
)
"""docs/engines.md says of each what was tried."""
_PARTS: Mapping[str, int] = {"PostgreSQL": 1, "Spark": 1, "Sail": 2}
"""How many parts of a version's number tell which one it is; of other engines all do."""


def versions(engine: str) -> str:
    """Return the admitted versions of an engine, for people: 16, 17 and 18."""
    names = [admission.version for admission in ADMITTED if admission.engine == engine]
    return " and ".join((", ".join(names[:-1]), names[-1])) if names[1:] else "".join(names)


def is_admitted(product: tuple[str, str]) -> bool:
    """Return whether an engine is admitted, by its name and its version."""
    engine, version = product
    own = ".".join(version.split(".")[: _PARTS.get(engine)])
    return any((engine, own) == (admission.engine, admission.version) for admission in ADMITTED)


def require_admitted(product: tuple[str, str], *, unverified: bool) -> None:
    """See that an engine, by its name and its version, is admitted; `unverified` lets any pass, which the log says.

    Raises:
        ConfigError: it is not.
    """
    engine, version = product
    admitted, listed = is_admitted(product), versions(engine)
    if unverified:
        verdict = (
            "is a tested version, and needs no such setting"
            if admitted
            else f"is not among the tested versions, {listed}"
        )
        _LOG.warning("engine.unverified is set: %s %s %s", engine, version, verdict)
    elif not admitted:
        raise ConfigError(
            f"engine: {engine} {version} is not among the tested versions: its optimizer may change what is measured",
            hint=f"Tested: {engine} {listed}. engine: {{…, unverified: true}} lets any version pass, at your own risk.",
        )


# Connecting the engine that the configuration names.


def connect_database(config: Config) -> DatabaseSource:
    """Open a database that is copied.

    Raises:
        ConfigError: it can't be reached or asked, its account may write, or nobody has tried such a database.
    """
    assert isinstance(config.engine, CopiedDatabase)
    require_admitted(DuckDb.product, unverified=config.unverified)
    _require_declared(config.engine.tables, config.policy)
    return DatabaseSource(config.engine, config.policy, unverified=config.unverified)


def connect_engine(config: Config) -> DuckDb | PostgresEngine | SparkEngine:
    """Open the engine.

    Raises:
        ConfigError: it can't be opened or reached, can be written to, or is of a version that is not admitted.
    """
    if config.snapshot is not None:  # which DuckDB holds
        require_admitted(DuckDb.product, unverified=config.unverified)
    engine = _connected(config)
    try:
        require_admitted(engine.product, unverified=config.unverified)
    except BaseException:
        engine.close()
        raise
    return engine


def _connected(config: Config) -> DuckDb | PostgresEngine | SparkEngine:
    match config.engine:
        case DuckDbFile(path, resources):
            return DuckDb(path, resources)
        case DuckDbTables(resources=resources) as source:
            return DuckDb(table_files(source, config.policy), resources)
        case PostgresServer(dsn, places):
            _require_declared(places, config.policy)
            return PostgresEngine(dsn, {name: table.columns for name, table in config.policy.tables.items()}, places)
        case SparkServer(remote, places):
            _require_declared(places, config.policy)
            return SparkEngine(remote, {**{name: name for name in config.policy.tables}, **places})
        case CopiedDatabase():
            raise InternalError  # nothing is asked of it but its rows
        case _:
            assert_never(config.engine)


def table_files(source: DuckDbTables, policy: Policy) -> dict[str, TableFile]:
    """Return the files that stand for tables.

    Raises:
        ConfigError: one stands for a table that no schema file declares.
    """
    _require_declared(source.tables, policy)
    return {
        name: TableFile(path, {column.name: column.type for column in policy.tables[name].columns.values()}, source.csv)
        for name, path in source.tables.items()
    }


def _require_declared(places: Mapping[str, object], policy: Policy) -> None:
    unknown = sorted(set(places) - set(policy.tables))
    if unknown:
        raise ConfigError(f"engine.tables: {', '.join(unknown)}: no schema file declares such a table")
