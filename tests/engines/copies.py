"""Configurations whose records are copied, made of values."""

from collections.abc import Mapping
from pathlib import Path

from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.policy.config import (
    Config,
    DuckDbFile,
    EmbeddedShadow,
    EngineConfig,
    Listen,
    SnapshotConfig,
    SqliteLedgerConfig,
)
from dpsql.policy.model import Column, Policy, Role, SqlType, Table, UnitBound
from dpsql.question import Cancellation


def table(name: str, *columns: Column, unit: str = "", public: bool = False) -> Table:
    """Return a table of one column's units."""
    units = {"person": UnitBound(unit, 2)} if unit else {}
    return Table(name, {column.name: column for column in columns}, units, public=public, file=f"{name}.yaml")


def column(name: str, type_: SqlType, declared: str = "") -> Column:
    """Return a column without bounds."""
    return Column(name, type_, declared or type_.value, nullable=True)


def copying(
    directory: Path,
    engine: EngineConfig | None,
    *tables: Table,
    fingerprint: str = "first",
    roles: Mapping[str, Role] = {},
) -> Config:
    """Return a configuration whose copy is in `directory`; without an engine the records are in a DuckDB file there."""
    by_name: Mapping[str, Table] = {each.name: each for each in tables}
    return Config(
        policy=Policy("taxi", by_name, roles, {}, fingerprint),
        engine=engine or DuckDbFile(directory / "records.duckdb"),
        listen=Listen("127.0.0.1", 0),
        shadow=EmbeddedShadow(directory / "shadow"),
        ledger=SqliteLedgerConfig(directory / "ledger.db"),
        users={},
        file=directory / "config.yaml",
        snapshot=SnapshotConfig(directory / "snapshot"),
    )


def written(config: Config) -> Path:
    """Write a copy; return its file."""
    assert config.snapshot is not None
    made = write_snapshot(config, lambda _: None, Cancellation())
    return config.snapshot.directory / f"{made.name}.duckdb"
