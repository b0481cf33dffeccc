"""Engines that fail, wait or count, around one that works."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dpsql.engines.base import Engine
from dpsql.errors import EngineFailed
from dpsql.policy.model import Value
from dpsql.privacy.budget import Charge
from dpsql.privacy.exact import Row
from dpsql.question import Cancellation
from dpsql.rewrite.function import Dialect

Rows = Sequence[Row]


@dataclass(slots=True)
class Watched:
    """Passes everything on to `engine`; `before` is called before each measurement, `after` may change its rows."""

    engine: Engine
    before: Callable[[Cancellation], None] = lambda _: None
    after: Callable[[Rows], Rows] = lambda rows: rows
    runs: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def dialect(self) -> Dialect:
        """Return the engine's."""
        return self.engine.dialect

    def columns(self, table: str) -> Mapping[str, str]:
        """Return the engine's."""
        return self.engine.columns(table)

    def unique_columns(self, table: str) -> frozenset[str]:
        """Return the engine's."""
        return self.engine.unique_columns(table)

    def public_rows(self, table: str, columns: Sequence[str], limit: int) -> Sequence[Sequence[Value | None]]:
        """Return the engine's."""
        return self.engine.public_rows(table, columns, limit)

    def run(self, sql: str, charge: Charge, *, timeout: float, cancellation: Cancellation) -> Rows:
        """Count, and run."""
        with self._lock:
            self.runs += 1
        self.before(cancellation)
        return self.after(self.engine.run(sql, charge, timeout=timeout, cancellation=cancellation))

    def close(self) -> None:
        """Leave it open."""


def fail(_: Cancellation) -> None:
    """Break down before the data is read."""
    raise EngineFailed


def shuffled(seed: int) -> Callable[[Rows], Rows]:
    """Return rows in another order."""
    return lambda rows: random.Random(seed).sample(list(rows), len(rows))  # noqa: S311  (any order)
