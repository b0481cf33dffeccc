"""Opens what a server writes for good: the ledger, and the audit trail."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version

from dpsql.accounting.ledger import Way
from dpsql.accounting.sql.ledger import SqlLedger
from dpsql.clock import Clock, system_clock
from dpsql.open_ledger import open_ledger, place_of_trail, see_that_budgets_fit
from dpsql.policy.config import Config
from dpsql.stage_times import StageTimes
from dpsql.trail.record import AuditEvent, AuditRecord, ChainedLine
from dpsql.trail.trail import AuditTrail


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

    def see_that_they_can_be_written(self) -> None:
        """Return if a charge could be made now, and its line be written.

        Raises:
            DpsqlError: what clients would hear.
        """
        self.trail.see_that_it_can_be_written()
        self.ledger.see_that_it_can_be_written()

    @property
    def for_gateway(self) -> tuple[Callable[[], Iterator[ChainedLine]], StageTimes]:
        """Return what the gateway reads of the trail, and where it counts times."""
        return self.trail.newest_first, self.times


@contextmanager
def open_books(config: Config, way: Way, clock: Clock = system_clock) -> Iterator[OpenBooks]:
    """Give both, which go by a clock, while a server runs; the trail says when it has started and when it stops.

    Raises:
        ConfigError: one of them can't be used.
    """
    about = f"dpsql {version('dpsql')} serves {config.policy.dataset}, policy {config.policy.fingerprint}"
    with (
        closing(open_ledger(config, way, clock)) as ledger,
        closing(AuditTrail(place_of_trail(config), clock)) as trail,
    ):
        see_that_budgets_fit(ledger, config.policy)
        trail.note(AuditRecord(trail.now(), AuditEvent.START, about=about))
        try:
            yield OpenBooks(ledger, trail, StageTimes())
        finally:
            trail.note(AuditRecord(trail.now(), AuditEvent.STOP, about=about))
