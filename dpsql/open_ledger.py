"""Opens the ledger that the configuration names; where the audit trail is beside it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import assert_never

from dpsql.accounting import mark
from dpsql.accounting.ledger import DataSet, Way
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.accounting.sqlite.upkeep import owner_of
from dpsql.engines.source import source
from dpsql.errors import ConfigError
from dpsql.policy.config import Config, PostgresServer, SqliteLedgerConfig


def open_ledger(config: Config, way: Way = Way.AS_IT_IS) -> SqliteLedger:
    """Return the configuration's ledger, made if there is none.

    Raises:
        ConfigError: it can't be used, or is another data set's, or is less than there was.
    """
    return SqliteLedger(place_of_ledger(config), lambda: datetime.now(UTC), _dataset(config), way)


def place_of_ledger(config: Config) -> Path:
    """Return where the configuration's ledger is, or would be made.

    Raises:
        ConfigError: there is none, but one was left elsewhere; or it is another data set's.
    """
    match config.ledger:
        case SqliteLedgerConfig(path, formerly, left):
            _demand_move(path, left)
            return _place(path, formerly, _dataset(config))
        case PostgresServer():
            raise ConfigError("a ledger on PostgreSQL is not supported yet; use sqlite:///…")
        case _:
            assert_never(config.ledger)


def place_of_trail(config: Config) -> Path:
    """Return the directory of the configuration's audit trail.

    Raises:
        ConfigError: as for the ledger, beside which it is.
    """
    if config.audit is not None:
        return config.audit
    ledger = place_of_ledger(config)
    return ledger.with_name(f"{ledger.name}.audit")


def _dataset(config: Config) -> DataSet:
    return DataSet(config.policy.dataset, source(config.engine))


def _demand_move(path: Path, left: tuple[Path, ...]) -> None:
    """Refuse to create a ledger where another one was left behind: what was spent would be forgotten."""
    if path.exists() or mark.read_mark(path) is not None:
        return
    for old in left:
        if old.exists() or mark.read_mark(old) is not None:
            raise ConfigError(
                f"there is no ledger {path}, but {old} was used before",
                hint=f"Move it there with its mark, or name it: ledger: sqlite:///{old}",
            )


def _place(path: Path, formerly: Path | None, dataset: DataSet) -> Path:
    """Return the ledger's path: earlier versions had one for all data sets of a directory (`formerly`), which stays in use.

    Raises:
        ConfigError: another data set has taken it over, with what this one may have spent.
    """
    if formerly is None or path.exists() or mark.read_mark(path) is not None:
        return path
    if not formerly.exists():
        known = mark.read_mark(formerly)
        return path if known is None or known.dataset != dataset.name else formerly
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
