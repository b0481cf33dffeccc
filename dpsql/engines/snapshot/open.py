"""Opens the copy that a configuration wants; where there is none that may be used, it is made first."""

import logging
import time
from contextlib import suppress

from dpsql.accounting.sliding import ReadDays
from dpsql.clock import Clock, system_clock
from dpsql.engines.base import NoEngine
from dpsql.engines.snapshot.engine import SnapshotEngine
from dpsql.engines.snapshot.manifest import Manifest, Origin
from dpsql.engines.snapshot.place import SnapshotBusy, SnapshotPlace
from dpsql.engines.snapshot.progress import Tell
from dpsql.engines.snapshot.writing import write_missing_snapshot
from dpsql.errors import InternalError
from dpsql.policy.config import Config
from dpsql.question import Cancellation

_LOG = logging.getLogger("dpsql.engine")
_AGAIN = 0.2
"""Seconds until somebody else's writing is looked at again."""


def current_snapshot(config: Config) -> Manifest | None:
    """Return the copy that may be used; None: one has to be made.

    Raises:
        ConfigError: there is no place for one.
    """
    if config.snapshot is None:
        raise InternalError
    return SnapshotPlace(config.snapshot.directory).current(Origin.of(config))


def days_of_copy(config: Config) -> ReadDays | None:
    """Return the days on which the copy was made that would answer; None if there is none, or the records do themselves."""
    manifest = None if config.snapshot is None else current_snapshot(config)
    return None if manifest is None else manifest.edition.read


def see_that_there_is_one(
    config: Config, tell: Tell, cancellation: Cancellation, clock: Clock = system_clock
) -> Manifest:
    """Return the copy that may be used, made now if need be; who finds another process at it waits for that one.

    Raises:
        ConfigError: it can't be made.
        QueryCanceled: somebody cancelled.
    """
    waiting = False
    while (manifest := current_snapshot(config)) is None:
        try:
            return write_missing_snapshot(config, tell, cancellation, clock)
        except SnapshotBusy as busy:
            if not waiting:
                tell(f"{busy.message}, which is waited for")
            waiting = True
            time.sleep(_AGAIN)
    return manifest


def open_snapshot(config: Config, clock: Clock = system_clock) -> SnapshotEngine:
    """Open the copy that may be used, made now if need be.

    Raises:
        ConfigError: it can't be made, or opened.
    """
    if config.snapshot is None:
        raise InternalError
    place = SnapshotPlace(config.snapshot.directory)
    place.tidy()
    with suppress(NoEngine):  # a newer one has just taken its place
        return _opened(config, place, clock)
    return _opened(config, place, clock)


def _opened(config: Config, place: SnapshotPlace, clock: Clock) -> SnapshotEngine:
    assert config.snapshot is not None
    manifest = see_that_there_is_one(config, _LOG.info, Cancellation(), clock)
    return SnapshotEngine(place, manifest, config.snapshot)
