"""Whether questions would be answered now, for load balancers and monitors."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dpsql.engines.base import Engine
from dpsql.engines.open import misfits
from dpsql.errors import DpsqlError, EngineAway, EngineNotReady
from dpsql.policy.model import Policy
from dpsql.question import Cancellation

_KEPT = 5.0
"""Seconds for which a check counts; the engine is not asked more often, however many ask."""
_PATIENCE = 10.0
"""Seconds that the engine may take."""


class ReadyState(NamedTuple):
    """What monitors hear."""

    answers: bool = True
    """Whether private questions would be answered."""
    text: str = "ready"
    """Else what clients would hear; or which tables nothing is answered about, a line each."""


class Readiness:
    """Checks that the engine takes measurements and the books can be written, without charging or running one."""

    def __init__(
        self, engine: Callable[[], tuple[Engine, Policy]], see_books: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        """`engine` returns the current engine and its policy; `see_books` raises what clients hear who can't be charged."""
        self._engine, self._see_books = engine, see_books
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[float, ReadyState] | None = None

    def state(self) -> ReadyState:
        """Return whether engine, ledger and audit trail are ready."""
        # Who asks while another looks waits, and hears of the same look.
        with self._lock:
            if self._seen is None or self._clock() - self._seen[0] > _KEPT:
                state = self._look()
                # Counted from the end of the check: an engine that hangs is not asked all the time.
                self._seen = self._clock(), state
            return self._seen[1]

    def _look(self) -> ReadyState:
        engine, policy = self._engine()
        try:
            self._see_books()
        except DpsqlError as failed:
            return ReadyState(answers=False, text=failed.message)
        unfit = misfits(engine)
        told = ("ready", *(text.replace(f"{policy.tables[table].file}: ", "") for table, text in unfit.items()))
        tables = [name for name, table in policy.tables.items() if not table.public]
        # Where none of them fits any more, what is asked of all tells so.
        fit = [table for table in tables if table not in unfit] or tables
        try:
            if engine.edition is not None:
                engine.edition.require_serving()
            if not _takes(engine, fit):
                # One that was altered a moment ago, and is not judged yet, stops no statement that reads another.
                away = [table for table in fit if not _takes(engine, [table])]
                if len(away) == len(fit):
                    return ReadyState(answers=False, text="\n".join((EngineNotReady.text, *told[1:])))
                told = (*told, *(f'table "{table}" can\'t be asked now: the log says why' for table in away))
            return ReadyState(answers=True, text="\n".join(told))
        except (EngineAway, EngineNotReady) as failed:
            return ReadyState(answers=False, text="\n".join((failed.message, *told[1:])))
        except DpsqlError:
            return ReadyState(answers=False, text=EngineAway.text)


def _takes(engine: Engine, tables: Sequence[str]) -> bool:
    """Return whether the engine takes measurements of all these tables; none is run."""
    probes = [f"SELECT 1 FROM {engine.named(table)} WHERE 1 = 0" for table in tables]  # noqa: S608
    try:
        with engine.ready(probes, timeout=_PATIENCE, cancellation=Cancellation()):
            return True
    except EngineNotReady:
        return False
