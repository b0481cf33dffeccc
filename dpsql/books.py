"""From the configuration to its ledger."""

from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from dpsql.engines.source import source
from dpsql.errors import ConfigError
from dpsql.policy.config import Config, PostgresServer, SqliteFile
from dpsql.privacy.ledger import DataSet
from dpsql.privacy.sqlite_file import owner_of
from dpsql.privacy.sqlite_ledger import SqliteLedger


def open_ledger(config: Config, *, adopt: bool = False) -> SqliteLedger:
    """Return the configuration's ledger, made if there is none; `adopt` makes that of another data set its own.

    Raises:
        ConfigError: it can't be used, or is another data set's.
    """
    match config.ledger:
        case SqliteFile(path, formerly):
            dataset = DataSet(config.policy.dataset, source(config.engine))
            return SqliteLedger(_place(path, formerly, dataset), lambda: datetime.now(UTC), dataset, adopt=adopt)
        case PostgresServer():
            raise ConfigError("a ledger on PostgreSQL is not supported yet; use sqlite:///…")
        case _:
            assert_never(config.ledger)


def _place(path: Path, formerly: Path | None, dataset: DataSet) -> Path:
    """Return where the ledger is: `formerly` all data sets of a directory had the same one, which stays in use.

    Raises:
        ConfigError: another data set has taken it over, with what this one may have spent.
    """
    if formerly is None or path.exists() or not formerly.exists():
        return path
    owner = owner_of(formerly)
    if owner is None or owner.dataset == dataset:
        return formerly
    if owner.inherited:
        raise ConfigError(
            f'ledger {formerly} was kept before ledgers belonged to data sets, and is now that of "{owner.dataset.name}"',
            hint=f'Was "{dataset.name}" never served with it? Then say where its own is to be: ledger: sqlite:///{path}. '
            f"Otherwise copy {formerly.name} there, and run: dpsql adopt",
        )
    return path
