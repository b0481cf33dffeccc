"""Sees to it that a running server answers from the newest copy of the records, and that each epoch has one.

When there is a new one is told by the clock and by `dpsql refresh` alone, never by the records: whether they changed is a
fact about people. An epoch begins with its copy: while one is written the earlier one answers, and what was stored of it
stays free.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from dpsql.accounting.ledger import AHEAD
from dpsql.accounting.privacy_loss import first_day
from dpsql.clock import Clock, system_clock
from dpsql.engines.base import Edition, Engine
from dpsql.engines.snapshot.open import current_snapshot
from dpsql.engines.snapshot.place import SnapshotBusy
from dpsql.engines.snapshot.writing import write_snapshot
from dpsql.errors import DpsqlError, QueryCanceled
from dpsql.policy.config import Config
from dpsql.policy.model import Period
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.server")
_LOOK = 1.0
"""Seconds between two looks."""
_PAUSE = 60.0
"""Seconds until what could not be written is tried again."""


class SnapshotKeeper:
    """Looks again and again, until it is stopped."""

    def __init__(
        self,
        serving: Callable[[], tuple[Config, Engine]],
        serve_newest: Callable[[], Awaitable[None]],
        clock: Clock = system_clock,
    ) -> None:
        """`serving` returns what is served now; `serve_newest` lets the newest copy answer."""
        self._clock = clock
        self._serving, self._serve_newest = serving, serve_newest
        self._cancellation = Cancellation()
        self._not_before = 0.0
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop, also what is being written."""
        self._cancellation.cancel()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            try:
                await self._look()
            except QueryCanceled:
                return
            except DpsqlError as failed:
                self._not_before = time.monotonic() + _PAUSE
                _LOG.warning("no newer snapshot is served, which is tried again: %s", failed.message)
            except Exception:  # noqa: BLE001 # it is logged, and tried again
                self._not_before = time.monotonic() + _PAUSE
                _LOG.exception("no newer snapshot is served, which is tried again")

    async def _look(self) -> None:
        config, engine = self._serving()
        if engine.edition is None or time.monotonic() < self._not_before:
            return
        manifest = await asyncio.to_thread(current_snapshot, config)
        # Where somebody has read another policy already, the copy is not for us: it is when we have read it too.
        if manifest is not None and manifest.name != engine.edition.name:
            await self._serve_newest()
        elif is_due(engine.edition, config, self._clock()):
            with contextlib.suppress(SnapshotBusy):
                await asyncio.to_thread(write_snapshot, config, _LOG.info, self._cancellation, self._clock)


def is_due(edition: Edition, config: Config, now: datetime) -> bool:
    """Return whether the period in which a copy was made is over, or has not begun: then the clock was wrong."""
    ahead = config.refresh is not Period.NEVER and edition.taken > now + AHEAD
    return ahead or first_day(config.refresh, now) > edition.taken.date()
