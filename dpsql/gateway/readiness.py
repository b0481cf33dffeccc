"""Whether questions would be answered now, for load balancers and monitors."""

import threading
from collections.abc import Callable

from dpsql.accounting.ledger import Ledger
from dpsql.engines.base import Engine
from dpsql.errors import DpsqlError, EngineAway, EngineNotReady, LedgerBusy, LedgerFailed
from dpsql.policy.model import Policy
from dpsql.question import Cancellation

_KEPT = 5.0
"""Seconds for which a check counts; the engine is not asked more often, however many ask."""
_PATIENCE = 10.0
"""Seconds that the engine may take."""


class Readiness:
    """Checks that the engine takes measurements and the ledger can be read, without charging or running one."""

    def __init__(self, engine: Callable[[], tuple[Engine, Policy]], ledger: Ledger, clock: Callable[[], float]) -> None:
        """`engine` returns the current engine and its policy."""
        self._engine, self._ledger = engine, ledger
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[float, str | None] | None = None

    def trouble(self) -> str | None:
        """Return what clients would hear instead of an answer; None if engine and ledger are ready."""
        with self._lock:
            if self._seen is None or self._clock() - self._seen[0] > _KEPT:
                trouble = self._look()
                # Counted from the end of the check: an engine that hangs is not asked all the time.
                self._seen = self._clock(), trouble
            return self._seen[1]

    def _look(self) -> str | None:
        engine, policy = self._engine()
        try:
            self._ledger.entries(None, 1, Cancellation())
        except (LedgerBusy, LedgerFailed) as failed:
            return failed.message
        try:
            tables = [engine.named(table.name) for table in policy.tables.values() if not table.public]
            probes = [f"SELECT 1 FROM {table} WHERE 1 = 0" for table in tables]  # noqa: S608
            with engine.ready(probes, timeout=_PATIENCE, cancellation=Cancellation()):
                return None
        except (EngineAway, EngineNotReady) as failed:
            return failed.message
        except DpsqlError:
            return EngineAway.text
