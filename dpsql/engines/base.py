"""The gateway's demands on an engine: catalogue facts at the start, and measurements that were paid for."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Protocol

from dpsql.accounting.privacy_loss import Charge
from dpsql.accounting.sliding import ReadDays
from dpsql.errors import ConfigError, EngineNotReady
from dpsql.policy.model import Table, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rate_limited_log import RateLimitedLog
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.kept_columns import KeptColumns

_RATE_LIMITED = RateLimitedLog(logging.getLogger("dpsql.engine"))


class NoEngine(ConfigError, sqlstate="F0000"):
    """There is no engine where the configuration says that it is."""


@dataclass(frozen=True, slots=True)
class SnapshotVersion:
    """The copy of the records that answers; measurements on another one do not belong to it."""

    name: str
    taken: datetime
    """When it was begun: what was written to the records later is not in it."""
    finished: datetime
    """When all of it was there."""
    until: datetime | None = None
    """Until when anything is measured on it; None: without an end."""
    parts: Mapping[str, date] = field(default_factory=dict)
    """By table that is kept in parts, the day on which the oldest of them was copied."""

    @property
    def epoch(self) -> str:
        """Return why an epoch began with it, as the ledger tells."""
        return f"snapshot {self.name}"

    @property
    def read(self) -> ReadDays:
        """Return the days (UTC) on which the records were read for it."""
        return ReadDays(self.taken.date(), self.finished.date())

    def read_of(self, tables: Iterable[str]) -> ReadDays:
        """Return these days for what is measured of some tables: of one in parts since its oldest part was copied."""
        return ReadDays(
            min((self.parts.get(name, self.taken.date()) for name in tables), default=self.taken.date()),
            self.finished.date(),
        )

    def require_serving(self) -> None:
        """See that it is not too old, by the clock, for anything to be measured on it.

        Raises:
            EngineNotReady: it is.
        """
        if self.until is not None and datetime.now(UTC) > self.until:
            days = (self.until - self.taken).days
            _RATE_LIMITED.warning(
                "nothing is measured on the %s, which is older than engine.oldest: %d days", self, days
            )
            raise EngineNotReady

    def __str__(self) -> str:
        """Return it for people."""
        return f"snapshot of {self.taken:%Y-%m-%d %H:%M:%S} UTC"


# How a measurement goes, for every engine: `ready` accepts the statements, and may fail for free; the ledger makes the charge
# durable; `run` takes it, and what fails from there on has cost something.
class PreparedMeasurements(Protocol):
    """Measurements that an engine is ready to run: accepted, permitted, and with all that they need in hand."""

    def run(self, sql: str, charge: Charge) -> Sequence[EngineRow]:
        """Return the rows of a measurement that `charge` paid for.

        It is one of those that were made ready, or the same with other rows of constants, which were not known then.

        Raises:
            QueryCanceled: somebody cancelled, or time is up.
            EngineLost: the connection broke.
            EngineFailed: anything else; the cause goes to the operator's log only.
        """


class Engine(Protocol):
    """A database that holds the records; safe to share between threads."""

    @property
    def dialect(self) -> Dialect:
        """Return the SQL that it speaks."""

    @property
    def edition(self) -> SnapshotVersion | None:
        """Return which copy of the records it reads, the same one for as long as it lives; None: the records themselves."""

    def named(self, table: str) -> str:
        """Return a table's name as statements have to write it, so that it can't be taken for another."""

    def columns(self, table: str) -> Mapping[str, str]:
        """Return a table's columns with their types as the engine names them; empty if there is no such table."""

    def kept(self, table: str) -> KeptColumns:
        """Return what is kept of a table beside its columns, of which statements are written only."""

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the keys that enforced constraints keep unique, of one column or of several together."""

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return the columns of which enforced constraints let no row lack a value of the declared domain."""

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the rows of a table that the policy calls public, at most `limit` + 1 of them."""

    def ready(
        self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation
    ) -> AbstractContextManager[PreparedMeasurements]:
        """Make measurements ready to run, each within `timeout` seconds; what they read stays the same until the end.

        It depends on the catalogue, on permissions and on files being as they were, and never on a row, so that its
        failure may be free of charge.

        Raises:
            EngineAway: the engine can't be reached.
            EngineNotReady: it does not take a statement, or the data are not those that were opened.
            QueryCanceled: somebody cancelled.
        """

    def is_current(self) -> bool:
        """Return whether the tables are still those that were opened; if not, the engine has to be opened again.

        Raises:
            NoEngine: it can't be reached.
        """

    def close(self) -> None:
        """Let go of the database."""


class OwnerEngine(Engine, Protocol):
    """An engine that also answers the owner of the data, exactly and without a charge: for `dpsql check --data` alone."""

    def for_owner(self, sql: str, *, timeout: float) -> Sequence[EngineRow]:
        """Return exact rows that nobody but the owner of the data may see."""
