"""Engines that fail, wait or count, around one that works."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpsql.accounting.privacy_loss import Charge
from dpsql.engines.base import Engine, PreparedMeasurements, SnapshotVersion
from dpsql.errors import EngineFailed
from dpsql.policy.model import Table, UniqueKey, Value
from dpsql.privacy.release.exact import EngineRow
from dpsql.question import Cancellation
from dpsql.rewrite.dialects.base import Dialect
from dpsql.rewrite.emit.kept_columns import KeptColumns

Rows = Sequence[EngineRow]


@dataclass(slots=True)
class Watched:
    """Passes everything on to `engine`; `before` is called before each measurement, `after` may change its rows."""

    engine: Engine
    before: Callable[[Cancellation], None] = lambda _: None
    after: Callable[[Rows], Rows] = lambda rows: rows
    runs: int = 0
    readied: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dialect(self) -> Dialect:
        """Return the engine's."""
        return self.engine.dialect

    @property
    def edition(self) -> SnapshotVersion | None:
        """Return the engine's."""
        return self.engine.edition

    def columns(self, table: str) -> Mapping[str, str]:
        """Return the engine's."""
        return self.engine.columns(table)

    def kept(self, table: str) -> KeptColumns:
        """Return the engine's."""
        return self.engine.kept(table)

    def unique_keys(self, table: str) -> frozenset[UniqueKey]:
        """Return the engine's."""
        return self.engine.unique_keys(table)

    def enforced_columns(self, table: Table) -> frozenset[str]:
        """Return the engine's."""
        return self.engine.enforced_columns(table)

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the engine's."""
        return self.engine.public_rows(table, columns, limit)

    @contextmanager
    def ready(
        self, statements: Sequence[str], *, timeout: float, cancellation: Cancellation
    ) -> Iterator["WatchedPrepared"]:
        """Make ready."""
        with self._lock:
            self.readied += 1
        with self.engine.ready(statements, timeout=timeout, cancellation=cancellation) as prepared:
            yield WatchedPrepared(self, prepared, cancellation)

    def run(self, prepared: PreparedMeasurements, sql: str, charge: Charge, cancellation: Cancellation) -> Rows:
        """Count, and run."""
        with self._lock:
            self.runs += 1
        self.before(cancellation)
        return self.after(prepared.run(sql, charge))

    def is_current(self) -> bool:
        """Return the engine's."""
        return self.engine.is_current()

    def named(self, table: str) -> str:
        """Return the engine's."""
        return self.engine.named(table)

    def close(self) -> None:
        """Leave it open."""


@dataclass(frozen=True, slots=True)
class WatchedPrepared:
    """What was made ready, and who watches it."""

    watched: Watched
    prepared: PreparedMeasurements
    cancellation: Cancellation

    def run(self, sql: str, charge: Charge) -> Rows:
        """Count, and run."""
        return self.watched.run(self.prepared, sql, charge, self.cancellation)


def fail(_: Cancellation) -> None:
    """Break down before the data is read."""
    raise EngineFailed


def shuffled(seed: int) -> Callable[[Rows], Rows]:
    """Return rows in another order."""
    return lambda rows: random.Random(seed).sample(list(rows), len(rows))  # noqa: S311  (any order)
