"""Opens what a server writes for good: the ledger that the configuration names, and the audit trail beside it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import assert_never

from dpsql.accounting.balance import Account, Balance, require_rho
from dpsql.accounting.ledger import DataSet, Entry, Ledger, OpeningWay
from dpsql.accounting.postgres.ledger import PostgresLedger, lines_on_server, rehearse
from dpsql.accounting.sql import opening
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.accounting.sqlite.ledger import SqliteLedger
from dpsql.accounting.sqlite.upkeep import newest_lines, owner_of
from dpsql.clock import Clock, StageTimes, system_clock
from dpsql.engines.source import Wordings, source
from dpsql.errors import ConfigError
from dpsql.policy.config import Config, PostgresLedgerConfig, SqliteLedgerConfig
from dpsql.policy.model import Policy
from dpsql.trail.record import AuditEvent, AuditRecord, ChainedLine
from dpsql.trail.trail import AuditTrail


def open_ledger(config: Config, way: OpeningWay = OpeningWay.AS_IT_IS, clock: Clock = system_clock) -> SqlLedger:
    """Return the configuration's ledger, made if there is none; it goes by a clock.

    Raises:
        ConfigError: it can't be used, or is another data set's, or is less than there was.
    """
    if isinstance(config.ledger, PostgresLedgerConfig):
        return PostgresLedger(config.ledger.dsn, config.ledger.beside, clock, _dataset(config), way)
    return SqliteLedger(place_of_ledger(config), clock, _dataset(config), way)


def require_fitting_budgets(ledger: Ledger, policy: Policy) -> tuple[Balance, ...]:
    """Return each role's balance, if no budget adds up ε while answers count in it that have a ρ and no ε.

    Raises:
        ConfigError: one does.
    """
    return _fitting(ledger.balance(account) for account in _accounts(policy))


def rehearse_ledger(config: PostgresLedgerConfig, whole: Config) -> tuple[Balance, ...]:
    """Return each role's balance, if the ledger on a server could be opened, and budgets fit to it; leave no trace.

    Raises:
        ConfigError: it could not, or one adds up ε while answers count in it that have a ρ and no ε.
    """
    return _fitting(rehearse(config.dsn, config.beside, _dataset(whole), system_clock, _accounts(whole.policy)))


def read_ledger_lines(config: Config, role: str | None, limit: int) -> tuple[Entry, ...]:
    """Return the ledger's newest lines first, of one role or of all, for a command that does not serve it.

    Raises:
        ConfigError: it can't be read, or there is none.
    """
    if isinstance(config.ledger, PostgresLedgerConfig):
        return lines_on_server(config.ledger.dsn, role, limit)
    return newest_lines(place_of_ledger(config), role, limit)


def place_of_ledger(config: Config) -> Path:
    """Return where the configuration's ledger is, or would be made; of one on a server, beside which path its mark is.

    Raises:
        ConfigError: there is none, but one was left elsewhere; or it is another data set's.
    """
    match config.ledger:
        case SqliteLedgerConfig(path, formerly, left):
            _require_moved_ledger(path, left)
            return _place(path, formerly, _dataset(config))
        case PostgresLedgerConfig(_, beside):
            return beside
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


def future_lines_notice(ahead: datetime) -> tuple[str, str]:
    """Return of a ledger with lines that lie in the future until when they do, and what that means."""
    return (
        f"{ahead:%Y-%m-%d %H:%M} (UTC)",
        "until then they count in every period. Set the clock right if it is wrong now; if it was then: dpsql ledger redate",
    )


def _fitting(balances: Iterable[Balance]) -> tuple[Balance, ...]:
    found = tuple(balances)
    for balance in found:
        require_rho(balance)
    return found


def _accounts(policy: Policy) -> Iterator[Account]:
    for role in policy.roles.values():
        yield Account("", role, policy.budgets[role.protects])


def _dataset(config: Config) -> DataSet:
    return DataSet(config.policy.dataset, source(config.engine), Wordings(config.engine, tuple(config.policy.tables)))


def _require_moved_ledger(path: Path, left: tuple[Path, ...]) -> None:
    """Refuse to create a ledger where another one was left behind: what was spent would be forgotten."""
    if path.exists() or opening.read_mark(path) is not None:
        return
    # A mark without its ledger counts as well: it says that there was one, whose charges would be forgotten with it.
    for old in left:
        if old.exists() or opening.read_mark(old) is not None:
            raise ConfigError(
                f"there is no ledger {path}, but {old} was used before",
                hint=f"Move it there with its mark, or name it: ledger: sqlite:///{old}",
            )


def _place(path: Path, formerly: Path | None, dataset: DataSet) -> Path:
    """Return the ledger's path: earlier versions had one for all data sets of a directory (`formerly`), which stays in use.

    Raises:
        ConfigError: another data set has taken it over, with what this one may have spent.
    """
    if formerly is None or path.exists() or opening.read_mark(path) is not None:
        return path
    # Only its mark is left. If that is ours, the ledger is missing, and opening it says so instead of beginning a new one.
    if not formerly.exists():
        marked = opening.read_mark(formerly)
        return path if marked is None or marked.dataset != dataset.name else formerly
    owner = owner_of(formerly)
    if owner is None or dataset.is_called(owner.dataset):
        return formerly
    if owner.inherited:
        raise ConfigError(
            f'ledger {formerly} was kept before ledgers belonged to data sets, and is now that of "{owner.dataset.name}"',
            hint=f'Was "{dataset.name}" never served with it? Then say where its own is to be: ledger: sqlite:///{path}. '
            f"Otherwise copy {formerly.name} there, and run: dpsql adopt",
        )
    return path


# Opens what a server writes for good: the ledger, and the audit trail.


@dataclass(frozen=True, slots=True)
class OpenBooks:
    """A ledger and an audit trail that are open, and what is kept of times until the server stops."""

    ledger: SqlLedger
    trail: AuditTrail
    times: StageTimes

    @property
    def each(self) -> tuple[SqlLedger, AuditTrail, StageTimes]:
        """Return all of them."""
        return self.ledger, self.trail, self.times

    def require_writable_books(self) -> None:
        """Return if a charge could be made now, and its line be written.

        Raises:
            DpsqlError: what clients would hear.
        """
        self.trail.require_writable_file()
        self.ledger.require_writable_file()

    @property
    def for_gateway(self) -> tuple[Callable[[], Iterator[ChainedLine]], StageTimes]:
        """Return what the gateway reads of the trail, and where it counts times."""
        return self.trail.newest_first, self.times


@contextmanager
def open_books(config: Config, way: OpeningWay, clock: Clock = system_clock) -> Iterator[OpenBooks]:
    """Give both, which go by a clock, while a server runs; the trail says when it has started and when it stops.

    Raises:
        ConfigError: one of them can't be used.
    """
    about = f"dpsql {version('dpsql')} serves {config.policy.dataset}, policy {config.policy.fingerprint}"
    # Closed in reverse: first the trail, whose last line says that the server stops, then the ledger.
    with (
        closing(open_ledger(config, way, clock)) as ledger,
        closing(AuditTrail(place_of_trail(config), clock)) as trail,
    ):
        require_fitting_budgets(ledger, config.policy)
        trail.note(AuditRecord(trail.now(), AuditEvent.START, about=about))
        try:
            yield OpenBooks(ledger, trail, StageTimes())
        finally:
            trail.note(AuditRecord(trail.now(), AuditEvent.STOP, about=about))
